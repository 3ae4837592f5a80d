"""A slow, obvious evaluator of filters and groups over `memtape export --to json`, and a generator of
random filters. It knows docs/man/memtape-filter.7 and nothing of how memtape works."""

import bisect
import json
import operator
import re
from collections import defaultdict

NEVER = None
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Exported:
    """A tape as rows that are dicts with every field of the manual but the site ones."""

    def __init__(self, path):
        data = json.loads(path.read_text())
        self.data = data
        self.duration = data["process"]["duration_ns"]
        self.stacks = data["stacks"]
        self.threads = data["threads"]
        self.rows = [dict(zip(data["columns"], row)) for row in data["allocations"]]
        self.frames_of, self.nodes_of = {}, {}
        for number, row in enumerate(self.rows):
            self.complete(number, row)
        self.link_chains()
        self.sum_groups()

    def path(self, stack):
        """(kind of the end, ids from the innermost outwards)."""
        ids = []
        while stack is not None and "kind" not in self.stacks[stack]:
            ids.append(stack)
            stack = self.stacks[stack]["parent"]
        return ("none" if stack is None else self.stacks[stack]["kind"]), ids

    def frames(self, stack):
        if stack not in self.frames_of:
            self.frames_of[stack] = [f for i in self.path(stack)[1] for f in self.stacks[i]["frames"]]
        return self.frames_of[stack]

    def thread_field(self, thread, key):
        return None if thread is None else self.threads[thread][key]

    def complete(self, number, row):
        end, ids = self.path(row["stack"])
        freed = row["free_ns"] is not None
        size = row["size"]
        row.update(
            tape=self, number=number, usable=row["usable_size"], slack=row["usable_size"] - size,
            size_class=1 << (size.bit_length() - 1) if size else 0, address=int(row["address"], 16),
            time=row["alloc_ns"], free_time=row["free_ns"],
            lifetime=row["free_ns"] - row["alloc_ns"] if freed else None,
            age=(row["free_ns"] if freed else self.duration) - row["alloc_ns"],
            thread_index=row["thread"], thread=self.thread_field(row["thread"], "tid"),
            thread_name=self.thread_field(row["thread"], "name"),
            free_thread_name=self.thread_field(row["free_thread"], "name"),
            foreign_free=row["free_thread"] is not None and row["free_thread"] != row["thread"],
            leaked=not freed, freed=freed, reallocated=False, depth=len(ids),
            truncated=end == "truncated")
        row["free_thread"] = self.thread_field(row["free_thread"], "tid")

    def link_chains(self):
        for row in self.rows:
            row["chain"] = [row]
            old = row["realloc_of"]
            if old is not None:
                self.rows[old]["reallocated"] = True
                row["chain"] = self.rows[old]["chain"]
                row["chain"].append(row)
        for row in self.rows:
            chain = row["chain"]
            first, last = chain[0], chain[-1]
            row.update(
                chain_length=len(chain), chain_position=next(i for i, r in enumerate(chain) if r is row),
                first_size=first["size"], last_size=last["size"], chain_leaked=last["leaked"],
                chain_lifetime=None if last["leaked"] else last["free_time"] - first["time"])

    def sum_groups(self):
        groups = defaultdict(list)
        for row in self.rows:
            groups[row["stack"]].append(row)
        for rows in groups.values():
            usage_max, usage_time = self.usage_max(rows)
            fields = {
                "group_allocations": len(rows), "group_bytes": sum(r["size"] for r in rows),
                "group_leaked": sum(r["leaked"] for r in rows),
                "group_leaked_bytes": sum(r["size"] for r in rows if r["leaked"]),
                "group_temporary": sum(r["temporary"] for r in rows),
                "group_peak_bytes": sum(r["size"] for r in rows if r["at_peak"]),
                "group_first_time": rows[0]["time"], "group_last_time": rows[-1]["time"],
                "group_interval": rows[-1]["time"] - rows[0]["time"],
                "group_usage_max": usage_max, "group_usage_max_time": usage_time,
                "whole_group_leaked": all(r["leaked"] for r in rows)}
            for row in rows:
                row.update(fields)

    @staticmethod
    def usage_max(rows):
        events = [(r["time"], 1, r["size"]) for r in rows]
        events += [(r["free_time"], 0, -r["size"]) for r in rows if r["freed"]]
        live = most = 0
        when = rows[0]["time"]
        for time, _, change in sorted(events):
            live += change
            if live > most:
                most, when = live, time
        return most, when

    def texts(self, row, field):
        free = field.startswith("free_")
        stack = row["free_stack"] if free else row["stack"]
        key = field[5:] if free else field
        for frame in self.frames(stack):
            if key == "location":
                if "file" in frame and "line" in frame:
                    yield f"{frame['file']}:{frame['line']}"
            elif key == "source":
                if "file" in frame:
                    yield frame["file"]
            elif key == "function":
                yield frame["function"]
            elif frame["module"]:
                yield frame["module"]


def equals_text(field, text, wanted):
    if field in ("function", "free_function"):
        return text == wanted or text.startswith(wanted + "(")
    if field in ("source", "module", "free_source", "free_module"):
        return text == wanted or text.rsplit("/", 1)[-1] == wanted
    return text == wanted


# --- random filters -----------------------------------------------------------------------

BYTES = ["size", "usable", "slack", "size_class", "first_size", "last_size", "group_bytes",
         "group_leaked_bytes", "group_peak_bytes", "group_usage_max"]
DURATIONS = ["lifetime", "age", "chain_lifetime", "group_interval"]
MOMENTS = ["time", "free_time", "group_first_time", "group_last_time", "group_usage_max_time"]
COUNTS = ["chain_length", "chain_position", "depth", "group_allocations", "group_leaked",
          "group_temporary"]
IDS = ["thread", "free_thread", "stack", "free_stack"]
FLAGS = ["leaked", "freed", "temporary", "at_peak", "foreign_free", "lost_free", "reallocated",
         "chain_leaked", "truncated", "whole_group_leaked"]
TEXTS = ["call", "free_call", "thread_name", "free_thread_name"]
FRAMES = ["function", "module", "source", "location", "free_function", "free_module", "free_source",
          "free_location"]
NAMES = {"usable": ["usable_size"], "slack": ["extra_space"], "time": ["timestamp", "alloc_time"],
         "stack": ["backtrace"], "leaked": ["only_leaked"], "freed": ["only_temporary"],
         "chain_position": ["position_in_chain"], "depth": ["backtrace_depth"],
         "group_leaked": ["group_leaked_allocations"], "whole_group_leaked": ["only_whole_group_leaked"],
         "chain_leaked": ["only_chain_leaked"]}
PATTERNS = ["^parse", "get$", "http|render", "(?i)GROW", "e.*e", "walk", "nothing at all", "^main$",
            "libc", r"wander\.c", "alloc", "free", r"walker-[01]", "^$", "c:[0-9]*5$"]


def byte_text(random, value):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10), ("kB", 1000), ("k", 1024)):
        if value and value % factor == 0 and random.random() < 0.8:
            return f"{value // factor}{unit}"
    return str(value) + random.choice(["", "B"])


def time_text(random, tape, value):
    """(text, the nanoseconds it says)"""
    kind = random.randrange(5)
    if kind == 0:
        percent = random.randrange(101)
        return f"{percent}%", tape.duration * percent // 100
    if kind == 1:
        return f"{value // 1000}us", value // 1000 * 1000
    if kind == 2:
        return f"{value // 1000000}ms{value % 1000000}ns", value
    if kind == 3:
        return f"{value / 1e9:.9f}".rstrip("0").rstrip(".") + random.choice(["s", ""]), value
    return f"{value}ns", value


class Generator:
    """Draws filters: pairs of a text and a predicate on rows."""

    def __init__(self, random, tape):
        self.random = random
        self.tape = tape

    def sample(self, field):
        """A value near those that there are."""
        for _ in range(20):
            value = self.random.choice(self.tape.rows)[field]
            if value is not None:
                return max(0, value + self.random.choice([0, 0, 0, 1, -1]))
        return 0

    def value(self, field):
        value = self.sample(field)
        if field in BYTES:
            return byte_text(self.random, value), value
        if field in DURATIONS or field in MOMENTS:
            return time_text(self.random, self.tape, value)
        if field == "address":
            return (hex(value) if self.random.random() < 0.8 else str(value)), value
        return str(value), value

    def moment(self):
        """A time at which something begins or ends, or next to it."""
        return self.value(self.random.choice(["time", "free_time"]))

    def name(self, field):
        return self.random.choice([field] * 3 + NAMES.get(field, []))

    def number_test(self, field):
        word = self.random.choice(["=", "==", "!=", "<", "<=", ">", ">=", "<", ">="])
        text, value = self.value(field)

        def test(row):
            have = row[field]
            if word in ("=", "=="):
                return have == value
            if word == "!=":
                return have != value
            return have is not None and ORDER[word](have, value)
        space = self.random.choice(["", " "])
        return f"{self.name(field)}{space}{word}{space}{text}", test

    def range_of(self, field):
        kind = self.random.randrange(4)
        (low_text, low), (high_text, high) = self.value(field), self.value(field)
        if low > high:
            low_text, low, high_text, high = high_text, high, low_text, low
        if kind == 0:
            return low_text, lambda have: have == low
        if kind == 1:
            return f"{low_text}..", lambda have: have >= low
        if kind == 2:
            return f"..{high_text}", lambda have: have <= high
        return f"{low_text}..{high_text}", lambda have: low <= have <= high

    def in_test(self, field):
        items = [self.range_of(field) for _ in range(self.random.randrange(1, 4))]
        negative = self.random.random() < 0.3
        text = ", ".join(item for item, _ in items)
        if len(items) > 1 or ".." not in text or self.random.random() < 0.5:
            text = f"({text})"

        def test(row):
            have = row[field]
            found = have is not None and any(check(have) for _, check in items)
            return found != negative
        return f"{self.name(field)} {'not in' if negative else 'in'} {text}", test

    def flag_test(self):
        field = self.random.choice(FLAGS)
        if self.random.random() < 0.7:
            return self.name(field), lambda row: row[field]
        word, wanted = self.random.choice([("yes", True), ("no", False), ("true", True),
                                           ("false", False)])
        return f"{self.name(field)} = {word}", lambda row: row[field] == wanted

    def text_value(self, field):
        if field in TEXTS:
            seen = [row[field] for row in self.random.sample(self.tape.rows, 5) if row[field]]
        else:
            seen = list(self.tape.texts(self.random.choice(self.tape.rows), field))
        wanted = self.random.choice(seen or ["nothing"])
        if field in ("source", "module", "free_source", "free_module") and self.random.random() < .5:
            wanted = wanted.rsplit("/", 1)[-1]
        return wanted

    def text_test(self):
        field = self.random.choice(TEXTS + FRAMES * 2)
        word = self.random.choice(["=", "!=", "~", "~", "!~"])
        wanted = self.random.choice(PATTERNS) if "~" in word else self.text_value(field)
        pattern = re.compile(wanted) if "~" in word else None

        def matches(have):
            return bool(pattern.search(have)) if pattern else equals_text(field, have, wanted)

        def test(row):
            if field in TEXTS:
                found = row[field] is not None and matches(row[field])
            else:
                found = any(matches(have) for have in row["tape"].texts(row, field))
            return found != (word[0] == "!")
        quote = self.random.choice("'\"")
        return f"{field} {word} {quote}{wanted}{quote}", test

    def none_test(self):
        field = self.random.choice(["free_time", "lifetime", "free_thread", "free_call", "free_stack",
                                    "chain_lifetime"])
        word = self.random.choice(["=", "!="])
        return f"{field} {word} none", lambda row: (row[field] is None) == (word == "=")

    def moment_test(self):
        word = self.random.choice(["from", "until", "to", "alive_at", "alive_between"])
        (text, at), (text2, at2) = self.moment(), self.moment()

        def alive(row, when):
            return row["time"] <= when and (row["leaked"] or row["free_time"] > when)
        if word == "from":
            return f"from {text}", lambda row: row["time"] >= at
        if word in ("until", "to"):
            return f"{word} {text}", lambda row: row["time"] <= at
        if word == "alive_at":
            return f"alive_at {text}", lambda row: alive(row, at)
        if at > at2:
            text, at, text2, at2 = text2, at2, text, at
        return f"alive_between {text}..{text2}", lambda row: alive(row, at) and alive(row, at2)

    def percent_test(self):
        field, whole = self.random.choice([("group_leaked", "group_allocations"),
                                           ("group_temporary", "group_allocations"),
                                           ("group_leaked_bytes", "group_bytes")])
        percent = self.random.randrange(101)
        word = self.random.choice(list(ORDER))
        return (f"{field} {word} {percent}%",
                lambda row: ORDER[word](row[field] * 100, row[whole] * percent))

    def test(self):
        kind = self.random.randrange(12)
        numbers = BYTES + DURATIONS + MOMENTS + COUNTS + IDS + ["address"]
        if kind < 4:
            return self.number_test(self.random.choice(numbers))
        if kind < 6:
            return self.in_test(self.random.choice(numbers))
        if kind < 7:
            return self.flag_test()
        if kind < 9:
            return self.text_test()
        return [self.none_test, self.moment_test, self.percent_test][kind - 9]()

    def filter(self, depth=3):
        kind = self.random.randrange(6) if depth else 0
        if kind < 2:
            return self.test()
        if kind == 2:
            text, test = self.filter(depth - 1)
            return f"{self.random.choice(['not ', 'NOT ', '! ', '!'])}({text})", lambda r: not test(r)
        (a_text, a), (b_text, b) = self.filter(depth - 1), self.filter(depth - 1)
        if kind < 5:
            return f"({a_text}) {self.random.choice(['and', '&&'])} ({b_text})", \
                lambda r: a(r) and b(r)
        return f"({a_text}) {self.random.choice(['or', '||'])} ({b_text})", lambda r: a(r) or b(r)


def live_at(rows, moment):
    """Blocks allocated at the moment or before, and not freed until after it."""
    end = bisect.bisect_right([row["time"] for row in rows], moment)
    return [row for row in rows[:end] if row["leaked"] or row["free_time"] > moment]
