"""Programs of another processor: compiled by Debian's cross compilers, run by qemu-user, recorded by
the library that was built for it (./dev test builds it, ./dev test --arch NAME that alone)."""

import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

import recording

TARGETS = recording.ROOT / "tests" / "targets"
FLAGS = ["-g", "-fasynchronous-unwind-tables", "-D_GNU_SOURCE", "-fno-builtin-malloc", "-pthread", "-w", "-I", recording.ROOT / "include"]
CROSS = recording.ROOT / "tools" / "cross"  # what the recorder is built for beside x86-64, and by what
LOADERS = {"i386": "ld-linux.so.2"}
VARIANTS = {
    "": ["-O2", "-fomit-frame-pointer"],
    "-O0": ["-O0"],
    "-fp": ["-O2", "-fno-omit-frame-pointer"],
    # ARM: the other instruction set, whose frame pointer is another register
    "-marm": ["-O2", "-fomit-frame-pointer", "-marm"],
    "-marm-O0": ["-O0", "-marm"],
    "-marm-fp": ["-O2", "-fno-omit-frame-pointer", "-marm"],
    "-bare": ["-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"],
    "-bare-marm": ["-O1", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-marm"],
}


def runs(loader):
    try:
        return subprocess.run([loader, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def names():
    """All of them, or the one that ./dev test --arch NAME is about."""
    only = os.environ.get("MEMTAPE_TEST_ARCH")
    return [only] if only else sorted(path.stem for path in CROSS.glob("*.ini"))


class Machine:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.triplet = re.search(r"^c = '(.*)-gcc'$", (CROSS / f"{name}.ini").read_text(), re.M)[1]
        self.sysroot = pathlib.Path("/usr") / self.triplet
        self.emulator = f"qemu-{name}"
        self.loader = self.sysroot / "lib" / LOADERS.get(name, "")  # of processors whose programs this kernel runs itself
        self.is_native = name in LOADERS and platform.machine() == "x86_64" and runs(self.loader)

    @property
    def library(self):
        return recording.build_dir().parent / self.name / "src/target/rec/libmemtape.so"

    def need(self):
        for program in (f"{self.triplet}-gcc", f"{self.triplet}-g++", *([] if self.is_native else [self.emulator])):
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed (./dev setup --arch {self.name})")
        if not self.library.exists():
            pytest.skip(f"{self.library} is not there (./dev test --arch {self.name} builds it)")

    def compile(self, source, out, *options):
        """options come after those of the default variant."""
        path = self.folder / out
        if not path.exists():
            language = ["g++", "-std=gnu++17"] if source.endswith(".cpp") else ["gcc", "-std=gnu17"]
            compiler = f"{self.triplet}-{language[0]}"
            native = [f"-Wl,--dynamic-linker={self.loader},-rpath,{self.loader.parent}"] if self.is_native else []
            subprocess.run([compiler, language[1], *VARIANTS[""], *FLAGS, *native, *options, "-o", path,
                            TARGETS / source], check=True)
        return path

    def target(self, name, variant=""):
        source = next(path.name for path in TARGETS.glob(f"{name}.c*"))
        return self.compile(source, name + variant, *VARIANTS[variant])

    def module(self, source, out, *options):
        return self.compile(source, out, "-shared", "-fPIC", *options)

    def oracle(self):
        return self.module("oracle.c", "oracle.so", "-DORACLE_LIBGCC")

    def run(self, args, env=None, by=(), **more):
        if self.is_native:
            return recording.run([*by, *args], env=recording.clean_env(**{key: str(value) for key, value in (env or {}).items()}), **more)
        # Where this system has libraries of i386, too, the loader would take its C library, which is another one than the loader's.
        own = {"LD_LIBRARY_PATH": self.sysroot / "lib"} if self.name in LOADERS else {}
        settings = [word for key, value in {**own, **(env or {})}.items() for word in ("-E", f"{key}={value}")]
        return recording.run([self.emulator, *by, "-L", self.sysroot, *settings, *args], **more)

    def record(self, args, tape, env=None, preload_after=(), **more):
        preload = ":".join(str(path) for path in [self.library, *preload_after])
        return self.run(args, {"LD_PRELOAD": preload, "MEMTAPE_OUTPUT": tape, **(env or {})}, **more)

    def report(self, tape, what, *options):
        return recording.report(tape, what, "--sysroot", self.sysroot, *options)
