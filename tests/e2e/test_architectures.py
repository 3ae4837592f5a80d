"""Programs of other processors, run by qemu-user: recorded as here, and the tapes are read here. Their stacks
are those that libgcc finds there, and those of a walk without a memory."""

import pathlib
import signal

import pytest

import crossed
import recording
import targets
from tape_reader import NONE, Tape
from test_stacks import compare

# On the first processor all, on each other those in which processors differ.
CASES = [
    ("frames", ""), ("frames", "-O0"), ("frames", "-fp"), ("hooks", ""), ("mappings", ""), ("operators", ""),
    ("newhandler", ""), ("nothrow", ""), ("nothrow", "-fp"), ("exceptions deep", ""), ("threads thousand", ""),
    ("thread_ends", ""), ("signals thread", ""), ("churn dlopen", ""), ("endings raw_exit", ""),
    ("processes fork_threads", ""), ("processes clone", ""), ("jit kept", ""),
    *recording.times([("jumps", ""), ("jumps", "-fp"), ("coroutines", ""), ("exceptions threads", ""), ("threads eight", ""),
                      ("signals altstack", ""), ("signals thread", "-fp"), ("signals thread", "-O0"), ("deep saw", "")], [("jumps", "")]),
]
SOME = [
    ("frames", ""), ("frames", "-O0"), ("frames", "-fp"), ("hooks", ""), ("nothrow", ""), ("exceptions deep", ""),
    ("signals thread", ""), ("churn dlopen", ""), ("endings raw_exit", ""), ("processes clone", ""), ("jit kept", ""),
    *recording.times([("mappings", ""), ("operators", ""), ("newhandler", ""), ("nothrow", "-fp"), ("threads thousand", ""),
                      ("processes fork_threads", ""), ("jumps", ""), ("jumps", "-fp"), ("coroutines", ""),
                      ("exceptions threads", ""), ("threads eight", ""), ("signals altstack", ""),
                      ("signals thread", "-fp"), ("signals thread", "-O0"), ("deep saw", "")], [("jumps", "")]),
]
CLOCKS = {"aarch64": "cntvct", "arm": "monotonic", "i386": "tsc", "riscv64": "time", "mips64el": "monotonic", "mips64": "monotonic"}
# There the C library has tables for some of its functions only: at one without, libgcc ends a stack.
FEW_TABLES = {"riscv64", "mips64el", "mips64", "musl"}
ENDS_BEFORE = {"arm"}  # libgcc leaves out the outermost frame there, and what is outside of functions that throw nothing
NO_RECORDS = {"arm", "mips64el", "mips64"}
ANY_PLACE = {"arm", "riscv64", "i386", "musl"}  # of instructions
POINTER_BYTES = {"arm": 4, "i386": 4}  # 8 elsewhere
# reallocarray calls realloc by its name there, and does not jump to it.
NOT = {(name, "hooks", "") for name in ("mips64el", "mips64", "i386")} | {("arm", "jit kept", "")}  # no __register_frame there
# glibc has no tables of where a coroutine ends there.
NO_END = {("i386", "coroutines")}
ARM_CODE = [("frames", "-marm"), ("frames", "-marm-O0"), ("frames", "-marm-fp"), ("nothrow", "-marm-fp"), ("exceptions deep", "-marm-O0"),
            ("signals thread", "-marm"), ("hooks", "-bare"), ("nothrow", "-bare-marm"), ("thread_ends", "-bare"),
            *recording.times([("deep saw", "-marm-O0"), ("threads eight", "-marm-O0"), ("coroutines", "-marm"), ("jumps", "-marm-fp"),
                              ("signals altstack", "-marm-O0"), ("signals thread", "-marm-O0"), ("thread_ends", "-marm")], [])]
CHOSEN = [(name, *case) for name in crossed.names()
          for case in (CASES if name == "aarch64" else SOME + ARM_CODE if name == "arm" else SOME) if (name, *case) not in NOT]
every_machine = pytest.mark.parametrize("machine", crossed.names(), indirect=True)
aarch64_only = pytest.mark.parametrize("machine", [name for name in crossed.names() if name == "aarch64"], indirect=True)
arm_only = pytest.mark.parametrize("machine", [name for name in crossed.names() if name == "arm"], indirect=True)
# Code whose return addresses are signed, by either key, and which marks where it may be jumped to.
SIGNED = [("frames", "standard"), ("hooks", "standard"), ("thread_ends", "pac-ret+leaf+b-key"),
          ("nothrow", "pac-ret+b-key")]


@pytest.fixture(scope="module")
def machine(request, tmp_path_factory):
    found = crossed.Machine(request.param, tmp_path_factory.mktemp(request.param))
    found.need()
    return found


def stacks_of(read):
    """(all, those that reach the outermost frame)"""
    stacks = [read.stack(event.stream, event.node)[1] for event in read.events if event.node != NONE]
    return len(stacks), sum(stacks)


def check_stacks(machine, args, tmp_path, selfchecks=20, **more):
    tape, side_file = tmp_path / "the.mtape", tmp_path / "oracle"
    outcome = machine.record(args, tape, preload_after=[machine.oracle()], env={
        "ORACLE_OUTPUT": side_file, "ORACLE_UNWINDER": "libgcc", "MEMTAPE_SELFCHECK": 1}, **more)
    read = Tape(tape)
    compared, differing, unseen = compare(
        tape, side_file, may_be_longer=machine.name in FEW_TABLES | ENDS_BEFORE, code_bytes=1 if machine.name in ANY_PLACE else 4,
        order=">" if machine.name == "mips64" else "<")
    # Tables of ARM say nothing of where a function begins and ends, which is where a signal may have come.
    few = compared // 1000 if machine.name == "arm" and "signals" in str(args[0]) else 0
    assert len(differing) <= few, f"{len(differing)} of {compared}:\n" + "\n".join(differing[:3])
    assert unseen == 0 and compared >= 20
    checked, disagreements = read.selfcheck()
    assert checked >= selfchecks and disagreements == 0
    total, complete = stacks_of(read)
    if (machine.name, pathlib.Path(args[0]).name) in NO_END:
        return outcome, read
    # One, of something that the C library does before main(), where few of its functions have tables.
    assert total - complete <= max(machine.name in FEW_TABLES, total // 1000), f"{total - complete} of {total} are cut short"
    return outcome, read


def case_of(words):
    name, *args = words.split()
    return next((case for case in targets.all_cases() if case.id == words), targets.Case(name, args))


@pytest.mark.parametrize("machine,words,variant", CHOSEN, ids=str, indirect=["machine"])
def test_stacks_are_those_of_libgcc(words, variant, machine, tmp_path):
    case = case_of(words)
    if case.name == "churn":
        machine.module("churn_one.c", "churn_one.so")
        machine.module("churn_two.c", "churn_two.so")
    program = machine.target(case.name, variant)
    # Where ARM code keeps frame pointers, rules do not know them, and stacks are not kept.
    outcome, read = check_stacks(machine, [program, *case.args], tmp_path, 0 if variant.startswith("-marm-") else 20)
    assert (outcome.returncode, outcome.stderr) == (case.returncode, b"")
    assert not read.damage and not read.fault and read.lost_events() == 0
    rows = read.allocations()
    wrong = [text for expected in case.expected for text in targets.check_expected(expected, rows)]
    assert not wrong, "\n".join(wrong)


@aarch64_only
@pytest.mark.parametrize("words,protection", SIGNED, ids=str)
def test_stacks_of_signed_return_addresses(words, protection, machine, tmp_path):
    case = case_of(words)
    source = next(path.name for path in crossed.TARGETS.glob(f"{case.name}.c*"))
    program = machine.compile(source, f"{case.name}-{protection}", f"-mbranch-protection={protection}")
    outcome, _ = check_stacks(machine, [program, *case.args], tmp_path, by=["-cpu", "max"])
    assert (outcome.returncode, outcome.stderr) == (case.returncode, b"")


@every_machine
def test_code_without_tables_is_walked_by_frame_records(machine, tape):
    """Below it, where its caller keeps frame pointers or a frame pointer says where a frame ends; where not, the
    stack is cut, not wrong."""
    if machine.name in NO_RECORDS:
        pytest.skip("a frame pointer leads nowhere there")
    for variant, complete in (("-fp", True), ("", machine.name != "aarch64")):
        done = machine.record([machine.target("jit", variant), "framed"], tape, env={"MEMTAPE_SELFCHECK": 1})
        assert done.answer() == (0, b"jit 200\n", b"")
        read = Tape(tape)
        rows = [event for event in read.events if event.size == 3003]
        stacks = [read.stack(event.stream, event.node) for event in rows]
        names = {tuple(read.frame(pc, event.ticks)["function"] for pc in pcs[:4])
                 for event, (pcs, _) in zip(rows, stacks)}
        assert len(rows) == 200 and {whole for _, whole in stacks} == {complete}
        assert names == {("from_framed", None, None, "run_framed")} if complete else {("from_framed", None, None)}
        assert read.selfcheck()[1] == 0
        tape.unlink()


ENTERED = r"""
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
static volatile sig_atomic_t handled, count;
static void handler(int number) { handled++; free(malloc(2702)); }
__attribute__((noipa)) void inner(void) { count++; }
__attribute__((noipa)) void outer(void) { inner(); inner(); count++; }
static void (*volatile call)(void) = outer; /* jumps to what is only known then end what the emulator runs at once */
int main(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 300)
		call();
	setitimer(ITIMER_REAL, &never, NULL);
}"""


@arm_only
def test_a_function_has_no_frame_yet_when_a_signal_comes_before_its_first_instruction(machine, tape, tmp_path):
    """The emulator's signals come between blocks of code, so often there."""
    (tmp_path / "entered.c").write_text(ENTERED)
    for mode in ("-marm", "-mthumb"):
        program = machine.compile(str(tmp_path / "entered.c"), f"entered{mode}", mode)
        assert machine.record([program], tape, env={"MEMTAPE_SELFCHECK": 1}).answer() == (0, b"", b"")
        read = Tape(tape)
        rows = [event for event in read.events if event.node != NONE and event.size == 2702]
        stacks = [read.stack(event.stream, event.node) for event in rows]
        names = [[read.frame(pc, event.ticks)["function"] for pc in pcs[2:]] for event, (pcs, _) in zip(rows, stacks)]
        whole = [chain[:chain.index("main")] for chain, (_, is_whole) in zip(names, stacks) if is_whole]
        assert len(rows) >= 300 and len(whole) >= len(rows) - 3, f"{len(rows) - len(whole)} of {len(rows)} are cut short"
        assert sum(bool(chain) for chain in whole) > 30 and all(chain[1:] in ([], ["outer"]) for chain in whole), whole
        assert read.selfcheck()[1] == 0
        tape.unlink()


@every_machine
def test_a_tape_of_another_processor_is_read_here(machine, tape):
    done = machine.record([machine.target("exceptions"), "shallow"], tape)
    assert done.returncode == 0 and done.stderr == b""
    info = machine.report(tape, "recording")
    assert (info["process"]["machine"], info["tape"]["clock"]) == (machine.name.removesuffix("el"), CLOCKS[machine.name])
    assert info["process"]["page_bytes"] == 4096 and info["process"]["pointer_bytes"] == POINTER_BYTES.get(machine.name, 8)
    assert 1e6 < info["process"]["duration_ns"] < 1e11
    functions = {frame["function"] for row in machine.report(tape, "temporary")["sites"] for frame in row["stack"]}
    assert "main" in functions and "__cxa_allocate_exception" in functions


@every_machine
def test_a_killed_program_leaves_all_it_did(machine, tape):
    done = machine.record([machine.target("endings"), "kill"], tape)
    assert done.returncode == -signal.SIGKILL
    case = case_of("endings kill")
    rows = Tape(tape).allocations()
    assert case.expected and not [text for expected in case.expected for text in targets.check_expected(expected, rows)]


@aarch64_only
@pytest.mark.parametrize("page_bytes", (16384, 65536))
def test_pages_may_be_larger(page_bytes, machine, tape):
    """Chunks of the tape do not begin at such pages. (A processor with SVE is too much for qemu then.)"""
    done = machine.record([machine.target("crowd")], tape, env={"MEMTAPE_SELFCHECK": 1},
                          by=["-cpu", "cortex-a57", "-p", page_bytes])
    assert (done.returncode, done.stderr) == (0, b"")
    read, case = Tape(tape), case_of("crowd")
    assert not read.damage and not read.fault and read.lost_events() == 0
    rows = read.allocations()
    assert case.expected and not [text for expected in case.expected for text in targets.check_expected(expected, rows)]
    assert read.selfcheck()[0] > 1000 and read.selfcheck()[1] == 0
    info = machine.report(tape, "recording")
    assert info["process"]["page_bytes"] == page_bytes and info["tape"]["chunks"] > 1


@aarch64_only
@pytest.mark.parametrize("page_bytes", (4096, 16384, 65536))
def test_mappings_are_of_whole_pages(page_bytes, machine, tape):
    """A call's length is rounded up to the kernel's pages, and where the heap ends, too."""
    machine.compile("paged.c", "paged")
    by = ["-cpu", "cortex-a57", "-p", page_bytes]
    plain = machine.run([machine.folder / "paged"], by=by)
    done = machine.record([machine.folder / "paged"], tape, by=by)
    assert done.answer() == plain.answer() and done.returncode == 0 and done.stderr == b""
    of_map = [row["mapped_bytes_max"] for row in machine.report(tape, "mappings")["mappings"] if row["bytes"] and row["kind"] == "program"]
    assert of_map.count(-(-5001 // page_bytes) * page_bytes) == 1, of_map
    assert of_map.count(-(-200001 // page_bytes) * page_bytes) == 1, of_map


@pytest.mark.skipif(not {"mips64", "mips64el"} <= set(crossed.names()), reason="one processor only")
def test_tapes_of_both_byte_orders_say_the_same(tmp_path_factory, tmp_path):
    said = []
    for name in ("mips64", "mips64el"):
        machine = crossed.Machine(name, tmp_path_factory.mktemp(name))
        machine.need()
        tape = tmp_path / f"{name}.mtape"
        assert machine.record([machine.target("frames")], tape).returncode == 0
        said.append(sorted(
            (site["temporary_count"], site["temporary_bytes"], site["stacks"],
             [(frame["function"], frame["line"]) for frame in site["stack"] if frame["file"]])
            for site in machine.report(tape, "temporary")["sites"]))
    assert said[0] == said[1] and sum(site[0] for site in said[0]) == 2400
