"""A version that is loaded while others are answered is read in short pieces, by one thread."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import actorflow as af
from actorflow.base.process import machine
from actorflow.blocking import Session
from actorflow.checkpoint import reading
from actorflow.engine.formats.base import ReadRequest
from actorflow.models.train.saving.checkpoints import load_checkpoint


@pytest.mark.parametrize("share", [1.0, 0.25])
def test_pieces_are_short_where_others_want_the_processor(
    tmp_path: Path, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_JOB", 1 << 20)  # so that each value is a job of its own
    values = {name: np.full(1 << 19, number, np.float32) for number, name in enumerate("ab")}
    with af.Graph().as_default(), Session() as session:
        for name, value in values.items():
            af.Variable(value, name=name)
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "saved")
    pieces, threads = 0, set()

    def check() -> None:
        nonlocal pieces
        pieces += 1
        threads.add(threading.get_ident())

    with machine.taking(share):
        found = load_checkpoint(path).load([ReadRequest(name, None) for name in values], check)
    for value, wanted in zip(found, values.values()):
        np.testing.assert_array_equal(value, wanted)
    own = {threading.get_ident()}
    assert (pieces >= 2 * 16, threads == own) == ((True, True) if share < 1 else (False, False))


@pytest.mark.skipif(sys.platform != "linux", reason="Pages are asked for on Linux alone.")
def test_memory_that_is_read_beside_others_comes_in_small_pages() -> None:
    fresh = np.empty(1 << 24, np.uint8)
    machine.in_small_pages(fresh.ctypes.data, fresh.nbytes)
    middle, flags, inside = fresh.ctypes.data + fresh.nbytes // 2, "", False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if (found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)) is not None:
            inside = int(found[1], 16) <= middle < int(found[2], 16)
        elif inside and line.startswith("VmFlags:"):
            flags = line
    assert "nh" in flags.split() or not Path("/sys/kernel/mm/transparent_hugepage").exists()


def test_a_breath_is_as_long_as_the_share_says(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = 0.0, []
    monkeypatch.setattr(machine, "thread_time_ns", lambda: int(clock * 1e9))
    monkeypatch.setattr("time.sleep", slept.append)
    with machine.taking(0.25):
        breathe = machine.breather()
    for worked in (1.0, 2.0, 0.5):
        clock += worked
        breathe()
    assert slept == [6.0, 1.5], "three times as long as it has worked since the breath before"
    machine.breather()()
    assert len(slept) == 2
