"""`memtape report TAPE leak-classes`, holders, retained and the summary of tapes with leak scans that were written by hand."""

import itertools
import re

import pytest

import recording
from scan_image import UNKNOWN
from scanned_tape import CLASSES, HOLDERS, ScannedTape
from test_serve_data import serve

SEEDS = range(4)


@pytest.fixture(scope="module", autouse=True)
def names():
    """All these tapes have the same functions at the same places."""
    yield
    ScannedTape().tape.names().unlink()


@pytest.fixture(scope="module", params=SEEDS)
def scanned(request, tmp_path_factory):
    made = ScannedTape(request.param)
    made.path = tmp_path_factory.mktemp("scanned") / "the.mtape"
    made.write(made.path)
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    made = ScannedTape()
    made.path = tmp_path_factory.mktemp("scanned") / "the.mtape"
    made.write(made.path)
    return made


def report(tape, *options, code=0):
    done = recording.run([recording.memtape(), "report", tape, *options])
    assert done.returncode == code, done.stderr.decode()
    return (done.stdout or done.stderr).decode()


def sums(answer):
    return {word: answer[word] for word in CLASSES.values()}


def records(answer):
    return {(record["class"], record["function"]):
            [record[key] for key in ("bytes", "blocks", "indirect_bytes", "indirect_blocks")]
            for record in answer["records"]}


def test_sums_and_records_are_those_of_the_blocks(scanned):
    assert len({block["class"] for block in scanned.blocks}) == 5  # or the test would say little
    answer = recording.report(scanned.path, "leak-classes")
    assert sums(answer) == scanned.sums() and answer["suppressed"] == {"bytes": 0, "blocks": 0}
    assert records(answer) == scanned.records()
    sizes = [record["bytes"] + record["indirect_bytes"] for record in answer["records"]]
    assert sizes == sorted(sizes, reverse=True)
    assert answer["records"][0]["stack"][-1]["function"] == "main"


def test_a_filter_selects_blocks(scanned):
    some = [block for block in scanned.blocks if block["size"] > 300]
    answer = recording.report(scanned.path, "leak-classes", "--filter", "size > 300")
    assert sums(answer) == scanned.sums(some) and records(answer) == scanned.records(some)
    assert sums(answer) != scanned.sums()
    kept = [block for block in scanned.blocks if block is not scanned.late]
    assert sums(recording.report(scanned.path, "leak-classes", "--filter", "leaked")) == scanned.sums(kept)


def test_suppressed_blocks_are_in_no_other_class(scanned, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("leak:^keep$\n")
    others = [block for block in scanned.blocks if block["site"] != "keep"]
    hidden = [block["size"] for block in scanned.blocks if block["site"] == "keep"]
    answer = recording.report(scanned.path, "leak-classes", "--suppressions", rules)
    assert sums(answer) == scanned.sums(others)
    assert answer["suppressed"] == {"bytes": sum(hidden), "blocks": len(hidden)}
    assert {record["function"] for record in answer["records"]} == {"make", "cache"}
    told = recording.report(scanned.path, "summary", "--suppressions", rules)["leak_classes"]
    assert told["suppressed"] == answer["suppressed"] and sums(told) == sums(answer)


def test_the_scan_has_its_facts(first):
    scan = recording.report(first.path, "leak-classes")["scan"]
    assert scan["id"] == 1 and scan["reason"] == "exit" and scan["time_ns"] == 62 * 10**6
    assert (scan["pause_ns"], scan["threads"], scan["missed_threads"]) == (1_500_000, 2, 1)
    assert scan["heuristics"] == ["stdstring", "newarray"] and "trouble" not in scan


def test_text_has_the_lines_of_memcheck(first):
    text = report(first.path, "leak-classes")
    for word, told in first.sums().items():
        assert f"{word.replace('_', ' ')}: {told['bytes']:,} bytes in {told['blocks']:,} blocks" in text
    assert "1 thread could not be stopped" in text and "main" in text


def test_memcheck_text_is_read_as_such(first):
    lines = report(first.path, "leak-classes", "--format", "memcheck").splitlines()
    assert len({line.split(" ")[0] for line in lines}) == 1 and re.fullmatch(r"==\d+==", lines[0].split(" ")[0])
    text = "\n".join(line.partition(" ")[2] for line in lines)
    size, count = sum(block["size"] for block in first.blocks), len(first.blocks)
    assert f"    in use at exit: {size:,} bytes in {count} blocks" in text
    assert re.search(r"  total heap usage: 60 allocs, 2 frees, [\d,]+ bytes allocated", text)
    found = re.findall(r"^([\d,]+)(?: \(([\d,]+) direct, ([\d,]+) indirect\))? bytes in ([\d,]+) blocks are (\w+ \w+) in "
                       r"loss record (\d+) of (\d+)\n   at 0x[0-9A-F]+: (\w+) ", text, re.MULTILINE)
    expected = first.records()
    assert [int(one[5]) for one in found] == list(range(1, len(expected) + 1))
    totals = [int(one[0].replace(",", "")) for one in found]
    assert totals == sorted(totals)  # the largest last
    for (total, direct, indirect, blocks, kind, _, of, site) in found:
        wanted = expected[kind.replace(" ", "_"), site]
        numbers = [int((text or "0").replace(",", "")) for text in (direct or total, indirect, blocks)]
        assert numbers == [wanted[0], wanted[2], wanted[1]] and int(of) == len(expected)
    errors = sum(kind in ("definitely_lost", "possibly_lost") for kind, _ in expected)
    assert text.endswith(f"ERROR SUMMARY: {errors} errors from {errors} contexts (suppressed: 0 from 0)")


def test_the_summary_has_the_classes(scanned):
    answer = recording.report(scanned.path, "summary")
    assert sums(answer["leak_classes"]) == scanned.sums() and answer["leak_scan"]["id"] == 1
    text = report(scanned.path)
    lost = scanned.sums()["definitely_lost"]
    assert "Leak scan   exit, after 62.0 ms" in text
    assert f"   definitely lost: {lost['bytes']:,} bytes in {lost['blocks']} blocks" in text


@pytest.mark.parametrize("options,code", [
    (["--fail-on", "definite"], 1), (["--fail-on", "possible,reachable"], 1), (["--fail-on", "all"], 1),
    (["--fail-on", "definite", "--error-exitcode", "42"], 42), (["--error-exitcode", "9"], 9),
    (["--fail-on", "indirect", "--filter", "size > 5000"], 0),
    (["--fail-on", "none"], 2), (["--fail-on", ""], 2), (["--error-exitcode", "256"], 2), (["--scan", "2"], 1),
    (["--format", "memcheck", "--json"], 2), (["--scan", "1"], 0),
])
def test_exit_codes(first, options, code):
    report(first.path, "leak-classes", *options, code=code)
    if code not in (0, 2) and "--scan" not in options:
        report(first.path, "leak-classes", "--json", *options, code=code)


def test_suppressed_leaks_do_not_fail(first, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("leak:main\n")
    report(first.path, "leak-classes", "--fail-on", "all", "--suppressions", rules)
    assert "(suppressed: 3 from 3)" in report(first.path, "leak-classes", "--format", "memcheck", "--suppressions", rules)


@pytest.mark.parametrize("name", ["summary", "leaks"])
def test_options_of_leak_classes_are_for_it_alone(first, name):
    for option in (["--fail-on", "all"], ["--format", "memcheck"], ["--format", "lsan"], ["--scan", "1"]):
        assert "leak-classes" in report(first.path, name, *option, code=2)


def test_a_tape_without_scan_says_how_to_get_one(tmp_path):
    tape = tmp_path / "the.mtape"
    recording.run_recorded(["true"], tape)
    assert "memtape record --leak-scan" in report(tape, "leak-classes", code=1)
    assert "leak_classes" not in recording.report(tape, "summary")


def test_a_scan_without_result_says_why(tmp_path):
    made, tape = ScannedTape(trouble="ptrace: Operation not permitted"), tmp_path / "the.mtape"
    made.write(tape)
    assert "no result: ptrace: Operation not permitted" in report(tape, "leak-classes", code=1)
    assert "no result: ptrace: Operation not permitted" in report(tape)
    answer = recording.report(tape, "summary")
    assert answer["leak_scan"]["trouble"].startswith("ptrace") and "leak_classes" not in answer


def test_the_server_says_the_same(first):
    cases = itertools.product(("leak-classes", "holders", "retained"), ({}, {"q": "size > 300"}, {"scan": 1, "top": 2}))
    with serve(first.path) as server:
        for name, asked in cases:
            answer = server.json(f"/api/v1/{name}", **asked)
            del answer["gen"], answer["ms"]
            options = [f"--{'filter' if key == 'q' else key}={value}" for key, value in asked.items()]
            assert answer == recording.report(first.path, name, *options)
        server.get("/api/v1/leak-classes?scan=7", code=404)


def alive(scanned):
    return [block for block in scanned.blocks if block["class"] != UNKNOWN]


def test_sites_retain_what_hangs_on_their_blocks(scanned):
    """Dominators are parents here: what is retained is the union of the subtrees, and each block of none."""
    answer = recording.report(scanned.path, "holders")
    expected = {}
    for block in scanned.blocks:
        for site in {one["site"] for one in scanned.chain(block) if isinstance(one, dict)}:
            expected[site] = expected.get(site, 0) + block["size"]
    assert {site["function"]: site["retained_bytes"] for site in answer["sites"]} == expected
    assert [site["retained_bytes"] for site in answer["sites"]] == sorted(expected.values(), reverse=True)
    for site in answer["sites"]:
        own = [block["size"] for block in scanned.blocks if block["site"] == site["function"]]
        assert (site["bytes"], site["blocks"]) == (sum(own), len(own))


def test_chains_lead_from_holders_to_the_block_that_retains_most(scanned):
    for site in recording.report(scanned.path, "holders")["sites"]:
        own = [block for block in scanned.blocks if block["site"] == site["function"]]
        most = max(block.get("retained", 0) or block["size"] for block in own)
        chain = site["chain"]
        block = next(one for one in own if int(chain[-1]["address"], 16) == one["address"])
        assert max(block["retained"], block["size"]) == most and site["class"] == CLASSES[block["class"]]
        wanted = list(reversed(scanned.chain(block)))
        assert len(chain) == len(wanted) and site["omitted_steps"] == 0
        for step, want, after in zip(chain, wanted, [*wanted[1:], None]):
            if isinstance(want, int):
                holder = HOLDERS[want]
                assert step["kind"] == ("global", "stack", "", "", "mapping")[holder["kind"] - 1]
                assert step["name"] == holder.get("name") and int(step["address"], 16) == holder["begin"]
                assert step["tid"] == holder.get("tid") and step["thread"] == ("shop" if "tid" in holder else None)
            else:
                assert int(step["address"], 16) == want["address"] and step["function"] == want["site"]
            assert step["offset"] == (after.get("offset", 0) if after else None)


def test_holders_retain_what_they_alone_hold(scanned):
    answer = recording.report(scanned.path, "retained")
    expected = {HOLDERS[i]["begin"]: (sum(kept), len(kept)) for i in range(len(HOLDERS))
                if (kept := [block["size"] for block in alive(scanned) if scanned.chain(block)[-1] == i])}
    assert {int(one["begin"], 16): (one["retained_bytes"], one["blocks"]) for one in answer["holders"]} == expected
    for one in answer["holders"]:
        index = [holder["begin"] for holder in HOLDERS].index(int(one["begin"], 16))
        for site in one["sites"]:
            kept = [block["size"] for block in alive(scanned)
                    if scanned.chain(block)[-1] == index and block["site"] == site["function"]]
            assert (site["bytes"], site["blocks"]) == (sum(kept), len(kept))
    lost = [block["size"] for block in scanned.blocks if CLASSES[block["class"]].endswith("ly_lost")
            and "possibly" not in CLASSES[block["class"]]]
    assert answer["lost"] == {"bytes": sum(lost), "blocks": len(lost)}
    assert answer["not_scanned"] == scanned.sums()["not_scanned"]


def test_blocks_that_retain_most_are_not_below_their_like(scanned):
    expected = sorted((block["retained"] for block in alive(scanned)
                       if block["site"] not in {one["site"] for one in scanned.chain(block)[1:]
                                                if isinstance(one, dict)}), reverse=True)
    answer = recording.report(scanned.path, "retained")
    assert [block["retained_bytes"] for block in answer["blocks"]] == expected[:50]


def test_text_names_holders(first):
    text = report(first.path, "holders")
    for site in recording.report(first.path, "holders")["sites"]:
        for step in site["chain"]:
            assert (step["function"] or step["name"] or step["thread"]) in text and step["address"] in text
    assert re.search(r"g_sessions keeps [\d.]+ \w+ in \d+ blocks? alive", report(first.path, "retained"))
    assert report(first.path, "holders", "--csv").startswith("class,retained_bytes,")
    assert report(first.path, "retained", "--csv").startswith("kind,name,")


def test_holders_of_a_filter_are_about_its_blocks(first):
    answer = recording.report(first.path, "holders", "--filter", "size > 300")
    for site in answer["sites"]:
        own = [block["size"] for block in first.blocks if block["site"] == site["function"] and block["size"] > 300]
        assert (site["bytes"], site["blocks"]) == (sum(own), len(own))


def test_other_tapes_made_of_it_have_the_scan(first, tmp_path):
    whole = recording.report(first.path, "leak-classes")
    for command, options in (("anonymise", []), ("strip", ["--no-free-stacks"])):
        made = tmp_path / f"{command}.mtape"
        assert recording.run([recording.memtape(), command, first.path, "-o", made, *options]).returncode == 0
        answer = recording.report(made, "leak-classes")
        assert sums(answer) == sums(whole) and answer["scan"] == whole["scan"]
    assert b"g_sessions" not in (tmp_path / "anonymise.mtape").read_bytes()
