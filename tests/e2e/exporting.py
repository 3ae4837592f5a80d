"""What tests of exports share: writing a file, the tape's own totals, names that break readers."""

import recording
from tape_writer import TapeWriter
from test_reading import MALLOC, FREE

HOSTILE = [b'quote"back\\slash', b"a;b#c", b"<b>&amp;</b>", b"\xff\xfenot utf-8", b"esc\x1b[2J",
           b"f(int) {lambda()#1}::operator()", b"comma, and 'quote'", b"(1) brackets fn=x", b"%s%n"]


def export(tape, kind, path, *options, code=0):
    done = recording.run([recording.memtape(), "export", tape, "--to", kind, "-f", "-o", path, *options])
    assert done.returncode == code, done.stderr.decode(errors="replace")
    return path if code == 0 else done.stderr.decode()


def totals(tape, *options):
    """{"allocated_bytes": ...} of the whole tape, or of what a filter lets through; alive: at the end."""
    summary = recording.report(tape, "summary", *options)
    summary["alive"] = {unit: summary["leaked"][unit] + summary["suppressed"][unit] for unit in ("count", "bytes")}
    return {f"{name}_{unit}": summary[key][unit] for name, key in (
        ("allocated", "allocations"), ("peak", "peak"), ("leaked", "leaked"), ("alive", "alive"),
        ("temporary", "temporary")) for unit in ("count", "bytes")}


def write_hostile(path):
    """A call chain and an allocation of every name that may break a reader; all but one leaked."""
    tape = TapeWriter()
    stream = tape.stream(100, "hostile")
    tape.process(stream, "/usr/bin/hos\"tile", "hostile", "a <b>", "; rm")
    tape.clock(stream)
    chain = []
    for i, name in enumerate(HOSTILE):
        chain.append((name.decode("utf-8", "surrogateescape"),))
        tape.at(1 + i)
        stream.event(MALLOC, 0x10000 + i * 0x1000, 1000 + i, 1008 + i,
                     stream.stack(("main", 0x40), *chain))
    tape.at(50)
    stream.event(FREE, 0x10000, node=stream.stack(("main", 0x50)))
    tape.at(100)
    tape.clock(stream)
    stream.extended(23, b"\1\0\0\0\0\0\0\0")
    tape.write(path)
    return tape
