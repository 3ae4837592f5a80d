#!/usr/bin/env python3
"""link_recorder.py PARTS ARCHIVE WRAPS LINKED HOOKS OBJCOPY LD AR: libmemtape.a of the recorder's objects, and what the linker has to be
told for it.

The archive has one object. Its hooks are called __wrap_NAME, where the linker leads calls of NAME with --wrap=NAME. All else of it
is local to it, but for the functions of the client.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HOOK = re.compile(r"^HOOK_\w+\((\w+)", re.MULTILINE)
LINKED = re.compile(r"^LINKED(?:_MAYBE)?\((\w+)\)", re.MULTILINE)
# Others that lead to the same real functions.
ALIASES = ["mmap64", "syscall", "execl", "execle", "execlp", "_Exit"]


def main():
    parts, archive, wraps, linked, hooks, objcopy, ld, ar = map(pathlib.Path, sys.argv[1:])
    hooked = HOOK.findall(hooks.read_text())
    names = LINKED.findall(linked.read_text()) + ALIASES
    unknown = set(names) - set(hooked)
    if unknown:
        sys.exit(f"{linked}: not in {hooks}: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        whole, renamed, one = (pathlib.Path(folder) / name for name in ("whole.o", "names", "memtape.o"))
        # Groups that the program may have, too (i386's thunks) are ours, not the first one's.
        subprocess.run([ld, "-r", "--force-group-allocation", "-o", whole, "--whole-archive", parts], check=True)
        renamed.write_text("".join(f"{name} __wrap_{name}\n" for name in hooked))
        shown = ["--keep-global-symbol=__wrap_" + name for name in names]
        subprocess.run([objcopy, f"--redefine-syms={renamed}", *shown, "--wildcard", "--keep-global-symbol=memtape_client_*",
                        whole, one], check=True)
        archive.unlink(missing_ok=True)
        subprocess.run([ar, "rcs", archive, one], check=True)
    # An index of the unwind tables is not made for every static program.
    wraps.write_text("".join(f"--wrap={name}\n" for name in names) + "--undefined=__wrap_malloc\n--eh-frame-hdr\n")


main()
