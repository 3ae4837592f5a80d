"""Who may include whom, read from the tables of worlds and rooms in docs/architecture.md.

A world is a folder of src/, a room a folder of a world; where a world is one room (cli/), its folder is the room's.
"""
import re

RULE = "worlds and rooms include what the tables in docs/architecture.md let them, and all of that, by few headers a room"

WORLD_ROW = re.compile(r"^\| `(\w+)/` \| ([^|]*)\| ([^|]*)\|", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*)\| ([^|]*)\|", re.MULTILINE)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# Headers of a room that others may include.
DOORS_MAX = 15

# Which library a system header belongs to; headers that match nothing are the C library's.
LIBRARIES = {
    "zstd": r"zstd.*\.h",
    "lz4": r"lz4.*\.h",
    "libdw": r"elfutils/.*|dwarf\.h",
    "libelf": r"libelf\.h|gelf\.h",
    "zydis": r"Zydis/.*\.h",
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
    "gnutls": r"gnutls/.*",
}


def library_of(header):
    for library, pattern in LIBRARIES.items():
        if re.fullmatch(pattern, header):
            return library
    return None


def worlds_table(text):
    """{world: (its rooms, the worlds it may include)}, in the order of the table"""
    worlds = {world: (re.findall(r"\w+", rooms), re.findall(r"\w+", include))
              for world, rooms, include in WORLD_ROW.findall(text)}
    if not worlds:
        raise ValueError("no table of worlds in docs/architecture.md")
    return worlds


def rooms_table(text):
    """{room: (rooms it may include, libraries it may use)}"""
    rooms = {room: (set(re.findall(r"\w+", include)), set(re.findall(r"[\w-]+", link)))
             for room, include, link in ROW.findall(text)}
    if not rooms:
        raise ValueError("no table of rooms in docs/architecture.md")
    return rooms


def folders(worlds):
    """{room: its folder below src/}"""
    return {room: (world,) if room == world else (world, room) for world, (rooms, _) in worlds.items() for room in rooms}


def reach(worlds, room):
    """The rooms that a room's world lets it include: those of its own and of the worlds it may see."""
    own = folders(worlds)[room][0]
    return {other for world in (own, *worlds[own][1]) if world in worlds for other in worlds[world][0]} - {room}


def table_problems(worlds, rooms):
    """No world sees one below it in the table, no room's row grants what its world may not see."""
    found = []
    above = set()
    for world, (_, include) in worlds.items():
        found += [f"{world}/ may not include {other}/, which is not above it" for other in include if other not in above]
        above.add(world)
    places = folders(worlds)
    found += [f"the room {room} has no row in the table" for room in places if room not in rooms]
    for room, (include, _) in rooms.items():
        if room not in places:
            found.append(f"the room {room} is in no world")
        elif "all" not in include:
            for other in sorted(include & rooms.keys() - reach(worlds, room)):
                found.append(f"{places[room][0]}/ may not include {other}, which {room}'s row lets it")
    return found


def room_of(worlds, name):
    """The room whose folder a file is in, or None."""
    return next((room for room, folder in folders(worlds).items() if name.parts[:-1][:len(folder)] == folder), None)


def files(root):
    for path in sorted([*(root / "src").rglob("*.[ch]"), *(root / "src").rglob("*.[ch].in")]):
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


def unused(rooms, used, everything):
    """Grants that nothing needs, of rooms that have files; a row that says "all" grants no room by name."""
    for room in sorted(used):
        include, libraries = rooms[room]
        granted = (set() if room in everything else include & rooms.keys()) | (libraries & LIBRARIES.keys())
        for other in sorted(granted - used[room]):
            yield f"the row of {room} lets it include {other}, which no file of it does"


def problems(root, _build):
    text = (root / "docs/architecture.md").read_text()
    worlds, rooms = worlds_table(text), rooms_table(text)
    found = table_problems(worlds, rooms)
    everything = {room for room, (include, _) in rooms.items() if "all" in include}
    for room in everything & folders(worlds).keys():
        rooms[room] = (reach(worlds, room), rooms[room][1])
    used, users, doors = {}, {}, {}
    for name, path in files(root):
        room = room_of(worlds, name)
        if room not in rooms:
            found.append(f"{name}: is in the folder of no room")
            continue
        uses = used.setdefault(room, set())
        for kind, header in INCLUDE.findall(path.read_text()):
            library = library_of(header) if kind == "<" else None
            if kind == '"':
                uses.add("protobuf-c" if header.endswith(".pb-c.h") else header.split("/")[0])
                if header.split("/")[0] != room:
                    doors.setdefault(header.split("/")[0], set()).add(header)
                problem = include_problem(rooms, room, name, header)
                if problem:
                    found.append(problem)
            elif library:
                uses.add(library)
                users.setdefault((room, library), set()).add(str(name))
                if library not in rooms[room][1]:
                    found.append(f"{name}: {room} may not use {library} (<{header}>)")
    for (room, library), names in users.items():
        if len({name.rpartition("/")[2].partition("_")[0] for name in names}) > 1:
            found.append(f"{library} has more than one adapter in {room}: {', '.join(sorted(names))}")
    for room, headers in doors.items():
        if len(headers) > DOORS_MAX:
            found.append(f"{room}: {len(headers)} of its headers are included from outside, more than {DOORS_MAX}")
    return found + list(unused(rooms, used, everything))
