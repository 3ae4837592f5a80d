"""`memtape report --html`: one file, small, quiet, and without what is nobody else's business."""

import base64
import gzip
import hashlib
import json
import re
import subprocess

import pytest

import recording

SECRET = "--password=hunter2"


def report(tape, *words, env=None, cwd=None):
    args = [str(recording.memtape()), "report", str(tape), "--html", *map(str, words)]
    return subprocess.run(args, capture_output=True, text=True, timeout=120, check=False, cwd=cwd,
                          env=env or recording.clean_env())


def capture(text):
    packed = re.search(r'<script type="application/octet-stream" id="capture">([^<]*)</script>', text)[1]
    return gzip.decompress(base64.b64decode(packed)).decode()


@pytest.fixture(scope="module", autouse=True)
def app():
    if not (recording.build_dir() / "web" / "dist" / "index.html").exists():
        pytest.skip("built without the web app")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A program of someone's own, compiled in a directory below the home of theirs."""
    home = tmp_path_factory.mktemp("home")
    (home / "work" / "build").mkdir(parents=True)
    (home / "work" / "app.c").write_text(
        "#include <stdlib.h>\n#include <string.h>\nstatic void *keep[64];\n"
        "__attribute__((noinline)) static void *fill(int n) { char *p = malloc(n); memset(p, 1, n); return p; }\n"
        "int main(void) { for (int i = 0; i < 64; i++) keep[i] = fill(1000 + i); for (int i = 0; i < 60; i++) free(keep[i]); }\n")
    subprocess.run(["cc", "-g", "-O1", "-fno-optimize-sibling-calls", "-o", home / "work" / "build" / "app",
                    home / "work" / "app.c"], check=True)
    env = recording.clean_env(HOME=home, SECRET_TOKEN="rosebud")
    subprocess.run([recording.memtape(), "record", "-q", "-o", home / "app.mtape", "--",
                    home / "work" / "build" / "app", SECRET], check=True, env=env)
    return home


@pytest.fixture(scope="module")
def page(home):
    done = report(home / "app.mtape", "-o", home / "report.html", env=recording.clean_env(HOME=home))
    assert done.returncode == 0, done.stderr
    return (home / "report.html").read_text()


def test_it_is_small_and_asks_nobody(page):
    assert len(page.encode()) <= 4 << 20
    addresses = {url for url in re.findall(r"https?://[\w./-]+", page)}
    assert all(url.startswith("http://www.w3.org/") for url in addresses), addresses  # names of XML, not addresses
    assert not re.search(r'<(?:script|img|link|iframe)[^>]*\s(?:src|href)="(?!data:)', page)


def test_its_policy_has_the_hashes_of_what_is_in_it(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.S)
    styles = re.findall(r"<style>(.*?)</style>", page, re.S)
    assert len(scripts) == len(styles) == 1 and page.count("<script") == page.count("</script>") == 2
    assert rules == {
        "default-src": "'none'", "script-src": digest(scripts[0]), "style-src": digest(styles[0]),
        "img-src": "data:", "font-src": "data:", "base-uri": "'none'", "form-action": "'none'",
    }
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script")


def test_it_has_the_numbers_of_the_tape(page, home):
    answers = json.loads(capture(page))
    done = subprocess.run([recording.memtape(), "report", home / "app.mtape", "--json"], capture_output=True,
                          check=True, env=recording.clean_env())
    summary = json.loads(done.stdout)
    for measure, key in (("peak", "peak"), ("allocated", "allocations"), ("leaked", "leaked")):
        flame = answers[f"/api/v1/flame?dir=down&m={measure}&px=2000"]
        assert flame["total"] == summary[key]["bytes"] == flame["value"][0]
        tree = answers[f"/api/v1/children?dir=up&m={measure}&n=200"]
        assert tree["total"] == summary[key]["bytes"]
    sites = answers["/api/v1/sites?by=function&n=200&sort=peak_size&spark=24&saves=1"]
    assert sum(row["only_matched"]["leaked_size"] for row in sites["rows"]) == summary["leaked"]["bytes"]
    assert "fill" in [row["title"] for row in sites["rows"]]


def test_it_does_not_tell_whose_it_is(page, home):
    text = capture(page)
    for secret in (SECRET, "hunter2", "rosebud", str(home), "__attribute__((noinline))"):
        assert secret not in text and secret not in page, secret
    answers = json.loads(text)
    assert answers["/api/v1/info"]["tapes"][0]["argv"] == []
    assert answers["/api/v1/info"]["tapes"][0]["exe"] == "build/app"
    assert '"~/work/app.c"' in text
    assert not [url for url in answers if url.startswith("/api/v1/source")]


def test_arguments_and_sources_are_there_when_they_are_wanted(home):
    done = report(home / "app.mtape", "-o", home / "open.html", "--with-source", "--with-argv")
    assert done.returncode == 0, done.stderr
    answers = json.loads(capture((home / "open.html").read_text()))
    assert answers["/api/v1/info"]["tapes"][0]["argv"][1:] == [SECRET]
    sources = [answers[url] for url in answers if url.startswith("/api/v1/source")]
    assert any("__attribute__((noinline))" in line for source in sources for line in source["text"])


def test_the_same_tape_makes_the_same_file(page, home):
    done = report(home / "app.mtape", env=recording.clean_env(HOME=home))
    assert (done.returncode, done.stdout == page) == (0, True), done.stderr


def flame_px(text):
    """How wide the flame graph in a page was asked for."""
    asked = (re.match(r"/api/v1/flame\?dir=down&m=peak&px=(\d+)$", url) for url in json.loads(capture(text)))
    px, = (int(match[1]) for match in asked if match)
    return px


def test_less_room_is_less_detail(page, home):
    room = len(page) - 1
    done = report(home / "app.mtape", "--max-size", room, env=recording.clean_env(HOME=home))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout) <= room
    assert flame_px(done.stdout) < flame_px(page)


def test_no_room_at_all_is_an_error(home):
    path = home / "none.html"
    done = report(home / "app.mtape", "-o", path, "--max-size", "100k")
    assert done.returncode != 0 and "--max-size raises it" in done.stderr
    assert not path.exists()


def test_a_file_that_exists_stays(home):
    path = home / "mine.html"
    path.write_text("mine")
    done = report(home / "app.mtape", "-o", path)
    assert done.returncode == 2 and "--force overwrites it" in done.stderr
    assert path.read_text() == "mine"
    assert report(home / "app.mtape", "-o", path, "--force").returncode == 0
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("words, said", [
    (["--html", "leaks"], "expected one tape"),
    (["--html", "--json"], "the file has the whole tape"),
    (["--html", "--filter", "leaked"], "the file has the whole tape"),
    (["--with-source"], "for --html"),
])
def test_what_does_not_go_together(home, words, said):
    done = subprocess.run([recording.memtape(), "report", home / "app.mtape", *words], capture_output=True,
                          text=True, check=False, env=recording.clean_env())
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_what_is_no_tape_is_an_error(tmp_path):
    (tmp_path / "no.mtape").write_bytes(b"\0" * 5000)
    done = report(tmp_path / "no.mtape", "-o", tmp_path / "no.html")
    assert done.returncode != 0 and done.stderr.startswith("memtape: ")
    assert not (tmp_path / "no.html").exists()
