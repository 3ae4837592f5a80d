"""What libmemtape.so and its kin ask of a process and show to it, and libmemtape.a of a program."""
import re
import subprocess

RULE = "the recorder needs libc only, shows the hooks and the client API, imports what is listed"
HOOK = re.compile(r"^\s*HOOK\w*\(\s*(\w+)", re.MULTILINE)
API = re.compile(r"^MEMTAPE_API [^;(]*\b(memtape_\w+)\s*\(", re.MULTILINE)
WRAP = re.compile(r"^--wrap=(\w+)$", re.MULTILINE)
RUNTIME = {"_init", "_fini"}  # of the start files of musl, which show them
GLIBC = re.compile(r"@GLIBC_(\d+)\.(\d+)")
OLDEST = (2, 17)  # of CentOS 7
OLDEST_OF = {"riscv64": (2, 27)}  # which is the first that these processors have
LIBC = re.compile(r"libc\.so(\.6)?|libc\.musl-\w+\.so\.1")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", library))


def symbols(library, which, kinds=None, table="-D"):
    """Names without their versions, of some kinds (letters of nm) or all."""
    lines = [line.split() for line in output("nm", table, which, library).splitlines()]
    return {words[-1].split("@")[0] for words in lines if len(words) > 1 and (not kinds or words[-2] in kinds)}


def versions(library):
    """The versions of glibc that a library asks for, the newest last."""
    return sorted((int(major), int(minor)) for major, minor in GLIBC.findall(output("nm", "-D", "--undefined-only", library)))


def hooks(root):
    return set(HOOK.findall((root / "src/target/rec/hooks.def").read_text()))


def client(root):
    header = root / "include/memtape/memtape.h"
    return set(API.findall(re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL))) if header.exists() else set()


def promised(root):
    return hooks(root) | client(root)


def imports(root, *sections):
    """tools/recorder-imports.txt: one name a line, sections [glibc], [musl], [linked]; [all] for all of them."""
    names, section = set(), "all"
    for line in (root / "tools/recorder-imports.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line and section in sections:
            names.add(line)
    return names


def library_problems(root, library, libc, oldest=OLDEST):
    found = [f"{libc}: needs {name}" for name in needed(library) if not LIBC.fullmatch(name)]
    found += [f"{libc}: needs glibc {major}.{minor}, newer than {oldest[0]}.{oldest[1]}" for major, minor in versions(library)
              if (major, minor) > oldest]
    shown = symbols(library, "--defined-only") - RUNTIME
    wanted = ATTACH if "attach" in library.name else promised(root)
    if "_Znwj" in shown:  # a size_t of 32 bits, in C++'s names
        wanted = {re.sub(r"^(_Zn[wa]|_Zd[la]Pv)m", r"\1j", name) for name in wanted}
    found += [f"{libc}: shows {name}, which is no hook" for name in sorted(shown - wanted)]
    found += [f"{libc}: the hook {name} is not shown" for name in sorted(wanted - shown)]
    extra = symbols(library, "--undefined-only") - imports(root, "all", libc)
    # Programs of musl load it, too: they must start where such a name is missing.
    strong = symbols(library, "--undefined-only", "U") & imports(root, "glibc") if libc == "glibc" else ()
    found += [f"{libc}: imports {name}, which musl has not, and not weakly" for name in sorted(strong)]
    return found + [f"{libc}: imports {name}, not in tools/recorder-imports.txt" for name in sorted(extra)]


def archive_problems(root, archive):
    """The linker leads calls of what is wrapped to __wrap_NAME, and __real_NAME is the C library's."""
    wrapped = set(WRAP.findall(archive.with_suffix(".wrap").read_text()))
    shown = symbols(archive, "--defined-only", table="-g")
    wanted = {"__wrap_" + name for name in wrapped} | client(root)
    allowed = imports(root, "all", "glibc", "linked") | {"__real_" + name for name in wrapped}
    found = [f"{archive.name}: wraps {name}, which is no hook" for name in sorted(wrapped - hooks(root))]
    found += [f"{archive.name}: shows {name}, which is not wrapped" for name in sorted(shown - wanted)]
    found += [f"{archive.name}: does not show {name}" for name in sorted(wanted - shown)]
    return found + [f"{archive.name}: imports {name}, not in tools/recorder-imports.txt"
                    for name in sorted(symbols(archive, "--undefined-only", table="-g") - allowed)]


def newest_source(root):
    """./dev test makes these libraries anew; one that an earlier run left behind says nothing."""
    return max(p.stat().st_mtime for world in ("both", "target") for p in (root / "src" / world).rglob("*.*"))


LIBRARIES = ("libmemtape.so", "libmemusage.so", "libmemtape-attach.so", "libmemtape-attach-musl.so")
ATTACH = {"memtape_attach", "memtape_lead", "memtape_inline", "memtape_detach"}  # all that the last two show


def problems(root, build):
    found = []
    for name in LIBRARIES:
        library = build / "src/target/rec" / name
        if library.exists() or "musl" not in name:  # not every compiler can make that one
            found += library_problems(root, library, "glibc")
        musl = build.parent / "musl/src/target/rec" / name
        if musl.exists() and musl.stat().st_mtime > newest_source(root):
            found += library_problems(root, musl, "musl")
        for cross in sorted((root / "tools/cross").glob("*.ini")):
            other = build.parent / cross.stem / "src/target/rec" / name
            if other.exists() and other.stat().st_mtime > newest_source(root):
                found += [f"{cross.stem} {text}" for text in library_problems(root, other, "glibc", OLDEST_OF.get(cross.stem, OLDEST))]
    archive = build / "src/target/rec/libmemtape.a"
    return found + (archive_problems(root, archive) if archive.exists() else [])
