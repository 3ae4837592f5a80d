#!/usr/bin/env python3
"""build_web.py --web DIR --out DIR --list FILE [--npm NPM --node NODE]: the web app's files.

Runs `npm ci` in the source's web/ when node_modules is not what package-lock.json says, and then
web/build.mjs, which writes OUT/index.html, OUT/assets/* and their names to FILE. node_modules is shared by all
build folders; its stamp has the lock's hash, so a second build needs neither npm nor the network. --full
installs what tests need, too; --modules-only stops after that; --prebuilt DIR copies instead of building.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

STAMP = ".memtape-stamp"


def wanted(web, full):
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    return f"{lock} {'full' if full else 'build'}\n"


def present(web, full):
    """Whether node_modules has what is asked for; a full one has what a build needs."""
    stamp = web / "node_modules" / STAMP
    have = stamp.read_text() if stamp.exists() else ""
    return have in (wanted(web, full), wanted(web, True))


def install(web, npm, full):
    with open(web / "package-lock.json", "rb") as lock:  # one npm at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if present(web, full):
            return
        command = [npm, "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"]
        env = dict(os.environ, NO_UPDATE_NOTIFIER="1", npm_config_loglevel="error")
        run = subprocess.run(command + ([] if full else ["--omit=dev"]), cwd=web, env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{run.stdout}\nbuild_web: `npm ci` failed in {web}. It needs the npm registry (or a filled "
                     "npm cache) once.\nWithout them: meson configure -Dwebui=disabled, or a release tarball, "
                     "which has the built app (-Dwebui=prebuilt).")
        (web / "node_modules" / STAMP).write_text(wanted(web, full))


def prebuilt(source, out, listing):
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    listing.write_text("".join(name + "\n" for name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("web", "out", "list", "prebuilt", "depfile"):
        parser.add_argument("--" + name, type=pathlib.Path)
    parser.add_argument("--npm", default="npm")
    parser.add_argument("--node", default="node")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--modules-only", action="store_true")
    args = parser.parse_args()
    if args.prebuilt:
        prebuilt(args.prebuilt, args.out, args.list)
        return
    install(args.web, args.npm, args.full)
    if not args.modules_only:
        command = [args.node, args.web / "build.mjs", "--out", args.out.resolve(), "--list", args.list.resolve()]
        if args.depfile:
            command += ["--depfile", args.depfile.resolve(), "--target", args.list]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
