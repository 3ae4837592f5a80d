#!/usr/bin/env python3
"""Text files as C strings: embed.py OUT NAME=FILE ... writes a header with one constant each."""
import sys


def literal(text):
    lines = text.splitlines(keepends=True)
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
               .replace("\n", "\\n").replace("\t", "\\t") for line in lines)
    return "\n\t".join(f'"{line}"' for line in escaped) or '""'


def main(out, *pairs):
    with open(out, "w", encoding="utf-8") as header:
        header.write("/* Made by tools/embed.py. */\n")
        for pair in pairs:
            name, path = pair.split("=", 1)
            with open(path, encoding="utf-8") as source:
                header.write(f"static const char {name}[] =\n\t{literal(source.read())};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
