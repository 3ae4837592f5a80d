"""The format's document has the functions of the table that the code is made from."""
import re

RULE = "docs/tape-format.md lists the functions of src/both/tape/functions.def, and hooks.def hooks each"
ROW = re.compile(r'^TAPE_FUNCTION\((\w+), (\d+), "([^"]+)", (\w+), (?:PLAIN|ALIGNED)\)', re.MULTILINE)
CELLS = re.compile(r"\| (\d+) \| ([^|]+?) \| (S?) ?(?=\|)")
SIZELESS = {"FREE", "REALLOC_OUT"}
OF_REALLOC = re.compile(r"REALLOC(ARRAY)?_(OUT|IN|FAIL|FREE)")  # further records of one hook
OF_POOLS = re.compile(r"POOL_\w+|PROCESS_END")  # of the client's functions: records of their own; made when tapes are merged


def documented(root):
    text = (root / "docs/tape-format.md").read_text()
    section = text.partition("### 5.2 Functions")[2].partition("\n**")[0]
    return {int(number): (word, sign) for number, word, sign in CELLS.findall(section)}


def problems(root, _build):
    rows = ROW.findall((root / "src/both/tape/functions.def").read_text())
    if not rows:
        raise ValueError("no functions in src/both/tape/functions.def")
    listed = documented(root)
    hooks = (root / "src/target/rec/hooks.def").read_text()
    found = []
    for name, number, word, kind in rows:
        said, sign = listed.pop(int(number), ("nothing", ""))
        if not said.startswith(word) or (sign == "S") != (kind in SIZELESS):
            found.append(f"docs/tape-format.md: function {number} is {word} ({kind}), not {said} {sign}".rstrip())
        if not OF_REALLOC.fullmatch(name) and not OF_POOLS.fullmatch(name) and not re.search(rf"\bTAPE_FN_{name}\b", hooks):
            found.append(f"src/target/rec/hooks.def: nothing is hooked that is recorded as {name}")
    return found + [f"docs/tape-format.md: function {number} is in no table" for number in sorted(listed)]
