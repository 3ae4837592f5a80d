"""Messages, manuals and the app speak as the field does: words that were found hard to understand do not come back."""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACES = [path for folder in ("src", "docs", "web/src") for path in sorted((ROOT / folder).rglob("*"))
          if path.suffix in {".c", ".h", ".def", ".md", ".ts", ".tsx", ".1", ".3", ".7"}] + [ROOT / "README.md"]
INSTEAD = {
    "functions may stand as addresses": "some functions appear as raw addresses",
    "known and meant": "expected leftovers (suppressed)",
    "Suppressed, as known": "Expected leftovers (suppressed)",
    "bare addresses": "raw addresses",
    "a leak as one fears it": "steady growth to the end: almost certainly a leak",
    "of machinery": "library frames",
    "Nothing that both have has changed": "No function present in both has changed",
    "only to be freed at once": "short-lived allocations (churn)",
    "this sign means nothing here": "unexpected ':'",
    "texts stand in quotes": "quote strings",
    "99 % less than": "p99",
}


def problems(words):
    return [f"{path.relative_to(ROOT)}: say {INSTEAD[words]!r}, not {words!r}"
            for path in PLACES if words in " ".join(path.read_text(errors="replace").split())]


@pytest.mark.parametrize("words", INSTEAD)
def test_old_words_do_not_come_back(words):
    assert len(PLACES) > 1000
    assert problems(words) == []
