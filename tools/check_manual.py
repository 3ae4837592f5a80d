"""Help and manual say the same: the options of every command, both ways."""
import re
import subprocess

RULE = "memtape COMMAND --help and docs/man list the same options"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Rows of --help begin with an option; in a page an option's paragraph begins with one.
HELP_ROW = re.compile(r"^\s+(?:-\w, *)?(?:-\w|--[a-z][a-z0-9-]*).*$", re.MULTILINE)
MAN_ROW = re.compile(r"^\.(?:It Fl|B|BR|BI|OP|IP|RB) +.*$", re.MULTILINE)


def help_options(text):
    found = set()
    for row in HELP_ROW.findall(text):
        found |= set(OPTION.findall(re.split(r"\s{2,}", row.strip())[0]))
    return found


def man_options(text):
    text = text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    found = set()
    after_tp = False
    for line in text.splitlines():
        if after_tp or line.startswith(".It "):
            found |= set(OPTION.findall(re.sub(r"\bFl -", "--", line)))
        after_tp = line.startswith(".TP") or (after_tp and line.startswith(".TQ"))
    return found


def commands(memtape):
    text = subprocess.run([memtape, "--help"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  ([a-z]+)\s{2,}\S", text, re.MULTILINE)


def compare(command, in_help, in_page):
    found = [f"memtape {command} {option}: not in the manual" for option in sorted(in_help - in_page)]
    return found + [f"memtape {command} {option}: in the manual only" for option in sorted(in_page - in_help)]


def problems(root, build):
    memtape = build / "src/cli/memtape"
    names = commands(memtape)
    if not names:
        raise ValueError("memtape --help lists no commands")
    found = []
    for command in names:
        page = root / f"docs/man/memtape-{command}.1"
        if not page.exists():
            found.append(f"docs/man/{page.name} is missing")
            continue
        text = subprocess.run([memtape, command, "--help"], capture_output=True, text=True, check=True).stdout
        found += compare(command, help_options(text), man_options(page.read_text()))
    pages = {p.stem.split("-", 1)[1] for p in (root / "docs/man").glob("memtape-*.1")}
    return found + [f"docs/man/memtape-{name}.1: no such command" for name in sorted(pages - set(names))]
