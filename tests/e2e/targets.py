"""What a target's head comment says must be found; tests/targets/target.h describes the lines."""

import pathlib
import re
from dataclasses import dataclass, field

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "targets"

LINE = re.compile(r"^ \*\s+size (\d+): (\d+) (.+?) in (\w+)(?:, (leaked|freed)(?: in (\w+))?)?$")
RUN = re.compile(r"^ \* Run: (\S*)((?:, [a-z]+ \w+)*)$")


@dataclass
class Expected:
    size: int
    count: int
    function: str
    frame: str
    fate: str = None
    free_frame: str = None

    def __str__(self):
        return f"size {self.size}: {self.count} {self.function} in {self.frame}"


@dataclass
class Case:
    name: str
    args: list
    returncode: int = 0
    loss_allowed: bool = False
    losses_at_most: int = 0
    expected: list = field(default_factory=list)

    @property
    def id(self):
        return " ".join([self.name, *self.args])


def head_comment(path):
    return path.read_text().split("*/", 1)[0].splitlines()


def parse_case(name, line):
    match = RUN.match(line)
    case = Case(name, [match.group(1)])
    for word, value in re.findall(r", ([a-z]+) (\w+)", match.group(2)):
        if word == "exit":
            case.returncode = int(value)
        elif word == "signal":
            case.returncode = -int(value)
        elif (word, value) == ("loss", "allowed"):
            case.loss_allowed = True
        elif word == "losses":
            case.losses_at_most = int(value)
        else:
            raise ValueError(line)
    return case


def cases_of(path):
    """The ways to run one target. Lines that look like statements but are none are an error."""
    cases = []
    for line in head_comment(path):
        if line.startswith(" * Run:"):
            cases.append(parse_case(path.stem, line))
        elif re.match(r"^ \*\s+size ", line):
            match = LINE.match(line)
            if not match:
                raise ValueError(f"{path.name}: {line}")
            if not cases:
                cases.append(Case(path.stem, []))
            size, count, function, frame, fate, free_frame = match.groups()
            cases[-1].expected.append(
                Expected(int(size), int(count), function, frame, fate, free_frame))
    return cases


def all_cases():
    cases = []
    for path in sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.cpp")]):
        cases += cases_of(path)
    return cases


def has_frame(stack, frame):
    pattern = re.compile(rf"\b{frame}\b")
    return any(pattern.search(row["function"] or "") for row in stack)


def check_expected(expected, rows, loss_allowed=False):
    """rows: allocations as the report has them. Returns what is wrong, empty when nothing is."""
    rows = [row for row in rows if row["size"] == expected.size]
    if expected.size == 0:  # not unique: only this program's
        rows = [row for row in rows if has_frame(row["stack"], expected.frame)]
    wrong = []
    if len(rows) != expected.count and not (loss_allowed and len(rows) < expected.count):
        wrong.append(f"{expected}: {len(rows)} found")
    for what, bad in (
        ("function", [r for r in rows if r["function"] != expected.function]),
        ("frame", [r for r in rows if not has_frame(r["stack"], expected.frame)]),
        ("leaked", [r for r in rows if expected.fate == "leaked" and r["free_ns"] is not None]),
        ("freed", [r for r in rows if expected.fate == "freed" and r["free_ns"] is None
                   and not loss_allowed]),
        ("free frame", [r for r in rows if expected.free_frame and r["free_ns"] is not None
                        and not has_frame(r["free_stack"], expected.free_frame)]),
    ):
        if bad:
            stack = [f["function"] for f in (bad[0]["free_stack" if what == "free frame" else "stack"])]
            wrong.append(f"{expected}: {what} wrong in {len(bad)} of {len(rows)}, "
                         f"e.g. {bad[0]['function']} {stack}")
    return wrong
