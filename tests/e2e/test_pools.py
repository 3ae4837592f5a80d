"""Pools of the program's own: what it says of them is counted as it counts, and the heap's counts know
nothing of it."""

import json
import struct

import pytest

import recording
from serving import serve
from tape_writer import PID, TapeWriter

NAMES = ["requests", "child of a request", "nodes", "strings", "\"kept\"\n"]
COUNTS = ["created_count", "destroyed_count", "cleared_count", "allocated_count", "allocated_bytes", "freed_count", "freed_bytes",
          "emptied_count", "emptied_bytes", "live_count", "live_bytes", "peak_count", "peak_bytes"]
VARIANTS = ["", "-O0", "-fp", "-clang", *(f"-{compiler}{year}" for compiler in ("g++", "clang++") for year in (11, 14, 17, 20))]


def owners(done):
    """What the allocators print of themselves."""
    return {NAMES[int(number)]: dict(zip(COUNTS, counts)) for number, counts in json.loads(done.stdout).items()}


def counted(tape, *options):
    return {pool["name"]: {key: pool[key] for key in COUNTS} for pool in recording.report(tape, "pools", *options)["pools"]}


def sums(blocks):
    return len(blocks), sum(block["size"] for block in blocks)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("pools") / "the.mtape"
    return recording.run_recorded([recording.target("pools")], path, options=["-q"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_pools_are_reported_as_their_owner_counts_them(tape, variant):
    target = recording.target("pools" + variant)
    if not target.exists():
        pytest.skip("not built")
    for _ in range(recording.times(20, 1)):
        done = recording.run_recorded([target], tape, options=["-q", "-f"])
        assert counted(tape) == owners(done)
        assert all(pool["unknown_free_count"] == 0 for pool in recording.report(tape, "pools")["pools"])


@pytest.mark.parametrize("variant", ["", "-O0", "-g++17"])
def test_the_program_does_the_same_without_a_recorder(tape, variant):
    target = recording.target("pools" + variant)
    plain, bare = recording.run_plain([target]), recording.run_bare([target], tape)
    assert (plain.returncode, plain.stderr) == (bare.returncode, bare.stderr) == (0, b"")
    keys = ["requests", "child of a request", "strings", "\"kept\"\n"]  # what threads do depends on the scheduler
    assert [owners(plain)[key] for key in keys] == [owners(bare)[key] for key in keys]
    assert counted(tape) == owners(bare)


def test_objects_have_the_stack_of_who_asked_the_pool(recorded):
    kept = recording.report(recorded.tape, "allocations", "--filter", "pool = requests and size = 5")
    assert len(kept) == 200
    for block in kept:
        functions = [frame["function"] for frame in block["stack"] if not frame["function"].startswith("memtape_pool_")]
        assert functions[:3] == ["arena_alloc", "serve", "main"]
        assert block["pool"] == "requests" and block["function"] == "pool alloc"
    top = recording.report(recorded.tape, "top", "--sort", "allocated", "--filter", "pool = requests")
    assert {site["function"] for site in top["sites"]} == {"arena_alloc"}
    grown = recording.report(recorded.tape, "allocations", "--filter", "pool = strings and chain_length > 1")
    assert {block["function"] for block in grown} == {"pool alloc", "pool realloc"}


def test_a_filter_by_pool_is_about_its_objects_everywhere(recorded, tmp_path):
    tape, counts = recorded.tape, owners(recorded)
    for name, pool in counts.items():
        chosen = "pool ~ '^.kept'" if name == NAMES[4] else f"pool = '{name}'"
        blocks = recording.report(tape, "allocations", "--filter", chosen)
        assert sums(blocks) == (pool["allocated_count"], pool["allocated_bytes"])
        alive = [block for block in blocks if block["free_ns"] is None]
        assert sums(alive) == (pool["live_count"], pool["live_bytes"])
        summary = recording.report(tape, "summary", "--filter", chosen)
        assert summary["allocations"] == {"count": pool["allocated_count"], "bytes": pool["allocated_bytes"]}
        assert summary["leaked"] == {"count": pool["live_count"], "bytes": pool["live_bytes"]}
        top = recording.report(tape, "top", "--sort", "allocated", "--filter", chosen)
        assert sum(site["allocated_bytes"] for site in top["sites"]) == pool["allocated_bytes"]
    groups = recording.report(tape, "groups", "--by", "pool")["groups"]
    assert {group["title"]: group["only_matched"]["allocated_count"] for group in groups} == {
        name: pool["allocated_count"] for name, pool in counts.items()}
    folded = recording.run([recording.memtape(), "export", tape, "--to", "folded", "--metric", "allocated", "--filter", "pool ~ '.'"])
    assert folded.returncode == 0, folded.stderr
    assert sum(int(line.rsplit(b" ", 1)[1]) for line in folded.stdout.splitlines()) == sum(
        pool["allocated_bytes"] for pool in counts.values())
    picture = recording.run([recording.memtape(), "flamegraph", tape, "--metric", "leaked", "--filter", "pool = nodes"])
    assert picture.returncode == 0 and b"node_alloc" in picture.stdout and b"arena_alloc" not in picture.stdout


def test_the_heap_has_none_of_it(recorded):
    blocks = recording.report(recorded.tape, "allocations")
    assert not [block for block in blocks if block["function"].startswith("pool") or "pool" in block]
    arenas = [block for block in blocks if block["size"] == 16 << 10 and block["stack"][0]["function"] == "arena_create"]
    assert len(arenas) == 202 and sum(block["free_ns"] is None for block in arenas) == 1
    summary = recording.report(recorded.tape, "summary")
    assert summary["allocations"] == dict(zip(("count", "bytes"), sums(blocks)))


def test_a_forked_child_knows_its_own_pools(tape):
    done = recording.run_recorded([recording.target("pools"), "fork"], tape, options=["-q", "--follow"])
    assert done.returncode == 0
    child, = [path for path in tape.parent.glob("*.mtape*") if path != tape and path.suffix != ".index"]
    pools = {pool["name"]: pool for pool in recording.report(child, "pools")["pools"]}
    assert set(pools) == {"requests", "(unknown)"}
    assert (pools["requests"]["live_bytes"], pools["(unknown)"]["live_bytes"]) == (77, 48)
    assert counted(tape) == owners(done)


def test_in_a_pause_no_object_is_recorded_but_names_are(tape):
    done = recording.run_recorded([recording.target("pools")], tape, options=["-q", "--disabled"])
    assert done.returncode == 0
    pools = recording.report(tape, "pools")["pools"]
    assert {pool["name"]: (pool["created_count"], pool["allocated_count"], pool["unknown_free_count"]) for pool in pools} == {
        name: (pool["created_count"], 0, 0) for name, pool in owners(done).items()}


def test_in_a_pause_objects_of_before_end_as_blocks_do(tape):
    assert recording.run_recorded([recording.target("pools"), "pause"], tape, options=["-q"]).returncode == 0
    blocks = recording.report(tape, "allocations", "--filter", "pool ~ '.'")
    assert [(block["pool"], block["size"], block["free_function"]) for block in blocks] == [
        ("paused", 100, "pool realloc"), ("paused", 200, "pool free"), ("paused", 300, None), ("cleared", 500, "pool clear"),
        ("paused", 110, None), ("paused", 400, None)]
    assert {name: (pool["allocated_count"], pool["live_bytes"]) for name, pool in counted(tape).items()} == {
        "paused": (5, 810), "cleared": (1, 0)}


def test_frees_have_stacks_where_those_of_the_heap_have(recorded, tape):
    recording.run_recorded([recording.target("pools")], tape, options=["-q", "--no-free-stacks"])
    for path, wanted in ((recorded.tape, True), (tape, False)):
        freed = recording.report(path, "allocations", "--filter", "pool = nodes and not leaked")
        stacks = [[frame["function"] for frame in block["free_stack"] or []] for block in freed]
        assert stacks and all(("node_free" in stack) == wanted for stack in stacks)


def diff_of(*args):
    done = recording.run([recording.memtape(), "diff", *args, "--json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["totals"]


def test_comparisons_and_pictures_are_about_objects(recorded, tape, tmp_path):
    recording.run_recorded([recording.target("pools")], tape, options=["-q"])
    bytes_of = [counts["nodes"]["allocated_bytes"] for counts in (counted(recorded.tape), counted(tape))]
    totals = diff_of(recorded.tape, tape, "--filter", "pool = nodes")
    assert [totals["allocated"][side] for side in "ab"] == bytes_of
    with serve(recorded.tape, tape) as server:
        first, second = (entry["id"] for entry in server.json("info")["tapes"])
        found = server.json("diff", c=first, b=second, q="pool = nodes")["totals"]
        assert [found["allocated"][side] for side in "ab"] == bytes_of
    drawn = []
    for command in (["plot", "--by", "pool"], ["plot", "--kind", "histogram", "--filter", "pool = nodes"],
                    ["heatmap", "--minlat", "1", "--filter", "pool = nodes"]):
        done = recording.run([recording.memtape(), command[0], recorded.tape, *command[1:], "-f", "-o", tmp_path / "the.svg"])
        assert done.returncode == 0, done.stderr
        drawn.append((tmp_path / "the.svg").read_text())
    objects = f"{sum(counts['allocated_count'] for counts in counted(recorded.tape).values()):,} allocations"
    assert all(objects in picture for picture in drawn)
    assert ">nodes" in drawn[0] and "(the heap)" not in drawn[0]


def test_command_and_server_say_the_same(recorded):
    tape, counts = recorded.tape, owners(recorded)
    with serve(tape) as server:
        answer = server.json("pools")
        del answer["gen"], answer["ms"]
        assert answer == server.get("report", name="pools").json() == recording.report(tape, "pools")
        heap, nodes = server.json("summary"), server.json("summary", q="pool = nodes")
        assert nodes["allocations"]["bytes"] == counts["nodes"]["allocated_bytes"]
        assert server.json("summary")["allocations"] == heap["allocations"] != nodes["allocations"]
        rows = server.json("allocs", q="pool = strings")
        assert rows["count"] == counts["strings"]["allocated_count"]
        assert {site["title"] for site in server.json("sites", by="pool")["rows"]} == set(NAMES)
        row = rows["rows"][0]
        assert server.json("alloc", row=row["row"], q="pool = strings")["alloc"] == row
        assert row["pool"] == "strings" and server.json("alloc", row=0)["alloc"]["pool"] is None
        objects = "SELECT pool, count(*), sum(size) FROM allocations WHERE pool = 'nodes' GROUP BY pool"
        answer = server.post("query", {"sql": objects, "pools": True})
        assert answer["rows"] == [["nodes", counts["nodes"]["allocated_count"], counts["nodes"]["allocated_bytes"]]]
        flame = server.json("flame", q="pool = nodes", m="allocated")
        assert flame["total"] == counts["nodes"]["allocated_bytes"]


def test_sql_is_about_objects_where_it_is_told(recorded):
    def ask(sql, *options):
        done = recording.run([recording.memtape(), "sql", recorded.tape, sql, "--json", *options])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    sql = "SELECT pool, count(*) AS n, sum(size) AS bytes, sum(leaked) AS live FROM allocations GROUP BY pool"
    assert {row["pool"]: (row["n"], row["bytes"], row["live"]) for row in ask(sql, "--pools")} == {
        name: (pool["allocated_count"], pool["allocated_bytes"], pool["live_count"]) for name, pool in owners(recorded).items()}
    assert [row["pool"] for row in ask(sql)] == [None]


def test_where_only_the_heap_can_be_chosen_a_pool_is_an_error(recorded, tmp_path):
    done = recording.run([recording.memtape(), "strip", recorded.tape, "-o", tmp_path / "less.mtape", "--filter", "pool = nodes"])
    assert done.returncode != 0 and b"only blocks of the heap" in done.stderr
    assert not recording.report(recorded.tape, "allocations", "--filter", "pool = nobody")


def test_a_tape_made_of_another_keeps_them(recorded, tmp_path):
    packed, secret = tmp_path / "packed.mtape", tmp_path / "secret.mtape"
    for command, out in (("strip", packed), ("anonymise", secret)):
        more = ["--no-space"] if command == "strip" else []
        done = recording.run([recording.memtape(), command, recorded.tape, "-o", out, *more])
        assert done.returncode == 0, done.stderr
    assert counted(packed) == owners(recorded)
    assert sorted(str(sorted(pool.items())) for pool in counted(secret).values()) == sorted(
        str(sorted(pool.items())) for pool in owners(recorded).values())
    assert not set(counted(secret)) & set(NAMES)
    secret_bytes = secret.read_bytes()
    assert not any(name.encode() in secret_bytes for name in NAMES[:4])


CREATE, DESTROY, CLEAR, ALLOC, FREE, REALLOC = range(6)


def say(stream, what, pool, address=0, size=0, old=0, name=b"", node=0):
    length = {CREATE: 16, DESTROY: 16, CLEAR: 16, FREE: 24, ALLOC: 32, REALLOC: 40}[what]
    stream.extended(44, struct.pack("<IIQQQQ", what, node, pool, address, size, old)[:length] + name)


def made(tmp_path, story, milliseconds=1):
    """A tape of two blocks of the heap, with what the story says between them."""
    tape = TapeWriter()
    main, other = tape.stream(1, "main"), tape.stream(2, "other")
    tape.process(main, "/bin/x", "x")
    tape.clock(main)
    node = main.stack(("main", 0x10), ("arena", 0x20))
    main.event(0, 0x10000, 1000, node=node)
    for at, (stream, *words) in enumerate(story):
        tape.at(10 + at * milliseconds)
        if words:
            say((main, other)[stream], *words, node=node if stream == 0 else 0)
    tape.at(10 + len(story))
    main.event(1, 0x10000)
    main.event(0, 0x20000, 500, node=node)
    tape.clock(main)
    path = tmp_path / f"story{len(story)}.mtape"
    tape.write(path)
    assert PID > 0
    return path


A, B, C = 0x7000, 0x8000, 0x9100
STORY = [
    (0, CREATE, A, 0, 0, 0, b"outer"), (0, CREATE, B, 0, 0, 0, b"inner"),
    (0, ALLOC, A, 0x10000, 100),  # the block's own address
    (0, ALLOC, B, 0x10000, 100),  # and in two pools at a time
    (0, ALLOC, B, 0x10010, 50), (0, REALLOC, B, 0x10010, 70, 0x10010), (0, REALLOC, B, 0x10080, 80, 0x10010),
    (1, FREE, B, 0x10000), (1, FREE, B, 0x19999),  # by another thread; and one that was never there
    (0, DESTROY, B), (0, CREATE, B, 0, 0, 0, b"second"),  # at the same address
    (0, ALLOC, B, 0x10000, 7), (0, CLEAR, B), (0, ALLOC, B, 0x10000, 8),
    (0, ALLOC, B, 0x10000, 9),  # its free was not said
    (0, CREATE, B, 0, 0, 0, b"outer"), (0, ALLOC, 0x9000, 0x10000, 3), (0, ALLOC, B, 0, 5),
    (0, CREATE, C, 0, 0, 0, b"again"), (0, ALLOC, C, 0x30000, 5), (0, FREE, C, 0x30000), (0, ALLOC, C, 0x30000, 5),
]


def test_addresses_are_those_of_their_pool(tmp_path):
    tape = made(tmp_path, STORY)
    names = ["created_count", "destroyed_count", "allocated_bytes", "freed_bytes", "emptied_bytes", "live_bytes", "peak_bytes"]
    pools = {pool["name"]: [pool[name] for name in names] for pool in recording.report(tape, "pools")["pools"]}
    assert pools == {
        "outer": [2, 0, 100, 0, 0, 100, 100],
        "inner": [1, 1, 300, 220, 80, 0, 180],
        "second": [1, 1, 24, 8, 16, 0, 9],
        "(unknown)": [0, 0, 3, 0, 0, 3, 3],
        "again": [1, 0, 10, 5, 0, 5, 5],
    }
    peaks = {pool["name"]: (pool["peak_count"], pool["peak_ns"]) for pool in recording.report(tape, "pools")["pools"]}
    assert peaks == {name: (count, (10 + at) * 10**6) for name, count, at in (
        ("outer", 1, 2), ("inner", 2, 6), ("second", 1, 14), ("(unknown)", 1, 16), ("again", 1, 19))}
    unknown = {pool["name"]: pool["unknown_free_count"] for pool in recording.report(tape, "pools")["pools"]}
    assert unknown == {"outer": 0, "inner": 1, "second": 0, "(unknown)": 0, "again": 0}
    blocks = recording.report(tape, "allocations", "--filter", "pool ~ '.' and address = 0x10000")
    assert [(block["pool"], block["size"], block["free_function"]) for block in blocks] == [
        ("outer", 100, None), ("inner", 100, "pool free"), ("second", 7, "pool clear"), ("second", 8, None),
        ("second", 9, "pool destroy"), ("(unknown)", 3, None)]
    lost = recording.report(tape, "allocations", "--filter", "pool ~ '.' and lost_free")
    assert [block["size"] for block in lost] == [8]


def test_a_free_may_be_timed_before_its_object(tmp_path):
    """The thread that allocates says so after it has the object: another one may have freed it by then."""
    tape = made(tmp_path, [(0, CREATE, A, 0, 0, 0, b"one"), (1, FREE, A, 0x10000), (0, ALLOC, A, 0x10000, 9)], 0.001)
    pool = counted(tape)["one"]
    assert (pool["allocated_bytes"], pool["freed_bytes"], pool["live_count"], pool["peak_bytes"]) == (9, 9, 0, 0)


def test_a_pool_with_many_objects_gone_frees_those_that_are_left(tmp_path):
    gone = [(0, ALLOC, A, 0x10000, 1), (0, FREE, A, 0x10000)] * 100
    tape = made(tmp_path, [(0, CREATE, A, 0, 0, 0, b"one"), *gone, (0, ALLOC, A, 0x20000, 9), *gone, (0, DESTROY, A)])
    pool = counted(tape)["one"]
    assert (pool["freed_bytes"], pool["emptied_bytes"], pool["live_count"]) == (200, 9, 0)


def test_no_number_of_the_heap_changes(tmp_path):
    with_pools, without = made(tmp_path, STORY), made(tmp_path, [(0,)] * (len(STORY) + 0))
    for name in ("summary", "top", "leaks", "timeline", "threads", "sizes", "lifetimes", "groups", "allocations", "findings"):
        assert recording.report(with_pools, name) == recording.report(without, name) or name == "summary"
    left, right = (recording.report(tape, "summary") for tape in (with_pools, without))
    assert {key: value for key, value in left.items() if key != "tape_bytes"} == {
        key: value for key, value in right.items() if key != "tape_bytes"}


@pytest.mark.parametrize("payload", [b"", b"\1", struct.pack("<IIQ", 9, 0, 1), struct.pack("<IIQQ", ALLOC, 0, 1, 2),
                                     struct.pack("<IIQQQQ", REALLOC, 99, 1, 1 << 63, 1 << 63, 5)])
def test_records_that_say_nothing_valid_are_skipped(tmp_path, payload):
    tape = TapeWriter()
    main = tape.stream(1, "main")
    tape.process(main, "/bin/x", "x")
    main.extended(44, payload)
    say(main, CREATE, 1, name=b"one")
    say(main, ALLOC, 1, 0x1000, 12)
    path = tmp_path / "odd.mtape"
    tape.write(path)
    assert recording.report(path, "summary")["allocations"]["count"] == 0
    assert {pool["name"]: pool["live_bytes"] for pool in recording.report(path, "pools")["pools"]}["one"] == 12
