"""To extend is one file and one word: no file stands in a room without its word."""
RULE = "every source file of a room is named in the room's meson.build"


def is_named(path, folder, text):
    """By its file name, or by the word a table is made from: cmd_record.c is 'record'."""
    word = path.stem.split("_", 1)[-1]
    return any(f"'{name}'" in text for name in (path.relative_to(folder), path.stem, word))


def build_folder(path, top):
    """The nearest folder with a meson.build, or None."""
    return next((folder for folder in path.parents if top in (folder, *folder.parents)
                 and (folder / "meson.build").exists()), None)


def problems(root, _build):
    found = []
    for path in sorted((root / "src").rglob("*.c")):
        folder = build_folder(path, root / "src")
        if not folder:
            found.append(f"{path.relative_to(root)} is not built: there is no meson.build")
        elif not is_named(path, folder, (folder / "meson.build").read_text()):
            found.append(f"{path.relative_to(root)} is not built: no word in {folder.relative_to(root)}/meson.build")
    return found
