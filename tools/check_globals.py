"""Analysis is values: no variable that outlives a call, outside the places that own one. And a name is one function's:
of two in different archives the linker takes one, without a word."""
import re
import subprocess

RULE = "no writable globals outside target/, base/log.c, cli/main.c and collect/signals.c; no name of two functions"
# collect/signals.c: a signal handler cannot be handed a context.
GRANTED = {"read/base/log.c", "cli/main.c", "bring/collect/signals.c"}
# objdump -t: address, seven flag characters, section, size, name.
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(?:\.hidden )?(\S+)$", re.MULTILINE)
WRITABLE = re.compile(r"\.(data(?!\.rel\.ro)|bss|tdata|tbss)(\..*)?|\*COM\*")


def writable_symbols(path):
    """Names of variables an object file keeps in writable sections."""
    command = ["objdump", "-t", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for flags, section, name in SYMBOL.findall(text):
        if "d" not in flags and WRITABLE.fullmatch(section):
            yield name


def functions(path):
    """Names of functions that other object files may call."""
    command = ["objdump", "-t", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for flags, _, name in SYMBOL.findall(text):
        if flags.startswith("g") and flags.endswith("F"):
            yield name


def objects(root, build):
    """(source as WORLD/ROOM/FILE.c, object) of all but the recorder's own rooms."""
    for path in sorted((build / "src").rglob("*.c.o")):
        room = path.parent.parent.relative_to(build / "src")  # the object is in libROOM.a.p
        if room.parts[0] != "target" and (root / "src" / room / "meson.build").exists():  # or it is of an older layout
            yield f"{room}/{path.name[:-2]}", path


def problems(root, build):
    found = []
    homes = {}
    seen = 0
    for source, path in objects(root, build):
        seen += 1
        if any((folder / "src" / source).exists() for folder in (root, build)):  # or it was removed
            for name in functions(path):
                if name != "main" and homes.setdefault(name, source) != source:  # each program has one
                    found.append(f"src/{source}: {name} is also a function of src/{homes[name]}")
        if source in GRANTED:
            continue
        for name in writable_symbols(path):
            found.append(f"src/{source}: {name} is a writable global")
    if seen == 0:
        raise FileNotFoundError(f"no object files in {build}/src; build first")
    return found
