"""Programs with lost memory, and what other tools say of them: tests/targets/leaks/leak.h has the form
of their head comments."""

import re
import xml.etree.ElementTree
from dataclasses import dataclass, field

import recording
import targets

SOURCES = targets.SOURCES / "leaks"
CLASSES = ("definite", "indirect", "possible", "reachable")
RUN = re.compile(r"^ \*\s+Run: (\w+)((?:, [a-z]+ \d+)*): (.+)$")
PART = re.compile(r"(\w+) (\d+) in (\d+)")


@dataclass
class Case:
    program: str
    name: str
    returncode: int = 0
    dtvs: int = 0
    found: dict = field(default_factory=dict)  # by class: (bytes, blocks)
    child: dict = None  # the same of the child that it makes

    @property
    def id(self):
        return f"{self.program} {self.name}"

    @property
    def args(self):
        return [recording.target(f"leaks/{self.program}"), self.name]


def parse_found(text, line):
    found = dict.fromkeys(CLASSES, (0, 0))
    if text == "nothing":
        return found
    for part in text.split(", "):
        match = PART.fullmatch(part)
        if not match or match.group(1) not in found:
            raise ValueError(line)
        found[match.group(1)] = (int(match.group(2)), int(match.group(3)))
    return found


def parse_case(program, line):
    match = RUN.match(line)
    if not match:
        raise ValueError(f"{program}: {line}")
    case = Case(program, match.group(1), found=parse_found(match.group(3), line))
    for word, value in re.findall(r", ([a-z]+) (\d+)", match.group(2)):
        if word == "exit":
            case.returncode = int(value)
        elif word == "signal":
            case.returncode = -int(value)
        elif word == "dtv":
            case.dtvs = int(value)
        else:
            raise ValueError(line)
    return case


def cases_of(path):
    lines = targets.head_comment(path)
    cases = {case.name: case for case in (parse_case(path.stem, line) for line in lines if "Run:" in line)}
    for line in lines:
        child = re.match(r"^ \*\s+Child: (\w+): (.+)$", line)
        if child:
            cases[child.group(1)].child = parse_found(child.group(2), line)
    return list(cases.values())


def all_cases():
    paths = sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.cpp")])
    return [case for path in paths for case in cases_of(path)]


# --- records of tools ------------------------------------------------------------------------------

LIBRARIES = re.compile(r"/(ld-linux[^/]*|libc\.so|libstdc\+\+|libgcc_s|libm\.so|libmemtape|vgpreload)")


@dataclass
class Record:
    """Blocks of one class that were allocated in one place."""
    kind: str
    bytes: int
    blocks: int
    frames: list  # innermost first: (function, object)

    @property
    def is_vector(self):
        return any(function == "allocate_dtv" for function, _ in self.frames)

    @property
    def is_loaders(self):
        """The loader is in its stack, within all functions of the program."""
        for _, path in self.frames:
            if "/ld-linux" in path:
                return True
            if not LIBRARIES.search(path):
                return False
        return True


def add_up(records):
    found = dict.fromkeys(CLASSES, (0, 0))
    for record in records:
        size, count = found[record.kind]
        found[record.kind] = (size + record.bytes, count + record.blocks)
    return found


MEMCHECK_KINDS = {"Leak_DefinitelyLost": "definite", "Leak_IndirectlyLost": "indirect",
                  "Leak_PossiblyLost": "possible", "Leak_StillReachable": "reachable"}


def memcheck_record(error):
    direct = re.match(r"[\d,]+ \(([\d,]+) direct", error.findtext("xwhat/text"))
    size = direct.group(1).replace(",", "") if direct else error.findtext("xwhat/leakedbytes")
    frames = [(frame.findtext("fn") or "", frame.findtext("obj") or "") for frame in error.find("stack")]
    return Record(MEMCHECK_KINDS[error.findtext("kind")], int(size),
                  int(error.findtext("xwhat/leakedblocks")), frames)


def memcheck(args, folder):
    """How the program ended, and the records of the search at its end."""
    path = folder / "memcheck.xml"
    done = recording.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--num-callers=40",
                          "--errors-for-leak-kinds=none", "--undef-value-errors=no",
                          "--leak-resolution=high", "--xml=yes", f"--xml-file={path}", *args])
    errors = xml.etree.ElementTree.parse(path).getroot().iter("error")
    return done, [memcheck_record(error) for error in errors if error.findtext("kind") in MEMCHECK_KINDS]


MEMTAPE_KINDS = {"definitely_lost": "definite", "indirectly_lost": "indirect",
                 "possibly_lost": "possible", "still_reachable": "reachable"}


def records_of(tape, *options):
    """Of the last scan. The records add up to the classes."""
    answer = recording.report(tape, "leak-classes", *options)
    assert not answer["scan"].get("trouble"), answer["scan"]
    assert answer["not_scanned"]["blocks"] == 0
    records = [Record(MEMTAPE_KINDS[row["class"]], row["bytes"], row["blocks"],
                      [(frame["function"] or "", frame["module"] or "") for frame in row["stack"]])
               for row in answer["records"]]
    for key, kind in MEMTAPE_KINDS.items():
        assert (answer[key]["bytes"], answer[key]["blocks"]) == add_up(records)[kind]
    return records


def scanned(args, tape):
    done = recording.run_recorded(args, tape, options=["--quiet", "--leak-scan"])
    return done, records_of(tape)
