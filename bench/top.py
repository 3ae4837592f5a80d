#!/usr/bin/env python3
"""What memtape top takes while somebody looks at it.

    top.py [--seconds N] [--rates N,...] [--lengths N,...] [--out FILE] [--prefix DIR]

Records programs/rate.c at several rates of events, and shows each in a terminal of 80x24, once a second. CPU, in percent of one
processor, of memtape top, and of the collector with and without somebody who looks, from the tenth second on. The list of
processes, too. The same of tapes of several lengths, whose programs go on at a low rate. Nothing is asserted.
"""
import argparse
import datetime
import json
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import fcntl
import termios
import time

import results

HERE = os.path.dirname(os.path.abspath(__file__))
WARM_S = 10
LENGTH_RATE = 2000
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Shown:
    """memtape top in a terminal that somebody reads."""

    def __init__(self, args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execv(args[0], args)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.bytes = 0

    def watch(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                self.bytes += len(os.read(self.fd, 1 << 16))

    def quit(self):
        os.write(self.fd, b"q")
        while True:
            try:
                if not os.read(self.fd, 1 << 16):
                    break
            except OSError:
                break
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def shown(args, seconds, others=()):
    """CPU in percent of top and of others, and bytes a second to the terminal."""
    top = Shown(args)
    top.watch(WARM_S)
    begin, bytes_before = [cpu_s(pid) for pid in (top.pid, *others)], top.bytes
    at = time.monotonic()
    top.watch(seconds)
    passed = time.monotonic() - at
    percent = [(cpu_s(pid) - before) * 100 / passed for pid, before in zip((top.pid, *others), begin)]
    sent = (top.bytes - bytes_before) / passed
    top.quit()
    return percent, sent


def ticks_quiet(pids, seconds):
    begin = [cpu_s(pid) for pid in pids]
    time.sleep(seconds)
    return [(cpu_s(pid) - before) * 100 / seconds for pid, before in zip(pids, begin)]


def events_of(memtape, target):
    return json.loads(subprocess.run([memtape, "ctl", str(target), "--json"], capture_output=True).stdout)["events"]


def take_length(memtape, folder, program, length, seconds):
    """A row of the table of lengths."""
    tape = os.path.join(folder, f"{length}.mtape")
    with subprocess.Popen([memtape, "record", "-q", "-f", "-o", tape, "--", program, str(LENGTH_RATE), "3600", str(length)]) as recorder:
        time.sleep(WARM_S / 2)
        target = int(subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()[0])
        while events_of(memtape, target) < length:
            time.sleep(1)
        percent, _ = shown([memtape, "top", "-p", str(target)], seconds)
        events, tape_bytes = events_of(memtape, target), os.path.getsize(tape)
        recorder.terminate()
    os.unlink(tape)
    return f"| {length:,} | {events:,} | {tape_bytes / 1e6:,.1f} | {percent[0]:.2f} |"


def take(memtape, folder, program, rate, seconds):
    """A row of the table."""
    tape = os.path.join(folder, f"{rate}.mtape")
    with subprocess.Popen([memtape, "record", "-q", "-f", "-o", tape, "--", program, str(rate), str(WARM_S + 2 * seconds + 20)]) as recorder:
        time.sleep(WARM_S / 2)
        target = int(subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout.split()[0])
        quiet = ticks_quiet([recorder.pid, target], seconds)
        percent, sent = shown([memtape, "top", "-p", str(target)], seconds, [recorder.pid, target])
        events = events_of(memtape, target)
        recorder.terminate()
    return f"| {rate:,} | {events:,} | {percent[0]:.2f} | {quiet[0]:.2f} | {percent[1]:.2f} | {quiet[1]:.2f} | {percent[2]:.2f} | {sent:,.0f} |"


def lines(options, folder):
    memtape = f"{options.prefix}/bin/memtape"
    program = os.path.join(folder, "rate")
    subprocess.run(["cc", "-g", "-O2", "-o", program, f"{HERE}/programs/rate.c"], check=True)
    yield "# What memtape top takes\n"
    machine = results.machine(options.prefix)
    yield from (f"* {key}: {machine[key]}" for key in ("CPU", "memory", "kernel", "memtape"))
    yield f"* load when it began: {os.getloadavg()[0]:.1f}; {options.seconds} s each, after {WARM_S} s; percent of one processor\n"
    yield "| events/s | events on the tape | memtape top | collector, not watched | watched | program, not watched | watched | bytes/s to the terminal |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for rate in options.rates:
        yield take(memtape, folder, program, rate, options.seconds)
    yield f"\nThe same where a program has made so many events at once, and goes on with {LENGTH_RATE:,} a second:\n"
    yield "| events at once | events on the tape | MB | memtape top |"
    yield "|---:|---:|---:|---:|"
    for length in options.lengths:
        yield take_length(memtape, folder, program, length, options.seconds)
    percent, sent = shown([memtape, "top"], options.seconds)
    count = len(json.loads(subprocess.run([memtape, "attach", "--list", "--json"], capture_output=True).stdout)["processes"])
    yield f"\nThe list of {count} processes: {percent[0]:.2f} % of one processor, {sent:,.0f} bytes/s to the terminal."


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rates", type=numbers, default=[0, 200, 2000, 20000, 200000])
    parser.add_argument("--lengths", type=numbers, default=[100000, 1000000, 10000000])
    parser.add_argument("--out", default=f"{HERE}/results/top-{datetime.date.today()}.md")
    parser.add_argument("--prefix", default=os.path.join(HERE, "../build/prefix"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open(options.out, "w") as out:
        for line in lines(options, folder):
            print(line, flush=True)
            print(line, file=out, flush=True)


if __name__ == "__main__":
    sys.exit(main())
