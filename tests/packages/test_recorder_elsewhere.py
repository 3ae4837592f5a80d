"""The archives for devices with other processors, as ./dev dist --arch makes them: what is in them, and that a program is
recorded by one alone, under qemu-user."""
import json
import os
import re
import shutil
import sys

import pytest

from conftest import BUILD, ROOT, run

sys.path.insert(0, str(ROOT / "tests/e2e"))

import crossed  # noqa: E402

ELF_MACHINES = {"aarch64": "AArch64", "arm": "ARM", "i386": "Intel 80386", "mips64": "MIPS R3000", "mips64el": "MIPS R3000",
                "riscv64": "RISC-V"}
# qemu-user runs no program that another one starts: so a script does, which memtape-record starts as any other.
STARTS = """#!/bin/sh
preload=$LD_PRELOAD
unset LD_PRELOAD
exec {emulator} -L {sysroot} -E "LD_PRELOAD=$preload" "$@"
"""


@pytest.fixture(scope="module", params=crossed.names())
def machine(request, tmp_path_factory):
    machine = crossed.Machine(request.param, tmp_path_factory.mktemp(request.param))
    machine.need()
    machine.is_native = False
    return machine


@pytest.fixture(scope="module")
def device(machine):
    """The folder that the archive unpacks to."""
    strip = re.search(r"^strip = '(.*)'$", (crossed.CROSS / f"{machine.name}.ini").read_text(), re.M)[1]
    out = machine.folder / "dist"
    run("python3", ROOT / "tools/dist.py", "recorder", BUILD.parent / machine.name, out, "--processor", machine.name, "--strip", strip)
    run("tar", "-C", out, "-xf", next(out.glob("*.tar.gz")))
    return next(out.glob(f"memtape-record-*-{machine.name}/"))


def start(machine, device, *words, **rest):
    return run(machine.emulator, "-L", machine.sysroot, device / "memtape-record", *words, **{"check": False} | rest)


def test_all_in_it_is_for_that_processor(machine, device):
    assert {path.name for path in device.iterdir()} == {"libmemtape.so", "libmemusage.so", "memtape-record", "README", "COPYING"}
    order = "big" if machine.name == "mips64" else "little"
    for name in ("libmemtape.so", "libmemusage.so", "memtape-record"):
        said = run("readelf", "-hlW", device / name).stdout
        assert re.search(rf"Machine: +{ELF_MACHINES[machine.name]}$", said, re.M) and f"{order} endian" in said, said
        assert "INTERP" not in said
        assert ".debug_info" not in run("readelf", "-SW", device / name).stdout
    assert "NEEDED" not in run("readelf", "-dW", device / "memtape-record").stdout
    assert start(machine, device, "--version").stdout.startswith("memtape-record ")


def test_it_refuses_programs_of_this_processor(machine, device):
    done = start(machine, device, "/bin/true")
    assert done.returncode == 126 and "another processor" in done.stderr


def test_a_program_is_recorded_by_it_alone(machine, device, tmp_path):
    starts, tape = tmp_path / "starts", tmp_path / "device.mtape"
    starts.write_text(STARTS.format(emulator=machine.emulator, sysroot=machine.sysroot))
    starts.chmod(0o755)
    done = start(machine, device, "-o", tape, starts, machine.target("frames"))
    assert (done.returncode, done.stdout) == (0, "frames 300\n"), done.stderr
    said = json.loads(run("memtape", "report", tape, "summary", "--json").stdout)
    assert said["allocations"]["count"] >= 2400 and said["lost_events"] == 0
    recording = json.loads(run("memtape", "report", tape, "recording", "--json").stdout)
    assert recording["process"]["machine"] == machine.name.removesuffix("el")


@pytest.mark.parametrize("machine", [name for name in crossed.names() if name == "aarch64"], indirect=True)
def test_a_program_of_32_bits_takes_the_library_that_is_for_it(machine, device, tmp_path):
    """This kernel does not run it, and a shell is tried, which says what it was to load."""
    narrow = crossed.Machine("arm", tmp_path)
    narrow.need()
    (device / "arm").mkdir()
    shutil.copy(narrow.library, device / "arm")
    done = start(machine, device, narrow.target("frames"))
    assert "another processor" not in done.stderr and f"'{device}/arm/libmemtape.so' from LD_PRELOAD" in done.stderr, done.stderr


# As Debian calls processors, and Alpine where musl was tried on them (tests/e2e/test_musl_elsewhere.py, tests/musl). MIPS64 in
# big-endian is no processor of either.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64", "arm": "armhf", "i386": "i386", "mips64el": "mips64el", "riscv64": "riscv64"}
ALPINE = {"x86_64": "x86_64", "aarch64": "aarch64", "arm": "armv7", "i386": "x86"}
PACKAGING = ROOT / "packaging"


def test_packages_are_for_all_processors():
    known = {"x86_64", *(path.stem for path in crossed.CROSS.glob("*.ini"))} - {"mips64"}
    control = (PACKAGING / "debian/control").read_text()
    for package in ("libmemtape", "libmemtape-dev"):
        listed = re.search(rf"^Package: {package}\nArchitecture: (.*)$", control, re.M)[1].split()
        assert set(listed) == {DEBIAN[name] for name in known}, package
    listed = re.search(r'^arch="(.*)"$', (PACKAGING / "alpine/APKBUILD").read_text(), re.M)[1].split()
    assert set(listed) >= set(ALPINE.values())


def test_debian_packages_of_the_library_have_their_files(machine, tmp_path):
    run("meson", "install", "-C", BUILD.parent / machine.name, "--no-rebuild", env=dict(os.environ, DESTDIR=str(tmp_path)))
    for package in ("libmemtape", "libmemtape-dev"):
        patterns = (PACKAGING / f"debian/{package}.install").read_text().split()
        assert len(patterns) > 1
        for pattern in patterns:
            wanted = pattern.removeprefix("usr/").removeprefix("lib/*/")
            assert list(tmp_path.glob(f"**/{wanted}")), pattern
