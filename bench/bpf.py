#!/usr/bin/env python3
"""What a call costs the process while it is watched from the kernel: `memtape attach --bpf`, and a script of bpftrace.

    bpf.py [--depths N,...] [--runs N] [--prefix DIR]

Runs programs/watched.c, interleaved, as root; of each run the median of its batches that were slower than any unwatched
one, and the median of these over the runs. The script does what BCC's memleak does: it keeps the size and the stack of each
live block. Its stacks need frame pointers, memtape's do not. Nothing is asserted.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW_NS = 300  # a pair that nobody watches takes 10
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
SCRIPT = f"""
uprobe:{LIBC}:malloc /pid == PID/ {{ @size[tid] = arg0; }}
uretprobe:{LIBC}:malloc /pid == PID && @size[tid]/ {{ @blocks[retval] = @size[tid]; @stack[retval] = ustack(); delete(@size[tid]); }}
uprobe:{LIBC}:free /pid == PID/ {{ delete(@blocks[arg0]); delete(@stack[arg0]); }}
END {{ clear(@size); clear(@blocks); clear(@stack); }}
"""


def watchers(prefix, folder):
    """Name: the command that watches a process until SIGINT."""
    attach = [os.path.join(prefix, "bin", "memtape"), "attach", "--bpf", "-q", "-f", "-o", os.path.join(folder, "tape")]
    return {
        "memtape attach --bpf": lambda pid: [*attach, pid],
        "the same, --sample 512K": lambda pid: [*attach, "--sample", "512K", pid],
        "bpftrace": lambda pid: ["bpftrace", "-p", pid, "-e", SCRIPT.replace("PID", pid)],
    }


def take(program, depth, command):
    with subprocess.Popen([program, str(depth), "500", "5"], stdout=subprocess.PIPE, text=True) as watched:
        time.sleep(0.3)
        with subprocess.Popen(command(str(watched.pid)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watcher:
            batches = [int(line) for line in watched.stdout]
            watcher.terminate()
    slow = [ns for ns in batches if ns > SLOW_NS]
    return statistics.median(slow) if slow else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default="5,20,100")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--prefix", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "watched")
        subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, os.path.join(HERE, "programs", "watched.c")], check=True)
        ways = watchers(options.prefix, folder)
        for depth in map(int, options.depths.split(",")):
            figures = {name: [] for name in ways}
            for _ in range(options.runs):
                for name, command in ways.items():
                    figures[name].append(take(program, depth, command))
            for name, found in figures.items():
                found = [ns for ns in found if ns is not None]
                print(f"depth {depth:3}  {name:24} " + (f"{statistics.median(found):6.0f} ns a malloc and a free" if found else "did not run"),
                      flush=True)


if __name__ == "__main__":
    main()
