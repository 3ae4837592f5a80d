"""python3 tests/e2e/reader_elsewhere.py ARCH FOLDER BUILD: builds the reader in FOLDER for s390x (big-endian, 64 bits) or i386 (32 bits).

The compiler and the libraries are Debian's packages, fetched by an apt whose lists, cache and idea of what is installed are in FOLDER,
and unpacked there: the system's packages stay as they are. BUILD is a built tree of this system, whose generated sources are taken.
Exit code 3: a package cannot be had."""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

class Arch(typing.NamedTuple):
    name: str  # Debian's
    compiler: str  # the GNU name that is in the compiler's
    places: str  # the folder of libraries
    options: str


# Without SSE2 i386 computes with more digits than a double has, and so rounds to another one.
ARCHS = [Arch("s390x", "s390x-linux-gnu", "s390x-linux-gnu", ""), Arch("i386", "i686-linux-gnu", "i386-linux-gnu", "-msse2 -mfpmath=sse")]
LIBRARIES = ["libc6-dev", "libgcc-12-dev", "libsqlite3-dev", "libpcre2-dev", "zlib1g-dev", "libzstd-dev", "libelf-dev", "libdw-dev",
             "libiberty-dev", "libjansson-dev", "libprotobuf-c-dev", "libcairo2-dev"]
LINKED = ["sqlite3", "pcre2-8", "z", "zstd", "elf", "dw", "iberty", "jansson", "protobuf-c", "cairo", "m", "dl"]
ROOMS = ["both/core", "both/tape", "read/*", "ask/*", "show/export", "show/plot", "show/report"]
# Of the command line, what its commands for reading need.
CLI = ["main", "command", "help", "input", "reading", "reading_model", "suppressing", "report_html", "overview", "my_code", "my_code_file",
       "list_fields", "leak_heuristics", "flame_options", "diff_times", "caption", "brief", "beside", "first_process", "cmd_report",
       "cmd_export", "cmd_info", "cmd_flamegraph", "cmd_index", "cmd_anonymise", "anonymous", "cmd_strip", "cmd_symbols", "cmd_sql",
       "sql_output", "sql_prompt"]
WORLDS = ["", "both", "target", "read", "bring", "ask", "show"]
NOT = "random.c"  # of processors that memtape records on


class Unavailable(Exception):
    pass


def run(words, **more):
    try:
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    except OSError as error:
        raise Unavailable(str(error)) from error
    return done.returncode, done.stdout


def apt_settings(apt, arch, more=""):
    """The environment in which apt keeps all that is its own in that folder."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "conf").write_text(f'APT::Architecture "{arch}"; APT::Architectures {{ "{arch}"; }}; APT::Install-Recommends "false";\n'
                              f'APT::Sandbox::User ""; Acquire::Languages "none"; Debug::NoLocking "true";\n'
                              f'Dir::State "{apt}/state"; Dir::State::status "{apt}/status"; Dir::Cache "{apt}/cache";\n{more}')
    return {**os.environ, "APT_CONFIG": str(apt / "conf"), "LC_ALL": "C"}


def fetch(apt, arch, packages, is_whole):
    """The packages; is_whole: and all that they depend on."""
    env = apt_settings(apt, arch)
    _, updated = run(["apt-get", "update"], env=env)  # one of several lists may fail
    if is_whole:
        code, said = run(["apt-get", "install", "-y", "--download-only", *packages], env=env)
    else:
        code, said = run(["apt-get", "download", *packages], env=env, cwd=apt / "cache/archives")
    if code != 0:
        raise Unavailable(updated[-500:] + said[-500:])
    return sorted((apt / "cache/archives").glob("*.deb"))


def fetch_source(apt, package):
    """The archive of the package's source as its authors made it, of the places where the system's packages come from."""
    code, places = run(["apt-get", "indextargets", "--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"])
    if code != 0:
        raise Unavailable(places)
    apt.mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text("".join(f"{place}\n" for place in sorted(set(places.splitlines())) if place.endswith(" main")))
    env = apt_settings(apt, "amd64", f'Dir::Etc::sourcelist "{apt}/sources.list"; Dir::Etc::sourceparts "-";\n')
    _, updated = run(["apt-get", "update"], env=env)
    code, said = run(["apt-get", "source", "--download-only", package], env=env, cwd=apt / "cache/archives")
    found = sorted((apt / "cache/archives").glob(f"{package}_*.orig.tar.*z"))
    if code != 0 or not found:
        raise Unavailable(updated[-500:] + said[-500:])
    return found[-1]


def unpack(archives, folder):
    shutil.rmtree(folder, ignore_errors=True)
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for archive in archives:
        code, said = run(["dpkg", "-x", archive, part])
        if code != 0:
            raise Unavailable(said)
    part.rename(folder)


def sysroot(folder, arch):
    root = folder / "sysroot"
    if not root.exists():
        unpack(fetch(folder / "apt", arch.name, LIBRARIES, True), root)
    return root


def compiler(folder, arch):
    """Words that start it."""
    if shutil.which(f"{arch.compiler}-gcc"):
        return f"{arch.compiler}-gcc"
    tools = folder / "tools"
    if not tools.exists():
        code, host = run(["dpkg", "--print-architecture"])
        if code != 0:
            raise Unavailable(host)
        packages = [f"gcc-12-{arch.compiler}", f"cpp-12-{arch.compiler}", f"binutils-{arch.compiler}", f"libgcc-12-dev-{arch.name}-cross",
                    f"libgcc-s1-{arch.name}-cross"]
        unpack(fetch(folder / "apt-tools", host.strip(), packages, False), tools)
    found = sorted(tools.glob("usr/lib/*-linux-gnu/libopcodes*"))
    if not found:
        raise Unavailable("the packages have no libopcodes")
    return f"env LD_LIBRARY_PATH={found[0].parent} PATH={tools}/usr/bin:$$PATH {tools}/usr/bin/{arch.compiler}-gcc-12"


def sources(build):
    found = []
    for tree in (ROOT / "src", build / "src"):
        for room in ROOMS:
            found += sorted(tree.glob(f"{room}/*.c"))
    found = [path for path in found if not path.name.startswith(NOT)]
    return [*found, ROOT / "src/both/arch/machine.c", *[ROOT / f"src/cli/{name}.c" for name in CLI], ROOT / "tests/e2e/decoder/reader.c"]


def rules(folder, build, arch):
    root, cc = sysroot(folder, arch), compiler(folder, arch)
    made = ["ask", "show", "show/export", "show/plot", "show/report", "ask/questions"]
    includes = [*[ROOT / "src" / world for world in WORLDS], *[build / "src" / place for place in made], root / "usr/include/cairo"]
    flags = (f"-std=gnu17 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -O1 -w {arch.options} -ffunction-sections -fdata-sections -pthread --sysroot={root} "
             '-DMEMTAPE_VERSION=\\"elsewhere\\" ' + " ".join(f"-I{path}" for path in includes))
    places = [f"-Wl,-rpath-link,{root}/{place}/{arch.places}" for place in ("usr/lib", "lib")]
    lines = ["rule cc", f"  command = {cc} {flags} -MD -MF $out.d -c $in -o $out", "  depfile = $out.d", "  deps = gcc",
             "rule link", f"  command = {cc} --sysroot={root} -pthread -Wl,--gc-sections -o $out @$out.rsp {' '.join(places)} "
             + " ".join(f"-l{name}" for name in LINKED), "  rspfile = $out.rsp", "  rspfile_content = $in"]
    objects = []
    for path in sources(build):
        objects.append(f"{len(objects)}_{path.stem}.o")
        lines.append(f"build {objects[-1]}: cc {path}")
    return "\n".join([*lines, f"build memtape: link {' '.join(objects)}", ""])


def make(folder, build, arch):
    """What runs it: words. One process at a time makes it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "build.ninja").write_text(rules(folder, build, arch))
        code, said = run(["ninja", "-C", folder])
    if code != 0:
        raise AssertionError(said[-5000:])
    return command(folder, arch)


def command(folder, arch):
    """The words that run it: the loader, where this processor and its kernel can, or an emulator."""
    root = folder / "sysroot"
    loader = [root / "lib/ld-linux.so.2", "--library-path", f"{root}/lib/{arch.places}:{root}/usr/lib/{arch.places}", folder / "memtape"]
    try:
        if loader[0].exists() and run([*loader, "--version"])[0] == 0:
            return loader
    except Unavailable:
        pass
    return [f"qemu-{arch.name}", "-L", root, folder / "memtape"]


def main():
    try:
        arch = next(arch for arch in ARCHS if arch.name == sys.argv[1])
        make(pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve(), arch)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
