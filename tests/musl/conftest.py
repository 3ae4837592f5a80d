"""Programs of musl, and which libraries they are recorded with."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import recording  # noqa: E402
import storm  # noqa: E402

FLAGS = ["-g", "-O2", "-fno-omit-frame-pointer", "-fno-builtin", "-Wl,--eh-frame-hdr"]


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "the.mtape"


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


def compile_with_musl(out, source, *options):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed (Debian: musl-tools)")
    subprocess.run(["musl-gcc", *FLAGS, "-o", out, HERE / source, *options], check=True)
    return out


@pytest.fixture(scope="session")
def musl_target(tmp_path_factory):
    return compile_with_musl(tmp_path_factory.mktemp("musl") / "musl_target", "musl_target.c")


@pytest.fixture(scope="session")
def conformance(tmp_path_factory):
    return compile_with_musl(tmp_path_factory.mktemp("conformance") / "conformance",
                             "../targets/conformance.c", "-fno-builtin-malloc", "-D_GNU_SOURCE",
                             "-I", HERE.parent.parent / "include", "-w")


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """The program and its plugin."""
    folder = tmp_path_factory.mktemp("world")
    compile_with_musl(folder / "plugin.so", "musl_world.c", "-DPLUGIN", "-shared", "-fPIC")
    return compile_with_musl(folder / "musl_world", "musl_world.c"), folder / "plugin.so"


@pytest.fixture(scope="session")
def storm_program(tmp_path_factory, musl_target):  # which says whether there is a compiler for it
    return storm.build(tmp_path_factory.mktemp("storm"), "musl-gcc", *FLAGS)


def musl_library():
    folder = os.environ.get("MEMTAPE_MUSL_DIR")
    return pathlib.Path(folder) / "src/target/rec/libmemtape.so" if folder else None


@pytest.fixture(scope="session", params=["installed", "built for musl"])
def library(request):
    """The library that everybody has, and one that needs no glibc to be built."""
    if request.param == "installed":
        return recording.library()
    if not musl_library() or not musl_library().exists():
        pytest.skip("no library was built with musl-gcc (./dev test builds it)")
    return musl_library()
