#!/usr/bin/env python3
"""Checks memtape in a virtual machine with two NUMA nodes and kprobes. README.md says how."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SPLITS, FAR_BYTES, MIB = 40, 96 << 20, 1 << 20


def libraries(program):
    """The shared objects that it needs, and the loader."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    return {word for line in lines for word in line.split() if word.startswith("/")}


def copy(source, root):
    target = root / source.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def initramfs(folder, prefix, busybox):
    root = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "tmp", "root", "etc"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for name in ("sh", "mount", "grep", "cat", "echo", "uname", "poweroff"):
        (root / "bin" / name).symlink_to("busybox")
    shutil.copytree(prefix, root / "prefix", symlinks=True)
    program = root / "program"
    subprocess.run(["gcc", "-O2", "-g", "-fno-builtin-malloc", "-o", program, HERE / "program.c"], check=True)
    for file in {library for binary in (prefix / "bin/memtape", program) for library in libraries(binary)}:
        copy(file, root)
    # The prefix may be asked for by the path for which it was built.
    built = root / str(prefix).lstrip("/")
    built.parent.mkdir(parents=True, exist_ok=True)
    if not built.exists():
        built.symlink_to("/prefix")
    shutil.copy(HERE / "init", root / "init")
    (root / "init").chmod(0o755)
    image = folder / "initramfs"
    with image.open("wb") as out:
        listed = subprocess.run(["find", ".", "-print0"], cwd=root, capture_output=True, check=True).stdout
        subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet"], cwd=root, input=listed, stdout=out, check=True)
    return image


def boot(kernel, image, minutes):
    """What it prints, by part."""
    command = ["qemu-system-x86_64", "-kernel", kernel, "-initrd", image, "-nographic", "-no-reboot", "-m", "1536",
               "-smp", "4", "-append", "console=ttyS0 quiet panic=-1 rdinit=/init",
               "-object", "memory-backend-ram,id=m0,size=768M", "-object", "memory-backend-ram,id=m1,size=768M",
               "-numa", "node,nodeid=0,cpus=0-1,memdev=m0", "-numa", "node,nodeid=1,cpus=2-3,memdev=m1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * minutes)
    parts, name = {}, None
    for line in done.stdout.decode(errors="replace").replace("\r", "").splitlines():
        if "@@@ " in line:  # what the firmware prints may be before it
            name = line.split("@@@ ")[1]
            parts[name] = ""
        elif name:
            parts[name] += line + "\n"
    assert "end" in parts, done.stdout.decode(errors="replace")[-4000:]
    return parts


def split_count(parts, way):
    return int(parts[f"{way}.after"].split()[1]) - int(parts[f"{way}.before"].split()[1])


def findings(parts, part, kind):
    return [finding for finding in json.loads(parts[part])["findings"] if finding["type"] == kind]


def check_splits(parts):
    for way in ("trace", "record"):
        told = json.loads(parts[f"{way}.json"])["thp_splits"]
        print(f"{way}: the kernel split {split_count(parts, way)}, memtape counted {told['count']}")
        assert told["count"] == told["recorded"] == split_count(parts, way) >= SPLITS, told
        assert told["bytes"] == told["count"] * 2 * MIB
        assert findings(parts, f"{way}.findings", "huge_splits"), parts[f"{way}.findings"]
    told = json.loads(parts["all.json"])
    estimated = sum(row["count"] for row in told["split_estimates"])
    print(f"estimate: the kernel split {split_count(parts, 'all')}, memtape estimated {estimated}")
    assert told["thp_splits"] is None and 0 < estimated <= split_count(parts, "all")
    assert findings(parts, "all.findings", "huge_splits")[0]["function"] == "huge_pages"
    assert "memtape" not in parts["probes"], parts["probes"]


def check_nodes(parts):
    nodes = {node["node"]: node for node in json.loads(parts["misplaced.json"])["nodes"]}
    found = findings(parts, "misplaced.findings", "misplaced")
    print(f"nodes: {nodes}\nmisplaced: {[(f['function'], f['bytes']) for f in found]}")
    assert abs(nodes[1]["bytes_max"] - FAR_BYTES) < 4 * MIB
    assert nodes[0]["cpu_ns"] > 10 * nodes[1]["cpu_ns"]
    assert len(found) == 1 and found[0]["function"] == "on_node" and abs(found[0]["bytes"] - FAR_BYTES) < 4 * MIB
    mappings = json.loads(parts["misplaced.mappings"])["mappings"]
    far = [node["bytes"] for row in mappings for node in row["nodes"] if node["node"] == 1]
    assert abs(sum(far) - FAR_BYTES) < 4 * MIB, far
    assert len(parts["misplaced.sql"].splitlines()) == 3, parts["misplaced.sql"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", help="vmlinuz with kprobes, NUMA and transparent huge pages")
    parser.add_argument("--prefix", default=os.environ.get("MEMTAPE_PREFIX", HERE.parent.parent / "build/prefix"))
    parser.add_argument("--minutes", type=float, default=20, help="after which it is given up")
    parser.add_argument("--log", help="file for all that the machine printed")
    options = parser.parse_args()
    busybox = shutil.which("busybox") or sys.exit("busybox-static is missing")
    with tempfile.TemporaryDirectory() as folder:
        image = initramfs(pathlib.Path(folder), pathlib.Path(options.prefix).resolve(), busybox)
        parts = boot(options.kernel, image, options.minutes)
    if options.log:
        pathlib.Path(options.log).write_text("".join(f"@@@ {name}\n{text}" for name, text in parts.items()))
    print(parts["kernel"].strip())
    check_splits(parts)
    check_nodes(parts)
    print("ok")


if __name__ == "__main__":
    main()
