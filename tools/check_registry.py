"""To extend is one file and one word: no file stands in a room without its word."""
RULE = "every source file of a room is named in the room's meson.build"


def is_named(path, text):
    """By its file name, or by the word a table is made from: cmd_record.c is 'record'."""
    word = path.stem.split("_", 1)[-1]
    return any(f"'{name}'" in text for name in (path.name, path.stem, word))


def problems(root, _build):
    found = []
    for path in sorted((root / "src").rglob("*.c")):
        build_file = path.parent / "meson.build"
        if not build_file.exists():
            found.append(f"{path.relative_to(root)} is not built: there is no meson.build beside it")
        elif not is_named(path, build_file.read_text()):
            found.append(f"{path.relative_to(root)} is not built: no word in {build_file.relative_to(root)}")
    return found
