#!/usr/bin/env python3
"""dist.py source BUILD OUT | dist.py recorder BUILD OUT --processor NAME [--strip STRIP]: what a release consists of.

source writes OUT/memtape-VERSION.tar.xz: the files that git knows, as they are in the working tree, and the
web app built in BUILD: it builds without git, Node.js and a registry. recorder writes
OUT/memtape-record-VERSION-PROCESSOR.tar.gz: the library, memtape-record and a page of instructions, for devices.
The same commit gives the same bytes, if the same compiler built it.
"""
import argparse
import gzip
import io
import json
import lzma
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT_OUT = (".ci/",)
RECORDER = ("src/target/rec/libmemtape.so", "src/target/rec/libmemusage.so", "src/device/memtape-record")


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def version_of(build):
    return json.loads((build / "meson-info/intro-projectinfo.json").read_text())["version"]


def add(archive, name, content, mode, when):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = len(content), mode, when
    archive.addfile(entry, io.BytesIO(content))


def write_tar(path, folder, files, when):
    """files: {name below folder: (bytes, mode)}"""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            add(archive, f"{folder}/{name}", content, mode, when)
    data = raw.getvalue()
    packed = lzma.compress(data) if path.suffix == ".xz" else gzip.compress(data, mtime=when)
    part = path.with_name(path.name + ".part")
    part.write_bytes(packed)
    part.rename(path)
    print(f"{path}: {len(packed)} bytes, {len(files)} files")


def mode_of(path):
    return 0o755 if path.stat().st_mode & 0o100 else 0o644


def source_files():
    for name in git("ls-files", "-z").split("\0"):
        path = ROOT / name
        if name and not name.startswith(LEFT_OUT) and path.is_file():
            yield name, (path.read_bytes(), mode_of(path))


def source(build, out, version, when):
    app = build / "web/dist"
    if not (app / "index.html").exists():
        sys.exit(f"dist: {app} has no web app: build with -Dwebui=build")
    files = dict(source_files())
    for path in app.rglob("*"):
        if path.is_file():
            files[f"web/dist/{path.relative_to(app)}"] = (path.read_bytes(), 0o644)
    write_tar(out / f"memtape-{version}.tar.xz", f"memtape-{version}", files, when)


def stripped(strip, path):
    copy = path.with_name(path.name + ".stripped")
    subprocess.run([strip, "--strip-unneeded", "-o", copy, path], check=True)
    content = copy.read_bytes()
    copy.unlink()
    return content


def recorder(build, out, version, when, processor, strip):
    files = {pathlib.Path(name).name: (stripped(strip, build / name), 0o755) for name in RECORDER}
    files["README"] = ((ROOT / "packaging/device/README").read_bytes(), 0o644)
    files["COPYING"] = ((ROOT / "COPYING").read_bytes(), 0o644)
    name = f"memtape-record-{version}-{processor}"
    write_tar(out / f"{name}.tar.gz", name, files, when)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["source", "recorder"])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--processor")
    parser.add_argument("--strip", default="strip")
    args = parser.parse_args()
    version = version_of(args.build)
    when = int(git("log", "-1", "--format=%ct"))
    args.out.mkdir(parents=True, exist_ok=True)
    if args.what == "source":
        source(args.build, args.out, version, when)
    else:
        recorder(args.build, args.out, version, when, args.processor, args.strip)


if __name__ == "__main__":
    main()
