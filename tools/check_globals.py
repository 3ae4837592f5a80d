"""Analysis is values: no variable that outlives a call, outside the places that own one."""
import re
import subprocess

RULE = "no writable globals outside rec/, base/log.c, cli/main.c and collect/signals.c"
# collect/signals.c: a signal handler cannot be handed a context.
GRANTED = {"base/log.c", "cli/main.c", "collect/signals.c"}
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


def objects(build):
    """(source as ROOM/FILE.c, object) of every room but rec."""
    for path in sorted((build / "src").rglob("*.c.o")):
        room = path.relative_to(build / "src").parts[0]
        if room != "rec":
            yield f"{room}/{path.name[:-2]}", path


def problems(_root, build):
    found = []
    seen = 0
    for source, path in objects(build):
        seen += 1
        if source in GRANTED:
            continue
        for name in writable_symbols(path):
            found.append(f"src/{source}: {name} is a writable global")
    if seen == 0:
        raise FileNotFoundError(f"no object files in {build}/src; build first")
    return found
