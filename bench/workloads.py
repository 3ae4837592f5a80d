"""What is recorded: real programs and micro-benchmarks, each in three sizes.

A workload is a command line that runs in a directory of its own and always does the same. "full"
has millions of events, "quick" about a third, "small" a tenth: for tools that are 10-100x slower.
"""
import dataclasses
import os
import socket
import subprocess
import time

import generate

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")


@dataclasses.dataclass
class Workload:
    name: str
    what: str
    sizes: dict  # size name -> argument
    argv: object  # (workspace, argument) -> list
    exe: object  # (workspace) -> path of the executable that is to be recorded
    make: object = None  # (workspace, argument): writes inputs, once per size
    env: dict = dataclasses.field(default_factory=dict)
    drive: object = None  # (workspace, argument, running): works on the started program, then ends it
    micro: bool = False
    tools: tuple = ()  # only these


class Workspace:
    """Where programs are built and inputs lie; made once per bench run."""

    def __init__(self, root):
        self.root = root
        self.port = free_port()
        self.bin = os.path.join(root, "bin")
        os.makedirs(self.bin, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def build(self, name, source, *flags):
        out = os.path.join(self.bin, name)
        subprocess.run(["cc", "-O2", "-g", "-Wall", "-o", out, os.path.join(HERE, source), *flags], check=True)
        return out


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def compiler(name):
    return subprocess.run(["gcc", f"-print-prog-name={name}"], check=True, capture_output=True, text=True).stdout.strip()


def make_repository(ws, commits):
    path = ws.path(f"repo-{commits}")
    subprocess.run(["git", "init", "-q", "--bare", path], check=True)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input=generate.fast_import(commits), check=True)
    subprocess.run(["git", "-C", path, "symbolic-ref", "HEAD", "refs/heads/main"], check=True)


def redis_argv(ws, _):
    return ["/usr/bin/redis-server", "--port", str(ws.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
            "--dir", ws.root, "--daemonize", "no"]


def redis_drive(ws, requests, running):
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", ws.port), 1).close()
            break
        except OSError:
            if time.monotonic() > deadline or not running():
                return
            time.sleep(0.02)
    address = ["-h", "127.0.0.1", "-p", str(ws.port)]
    for tests, ranged in (("set,get,lpush,lpop,sadd,hset,zadd", "20000"), ("mset,lrange_100", "2000")):
        count = str(requests if "set,get" in tests else requests // 10)
        subprocess.run(["redis-benchmark", *address, "-n", count, "-c", "20", "-P", "16", "-r", ranged, "-q", "-t", tests],
                       stdout=subprocess.DEVNULL, timeout=300)
    subprocess.run(["redis-cli", *address, "shutdown", "nosave"], stdout=subprocess.DEVNULL, timeout=60)


def programs():
    real = os.path.realpath
    cc1 = compiler("cc1")
    clang = real("/usr/bin/clang-14")
    yield Workload(
        "python3", "PYTHONMALLOC=malloc, objects, JSON, sort, regular expressions", {"full": 360, "quick": 120, "small": 20},
        lambda ws, n: ["/usr/bin/python3", os.path.join(PROGRAMS, "churn.py"), str(n)],
        lambda ws: real("/usr/bin/python3"), env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"})
    yield Workload(
        "cc1", "gcc 12's cc1 -O2 on a generated C file", {"full": 60, "quick": 20, "small": 5},
        lambda ws, n: [cc1, "-quiet", "-O2", ws.path(f"big-{n}.c"), "-o", "/dev/null"], lambda ws: cc1,
        make=lambda ws, n: generate.c_file(ws.path(f"big-{n}.c"), n))
    yield Workload(
        "clang", "clang 14 -O2 on a generated C++ file with eleven standard headers", {"full": 3, "quick": 1, "small": 0},
        lambda ws, n: [clang, "-O2", "-std=c++17", "-w", "-c", ws.path(f"big-{n}.cc"), "-o", "/dev/null"], lambda ws: clang,
        make=lambda ws, n: generate.cxx_file(ws.path(f"big-{n}.cc"), n))
    yield Workload(
        "sqlite3", "in-memory database: inserts, joins, indexes, a trigger, JSON", {"full": 60000, "quick": 20000, "small": 5000},
        lambda ws, n: ["/usr/bin/sqlite3", ":memory:", f".read {ws.path(f'memory-{n}.sql')}"],
        lambda ws: real("/usr/bin/sqlite3"),
        make=lambda ws, n: generate.sql_file(ws.path(f"memory-{n}.sql"), os.path.join(PROGRAMS, "memory.sql"), n))
    yield Workload(
        "redis", "redis-server (jemalloc) under redis-benchmark on loopback", {"full": 150000, "quick": 40000, "small": 10000},
        redis_argv, lambda ws: real("/usr/bin/redis-server"), drive=redis_drive)
    yield Workload(
        "git", "git log -p -M --stat on a generated history", {"full": 2500, "quick": 900, "small": 300},
        lambda ws, n: ["/usr/bin/git", "-C", ws.path(f"repo-{n}"), "log", "-p", "-M", "--stat", "main"],
        lambda ws: real("/usr/bin/git"), make=make_repository)
    yield Workload(
        "perl", "split, join, hashes, closures, regular expressions", {"full": 400, "quick": 140, "small": 40},
        lambda ws, n: ["/usr/bin/perl", os.path.join(PROGRAMS, "churn.pl"), str(n)], lambda ws: real("/usr/bin/perl"))


def micro(name, what, program, *args, pairs=1_000_000, tools=()):
    return Workload(
        name, what, {"full": pairs, "quick": pairs // 2, "small": pairs // 10},
        lambda ws, n: [os.path.join(ws.bin, program), *map(str, args), str(n)],
        lambda ws: os.path.join(ws.bin, program), micro=True, tools=tools)


def micros():
    yield micro("pairs", "malloc and free at once, in main", "pairs", pairs=2_000_000)
    for depth in (5, 20, 60, 200):
        yield micro(f"depth {depth}", f"{depth} frames, the outer ones fixed", "depth", depth)
    for depth in (10, 20, 60):
        yield micro(f"paths {depth}", f"{depth} frames, another path each time", "paths", depth, pairs=500_000)
    for depth in (20, 150):
        yield micro(f"shallow {depth}", f"allocated {depth} frames deep on 1,000 paths, freed near main", "shapes", "shallow", depth, 1000)
    yield micro("shallow, one path", "allocated 150 frames deep on one path, freed near main", "shapes", "shallow", 150, 1)
    yield micro("two places", "two places below frames that stay, in turn, 150 deep", "shapes", "two", 150, 1)
    yield micro("coroutines", "four stacks in turn, 20 frames deep", "shapes", "coroutines", 20, 1)
    yield micro("live", "5 million blocks alive, random ones replaced", "live", 5_000_000, pairs=5_000_000)
    for threads in (1, 2, 4, 8):
        yield micro(f"threads {threads}", f"larson, {threads} threads, frees by other threads", "threads", threads, pairs=2_000_000)
    for threads in (1, 2, 8):  # what a call costs where it is counted: so many that starting is a small part of it
        yield micro(f"calls {threads}", f"larson, {threads} threads, ten times the work", "threads", threads, pairs=20_000_000,
                    tools=("none", "memusage", "memusage, the command", "memtape memusage"))


def everything():
    return [*programs(), *micros()]
