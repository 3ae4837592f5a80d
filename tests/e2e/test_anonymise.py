"""`memtape anonymise`: nothing of the recorded machine is found on the tape, and every figure is."""

import ctypes
import ctypes.util
import getpass
import json
import os
import pathlib
import re
import socket
import stat
import struct

import pytest

import recording

pytestmark = pytest.mark.skipif(not recording.have_reader(), reason="memtape is not built")

PUBLIC = ("libc.so", "libm.so", "ld-linux", "libstdc++.so", "libgcc_s.so", "libdl.so",
          "libpthread.so", "librt.so", "libresolv.so", "libmemtape.so")
SECRET = "very-secret-customer-name"


def memtape(*args, **more):
    return recording.run([recording.memtape(), *args], **more)


@pytest.fixture(scope="module", params=["python3", "sqlite3", "git"])
def tape(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(SECRET)
    path = folder / "original.mtape"
    program = recording.which(request.param)
    arguments = {
        "python3": ["-c", f"import json, threading; s = '{SECRET}' * 100\n"
                    "def work(): return [json.dumps({'a': i}) for i in range(2000)]\n"
                    "t = threading.Thread(target=work, name='worker'); t.start(); t.join(); work()"],
        "sqlite3": [":memory:", "create table secrets(customer text); insert into secrets values "
                    f"('{SECRET}'); with recursive c(x) as (select 1 union all select x + 1 from c "
                    "limit 5000) select count(*), group_concat(x) from c order by x;"],
        "git": ["-C", str(recording.ROOT), "log", "--oneline", "-30", f"--grep={SECRET}"],
    }[request.param]
    done = recording.run_recorded([program, *arguments], path, cwd=folder)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def pair(tape):
    out = tape.with_name("out.mtape")
    done = memtape("anonymise", tape, "-o", out)
    assert done.returncode == 0, done.stderr.decode()
    assert memtape("verify", out).returncode == 0
    return tape, out


def decompress(frame, size):
    """A Zstandard frame without its magic number."""
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
    zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
    zstd.ZSTD_decompressDCtx.restype = ctypes.c_size_t
    context = ctypes.c_void_p(zstd.ZSTD_createDCtx())
    zstd.ZSTD_DCtx_setParameter(context, 1000, 1)  # ZSTD_d_format: magicless
    out = ctypes.create_string_buffer(size)
    done = zstd.ZSTD_decompressDCtx(context, out, ctypes.c_size_t(size), frame,
                                    ctypes.c_size_t(len(frame)))
    zstd.ZSTD_freeDCtx(context)
    assert done == size
    return out.raw


def plain_bytes(path):
    """All bytes of a packed tape: as they are, and all columns as they were."""
    content = path.read_bytes()
    parts, at = [content], 4096
    while at < len(content):
        stored, = struct.unpack_from("<I", content, at + 56)
        place, end = at + 64, at + 64 + stored
        mask, = struct.unpack_from("<I", content, place)
        lengths = [struct.unpack_from("<II", content, place + 4 + 8 * i)
                   for i in range(bin(mask & 0x7FFFFFFF).count("1"))]
        place += 4 + 8 * len(lengths)
        for size, packed in lengths:
            part = content[place:place + packed]
            parts.append(part if size == packed else decompress(part, size))
            place += packed
        assert place == end
        at = end
    return b"\n".join(parts)


def is_public(module):
    """Names of the C library's kind, and those that the kernel gives."""
    return module == "linux-vdso.so.1" or module.startswith("[") or os.path.basename(module).startswith(PUBLIC)


def words_of(tape):
    """What must not be found, of at least five characters: shorter ones are anywhere."""
    info = json.loads(memtape("info", "--json", tape).stdout)
    data = json.loads(memtape("export", "--to", "json", tape).stdout)
    words = {info["process"]["exe"], info["process"]["cwd"], *info["process"]["argv"], SECRET,
             socket.gethostname(), getpass.getuser(), str(recording.ROOT), str(pathlib.Path.home())}
    words |= {os.path.basename(info["process"]["exe"]), info["tape"]["uuid"]}
    words |= {thread["name"] for thread in info["threads"]}
    public_functions = {"main", "_start"}
    for module in info["modules"]:
        if not is_public(module["path"]):
            words |= {module["path"], os.path.basename(module["path"]), module["build_id"] or ""}
    private = set()
    for stack in data["stacks"]:
        for frame in stack.get("frames", []):
            module = frame.get("module") or ""
            (public_functions if is_public(module) else private).add(frame["function"])
            if not is_public(module):
                words.add(frame.get("file") or "")
    words |= {name for name in private - public_functions if not name.startswith("0x")}
    return {word for word in words if word and len(word) > 4}


def test_no_name_of_the_original_is_found(pair):
    tape, out = pair
    before, after = plain_bytes(tape), plain_bytes(out)
    words = words_of(tape)
    assert len(words) > 10
    found_before = [word for word in words if word.encode() in before]
    assert len(found_before) > 4  # the search can find something
    assert [word for word in words if word.encode() in after] == []
    for word in words:
        if re.fullmatch("[0-9a-f]{32,}", word):
            assert bytes.fromhex(word) not in after
    text = memtape("info", out).stdout + memtape("export", "--to", "json", out).stdout
    assert [word for word in words if word.encode() in text] == []


NAMES = ("function", "module", "file", "name", "thread_name", "tid", "thread", "free_thread", "pid",
         "address", "path", "build_id", "exe", "cwd", "argv", "parent_pid", "uuid", "started",
         "text", "free_stack", "stack", "edits", "unnamed_modules", "label", "key", "source",
         "begin", "end", "bias", "creator", "allocated_by", "freed_by", "file_bytes", "site", "callers", "command", "words",
         "hash", "brief", "caller_brief")


def figures(value):
    if isinstance(value, dict):
        return {key: figures(item) for key, item in value.items()
                if key not in NAMES or isinstance(item, (list, dict)) and key in ("stack",)}
    if isinstance(value, list):
        return [figures(item) for item in value if not isinstance(item, str)]
    return value


@pytest.mark.parametrize("what", ["summary", "allocations", "leaks", "temporary", "top", "tree",
                                  "sizes", "threads", "timeline", "lifetimes", "reallocs", "modules",
                                  "rss", "fragmentation", "mappings"])
def test_every_figure_is_that_of_the_original(pair, what):
    before, after = (figures(recording.report(path, what)) for path in pair)
    if isinstance(before, dict):
        before.pop("quality", None), after.pop("quality", None)
    ordered = [json.dumps(answer, sort_keys=True) for answer in (before, after)]
    if what in ("allocations", "summary", "sizes", "timeline", "lifetimes", "rss"):
        same = ordered[0] == ordered[1]
    else:  # of equal ones the order is that of names
        same = len(set(str(sorted(re.findall(r"-?[\d.]+", text))) for text in ordered)) == 1
    assert same


def test_addresses_move_together(pair):
    before, after = ([(int(row["address"], 16), row["size"]) for row in recording.rows(path)]
                     for path in pair)
    assert ([size for _, size in before] == [size for _, size in after]) is True
    moved = {new - old for (old, _), (new, _) in zip(before, after)}
    assert all(distance % (64 << 20) == 0 for distance in moved)
    assert len(moved) <= 3  # the program with its heap, and the mappings
    order = [sorted(range(len(side)), key=lambda i: side[i][0]) for side in (before, after)]
    assert (order[0] == order[1]) is True


def test_equal_names_get_equal_words_and_each_tape_others(pair, tmp_path):
    tape, out = pair
    before, after = ([[frame["function"] for frame in row["stack"]] for row in recording.rows(path)]
                     for path in pair)
    words = {}
    for old, new in zip(before, after):
        assert len(old) == len(new)
        for name, word in zip(old, new):
            assert words.setdefault(name, word) == word or name.startswith("0x")
    assert len(words) > 20
    again = tmp_path / "again.mtape"
    assert memtape("anonymise", tape, "-o", again).returncode == 0
    uuids = {json.loads(memtape("info", "--json", path).stdout)["tape"]["uuid"]
             for path in (tape, out, again)}
    assert len(uuids) == 3


def test_the_map_tells_the_owner_and_nobody_else(pair, tmp_path):
    tape, _ = pair
    out, key = tmp_path / "out.mtape", tmp_path / "key"
    assert memtape("anonymise", tape, "-o", out, "--map", key).returncode == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    rows = [line.split("\t") for line in key.read_text(errors="replace").splitlines()]
    assert all(len(row) == 3 for row in rows)
    back = {row[0]: row[2] for row in rows}
    info = [json.loads(memtape("info", "--json", path).stdout)["process"] for path in (tape, out)]
    assert back[info[1]["exe"]] == info[0]["exe"]
    assert back[str(info[1]["pid"])] == str(info[0]["pid"])
    assert memtape("anonymise", tape, "-f", "-o", out, "--map", key).returncode == 1  # not again


def test_names_can_be_kept(pair, tmp_path):
    tape, _ = pair
    out, none = tmp_path / "out.mtape", tmp_path / "none.mtape"
    assert memtape("anonymise", tape, "-o", out, "--keep-names", "^(Py|sqlite3_|x)").returncode == 0
    kept = {frame["function"] for row in recording.rows(out) for frame in row["stack"]
            if re.match("(Py|sqlite3_|x)", frame["function"])}
    wanted = {frame["function"] for row in recording.rows(tape) for frame in row["stack"]
              if re.match("(Py|sqlite3_|x)", frame["function"])}
    assert kept == wanted
    assert memtape("anonymise", tape, "-o", none, "--keep-modules", "").returncode == 0
    assert b"libc.so" not in plain_bytes(none) and b"libc.so" in plain_bytes(out)


def test_reports_say_so_and_nonsense_is_refused(pair, tmp_path):
    tape, out = pair
    assert "anonymised" in memtape("report", out).stdout.decode()
    before = tape.read_bytes()
    assert memtape("anonymise", tape).returncode == 2
    assert memtape("anonymise", tape, "-o", tape, "-f").returncode == 2
    assert memtape("anonymise", tape, "-o", out).returncode == 2
    done = memtape("anonymise", tape, "-o", tmp_path / "x", "--keep-names", "(")
    assert done.returncode == 2 and b"--keep-names" in done.stderr
    assert not (tmp_path / "x").exists() and tape.read_bytes() == before
