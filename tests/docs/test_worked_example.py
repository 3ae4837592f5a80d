"""docs/recipes/where-memory-comes-from.md: each of its steps is made as printed, and shows what the page says - the two planted
mistakes of examples/encrypt.cpp, and that they are gone after the fix.

MEMTAPE_SHOTS=DIR writes the page's pictures there, as PNG by Chromium: they are docs/recipes/img.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from test_commands import ROOT, WORKED_EXAMPLE, commands, programs, traces, traces_calls  # noqa: F401  a fixture

PAGE = ROOT / "docs/recipes" / WORKED_EXAMPLE
PICTURES = {"brk.svg": "trace-brk", "mmap.svg": "trace-mmap", "faults.svg": "trace-faults", "mended.svg": "trace-mended"}
FILE_BYTES = 20 << 20
CHUNK = "process_chunk("
needs_calls = pytest.mark.skipif("not traces_calls()", reason="system calls may not be traced here")


@pytest.fixture(scope="module")
def made(programs, tmp_path_factory):  # noqa: F811
    """The folder after all commands of the page, with what they said in NUMBER.txt."""
    if not traces("faults"):
        pytest.skip("perf_event_open(2) may not be used here")
    folder = tmp_path_factory.mktemp("worked")
    shutil.copytree(programs, folder, dirs_exist_ok=True)
    lines = commands(PAGE, run=True)
    script = [line if line.endswith("&") else "{ " + line + f"; }} > {i}.txt" for i, line in enumerate(lines)]
    subprocess.run(["bash", "-ec", "\n".join(script)], cwd=folder, timeout=120, check=True, stdin=subprocess.DEVNULL,
                   env=dict(os.environ, NO_COLOR="1"))
    return folder


def said(made, beginning):  # noqa: F811
    number = next(i for i, line in enumerate(commands(PAGE, run=True)) if line.startswith(beginning))
    return (made / f"{number}.txt").read_text()


def ask(made, *words):  # noqa: F811
    return json.loads(subprocess.run(["memtape", "report", *words, "--json"], cwd=made, stdout=subprocess.PIPE, check=True).stdout)


def frames(made, picture):  # noqa: F811
    """[(function, percent of the whole)] of a flame graph, outermost first."""
    titles = re.findall(r"<title>([^<]*) \([^<]*?([\d.]+) %[^<]*\)</title>", (made / picture).read_text())
    return [(html.unescape(name), float(percent)) for name, percent in titles]


def share(made, picture, function):  # noqa: F811
    return sum(percent for name, percent in frames(made, picture) if function in name)


def test_triage_sees_the_process_and_says_what_it_has(made):  # noqa: F811
    text = said(made, "memtape triage")
    assert re.search(r"process \d+, encrypt", text) and re.search(r"^  \w+ +process +[\d.]+ [KM]iB resident", text, re.MULTILINE)
    assert (made / "big.out").stat().st_size == FILE_BYTES


@needs_calls
def test_the_heap_grows_in_process_chunk(made):  # noqa: F811
    assert share(made, "brk.svg", CHUNK) > 95 and "process_chunk()  encrypt.cpp:20" in said(made, "memtape trace brk")
    brk = ask(made, "calls.mtape", "trace")["brk"]
    assert FILE_BYTES <= brk["bytes"] < 1.1 * FILE_BYTES and brk["lost"] == 0


@needs_calls
def test_the_file_is_mapped_by_the_vector_in_read_in_chunks(made):  # noqa: F811
    names = dict(frames(made, "mmap.svg"))
    largest = max((name for name in names if "std::vector" in name), key=names.get)
    assert names[largest] > 50 and share(made, "mmap.svg", "read_in_chunks(") > 50 and share(made, "mmap.svg", CHUNK) == 0
    stack = next(stack for stack in ask(made, "calls.mtape", "trace")["stacks"] if stack["kind"] == "mmap")
    assert stack["bytes"] >= FILE_BYTES and "read_in_chunks" in " ".join(frame["function"] for frame in stack["stack"])


def test_each_half_of_the_pages_is_touched_by_one_of_the_mistakes(made):  # noqa: F811
    assert 40 < share(made, "faults.svg", CHUNK) < 60 and share(made, "faults.svg", "read_in_chunks(") > 90
    stacks = ask(made, "before.mtape", "trace")["stacks"][:2]
    names = [" ".join(frame["function"] for frame in stack["stack"]) for stack in stacks]
    assert all("read_in_chunks" in name for name in names) and sum(CHUNK[:-1] in name for name in names) == 1
    assert all(stack["count"] >= 0.9 * FILE_BYTES / 4096 for stack in stacks)


def test_the_chunks_are_lost(made):  # noqa: F811
    lost = ask(made, "kept.mtape", "leak-classes")
    assert lost["definitely_lost"]["bytes"] >= FILE_BYTES and "process_chunk" in lost["records"][0]["function"]


def test_after_the_fix_they_do_not(made):  # noqa: F811
    before, after = (ask(made, f"{name}.mtape", "trace")["faults"]["count"] for name in ("before", "after"))
    assert after < before / 20
    gone = next(line for line in said(made, "memtape diff before.mtape after.mtape --metric faults").splitlines() if "process_chunk" in line and "gone" in line)
    assert int(re.search(r"-([\d,]+)", gone)[1].replace(",", "")) >= 0.9 * FILE_BYTES / 4096
    both = [(name, percent) for name, percent in frames(made, "mended.svg") if CHUNK in name]
    assert len(both) >= 1 and max(percent for name, percent in both) > 40
    assert (made / "big.out").stat().st_size == FILE_BYTES


def test_every_picture_of_the_page_is_made_of_a_command(made):  # noqa: F811
    shown = re.findall(r"!\[[^\]]+\]\(img/([^)]+)\.png\)", PAGE.read_text())
    assert shown == list(PICTURES.values())
    shots = os.environ.get("MEMTAPE_SHOTS")
    for picture, name in PICTURES.items():
        if not (made / picture).exists() and not traces_calls():
            continue
        assert (made / picture).read_text().startswith("<?xml") and len(frames(made, picture)) > 3, picture
        if shots:
            take(made / picture, pathlib.Path(shots) / f"{name}.png")


def take(picture, path):
    """A picture of the picture, as wide as a page of documentation."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    height = int(float(re.search(r'viewBox="0 0 [\d.]+ ([\d.]+)"', picture.read_text())[1]))
    subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size=1000,{height}",
                    f"--screenshot={path}", picture.as_uri()], check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
