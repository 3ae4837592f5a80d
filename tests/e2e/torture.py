#!/usr/bin/env python3
"""Runs every target again and again, recorded, and compares its answer with the plain run's.

    torture.py [--rounds N] [--seconds S] [--only TEXT] [--jobs N] [--mode bare|record|selfcheck]

Prints one line per failure, with the command to repeat it, and a total; exit code 1 if there was
one. tests/e2e/test_torture.py runs it for some seconds, with MEMTAPE_TEST_FULL=1 for 100 rounds.
"""

import argparse
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import recording  # noqa: E402
import targets  # noqa: E402
from tape_reader import LIVE, BadTape  # noqa: E402


# Targets whose heads state nothing to be found, and programs of theirs on other allocators.
MORE = ["bad_pointers", "conformance", "conformance_cxx", "detached-jemalloc_inside", "locking", "own_malloc",
        "threads-jemalloc_inside eight", "threads-jemalloc eight", "threads-tcmalloc_minimal eight",
        "threads-mimalloc eight", "usable", "vectors"]


def more_cases():
    cases = [targets.Case(line.split()[0], line.split()[1:]) for line in MORE]
    return [case for case in cases if recording.target(case.name).exists()]


def selfchecks(tape):
    """From the header alone: a hundred rounds of all events are too many for a slow reader."""
    with open(tape, "rb") as file:
        return struct.unpack_from("<" + LIVE, file.read(4096), 256)[18:20]


def once(case, mode, folder, number):
    """None, or what was wrong."""
    tape = pathlib.Path(folder) / f"{number}.mtape"
    args = [recording.target(case.name), *case.args]
    try:
        if mode == "record":
            done = recording.run_recorded(args, tape, options=["--quiet"])
        else:
            env = {"MEMTAPE_SELFCHECK": "1"} if mode == "selfcheck" else {}
            done = recording.run_bare(args, tape, env=env)
    except subprocess.TimeoutExpired:
        return "hung"
    code = case.returncode
    if done.returncode != code and not (mode == "record" and code < 0 and
                                        done.returncode == 128 - code):
        return f"ended with {done.returncode}, not {code}: {done.stderr[-300:]!r}"
    try:
        lost = recording.report(tape, "summary")["lost_events"]
        if mode == "selfcheck":
            checked, disagreeing = selfchecks(tape)
            if disagreeing:
                return f"{disagreeing} of {checked} stacks disagree"
    except (BadTape, OSError, AssertionError, ValueError) as error:
        return f"unreadable tape: {error}"
    finally:
        for path in pathlib.Path(folder).glob(f"{number}.*"):
            path.unlink(missing_ok=True)
    return f"{lost} events lost" if lost > case.losses_at_most and not case.loss_allowed else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--mode", choices=["bare", "record", "selfcheck"], default="bare")
    options = parser.parse_args()
    cases = [case for case in targets.all_cases() + more_cases() if options.only in case.id]
    work = [case for _ in range(options.rounds) for case in random.sample(cases, len(cases))]
    deadline = time.time() + options.seconds
    runs, failures = 0, {}

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        os.chmod(folder, 0o777)

        def attempt(pair):
            number, case = pair
            if time.time() > deadline:
                return case, None, False
            return case, once(case, options.mode, folder, number), True

        for case, wrong, ran in pool.map(attempt, enumerate(work)):
            runs += ran
            if wrong:
                failures.setdefault(case.id, []).append(wrong)
                if len(failures[case.id]) <= 3:
                    print(f"{case.id}: {wrong}", flush=True)
    for name, wrong in failures.items():
        print(f"FAILED {len(wrong)} times: {name}")
    print(f"{runs} runs, {sum(map(len, failures.values()))} failures, mode {options.mode}")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
