"""memtape-record and what lies beside it: all that a device needs."""
import json
import os
import shutil
import signal
import struct
import sys

import pytest

from conftest import BUILD, ROOT, run

sys.path.insert(0, str(ROOT / "tests/e2e"))

import crossed  # noqa: E402


def start(recorder, *words, **rest):
    return run(recorder / "memtape-record", *words, **{"check": False} | rest)


def summary(tape):
    return json.loads(run("memtape", "report", tape, "summary", "--json").stdout)


def interpreter(path):
    return "INTERP" in run("readelf", "-lW", path).stdout


def test_the_archive_has_what_its_page_says(recorder):
    names = {path.name for path in recorder.iterdir()}
    assert names == {"libmemtape.so", "libmemusage.so", "memtape-record", "README", "COPYING"}
    page = (recorder / "README").read_text()
    for option in ("-o ", "--output ", "--token-file "):
        assert option in page
        assert option.strip() in start(recorder, "--help").stdout
    assert not interpreter(recorder / "memtape-record")
    needed = run("readelf", "-dW", recorder / "libmemtape.so").stdout
    assert {line.split("[")[1][:-1] for line in needed.splitlines() if "NEEDED" in line} <= {"libc.so.6"}


def test_a_program_is_recorded_by_the_archive_alone(recorder, tmp_path):
    tape = tmp_path / "x.mtape"
    done = start(recorder, "-o", tape, "sh", "-c", "echo said; exit 7", cwd="/")
    assert (done.returncode, done.stdout) == (7, "said\n")
    assert summary(tape)["allocations"]["count"] > 0


def test_the_tape_has_a_name_of_its_own(recorder, tmp_path):
    assert start(recorder, "true", cwd=tmp_path).returncode == 0
    (tape,) = tmp_path.iterdir()
    assert tape.name.startswith("memtape.true.") and tape.suffix == ".mtape"


def test_what_was_preloaded_stays_and_signals_are_the_programs(recorder, tmp_path):
    other = recorder / "libmemusage.so"  # any library that can be loaded
    environment = dict(os.environ, LD_PRELOAD=str(other))
    done = start(recorder, "-o", tmp_path / "x.mtape", "sh", "-c", "cat /proc/$$/maps", env=environment)
    assert f"{recorder}/libmemtape.so" in done.stdout and str(other) in done.stdout
    done = start(recorder, "-o", tmp_path / "y.mtape", "sh", "-c", "kill -TERM $$")
    assert done.returncode == -signal.SIGTERM


def refused(recorder, *words, code=126):
    done = start(recorder, *words)
    assert done.returncode == code
    assert done.stderr.startswith("memtape-record: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_what_it_could_not_be_loaded_into_is_not_started(recorder, tmp_path):
    assert "no such program" in refused(recorder, tmp_path / "nothing", code=127)
    assert "no such program" in refused(recorder, "no-such-program-anywhere", code=127)
    assert "linked statically" in refused(recorder, recorder / "memtape-record", "--version")
    other = tmp_path / "other"
    image = bytearray((recorder / "libmemtape.so").read_bytes())
    struct.pack_into("<H", image, 18, 0xF3 if image[18] != 0xF3 else 0x3E)  # e_machine
    other.write_bytes(image)
    other.chmod(0o755)
    assert "another processor" in refused(recorder, other)
    if os.geteuid() == 0:
        shutil.copy("/bin/true", other)
        os.chown(other, 65534, 65534)
        other.chmod(0o4755)
        assert "other rights" in refused(recorder, other)
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(recorder / "memtape-record", alone)
    assert "beside memtape-record" in refused(alone, "true")


def test_a_program_of_32_bits_takes_the_library_that_is_for_it(recorder, tmp_path):
    narrow = crossed.Machine("i386", tmp_path)
    narrow.need()
    if not narrow.is_native:
        pytest.skip("this kernel runs no programs of 32 bits")
    both = tmp_path / "both"
    shutil.copytree(recorder, both)
    assert "another processor" in refused(both, narrow.target("frames"))
    (both / "i386").mkdir()
    shutil.copy(narrow.library, both / "i386")
    tape = tmp_path / "narrow.mtape"
    done = start(both, "-o", tape, narrow.target("frames"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "frames 300\n", "")
    assert summary(tape)["allocations"]["count"] >= 2400
    done = start(both, "-o", tmp_path / "wide.mtape", BUILD / "tests/targets/frames")
    assert (done.returncode, done.stderr) == (0, "") and summary(tmp_path / "wide.mtape")["allocations"]["count"] >= 2400


def test_a_library_that_is_none_is_said(recorder, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(recorder, broken)
    (broken / "libmemtape.so").write_text("half of it")
    assert "copy it again" in refused(broken, "true")


def test_wrong_options_are_told(recorder):
    assert start(recorder).returncode == 2
    assert start(recorder, "--what", "true").returncode == 2
    assert start(recorder, "--version").stdout.split()[0] == "memtape-record"


@pytest.mark.parametrize("names", [[], ["follow=1"]])
def test_options_of_the_library_reach_it(recorder, tmp_path, names):
    words = ["--options", ",".join(names)] if names else []
    start(recorder, "-o", tmp_path / "%p.mtape", *words, "sh", "-c", "/bin/ls >/dev/null; true", check=True)
    assert len(list(tmp_path.iterdir())) == 1 + len(names)


def test_it_is_the_library_that_was_built(recorder):
    """Stripped, and no more: the same code."""
    def code(path):
        return run("objcopy", "-O", "binary", "-j", ".text", path, "/dev/stdout", text=False).stdout
    assert code(recorder / "libmemtape.so") == code(BUILD / "src/target/rec/libmemtape.so") != b""
