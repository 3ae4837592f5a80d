"""What an event takes on each processor, in instructions: they are counted by qemu-user, so they do not depend on how fast or
busy this machine is. (The table: ./dev bench architectures.)"""

import re
import shutil
import subprocess
import sys

import pytest

import crossed
import recording

BENCH = recording.ROOT / "bench/architectures.py"


@pytest.mark.parametrize("name", ["x86_64", *crossed.names()])
def test_an_event_takes_no_more_than_the_page_for_devices_says(name, tmp_path):
    page = (recording.ROOT / "packaging/device/README").read_text()
    least, most = (int(text.replace(",", "")) for text in re.search(r"costs: some ([\d,]+) to ([\d,]+) instructions", page).groups())
    if name != "x86_64":
        crossed.Machine(name, tmp_path).need()
    if not shutil.which(f"qemu-{name}"):
        pytest.skip(f"qemu-{name} is not installed")
    out = tmp_path / "table.md"
    subprocess.run([sys.executable, BENCH, "--only", name, "--pairs", "500", "--build", recording.build_dir().parent, "--out", out],
                   check=True, env=recording.clean_env(), stdout=subprocess.DEVNULL)
    row, = [line.split("|") for line in out.read_text().splitlines() if re.search(r"\d", line) and line.startswith("|")]
    plain, recorded, event = (int(cell.replace(",", "")) for cell in row[2:5])
    assert recorded > plain > 50
    assert 0.9 * least < event < 1.1 * most, row
