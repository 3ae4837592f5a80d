"""Filters as a user meets them: what is let through, and what becomes of nonsense."""

import json

import pytest

import recording
from test_reading import shop  # noqa: F401 - a fixture


def report(folder, *words):
    return recording.run([recording.memtape(), "report", "shop.mtape", *words], cwd=folder,
                         env=recording.clean_env(TZ="UTC"))


def blocks(folder, *words):
    done = report(folder, "allocations", "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


CHOICES = {
    "leaked": lambda b: b["free_ns"] is None,
    "size in 100..4KiB and not leaked": lambda b: 100 <= b["size"] <= 4096 and b["free_ns"],
    "temporary or chain_length = 2":
        lambda b: b["temporary"] or b["address"] in ("0xa0000", "0xe0000"),
    "function ~ '^till' and size > 400":
        lambda b: b["size"] > 400 and any(f["function"].startswith("till") for f in b["stack"]),
    "function = basket": lambda b: any(f["function"] == "basket(int)" for f in b["stack"]),
    "free_function = stock_close":
        lambda b: any(f["function"] == "stock_close" for f in b["free_stack"] or ()),
    "call = 'operator new' and time < 30ms":
        lambda b: b["function"] == "operator new" and b["alloc_ns"] < 30e6,
    "thread_name = till": lambda b: b["thread"] == 101,
    "alive_at 85%": lambda b: b["alloc_ns"] <= 85e6 and (b["free_ns"] or 1e18) > 85e6,
    "group_leaked >= 10% and group_allocations > 1":
        lambda b: b["stack"][0]["function"] == "stock_grow",
    "foreign_free": lambda b: b["free_thread"] not in (None, b["thread"]),
}


@pytest.mark.parametrize("text", CHOICES)
def test_a_filter_lets_through_what_it_says(shop, text):  # noqa: F811
    everything = blocks(shop)
    expected = [b["id"] for b in everything if CHOICES[text](b)]
    assert 0 < len(expected) < len(everything)
    assert [b["id"] for b in blocks(shop, "--filter", text)] == expected


def test_reports_agree_on_a_selection(shop):  # noqa: F811
    how = ["--filter", "size > 90", "--from", "5ms", "--until", "75%"]
    chosen = blocks(shop, *how)
    top = json.loads(report(shop, "top", "--sort", "allocated", "--json", *how).stdout)
    tree = json.loads(report(shop, "tree", "--sort", "allocated", "--json", *how).stdout)
    groups = json.loads(report(shop, "groups", "--by", "thread", "--json", *how).stdout)
    size = sum(b["size"] for b in chosen)
    assert sum(s["allocated_bytes"] for s in top["sites"]) == size
    assert sum(s["allocated_count"] for s in top["sites"]) == len(chosen)
    assert tree["bytes"] == size
    assert sum(g["only_matched"]["size"] for g in groups["groups"]) == size
    assert groups["allocations"] == len(chosen)
    assert len(chosen) < sum(g["all"]["allocated_count"] for g in groups["groups"])


@pytest.mark.parametrize("moment", ["start", "8ms", "20500us", "70ms", "81ms", "peak", "89.9%", "90ms",
                                    "end"])
def test_alive_at_is_what_the_report_of_a_moment_shows(shop, moment):  # noqa: F811
    alive = blocks(shop, "--filter", f"alive_at {moment}")
    at = json.loads(report(shop, "at", moment, "--json").stdout)
    assert at["live_bytes"] == sum(b["size"] for b in alive)
    assert at["live_count"] == len(alive)


def test_what_a_span_allocated_and_left_is_the_same_by_filter(shop):  # noqa: F811
    between = json.loads(report(shop, "between", "20ms", "80ms", "--json").stdout)
    made = blocks(shop, "--from", "20ms", "--until", "80ms")
    kept = blocks(shop, "--from", "20ms", "--until", "80ms", "--filter", "kept_in_range")
    for name, chosen in (("allocated", made), ("survived", kept)):
        assert between["total"][name + "_bytes"] == sum(b["size"] for b in chosen)
        assert between["total"][name + "_count"] == len(chosen)


NONSENSE = {
    "size >": "unexpected end",
    "size > 4 and (leaked": "unclosed parenthesis",
    "lifetme < 1ms": "did you mean lifetime?",
    "size in 4KiB..1KiB": "begins after its end",
    "time > mark(nowhere)": "no mark 'nowhere'",
    "function ~ '('": "missing closing parenthesis",
    "function ~ '^(((.+)+)+)+[0-9]$'": "takes too long",
    "(" * 10000: "nested",
}


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_is_refused_before_anything_is_written(shop, text):  # noqa: F811
    done = report(shop, "groups", "-o", "out.txt", "--filter", text)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert done.stdout == b""
    assert not (shop / "out.txt").exists()
    assert lines[0].startswith("memtape: filter: ") and NONSENSE[text] in lines[0]
    assert lines[2].strip() == "^"
    assert len(max(lines, key=len)) < 200


@pytest.mark.parametrize("words", [["--from", "soon"], ["--until", "101%"],
                                   ["--from", "50%", "--until", "20%"], ["--sort", "beauty"],
                                   ["--by", "colour"]])
def test_other_words_are_refused_as_well(shop, words):  # noqa: F811
    done = report(shop, "groups", "-o", "out.txt", *words)
    assert done.returncode == 2 and done.stderr
    assert not (shop / "out.txt").exists()


def test_a_report_about_the_whole_tape_says_so(shop):  # noqa: F811
    done = report(shop, "rss", "--filter", "leaked")
    assert done.returncode == 2
    assert b"whole tape" in done.stderr


def test_fields_are_listed(shop):  # noqa: F811
    run = recording.run([recording.memtape(), "report", "--list-fields", "--json"], cwd=shop,
                        env=recording.clean_env())
    fields = {field["name"]: field for field in json.loads(run.stdout)}
    assert fields["lifetime"]["type"] == "duration"
    assert fields["lifetime"]["none"] == "it was never freed"
    page = (recording.ROOT / "docs/man/memtape-filter.7").read_text().replace("\\-", "-")
    for name, field in fields.items():
        assert f"{name}" in page
        assert field["doc"].endswith(".")
