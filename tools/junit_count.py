#!/usr/bin/env python3
"""junit_count.py RESULT.xml EXIT_STATUS [AGAIN.xml]: prints "PASSED FAILED [NAME...]" of a test runner.

A runner that failed, or left no result, counts as one failed test even if its file shows none.
AGAIN.xml, if there is such a file, is of a second try of what failed; NAMEs are what passed only then.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree


def cases(path):
    """The tests of a file: those that passed and those that did not."""
    found = list(ElementTree.parse(path).iter("testcase"))
    bad = [c for c in found if c.find("failure") is not None or c.find("error") is not None]
    good = [c for c in found if c not in bad and c.find("skipped") is None]
    return good, bad


def counts(path, status, again=""):
    try:
        good, bad = cases(path)
        late, bad = cases(again) if os.path.exists(again) else ([], bad)
    except (OSError, ElementTree.ParseError):
        return 0, 1
    return (len(good) + len(late), max(len(bad), int(status != 0)), *(c.get("name").replace(" ", "_") for c in late))


if __name__ == "__main__":
    print(*counts(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
