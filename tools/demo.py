"""What ./dev demo records: an index of the words in Python's own library, and its usual sins."""
import pathlib
import re
import sysconfig

WORD = re.compile(r"[A-Za-z_]{3,}")
FILES = 150


def index(paths):
    """{word: [(file, line), ...]}: the biggest thing alive at the peak."""
    places = {}
    for path in paths:
        lines = path.read_text(errors="replace").splitlines()  # a temporary list of every line
        for number, line in enumerate(lines, 1):
            for word in WORD.findall(line):
                places.setdefault(word.lower(), []).append((path.name, number))
    return places


def report(places):
    ranking = sorted(places, key=lambda word: -len(places[word]))
    text = ""
    for word in ranking[:2000]:  # a string grown one piece at a time: realloc after realloc
        text += f"{word}: {len(places[word])}\n"
    return text


def main():
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    places = index(sorted(library.glob("*.py"))[:FILES])
    summary = report(places)
    print(f"{len(places)} words, {sum(map(len, places.values()))} places; the most frequent:",
          summary.split("\n", 1)[0])


main()
