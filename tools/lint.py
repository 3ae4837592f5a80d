#!/usr/bin/env python3
"""lint.py BUILD_DIR [--junit FILE]: the rules of the house, one line each (docs/architecture.md).

A rule is a module check_NAME.py with RULE (a sentence) and problems(root, build) -> [str]. A rule
that cannot look (its tool or the build is missing) raises, and that is a failure too.
tools/test_checks.py breaks every rule once and sees it go red.
"""
import argparse
import importlib
import pathlib
import sys
import xml.sax.saxutils as sax

CHECKS = ["rooms", "poison", "recorder", "globals", "length", "format", "manual", "registry", "functions", "generated", "web", "web_format"]
ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(name, build):
    check = importlib.import_module("check_" + name)
    try:
        return check.RULE, check.problems(ROOT, build)
    except Exception as error:  # a rule that did not run did not pass
        return check.RULE, [f"could not be checked: {error!r}"]


def junit(path, results):
    with open(path, "w", encoding="utf-8") as out:
        out.write('<testsuites><testsuite name="lint">\n')
        for name, (_, problems) in results.items():
            text = sax.escape("\n".join(problems))
            inner = f"<failure>{text}</failure>" if problems else ""
            out.write(f'<testcase classname="lint" name="{name}">{inner}</testcase>\n')
        out.write("</testsuite></testsuites>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--junit")
    parser.add_argument("--only", choices=CHECKS, action="append")
    args = parser.parse_args()
    results = {name: run(name, args.build.resolve()) for name in args.only or CHECKS}
    for name, (rule, problems) in results.items():
        print(f"{'FAILED' if problems else 'ok':7} {name:10} {rule}")
        for problem in problems:
            print(f"        {problem}")
    if args.junit:
        junit(args.junit, results)
    return 1 if any(problems for _, problems in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
