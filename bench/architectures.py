#!/usr/bin/env python3
"""Instructions that an event takes, by processor: counted by qemu-user, so they are the same on each machine.

    architectures.py [--only NAME] [--pairs N] [--build DIR] [--out FILE] [--prefix DIR]

programs/calls.c runs with N pairs of events and with six times as many, with the recorder and without, and a plugin adds up
the instructions of the blocks that are executed; the difference of both runs has no start and no end in it. A system call
counts as one instruction. Of processors for which nothing is built (./dev test --arch NAME does it) there is no row.
"""
import argparse
import datetime
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CLOCKS = {1: "its counter", 2: "the kernel's clock"}
NAMES = {"x86_64": "x86-64", "aarch64": "AArch64", "arm": "ARM, 32 bits, Thumb", "i386": "i386", "riscv64": "RISC-V 64",
         "mips64el": "MIPS64, little-endian", "mips64": "MIPS64, big-endian"}


def compiler_of(name):
    if name == "x86_64":
        return "gcc", "/"
    cross = (ROOT / "tools/cross" / f"{name}.ini").read_text()
    compiler = re.search(r"^c = '(.*)'$", cross, re.M)[1]
    return compiler, f"/usr/{compiler.removesuffix('-gcc')}"


def library_of(name, build):
    return build / ("gcc" if name == "x86_64" else name) / "src/target/rec/libmemtape.so"


def executed(command, name, sysroot, plugin, folder, settings=()):
    """Instructions from the start of the program to its end."""
    count = folder / "count"
    count.unlink(missing_ok=True)
    words = [f"qemu-{name}", "-plugin", f"{plugin},out={count}", "-L", sysroot]
    words += [word for setting in settings for word in ("-E", setting)]
    subprocess.run([*map(str, words), *map(str, command)], check=True)
    return int(count.read_text())


def measure(name, build, pairs, folder, plugin):
    """Instructions of a pair: without the recorder, with it; and by what events are timed."""
    compiler, sysroot = compiler_of(name)
    program, tape = folder / f"calls-{name}", folder / "the.mtape"
    subprocess.run([compiler, "-O2", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-fno-builtin-malloc",
                    "-o", program, HERE / "programs/calls.c"], check=True)
    rows = []
    for settings in ([], [f"LD_PRELOAD={library_of(name, build)}", f"MEMTAPE_OUTPUT={tape}"]):
        counts = []
        for count in (pairs, 6 * pairs):
            counts.append(executed([program, count], name, sysroot, plugin, folder, settings))
            assert tape.exists() == bool(settings), f"{name}: not recorded"
            if tape.exists():
                clock = CLOCKS[struct.unpack_from("<I", tape.read_bytes(), 32)[0]]
            tape.unlink(missing_ok=True)
        rows.append((counts[1] - counts[0]) / (5 * pairs))
    return *rows, clock


def commit():
    done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def is_there(name, build):
    return library_of(name, build).exists() and shutil.which(f"qemu-{name}") and shutil.which(compiler_of(name)[0])


def emulator(options):
    name = next((name for name in options.names if is_there(name, options.build)), None)
    if not name:
        sys.exit("nothing is built for these processors, or there is no qemu-user: ./dev test --arch NAME")
    done = subprocess.run([f"qemu-{name}", "--version"], capture_output=True, text=True, check=True)
    return "qemu " + re.search(r"version (\S+)", done.stdout)[1]


def table(options, folder):
    plugin = folder / "executed.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", plugin, HERE / "programs/executed.c"], check=True)
    yield "# Instructions per event, by processor"
    yield ""
    yield f"* memtape: {commit()}; by `./dev bench architectures` under {emulator(options)}"
    yield f"* `calls N`, -O2 without frame pointers: ({6 * options.pairs:,} pairs - {options.pairs:,} pairs) / {5 * options.pairs:,}"
    yield "* a pair is a malloc and its free at a depth of twelve frames: two events, each with its stack"
    yield "* these are counts, not times; a system call counts as one instruction, so the kernel's clock, which a kernel has in its vDSO, costs more"
    yield ""
    yield "| processor | a pair, not recorded | recorded | the recorder, an event | timed by |"
    yield "|---|---:|---:|---:|---|"
    for name in options.names:
        if not is_there(name, options.build):
            print(f"{NAMES[name]}: nothing is built: ./dev test --arch {name}", file=sys.stderr)
            continue
        plain, recorded, clock = measure(name, options.build, options.pairs, folder, plugin)
        yield f"| {NAMES[name]} | {plain:,.0f} | {recorded:,.0f} | {(recorded - plain) / 2:,.0f} | {clock} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20000)
    parser.add_argument("--prefix", help="not used; the libraries are those of the build folders")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(os.environ.get("MEMTAPE_BUILD", ROOT / "build")))
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results" / f"architectures-{datetime.date.today()}.md")
    parser.add_argument("--only", dest="names", type=lambda name: [name], choices=[[name] for name in NAMES], default=list(NAMES), metavar="NAME")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(table(options, pathlib.Path(folder))) + "\n"
    options.out.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
