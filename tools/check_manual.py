"""Help and manual say the same: the options of every command, and what it lists, both ways."""
import re
import shlex
import subprocess

RULE = "memtape COMMAND --help and docs/man list the same options; and --list the same reports, formats and fields"
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Rows of --help begin with an option; in a page an option's paragraph begins with one.
HELP_ROW = re.compile(r"^\s+(?:-\w, *)?(?:-\w|--[a-z][a-z0-9-]*).*$", re.MULTILINE)
MAN_ROW = re.compile(r"^\.(?:It Fl|B|BR|BI|OP|IP|RB) +.*$", re.MULTILINE)

# What lists, and the headings of the page below which each of it has a paragraph.
LISTS = [
    ("report --list", "memtape-report.1", r"Reports"),
    ("export --list", "memtape-export.1", r"Formats"),
    ("report --list-fields", "memtape-filter.7", r"Fields of .*"),
]


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


def listed(text):
    return set(re.findall(r"^ *([a-z][a-z_-]*) {2,}\S", text, re.MULTILINE))


def headings(text, section):
    """The bold words with which paragraphs of a section begin: '.BR thread " (id), " thread_name " (text)"'."""
    found, is_in, after_tp = set(), False, False
    for line in text.replace("\\-", "-").splitlines():
        if line.startswith((".SS ", ".SH ")):
            is_in = bool(re.fullmatch(section, line[4:]))
        elif is_in and after_tp:
            macro, *words = shlex.split(line.replace("'", ""))
            found |= set(words if macro == ".B" else words[::2])
        after_tp = line == ".TP"
    return found


def compare_lists(root, memtape):
    found = []
    for command, page, section in LISTS:
        done = subprocess.run([memtape, *command.split()], check=True, capture_output=True, text=True)
        names, described = listed(done.stdout), headings((root / "docs/man" / page).read_text(), section)
        if not names:
            raise ValueError(f"memtape {command} lists nothing")
        found += [f"docs/man/{page} has no paragraph of {name}, which memtape {command} lists" for name in sorted(names - described)]
        found += [f"docs/man/{page} has a paragraph of {name}, which memtape {command} does not list" for name in sorted(described - names)]
    return found


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
    found += compare_lists(root, memtape)
    return found + [f"docs/man/memtape-{name}.1: no such command" for name in sorted(pages - set(names))]
