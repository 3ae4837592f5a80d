"""heaptrack, as it is installed: recordings, and what it says about them."""

import re
import shutil
import subprocess

HAS_HEAPTRACK = bool(shutil.which("heaptrack") and shutil.which("heaptrack_print"))


def record(path, *command, raw=False):
    """The file it made; its name begins with path."""
    subprocess.run(["heaptrack", *(["-r"] if raw else []), "-o", path, *command], check=True,
                   capture_output=True, timeout=120)
    return path.with_name(path.name + (".raw.zst" if raw else ".zst"))


def interpret(raw, path):
    """What heaptrack makes of a raw file, with its own reader."""
    text = subprocess.run(["zstd", "-dc", raw], check=True, capture_output=True, timeout=60).stdout
    done = subprocess.run(["/usr/lib/heaptrack/libexec/heaptrack_interpret"], input=text, check=True,
                          capture_output=True, timeout=120)
    path.write_bytes(done.stdout)
    return path


def folded(path, cost, tmp_path):
    """(stack of function names, value): heaptrack's own sums."""
    out = tmp_path / f"{path.name}.{cost}.folded"
    subprocess.run(["heaptrack_print", "-f", path, "-p", "0", "-a", "0", "-T", "0", "-l", "0",
                    "--disable-builtin-suppressions", "--disable-embedded-suppressions",
                    "-F", out, "--flamegraph-cost-type", cost],
                   check=True, capture_output=True, timeout=120)
    lines = (line.rsplit(" ", 1) for line in out.read_text(errors="replace").splitlines())
    return [(stack, int(value)) for stack, value in lines]


def totals(path, tmp_path):
    """Exact ones, of its folded output; calls freed at once are in its summary alone."""
    done = subprocess.run(["heaptrack_print", "-f", path, "-p", "0", "-a", "0", "-T", "0", "-l", "0"],
                          check=True, capture_output=True, text=True, timeout=120)
    found = {cost: sum(value for _, value in folded(path, cost, tmp_path))
             for cost in ("allocations", "leaked", "peak")}
    shown = int(re.search(r"temporary memory allocations: (\d+)", done.stdout)[1])
    found["temporary"] = shown - miscounted(path)
    return found


def lines(path):
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        data = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, timeout=60).stdout
    return data.decode(errors="replace").splitlines()


def miscounted(path):
    """After a free heaptrack_print takes kind 0 for the last one allocated: the next free of that kind
    counts as temporary, although it is not."""
    last, count = 0, 0
    for line in lines(path):
        if line.startswith("+ "):
            last = None if line == "+ 0" else 1
        elif line.startswith("- "):
            count += line == "- 0" and last == 0
            last = 0
    return count


def top(path, cost, tmp_path, count=10):
    """The largest values of single stacks, largest first."""
    return sorted((value for _, value in folded(path, cost, tmp_path)), reverse=True)[:count]
