"""What tests of process trees share."""
import json
import time


def lines(folder):
    """The whole lines of a session's manifest so far."""
    try:
        text = (folder / "session.jsonl").read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_until(what, limit_s=60):
    end = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
