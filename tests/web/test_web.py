"""The web app: its types, its units in Node, and its pages in Chromium against `memtape serve`."""

import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "web"
WEB = ROOT / "web"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import recording  # noqa: E402

FIRST_SCRIPT_BYTES_MAX = 76 << 10  # compressed: what is loaded before the first page is shown
SLOW = int(os.environ.get("MEMTAPE_SLOW", "1"))  # so many times as slow Chromium runs what is in a page
ALL_BYTES_MAX = 208 << 10  # with what rare pages load later, and the fonts


def run(*args, **more):
    done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def modules():
    """typescript, playwright-core and axe-core beside what the build needs."""
    run(sys.executable, ROOT / "tools" / "build_web.py", "--web", WEB, "--full", "--modules-only")


@pytest.fixture(scope="session")
def env(tmp_path_factory):
    return recording.clean_env(MEMTAPE_WEB=WEB, MEMTAPE_SLOW=str(SLOW), HOME=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def dist():
    path = recording.build_dir() / "web" / "dist"
    assert (path / "index.html").exists(), "built without the web app"
    return path


def record(folder, *more):
    flags = ["-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", f"-I{ROOT / 'include'}"]
    run("cc", *flags, "-g0", "-DLIBRARY", "-shared", "-fPIC", "-o", folder / "libparse.so", HERE / "program.c")
    run("cc", *flags, *more, "-o", folder / "program", HERE / "program.c", f"-L{folder}", "-lparse", "-lpthread", f"-Wl,-rpath,{folder}")
    path = folder / "program.mtape"
    run(recording.memtape(), "record", "-q", "-o", path, "--", folder / "program", env=recording.clean_env())
    return path


@contextlib.contextmanager
def served(*tapes, cwd=None):
    process = subprocess.Popen([str(recording.memtape()), "serve", "--json", *map(str, tapes)], stdout=subprocess.PIPE,
                               text=True, env=recording.clean_env(), cwd=cwd)
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def tape(tmp_path_factory):
    """Of program.c: two modules, a mark, a leak, a name that is markup."""
    return record(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="session")
def server(tape):
    with served(tape) as url:
        yield url


@pytest.fixture(scope="session")
def pair(tape, tmp_path_factory):
    """The same program, and a build of it with a planted change."""
    with served(tape, record(tmp_path_factory.mktemp("planted"), "-DPLANTED")) as url:
        yield url


@pytest.fixture(scope="session")
def watched(tmp_path_factory):
    """A program that works until its input ends."""
    program = tmp_path_factory.mktemp("watched") / "watched"
    run("cc", "-g", "-O1", "-pthread", "-o", program, HERE / "watched.c")
    return program


@pytest.fixture(scope="session")
def scanned_tape(tmp_path_factory):
    """A program that ends with blocks of every class, and a variable that keeps some."""
    folder = tmp_path_factory.mktemp("scanned")
    run("cc", "-g", "-O1", "-o", folder / "scanned", HERE / "scanned.c")
    run(recording.memtape(), "record", "-q", "--leak-scan", "--staleness=100ms", "-o", folder / "the.mtape", "--",
        folder / "scanned",
        env=recording.clean_env())
    return folder / "the.mtape"


@pytest.fixture(scope="session")
def scanned(scanned_tape):
    with served(scanned_tape) as url:
        yield url


def chromium():
    found = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    assert found, "Chromium is not installed: ./dev setup --tests"
    return found


def test_types_fit():
    run(WEB / "node_modules" / ".bin" / "tsc", "-p", WEB)


def test_the_lock_names_no_registry_and_pins_every_package():
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or "integrity" in package, name


def test_licences_of_what_is_shipped_are_told():
    text = (WEB / "LICENSES.md").read_text()
    packages = json.loads((WEB / "package-lock.json").read_text())["packages"]
    for name, version in json.loads((WEB / "package.json").read_text())["dependencies"].items():
        if name != "esbuild":  # a tool
            assert f"## {name}\n" in text and version in text, name
            assert packages[f"node_modules/{name}"]["version"] == version


def test_the_app_is_small(dist):
    files = [path for path in dist.rglob("*") if path.is_file() and path.parent.name != "report"]
    size = {p.name: p.stat().st_size if p.suffix == ".woff2" else len(gzip.compress(p.read_bytes(), 9)) for p in files}
    first = re.findall(r'/assets/([^"]+\.js)"', (dist / "index.html").read_text())
    assert sum(size[name] for name in first) <= FIRST_SCRIPT_BYTES_MAX
    assert sum(size.values()) <= ALL_BYTES_MAX


def test_rare_pages_and_languages_load_later(dist):
    html = (dist / "index.html").read_text()
    for start in ("later-", "prism-"):
        found = [path.name for path in dist.glob(f"assets/{start}*.js")]
        assert len(found) == 1 and found[0] not in html, start
    for path in dist.glob("assets/*.js"):  # what app imports is told to the browser at once
        for name in re.findall(r'from"\./([^"]+)"', path.read_text()) if path.name.startswith("app-") else []:
            assert f'rel="modulepreload" href="/assets/{name}"' in html, name


def test_the_page_has_no_inline_script_or_style(dist):
    html = (dist / "index.html").read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)


def test_the_build_is_reproducible(dist, tmp_path):
    run("node", WEB / "build.mjs", "--out", tmp_path / "dist", "--list", tmp_path / "dist.list")
    names = (tmp_path / "dist.list").read_text().split()
    assert names == sorted(p.relative_to(dist).as_posix() for p in dist.rglob("*") if p.is_file())
    for name in names:
        assert (tmp_path / "dist" / name).read_bytes() == (dist / name).read_bytes(), name


@pytest.mark.parametrize("path", sorted((HERE / "unit").glob("*.test.ts")), ids=lambda path: path.name.split(".")[0])
def test_unit(path, env, tmp_path):
    bundle = tmp_path / "test.mjs"
    run("node", HERE / "bundle.mjs", path, bundle)
    run("node", "--test", "--test-reporter=spec", bundle, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((HERE / "browser").glob("*.test.mjs")), ids=lambda path: path.name.split(".")[0])
def test_browser(path, env, server, watched, dist):
    more = {"MEMTAPE_COMMAND": str(recording.memtape()), "MEMTAPE_WATCHED": str(watched)}
    run("node", "--test", "--test-reporter=spec", path, env=dict(env, MEMTAPE_URL=server, CHROMIUM=chromium(), **more), timeout=600 * SLOW)


@pytest.mark.slow
def test_what_a_tape_was_made_of_is_told(env, tape, dist, tmp_path):
    (tmp_path / "sums.folded").write_text("main;parse;take 1000\nmain;load 4096\n")
    run(recording.memtape(), "convert", "-q", tmp_path / "sums.folded", "-o", tmp_path / "made.mtape")
    run(recording.memtape(), "strip", "-q", tape, "-o", tmp_path / "stripped.mtape", "--min-lifetime", "1ms")
    twice = [recording.memtape(), "record", "-q", "-o", tmp_path / "twice.mtape", "--", recording.target("bad_frees"), "twice"]
    subprocess.run([str(word) for word in twice], env=recording.clean_env(), check=False, stderr=subprocess.DEVNULL)  # glibc ends it
    with served(tape, tmp_path / "made.mtape", tmp_path / "stripped.mtape", tmp_path / "twice.mtape") as url:
        run("node", "--test", HERE / "made" / "made.test.mjs", env=dict(env, MEMTAPE_URL=url, CHROMIUM=chromium()), timeout=600 * SLOW)


@pytest.mark.slow
def test_a_leak_scan_is_shown(env, scanned, dist):
    run("node", "--test", HERE / "scanned" / "scanned.test.mjs", env=dict(env, MEMTAPE_URL=scanned, CHROMIUM=chromium()), timeout=600 * SLOW)


@pytest.mark.slow
def test_a_process_tree_is_shown(env, dist, tmp_path):
    run("cc", "-g", "-o", tmp_path / "family", HERE / "family.c")
    run(recording.memtape(), "record", "-q", "--follow", "-o", tmp_path / "s", "--", tmp_path / "family", env=recording.clean_env())
    with served(tmp_path / "s") as url:
        run("node", "--test", HERE / "family" / "family.test.mjs", env=dict(env, MEMTAPE_URL=url, CHROMIUM=chromium()), timeout=600 * SLOW)


@pytest.mark.slow
def test_whose_functions_are_is_edited(env, dist, tmp_path):
    run("cc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", tmp_path / "mine", HERE / "mine.c")
    run(recording.memtape(), "record", "-q", "-o", tmp_path / "mine.mtape", "--", tmp_path / "mine", env=recording.clean_env())
    with served(tmp_path / "mine.mtape", cwd=tmp_path) as url:
        run("node", "--test", HERE / "mine" / "mine.test.mjs",
            env=dict(env, MEMTAPE_URL=url, MEMTAPE_FOLDER=tmp_path, CHROMIUM=chromium()), timeout=600 * SLOW)


@pytest.mark.slow
def test_two_builds_compared(env, pair, dist):
    run("node", "--test", HERE / "pair" / "pair.test.mjs", env=dict(env, MEMTAPE_URL=pair, CHROMIUM=chromium()), timeout=600 * SLOW)
