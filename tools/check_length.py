"""Functions fit on a screen, files in a head. Exceptions are granted by name and only shrink."""
import json
import subprocess

RULE = "functions <= 70 lines, files <= 500 (exceptions: tools/length-granted.txt, shrinking)"
FUNCTION_LINES = 70
FILE_LINES = 500


def functions(root, paths):
    """(path:function, lines), as ctags sees them."""
    if not paths:
        return
    text = subprocess.run(
        ["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f", "--languages=C", "-f", "-", *paths],
        cwd=root, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield f"{tag['path']}:{tag['name']}", tag["end"] - tag["line"] + 1


def granted(root):
    rows = {}
    for line in (root / "tools/length-granted.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            what, lines, *_ = line.split()
            rows[what] = int(lines)
    return rows


def problems(root, _build):
    paths = [str(p.relative_to(root)) for p in sorted((root / "src").rglob("*.[ch]"))]
    lengths = [(what, lines, FUNCTION_LINES) for what, lines in functions(root, paths)]
    for path in paths:
        lengths.append((path, len((root / path).read_text().splitlines()), FILE_LINES))
    rows = granted(root)
    found = []
    for what, lines, limit in lengths:
        grant = rows.pop(what, None)
        if grant is None and lines > limit:
            found.append(f"{what}: {lines} lines, more than {limit}")
        elif grant is not None and lines > grant:
            found.append(f"{what}: {lines} lines, more than the granted {grant}")
        elif grant is not None and (lines < grant or lines <= limit):
            found.append(f"{what}: shrunk to {lines} lines: lower or remove its grant of {grant}")
    found += [f"{what}: granted, but there is no such thing" for what in rows]
    return found
