"""What runs inside the target's malloc cannot spell a function that allocates."""
import re

RULE = 'core, tape, unwind and rec include "core/poison.h", last'
ROOMS = ["both/core", "both/tape", "both/unwind", "target/rec", "target/stream"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)


def problems(root, _build):
    found = []
    for room in ROOMS:
        for path in sorted((root / "src" / room).glob("*.c")):
            includes = INCLUDE.findall(path.read_text())
            # Tables written as .def files are included where they are used, after the poison.
            headers = [name for name in includes if not name.endswith(".def")]
            if not headers or headers[-1] != "core/poison.h":
                found.append(f"{path.relative_to(root)}: the last include is not core/poison.h")
    return found
