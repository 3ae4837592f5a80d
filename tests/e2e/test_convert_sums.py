"""Profiles that are sums, or a curve: real ones by the tools themselves, and what those say of them.

The program is always `sites`, whose head says what it allocates.
"""

import re
import shutil
import subprocess

import pytest

import recording
from exporting import export

LIVE_BYTES = 30 * 3001 + 6 * 5004 + 50 * 17
LIVE_COUNT = 86
ALL_BYTES = LIVE_BYTES + 200 * 3002 + 4 * 70003
ALL_COUNT = 290
PEAK_BYTES = 30 * 3001 + 4 * 70003
HELD = {"hold": 30 * 3001, "hold_more": 6 * 5004, "small": 50 * 17}
CHAINS = {f"main;{name};take": size for name, size in HELD.items()}


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


def needs_library(name):
    return pytest.mark.skipif(not library(name), reason=f"{name} is not installed")


def library(name):
    done = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
    found = re.search(rf"\b{re.escape(name)} .*=> (\S+)", done.stdout)
    return found and found.group(1)


def convert(source, out, *options, code=(0,)):
    """What is said: on one way when it went well, on the other when not."""
    done = recording.run([recording.memtape(), "convert", source, "-o", out, "--force", *options])
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode in code and said, (done.returncode, said)
    return said


def sums(tape):
    summary = recording.report(tape, "summary", "--no-suppressions")
    return {f"{name}_{unit}": summary[key][unit] for name, key in (
        ("allocated", "allocations"), ("peak", "peak"), ("leaked", "leaked"),
        ("temporary", "temporary")) for unit in ("count", "bytes")}


def folded(tape, tmp_path, *options):
    """{"main;take": bytes} as memtape exports it."""
    lines = export(tape, "folded", tmp_path / "x.folded", *options).read_text().splitlines()
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def of_program(chains):
    """What is below main, from main on; pprof's names end in "<address>" or "[inline]"."""
    found = {}
    for chain, size in chains.items():
        names = [re.sub(r"<[0-9a-f]{16}>$", "", name) for name in chain.split(";")
                 if not name.endswith("[inline]")]
        if "main" in names and size:
            chain = ";".join(names[names.index("main"):])
            found[chain] = found.get(chain, 0) + size
    return found


def missing(tape):
    done = recording.run([recording.memtape(), "info", tape])
    text = done.stdout.decode()
    part = text.split("\nImport\n")[1].split("\nLosses\n")[0]
    return set(part.split("Missing\n")[1].split("\n\n")[0].split()), part


# --- massif --------------------------------------------------------------------------------------


def massif(tmp_path, *options):
    path = tmp_path / "massif.out"
    done = recording.run(["valgrind", "--tool=massif", f"--massif-out-file={path}", *options,
                          recording.target("sites")])
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return path


def massif_snapshots(path):
    """[(time, heap, kind, {chain of functions, outermost first: bytes})], read anew here."""
    snapshots = []
    for text in path.read_text().split("snapshot=")[1:]:
        values = dict(re.findall(r"^(\w+)=(\w+)$", text, re.M))
        chain, chains = [], {}
        for blanks, children, size, what in re.findall(r"^( *)n(\d+): (\d+) (.*)$", text, re.M):
            name = re.match(r"0x[0-9A-F]+: (.*?)(?: \(|$)", what)
            rest = "[below massif's threshold]"
            del chain[max(len(blanks) - 1, 0):]
            chain += [name.group(1) if name else rest] if blanks else []
            if children == "0" and int(size):
                key = ";".join(reversed(chain))
                chains[key] = chains.get(key, 0) + int(size)
        snapshots.append((int(values["time"]), int(values["mem_heap_B"]), values["heap_tree"],
                          chains))
    return snapshots


@needs("valgrind")
def test_massif_has_the_same_course_and_the_same_trees(tape, tmp_path):
    path = massif(tmp_path, "--detailed-freq=1", "--time-unit=i")
    said = convert(path, tape)
    snapshots = massif_snapshots(path)
    top = max(snapshots, key=lambda snapshot: snapshot[1])
    assert sums(tape)["peak_bytes"] == top[1] == PEAK_BYTES
    assert sums(tape)["leaked_bytes"] == snapshots[-1][1]
    assert folded(tape, tmp_path) == of_program(top[3])
    for (time, heap, kind, chains), following in list(zip(snapshots, snapshots[1:]))[1::7]:
        shown = folded(tape, tmp_path, "--at", f"{following[0] - 1}ns")
        assert kind != "empty" and sum(shown.values()) == heap
        assert of_program(shown) == of_program(chains), time
    assert "times are instructions" in said
    gone, text = missing(tape)
    assert {"times", "threads", "addresses", "counts", "freed"} <= gone
    assert "massif" in text


@needs("valgrind")
@needs("ms_print")
def test_massif_shows_what_ms_print_shows(tape, tmp_path):
    path = massif(tmp_path)
    convert(path, tape)
    printed = recording.run(["ms_print", path]).stdout.decode()
    rows = re.findall(r"^ +\d+ +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", printed, re.M)
    heaps = [int(row[2].replace(",", "")) for row in rows]
    assert len(heaps) > 20
    assert sums(tape)["peak_bytes"] == max(heaps) == PEAK_BYTES
    assert sums(tape)["leaked_bytes"] == heaps[-1]
    # the peak has a tree, and what is higher by less than a percent is taken to be like it
    assert set(folded(tape, tmp_path)) <= {"main;burst;take", "main;hold;take"}


@needs("valgrind")
def test_massif_says_what_is_below_its_threshold_and_where_stacks_are_cut(tape, tmp_path):
    path = massif(tmp_path, "--detailed-freq=1", "--threshold=40")
    convert(path, tape)
    shown = folded(tape, tmp_path)
    assert shown["main;burst;take"] == 4 * 70003
    assert sum(size for name, size in shown.items() if "below massif's threshold" in name) \
        == 30 * 3001
    convert(massif(tmp_path, "--detailed-freq=1", "--depth=2"), tape)
    chains = export(tape, "folded", tmp_path / "x", "--frames=all").read_text().splitlines()
    assert {line.rsplit(" ", 1)[0].split(";")[-2:] == ["burst", "take"] for line in chains} \
        == {True, False}
    summary = recording.report(tape, "summary")
    assert summary["quality"]["truncated_stacks"] > 0


@needs("valgrind")
def test_massif_of_pages_and_with_stacks_says_so(tape, tmp_path):
    assert "of mappings" in convert(massif(tmp_path, "--pages-as-heap=yes"), tape)
    said = convert(massif(tmp_path, "--stacks=yes", "--time-unit=ms"), tape)
    assert re.search(r"stacks \(mem_stacks_B, at most \d+\) are not on the tape", said)
    assert "times" not in missing(tape)[0]
    assert "bytes allocated" in convert(massif(tmp_path, "--time-unit=B"), tape)


@needs("valgrind")
def test_execution_trees_have_all_sums(tape, tmp_path):
    path = tmp_path / "x.ms"
    for how, allocated, count in (("full", ALL_BYTES, ALL_COUNT), ("allocs", LIVE_BYTES, LIVE_COUNT)):
        recording.run(["valgrind", f"--xtree-memory={how}", f"--xtree-memory-file={path}",
                       recording.target("sites")])
        said = convert(path, tape)
        shown = sums(tape)
        assert (shown["allocated_bytes"], shown["allocated_count"]) == (allocated, count)
        assert (shown["leaked_bytes"], shown["leaked_count"]) == (LIVE_BYTES, LIVE_COUNT)
        assert shown["temporary_count"] == 0  # nobody knows
        assert folded(tape, tmp_path, "--metric", "leaked") == CHAINS
        assert ("--xtree-memory=full" in said) == (how == "allocs")


# --- gperftools ----------------------------------------------------------------------------------


def gperftools(tmp_path):
    recording.run([recording.target("sites")], env=recording.clean_env(
        HEAPPROFILE=str(tmp_path / "heap"), LD_PRELOAD=library("libtcmalloc.so.4")))
    return tmp_path / "heap.0001.heap"


def pprof(program, profile, *options):
    done = recording.run([program, "--collapsed", *options, recording.target("sites"), profile])
    lines = done.stdout.decode().splitlines()
    return of_program({str(i) + ";" + line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1])
                       for i, line in enumerate(lines)})


@needs_library("libtcmalloc.so.4")
def test_gperftools_has_every_row(tape, tmp_path):
    path = gperftools(tmp_path)
    convert(path, tape)
    shown = sums(tape)
    assert shown == {"allocated_bytes": ALL_BYTES, "allocated_count": ALL_COUNT,
                     "leaked_bytes": LIVE_BYTES, "leaked_count": LIVE_COUNT,
                     "peak_bytes": LIVE_BYTES, "peak_count": LIVE_COUNT,
                     "temporary_bytes": 0, "temporary_count": 0}
    assert folded(tape, tmp_path) == CHAINS
    if shutil.which("google-pprof"):
        assert folded(tape, tmp_path, "--metric", "leaked") == pprof("google-pprof", path)
        assert folded(tape, tmp_path, "--metric", "allocated") \
            == pprof("google-pprof", path, "--alloc_space")
    text = recording.run([recording.memtape(), "report", tape]).stdout.decode()
    assert "times are not known" in text and "a second" not in text and " after " not in text
    assert "temporary" not in text.lower()
    text = recording.run([recording.memtape(), "report", tape, "lifetimes"]).stdout.decode()
    assert "How long blocks lived is not known" in text and "never freed" not in text
    gone, _ = missing(tape)
    assert {"times", "threads", "sizes", "lifetimes"} <= gone and "sampled" not in str(gone)


SAMPLED = """heap profile:      5:     5035 [    15:    10095] @ {kind}
     5:     5035 [    10:    10045] @ 0x4011b7 0x401202
     0:        0 [     5:       50] @ 0x4011de 0x40121c

MAPPED_LIBRARIES:
00400000-00405000 r-xp 00000000 fe:00 123 /tmp/not/there
"""


@pytest.mark.parametrize("kind, live, allocated", [
    ("heapprofile", (5035, 5), (10095, 15)),
    # 1 / (1 - e^(-1007 / 524288)), and so on: google-pprof says 2 623 958
    ("heap_v2/524288", (2623958, 2606), (2623958 * 2 - 6068 + 5243077, 0)),
    ("heap_v2/1", (5035, 5), (10095, 15)),
    ("heap/2048", (5120, 5), (10240 + 1024 * 5, 0)),
    ("growth", (5035, 5), (10095, 15)),
])
def test_samples_of_gperftools_are_scaled_as_pprof_does_it(kind, live, allocated, tape, tmp_path):
    path = tmp_path / "x.heap"
    path.write_text(SAMPLED.format(kind=kind))
    convert(path, tape)
    shown = sums(tape)
    assert shown["leaked_bytes"] == pytest.approx(live[0], rel=1e-3)
    assert shown["leaked_count"] == pytest.approx(live[1], rel=1e-3)
    if allocated[1]:
        assert (shown["allocated_bytes"], shown["allocated_count"]) == allocated
    assert ("all_but_a_sample" in missing(tape)[0]) == (kind in ("heap_v2/524288", "heap/2048"))
    if shutil.which("google-pprof") and kind != "heap/2048":  # there it divides by 0 blocks
        done = recording.run(["google-pprof", "--collapsed", recording.memtape(), path])
        total = sum(float(line.split()[-1]) for line in done.stdout.decode().splitlines())
        assert shown["leaked_bytes"] == pytest.approx(total, abs=2)


@needs_library("libtcmalloc.so.4")
def test_names_that_a_profile_brings_are_used(tape, tmp_path):
    lines = gperftools(tmp_path).read_text()
    pcs = sorted(set(re.findall(r"0x([0-9a-f]+)", lines.split("MAPPED")[0])))
    names = "".join(f"0x{int(pc, 16) - 1:016x} named_{i}<{int(pc, 16) - 9:016x}>\n"
                    for i, pc in enumerate(pcs))
    path = tmp_path / "portable"
    path.write_text("--- symbol\nbinary=/usr/bin/elsewhere\n" + names + "---\n--- heap\n" + lines)
    convert(path, tape)
    shown = export(tape, "folded", tmp_path / "x", "--frames=all").read_text()
    assert set(re.findall(r"[^;\n]+(?=;| \d)", shown)) <= {f"named_{i}" for i in range(len(pcs))}
    assert sums(tape)["leaked_bytes"] == LIVE_BYTES


# --- jemalloc ------------------------------------------------------------------------------------


def jemalloc(tmp_path, options, program="sites", *arguments):
    for old in tmp_path.glob("je.*.heap"):
        old.unlink()
    recording.run([recording.target(program), *arguments], env=recording.clean_env(
        LD_PRELOAD=library("libjemalloc.so.2"),
        MALLOC_CONF=f"prof:true,prof_final:true,prof_prefix:{tmp_path}/je,{options}"))
    found = list(tmp_path.glob("je.*.heap"))
    if not found:
        pytest.skip("jemalloc was built without its profiler")
    return found[0]


@needs_library("libjemalloc.so.2")
def test_jemalloc_has_every_stack(tape, tmp_path):
    path = jemalloc(tmp_path, "lg_prof_sample:0,prof_accum:true")
    convert(path, tape)
    size_classes = {"main;hold;take": 30 * 3072, "main;hold_more;take": 6 * 5120,
                    "main;small;take": 50 * 32}
    shown = of_program(folded(tape, tmp_path))
    assert shown == size_classes
    assert of_program(folded(tape, tmp_path, "--metric", "allocated")) == {
        **size_classes, "main;pass;take": 200 * 3072, "main;burst;take": 4 * 81920}
    if shutil.which("jeprof"):
        assert shown == pprof("jeprof", path)
    header = re.search(r"t\*: (\d+): (\d+) \[(\d+): (\d+)\]", path.read_text())
    assert [sums(tape)[key] for key in ("leaked_count", "leaked_bytes", "allocated_count",
                                        "allocated_bytes")] == [int(x) for x in header.groups()]
    said = convert(jemalloc(tmp_path, "lg_prof_sample:0"), tape)
    assert "prof_accum:true" in said and "freed" in missing(tape)[0]


@needs_library("libjemalloc.so.2")
@needs("jeprof")
def test_samples_of_jemalloc_add_up_to_what_jeprof_says(tape, tmp_path):
    path = jemalloc(tmp_path, "lg_prof_sample:12")
    convert(path, tape)
    assert "all_but_a_sample" in missing(tape)[0]
    done = recording.run(["jeprof", "--collapsed", recording.target("sites"), path])
    total = sum(float(line.split()[-1]) for line in done.stdout.decode().splitlines())
    assert sums(tape)["leaked_bytes"] == pytest.approx(total, abs=20)


THREADS = """heap_v2/1
  t*: 5: 500 [5: 500]
  t0: 3: 300 [3: 300] main one
  t7: 2: 200 [2: 200]
@ 0x4011b7 0x401202
  t*: 5: 500 [5: 500]
  t0: 3: 300 [3: 300]
  t7: 2: 200 [2: 200]

MAPPED_LIBRARIES:
00400000-00405000 r-xp 00000000 fe:00 123 /tmp/not/there
"""


def test_threads_of_jemalloc_have_their_part(tape, tmp_path):
    path = tmp_path / "x.heap"
    path.write_text(THREADS)
    convert(path, tape)
    rows = recording.report(tape, "threads")["threads"]
    assert {row["name"]: row["leaked_bytes"] for row in rows if row["name"]} \
        == {"main one": 300, "t7": 200}
    assert "threads" not in missing(tape)[0]


def test_massif_as_memtape_exports_it_has_the_same_course(tape, tmp_path):
    recording.run_bare([recording.target("sites")], tape)
    path = export(tape, "massif", tmp_path / "x.massif")
    convert(path, tmp_path / "y.mtape")
    before, after = sums(tape), sums(tmp_path / "y.mtape")
    for key in ("peak_bytes", "leaked_bytes"):
        assert before[key] == after[key], key
    assert folded(tmp_path / "y.mtape", tmp_path) == folded(tape, tmp_path)
    assert massif_snapshots(path)[-1][1] == LIVE_BYTES


# --- memusage ------------------------------------------------------------------------------------


@needs("memusage")
def test_memusage_has_the_numbers_of_its_own_summary(tape, tmp_path):
    path = tmp_path / "x.dat"
    done = recording.run(["memusage", "-n", "sites", "-d", path, recording.target("sites")])
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stderr.decode())
    total, peak = re.search(r"heap total: (\d+), heap peak: (\d+)", text).groups()
    calls = re.search(r"malloc\| +(\d+)", text).group(1)
    convert(path, tape)
    shown = sums(tape)
    assert shown["allocated_bytes"] == int(total) == ALL_BYTES
    assert shown["allocated_count"] == int(calls) == ALL_COUNT
    assert shown["peak_bytes"] == int(peak) == PEAK_BYTES
    assert (shown["leaked_bytes"], shown["leaked_count"]) == (LIVE_BYTES, LIVE_COUNT)
    sizes = {(row["size"], row["free_ns"] is None) for row in recording.rows(tape)}
    assert sizes == {(3001, True), (3002, False), (70003, False), (5004, True), (17, True)}
    assert {"stacks", "times"} <= missing(tape)[0]


def test_memusage_as_memtape_exports_it_has_the_same_course(tape, tmp_path):
    recording.run_bare([recording.target("sites")], tape)
    convert(export(tape, "memusage", tmp_path / "x.dat"), tmp_path / "y.mtape")
    before, after = sums(tape), sums(tmp_path / "y.mtape")
    assert {key: before[key] for key in before if "temporary" not in key} \
        == {key: after[key] for key in after if "temporary" not in key}


# --- folded --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["peak", "leaked", "allocated"])
@pytest.mark.parametrize("name", ["sites", "operators", "threads"])
def test_folded_stacks_come_out_as_they_went_in(name, metric, tape, tmp_path):
    recording.run_bare([recording.target(name)], tape)
    first = export(tape, "folded", tmp_path / "a.folded", "--metric", metric, "--no-suppressions")
    said = convert(first, tmp_path / "b.mtape")
    second = export(tmp_path / "b.mtape", "folded", tmp_path / "b.folded", "--metric", "leaked",
                    "--no-suppressions")
    assert sorted(second.read_text().splitlines()) == sorted(first.read_text().splitlines())
    assert "read as live bytes" in said


def test_folded_stacks_of_others(tape, tmp_path):
    path = tmp_path / "x.folded"
    path.write_bytes(b"# a comment\nmain;operator new(unsigned long) 100\r\nmain;;a b c\t7\n"
                     b"main;a b c 1.6\nno number\nmain;zero 0\nlast;line 12")
    said = convert(path, tape, "--from", "folded")
    assert folded(tape, tmp_path, "--frames=all") == {
        "main;operator new(unsigned long)": 100, "main;a b c": 9, "last;line": 12}
    assert "1 lines do not end in a number and are skipped, the first is line 5" in said


# --- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, content, message", [
    ("folded", b"a;b 1 2\na;c 3 4\n", "memtape diff"),
    ("folded", b"a;b\nc\n", "no line is a stack and a number"),
    ("folded", b"", "no line is a stack and a number"),
    ("gperftools", b"heap profile: 5: 5035\n", "line 1: not the header of a heap profile"),
    ("gperftools", b"heap profile: 1: 1 [1: 1] @ cpuprofile\n", 'the kind "cpuprofile"'),
    ("gperftools", b"heap profile: 1: 1 [1: 1] @ heapprofile\n", "no rows"),
    ("gperftools", b"--- symbol\nbinary=/x\n", "ends before the profile's header"),
    ("jemalloc", b"heap_v2/0\n", "line 1: not the header of a heap profile of jemalloc"),
    ("jemalloc", b"heap_v2/99999999999999999999\n", "line 1: not the header"),
    ("jemalloc", b"", "empty"),
    ("massif", b"desc: x\ncmd: y\ntime_unit: h\n", 'line 3: times are in "h": known are i, ms and B'),
    ("massif", b"desc: x\nkmd: y\n", 'line 2: the second line of a massif file is "cmd: ..."'),
    ("massif", b"desc: x\ncmd: y\ntime_unit: i\n", "has no snapshot"),
    ("xtree", b"desc: xtree\ncmd: y\ntime_unit: ms\n", "record it anew with --xtree-memory=full"),
    ("memusage", b"\0" * 40, "too short"),
])
def test_what_is_no_profile_is_told_with_its_place(kind, content, message, tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(content)
    said = convert(path, tape, "--from", kind, code=(1,))
    assert message in said and not tape.exists()


MASSIF = b"""desc: (none)
cmd: ./x
time_unit: i
#-----------
snapshot=0
#-----------
time=1
mem_heap_B=100
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=detailed
n1: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: 100 0x4011B6: f(int) (in /usr/lib/x (1).so)
"""


@pytest.mark.parametrize("kind, content, message, live", [
    ("massif", MASSIF + b"#---\nsnapshot=1\n#---\ntime=x\n", "line 17", 100),
    ("massif", MASSIF + MASSIF[MASSIF.index(b"#"):-3], "within the tree", 100),
    ("massif", MASSIF + b"hello\n", 'line 14', 100),
    ("gperftools", SAMPLED.format(kind="heapprofile").encode()[:-120], "rows are lost", 5035),
    ("gperftools", SAMPLED.format(kind="heapprofile").encode()[:140], "rows are lost", 5035),
    ("gperftools", SAMPLED.format(kind="heapprofile").replace("     0:", "     6:").encode(),
     "the first is line 3", 5035),
    ("jemalloc", THREADS.encode()[:130], "ends before its list of mapped libraries", 500),
    ("jemalloc", THREADS.replace("0x401202", "401202").encode(), "the first is line 5", 500),
])
def test_what_is_whole_of_a_damaged_file_is_kept(kind, content, message, live, tape, tmp_path):
    path = tmp_path / "x"
    path.write_bytes(content)
    assert message in convert(path, tape, "--from", kind, code=(0, 1))
    assert sums(tape)["leaked_bytes"] == live


def test_a_file_that_is_cut_anywhere_leads_to_a_tape_or_a_message(tape, tmp_path):
    for kind, content in (("massif", MASSIF * 2), ("jemalloc", THREADS.encode()),
                          ("gperftools", SAMPLED.format(kind="heapprofile").encode()),
                          ("folded", b"main;a 12\nmain;b 13\n")):
        for cut in range(0, len(content), 41):
            path = tmp_path / "x"
            path.write_bytes(content[:cut])
            tape.unlink(missing_ok=True)
            convert(path, tape, "--from", kind, code=(0, 1))
            assert not tape.exists() or recording.run(
                [recording.memtape(), "verify", tape]).returncode == 0, (kind, cut)
