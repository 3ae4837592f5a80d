#!/usr/bin/env python3
"""What a process tree of very many short processes takes: `memtape record --follow`.

    session.py [--counts N,...] [--at-once N] [--prefix DIR]

Runs programs/spawner.c. Of memtape while it records: the most resident memory, the most open descriptors, and its CPU time;
how many raw tapes there were at once at most (those of ended processes are packed meanwhile), and the folder's size at the
end. Then the first `memtape report SESSION processes`, which makes one tape of all: its time and most resident memory.
Nothing is asserted.
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(key):
                return int(line.split()[1])
    return 0


def raw_count(folder):
    """Tapes that are larger than any packed one here."""
    count = 0
    for entry in os.scandir(folder):
        try:
            count += entry.name.endswith(".mtape") and entry.stat().st_size > 64 << 10
        except FileNotFoundError:
            pass
    return count


def record(memtape, program, folder, count, at_once):
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([memtape, "record", "-q", "--follow", "-o", folder, "--", program, str(count), str(at_once)],
                               stdout=subprocess.PIPE, text=True)
    most = {"rss": 0, "fds": 0, "raw": 0}
    while process.poll() is None:
        try:
            most["rss"] = max(most["rss"], status(process.pid, "VmHWM"))
            most["fds"] = max(most["fds"], len(os.listdir(f"/proc/{process.pid}/fd")))
            most["raw"] = max(most["raw"], raw_count(folder))
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    most["program_s"] = float(process.stdout.read())
    most["all_s"] = time.monotonic() - begin
    most["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    most["tapes"] = sum(entry.name.endswith(".mtape") for entry in os.scandir(folder))
    most["bytes"] = sum(entry.stat().st_size for entry in os.scandir(folder))
    return most


def ask(memtape, folder):
    begin = time.monotonic()
    process = subprocess.Popen([memtape, "report", folder, "processes", "--json"], stdout=subprocess.PIPE)
    text = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return len(json.loads(text)), time.monotonic() - begin, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", default="100,1000,10000")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--prefix", required=True)
    options = parser.parse_args()
    memtape = os.path.join(options.prefix, "bin", "memtape")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "spawner")
        subprocess.run(["gcc", "-O2", "-o", program, os.path.join(HERE, "programs", "spawner.c")], check=True)
        print("| processes | plain, s | recorded, s | until packed, s | CPU of all, s | RSS, MiB | descriptors | raw at once | folder, MiB |"
              " report, s | its RSS, MiB |")
        print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for count in map(int, options.counts.split(",")):
            plain = float(subprocess.run([program, str(count), str(options.at_once)], stdout=subprocess.PIPE, check=True).stdout)
            session = os.path.join(folder, f"s{count}")
            most = record(memtape, program, session, count, options.at_once)
            rows, seconds, rss = ask(memtape, session)
            assert rows == most["tapes"]
            print(f"| {rows - 1:,} | {plain:.2f} | {most['program_s']:.2f} | {most['all_s']:.2f} | {most['cpu_s']:.2f} |"
                  f" {most['rss'] / 1024:.1f} | {most['fds']} | {most['raw']} | {most['bytes'] / (1 << 20):.1f} | {seconds:.2f} |"
                  f" {rss / 1024:.1f} |", flush=True)


if __name__ == "__main__":
    main()
