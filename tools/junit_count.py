#!/usr/bin/env python3
"""junit_count.py RESULT.xml EXIT_STATUS: prints "PASSED FAILED" of a test runner.

A runner that failed, or left no result, counts as one failed test even if its file shows none.
"""
import sys
import xml.etree.ElementTree as ElementTree


def counts(path, status):
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return 0, 1
    bad = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    skipped = [c for c in cases if c.find("skipped") is not None]
    failed = len(bad)
    if status != 0 and failed == 0:
        failed = 1
    return max(len(cases) - len(bad) - len(skipped), 0), failed


if __name__ == "__main__":
    print(*counts(sys.argv[1], int(sys.argv[2])))
