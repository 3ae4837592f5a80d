"""Where the built tree is, and running programs in it: plain, with the bare library, recorded."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FULL = bool(os.environ.get("MEMTAPE_TEST_FULL"))


def times(full, standard):
    """How often a loop goes round: the number that proves it, or the one that is quick."""
    return full if FULL else standard


def build_dir():
    for name in ("MEMTAPE_BUILD_DIR", "MEMTAPE_BUILD"):
        if os.environ.get(name):
            path = pathlib.Path(os.environ[name]).resolve()
            for candidate in (path, path / "gcc"):
                if (candidate / "tests" / "targets").is_dir():
                    return candidate
    for path in (ROOT / "build" / "gcc", ROOT / "build"):
        if (path / "tests" / "targets").is_dir():
            return path
    return ROOT / "build"


def prefix_file(pattern):
    prefix = os.environ.get("MEMTAPE_PREFIX")
    found = sorted(pathlib.Path(prefix).glob(pattern)) if prefix else []
    return found[0] if found else None


def anybody_may_enter(path):
    """False where a build lies that only root may look at."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.parents)


def library():
    return prefix_file("lib/**/libmemtape.so") or build_dir() / "src" / "target" / "rec" / "libmemtape.so"


def memtape():
    return prefix_file("bin/memtape") or build_dir() / "src" / "cli" / "memtape"


def target(name):
    return build_dir() / "tests" / "targets" / name


@dataclass
class Outcome:
    returncode: int
    stdout: bytes
    stderr: bytes
    tape: pathlib.Path = None

    def answer(self):
        return self.returncode, self.stdout, self.stderr


def clean_env(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MEMTAPE_") and k not in ("LD_PRELOAD", "COUNT_OUTPUT")}
    env.update(PYTHONHASHSEED="0", LC_ALL="C")
    env.update({k: str(v) for k, v in more.items()})
    return env


def run(args, env=None, timeout=150, tape=None, stdin=b"", **popen):
    args = [str(arg) for arg in args]
    process = subprocess.Popen(args, env=env or clean_env(), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)
    try:
        out, err = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.kill()
        raise
    return Outcome(process.returncode, out, err, tape)


def run_plain(args, **options):
    return run(args, **options)


def run_bare(args, tape, preload_after=(), env=None, **options):
    """With nothing but LD_PRELOAD and MEMTAPE_OUTPUT."""
    more = dict(env or {})
    more["LD_PRELOAD"] = ":".join(str(path) for path in [library(), *preload_after])
    more["MEMTAPE_OUTPUT"] = str(tape)
    return run(args, env=clean_env(**more), tape=pathlib.Path(tape), **options)


def run_recorded(args, tape, options=(), env=None, by=(), **more):
    """by: what runs memtape, with its words."""
    return run([*by, memtape(), "record", *options, "-o", tape, "--", *args], tape=pathlib.Path(tape),
               env=clean_env(**(env or {})), **more)


def report(tape, what, *options):
    done = run([memtape(), "report", tape, what, "--json", *options])
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


def rows(tape):
    """The rows of `report TAPE allocations --json` one by one: all of them may be gigabytes."""
    decoder, text, at = json.JSONDecoder(), "", 0
    process = subprocess.Popen([memtape(), "report", tape, "allocations", "--json"],
                               stdout=subprocess.PIPE, text=True)
    with process:
        for part in iter(lambda: process.stdout.read(1 << 20), ""):
            text, at = text[at:] + part, 0
            while True:
                begin = text.find("{", at)
                if begin < 0:
                    break
                try:
                    row, at = decoder.raw_decode(text, begin)
                except json.JSONDecodeError:
                    break  # the rest of it comes with the next part
                yield row
    assert process.returncode == 0


def have_reader():
    if not os.access(memtape(), os.X_OK):
        return False
    return b"report" in run([memtape(), "--help"]).stdout


def have_library():
    return library().exists()


def strip_numbers(text):
    """What differs between two runs of the same program: process numbers, addresses."""
    return re.sub(rb"0x[0-9a-f]+|\b\d{3,}\b", b"N", text)


def which(name):
    """The system's own program, not a wrapper script of some version manager."""
    for folder in ("/usr/bin", "/bin"):
        if os.access(f"{folder}/{name}", os.X_OK):
            return f"{folder}/{name}"
    return shutil.which(name)
