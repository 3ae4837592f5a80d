#!/usr/bin/env python3
"""Text files as C strings: embed.py OUT NAME=FILE ... writes a header with two constants each.

NAME is the text, NAME_hash what a Content-Security-Policy calls an element that has it, on a line of
its own, between its tags.
"""
import base64
import hashlib
import sys


def literal(text):
    lines = text.splitlines(keepends=True)
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
               .replace("\n", "\\n").replace("\t", "\\t") for line in lines)
    return "\n\t".join(f'"{line}"' for line in escaped) or '""'


def source_hash(text):
    """The line feed stands behind the opening tag."""
    digest = hashlib.sha256(f"\n{text}".encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def main(out, *pairs):
    with open(out, "w", encoding="utf-8") as header:
        header.write("/* Made by tools/embed.py. */\n")
        for pair in pairs:
            name, path = pair.split("=", 1)
            with open(path, encoding="utf-8") as source:
                text = source.read()
            header.write(f"static const char {name}[] =\n\t{literal(text)};\n"
                         f"static const char {name}_hash[] = \"{source_hash(text)}\";\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
