#!/usr/bin/env python3
"""web_format.py [--check]: the web app's sources and its tests as Prettier writes them (web/prettier.json).

Prettier is pinned in web/package-lock.json beside what tests need. --check names the files that differ and changes
none. Files that have not changed since the last time are not read again.
"""
import argparse
import pathlib
import subprocess
import sys

import build_web

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ["web/*.mjs", "web/src/**/*.{ts,tsx,css}", "tests/web/**/*.{ts,mjs}"]
# As tools/generate.py writes it.
LEFT = ["web/src/api/answers.ts"]


def prettier(root, mode):
    """Over the sources of a tree; the result has names in its stdout."""
    web = ROOT / "web"
    build_web.install(web, "npm", True)
    command = ["node", web / "node_modules/prettier/bin/prettier.cjs", "--config", web / "prettier.json", "--no-editorconfig",
               "--cache", "--cache-strategy", "content", "--cache-location", web / "node_modules/.cache/prettier",
               "--no-error-on-unmatched-pattern", mode, *SOURCES, *("!" + name for name in LEFT)]
    return subprocess.run(list(map(str, command)), cwd=root, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    done = prettier(ROOT, "--list-different" if parser.parse_args().check else "--write")
    sys.stdout.write("".join(line + "\n" for line in done.stdout.splitlines() if "(unchanged)" not in line))
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
