"""To extend is one file and one word: no file stands in a room without its word."""
RULE = "every source file of a room is named in the room's meson.build"


def is_named(path, text):
    """By its file name, or by the word a table is made from: cmd_record.c is 'record'."""
    word = path.stem.split("_", 1)[-1]
    return any(f"'{name}'" in text for name in (path.name, path.stem, word))


def problems(root, _build):
    found = []
    for room in sorted((root / "src").iterdir()):
        build_file = room / "meson.build"
        if not room.is_dir() or not build_file.exists():
            continue
        text = build_file.read_text()
        for path in sorted(room.glob("*.c")):
            if not is_named(path, text):
                found.append(f"{path.relative_to(root)} is not built: no word in {room.name}/meson.build")
    return found
