"""Who may include whom, read from the table of rooms in docs/architecture.md."""
import re

RULE = "rooms include only what the table in docs/architecture.md lets them"

ROW = re.compile(r"^\| `(\w+)` \| ([^|]*)\| ([^|]*)\|", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# Which library a system header belongs to; headers that match nothing are the C library's.
LIBRARIES = {
    "zstd": r"zstd.*\.h",
    "lz4": r"lz4.*\.h",
    "libdw": r"elfutils/.*|dwarf\.h",
    "libelf": r"libelf\.h|gelf\.h",
    "libiberty": r"demangle\.h|libiberty/.*|libiberty\.h",
    "pcre2": r"pcre2.*\.h",
    "sqlite3": r"sqlite3.*\.h",
    "cairo": r"cairo.*",
    "jansson": r"jansson\.h",
    "protobuf-c": r"protobuf-c/.*",
    "zlib": r"zlib\.h",
    "libmicrohttpd": r"microhttpd\.h",
    "ncursesw": r"n?curses.*|ncursesw/.*",
    "libedit": r"editline/.*|histedit\.h",
    "libcurl": r"curl/.*",
    "libbpf": r"bpf/.*",
    "libunwind": r"libunwind.*",
}


def library_of(header):
    for library, pattern in LIBRARIES.items():
        if re.fullmatch(pattern, header):
            return library
    return None


def table(root):
    """{room: (rooms it may include, libraries it may use)}"""
    rooms = {}
    for room, include, link in ROW.findall((root / "docs/architecture.md").read_text()):
        rooms[room] = (set(re.findall(r"\w+", include)), set(re.findall(r"[\w-]+", link)))
    if not rooms:
        raise ValueError("no table of rooms in docs/architecture.md")
    for room, (include, _) in rooms.items():
        if "all" in include:  # "all but `rec`"
            include |= rooms.keys() - include - {room}
            include.discard("rec")
    return rooms


def files(root):
    for path in sorted((root / "src").rglob("*.[ch]")):
        yield path.relative_to(root / "src"), path


def include_problem(rooms, room, path, header):
    other = header.split("/")[0]
    if "/" not in header or other == room:
        return None
    if other not in rooms:
        return f"{path}: \"{header}\" is in no room"
    if other not in rooms[room][0]:
        return f"{path}: {room} may not include {other} (\"{header}\")"
    return None


def problems(root, _build):
    rooms = table(root)
    found = []
    users = {}
    for name, path in files(root):
        room = name.parts[0]
        if room not in rooms:
            found.append(f"{name}: the room {room} has no row in the table")
            continue
        for kind, header in INCLUDE.findall(path.read_text()):
            library = library_of(header) if kind == "<" else None
            if kind == '"':
                problem = include_problem(rooms, room, name, header)
                if problem:
                    found.append(problem)
            elif library:
                users.setdefault((room, library), set()).add(str(name))
                if library not in rooms[room][1]:
                    found.append(f"{name}: {room} may not use {library} (<{header}>)")
    for (room, library), names in users.items():
        if len(names) > 1:
            found.append(f"{library} has more than one adapter in {room}: {', '.join(sorted(names))}")
    return found
