"""The source archive, and Debian's packages made of it: without git, Node.js, npm and a network."""
import os
import shutil
import subprocess
import tarfile

import pytest

from conftest import ROOT, run

ABSENT = ("git", "node", "nodejs", "npm", "npx")


def unpacked(archive, into):
    run("tar", "-C", into, "-xf", archive)
    return next(into.glob("memtape-*/"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment in which what a release does without fails, and is told."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ABSENT:
        (folder / name).write_text('#!/bin/sh\necho "$0 $*" >>"$(dirname "$0")/called"\nexit 97\n')
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder / "home"), "LANG": "C.UTF-8",
            "DEB_BUILD_OPTIONS": f"nocheck terse parallel={os.cpu_count()}", "CALLED": str(folder / "called")}


def offline():
    """A prefix for commands that reach no network; without the right to it, none."""
    return ["unshare", "-n"] if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode == 0 else []


@pytest.fixture(scope="module")
def packages(source_archive, bare, tmp_path_factory):
    """The folder with the packages."""
    if not shutil.which("dpkg-buildpackage") or not shutil.which("dh"):
        pytest.skip("no dpkg-buildpackage and debhelper here")
    folder = tmp_path_factory.mktemp("debian")
    shutil.copy(source_archive, folder / source_archive.name.replace("memtape-", "memtape_").replace(".tar", ".orig.tar"))
    tree = unpacked(source_archive, folder)
    shutil.copytree(tree / "packaging/debian", tree / "debian")
    run(*offline(), "dpkg-buildpackage", "-us", "-uc", cwd=tree, env=bare)
    assert not os.path.exists(bare["CALLED"]), open(bare["CALLED"]).read()
    return folder


def test_the_archive_has_the_sources_and_the_web_app(source_archive):
    with tarfile.open(source_archive) as archive:
        members = archive.getmembers()
    top = source_archive.name.removesuffix(".tar.xz")
    names = {member.name.removeprefix(top + "/") for member in members}
    assert {"dev", "meson.build", "web/dist/index.html", "packaging/debian/control", "COPYING"} <= names
    assert not any(name.startswith((".git/", ".ci", "build/", "web/node_modules")) for name in names)
    assert {(member.uid, member.gid) for member in members} == {(0, 0)} and len({member.mtime for member in members}) == 1


def test_debian_packages_are_clean(packages):
    if not shutil.which("lintian"):
        pytest.skip("no lintian here")
    changes = next(packages.glob("*.changes"))
    told = run("lintian", changes, check=False,
               env=dict(os.environ, LC_ALL="C.UTF-8"))
    lines = [line for line in told.stdout.splitlines() if line[:2] in ("E:", "W:")]
    assert lines == []


def test_what_debian_packages_install_records_and_reports(packages, tmp_path):
    for package in packages.glob("*.deb"):
        run("dpkg-deb", "-x", package, tmp_path)
    library = next((tmp_path / "usr/lib").glob("*/memtape/libmemtape.so"))
    assert library.parent.parent.name == run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").stdout.strip()
    memtape = tmp_path / "usr/bin/memtape"
    run(memtape, "record", "-o", tmp_path / "x.mtape", "--", "true")
    assert '"count"' in run(memtape, "report", tmp_path / "x.mtape", "summary", "--json").stdout
    assert (tmp_path / "usr/include/memtape/memtape.h").exists()


def test_rpm_understands_the_spec(source_archive, tmp_path):
    if not shutil.which("rpmspec"):
        pytest.skip("no rpmspec here")
    version = source_archive.name.removeprefix("memtape-").removesuffix(".tar.xz")
    spec = ROOT / "packaging/rpm/memtape.spec"
    told = run("rpmspec", "-q", "--qf", "%{name}-%{version}\n", spec).stdout.split()
    assert told == [f"memtape-{version}", f"memtape-libs-{version}", f"memtape-devel-{version}"]


@pytest.mark.skipif(not os.environ.get("MEMTAPE_TEST_FULL"), reason="long")
def test_rpm_builds(source_archive, bare, tmp_path):
    run("rpmbuild", "-bb", "--nodeps", "-D", f"_topdir {tmp_path}", "-D", f"_sourcedir {source_archive.parent}",
        ROOT / "packaging/rpm/memtape.spec", env=bare)
    assert len(list(tmp_path.glob("RPMS/*/*.rpm"))) >= 3


def test_alpine_builds_the_recorder(source_archive, bare, tmp_path):
    """APKBUILD's own build() and package(), with musl's compiler and without abuild."""
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc here")
    unpacked(source_archive, tmp_path)
    script = ('abuild-meson() { meson setup --prefix=/usr --libdir=lib --buildtype=plain "$@"; }\n'
              'srcdir=$PWD; pkgdir=$PWD/pkg; . "$1"\nset -e; cd "$builddir"; build; package\n')
    run("bash", "-c", script, "sh", ROOT / "packaging/alpine/APKBUILD", cwd=tmp_path, env=dict(bare, CC="musl-gcc"))
    assert (tmp_path / "pkg/usr/lib/memtape/libmemtape.so").exists()
    assert "libc.so.6" not in run("readelf", "-dW", tmp_path / "pkg/usr/lib/memtape/libmemtape.so").stdout
    record = tmp_path / "pkg/usr/lib/memtape/memtape-record"
    assert run(record, "--version").stdout.startswith("memtape-record ")
