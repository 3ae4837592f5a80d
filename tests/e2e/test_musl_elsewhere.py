"""Programs of musl on other processors: of Debian's musl-dev for them, or of musl made of its source where Debian has no package, run by
qemu-user, recorded by the one library that is built for the processor's glibc, too. (Those of this processor: tests/musl.)

With MEMTAPE_TEST_FULL=1, and where build/musl-elsewhere has them: packages and sources are fetched, some MB, and making musl takes
half a minute each."""

import fcntl
import shutil
import subprocess

import pytest

import crossed
import reader_elsewhere
import recording

FOLDER = recording.build_dir().parent / "musl-elsewhere"
SOURCE = recording.ROOT / "tests/musl/musl_target.c"
# As Debian calls the processors that it has a package of musl for.
DEBIAN = {"aarch64": "arm64", "arm": "armhf", "i386": "i386", "mips64el": "mips64el"}
MADE = ["mips64", "riscv64"]
LOADERS = {"arm": "armhf"}  # as musl's loader is called, where that is another name
TRIPLETS = {"arm": "arm-linux-musleabihf"}


def source():
    """The archive of musl's source, fetched once."""
    with open(FOLDER / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = sorted((FOLDER / "source").glob("*.tar.*"))
        if found:
            return found[-1]
        archive = reader_elsewhere.fetch_source(FOLDER / "source-apt", "musl")
        (FOLDER / "source").mkdir(exist_ok=True)
        return archive.rename(FOLDER / "source" / archive.name)


def make(name, compiler, root):
    """musl of its source, laid out as Debian's packages are. It has tables for unwinding as those have them: nearly none."""
    archive, folder, part, triplet = source(), FOLDER / f"{name}-made", root.with_suffix(".part"), f"{name}-linux-musl"
    for place in (folder, part):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir()
    for words in (["tar", "-xf", archive, "--strip-components=1"],
                  ["./configure", f"--target={triplet}", f"CROSS_COMPILE={compiler}-", "--disable-static", "--disable-wrapper", "--prefix=/usr",
                   f"--includedir=/usr/include/{triplet}", f"--libdir=/usr/lib/{triplet}", "--syslibdir=/lib"],
                  ["make", "-j2"], ["make", f"DESTDIR={part}", "install"]):
        code, said = reader_elsewhere.run(words, cwd=folder)
        assert code == 0, said[-3000:]
    own, loader = part / "lib" / triplet, part / f"lib/ld-musl-{name}.so.1"
    own.mkdir()
    (part / "usr/lib" / triplet / "libc.so").rename(own / "libc.so")
    loader.unlink()  # if another one is there, the compiler is for another kind of floating point
    loader.symlink_to(f"{triplet}/libc.so")
    part.rename(root)
    shutil.rmtree(folder)


def musl(name, compiler):
    """Where the packages are unpacked, or what was made is installed; a skip if they cannot be had."""
    root = FOLDER / name
    if root.exists():
        return root
    if not recording.FULL:
        pytest.skip(f"{root} is not there (MEMTAPE_TEST_FULL=1 fetches it)")
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        if name in MADE:
            make(name, compiler, root)
        else:
            reader_elsewhere.unpack(reader_elsewhere.fetch(FOLDER / f"{name}-apt", DEBIAN[name], ["musl", "musl-dev"], False), root)
    except reader_elsewhere.Unavailable as why:
        pytest.skip(f"musl for {name} cannot be had: {why}")
    return root


@pytest.fixture(scope="module", params=sorted([*DEBIAN, *MADE]))
def machine(request, tmp_path_factory):
    if request.param not in crossed.names():
        pytest.skip("another processor is asked for")
    machine = crossed.Machine(request.param, tmp_path_factory.mktemp(request.param))
    machine.need()
    machine.is_native = False  # its dynamic linker has a place that the system lacks
    machine.sysroot = musl(request.param, machine.triplet)
    return machine


def build(machine):
    def of(option):
        return subprocess.run([compiler, f"-print-{option}"], check=True, capture_output=True, text=True).stdout.strip()

    compiler, triplet = f"{machine.triplet}-gcc", TRIPLETS.get(machine.name, f"{machine.name}-linux-musl")
    lib, own = machine.sysroot / "usr/lib" / triplet, machine.sysroot / "lib" / triplet
    program = machine.folder / "musl_target"
    subprocess.run([compiler, "-std=gnu17", "-D_GNU_SOURCE", "-g", "-O1", "-fno-optimize-sibling-calls", "-fasynchronous-unwind-tables",
                    "-fno-builtin-malloc", "-w", "-pie", "-fPIE", "-nostdinc", "-isystem", machine.sysroot / "usr/include" / triplet,
                    "-isystem", of("file-name=include"), "-nostdlib", "-o", program, lib / "Scrt1.o", lib / "crti.o", SOURCE, own / "libc.so",
                    of("libgcc-file-name"), of("file-name=libgcc_eh.a"), of("libgcc-file-name"), lib / "crtn.o",
                    f"-Wl,-dynamic-linker,/lib/ld-musl-{LOADERS.get(machine.name, machine.name)}.so.1"], check=True)
    return program


def test_programs_of_musl_are_recorded_on_other_processors(machine, tmp_path):
    program, tape = build(machine), tmp_path / "musl.mtape"
    plain = machine.run([program])
    assert plain.returncode == 7
    assert machine.record([program], tape).answer() == plain.answer()

    rows = machine.report(tape, "allocations")
    place = [(row["size"], row["stack"][0]["function"]) for row in rows]
    kept = [row for row, at in zip(rows, place) if at == (100, "keep")]
    assert len(kept) == 1000 and all(row["free_ns"] is None for row in kept)
    assert all("main" in [frame["function"] for frame in row["stack"]] for row in kept)
    dropped = [row for row, at in zip(rows, place) if at == (64, "drop")]
    assert len(dropped) == 500 and all(row["free_ns"] is not None for row in dropped)
    grown, = [row for row in rows if row["size"] == 5000]
    assert grown["realloc_of"] is not None and grown["free_ns"] is not None
    handed, = [row for row, at in zip(rows, place) if at == (10, "thread_main")]
    assert handed["free_ns"] is not None
