"""A process that is killed in the middle of an epoch: the next one goes on behind the last checkpoint, with the same elements."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from patience import PATIENCE

SCRIPT = Path(__file__).with_name("killed_input.py")


def lines(folder: Path, last: int, code: int) -> list[str]:
    """The steps that the program prints, until it kills itself at a step or is at its end."""
    done = subprocess.run([sys.executable, SCRIPT, folder, str(last)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code, done.stderr
    return done.stdout.splitlines()


def test_a_killed_process_goes_on_in_the_epoch(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = lines(tmp_path / "whole", 0, 0)
    before = lines(tmp_path / "killed", 18, -signal.SIGKILL)
    after = lines(tmp_path / "killed", 0, 0)
    assert len(whole) == 68 and before == whole[:18] and after == whole[15:]
