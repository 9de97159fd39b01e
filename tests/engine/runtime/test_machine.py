"""The cores that a process may use."""

from __future__ import annotations

import contextvars
import os
from pathlib import Path

import pytest

from actorflow.base.process import machine
from actorflow.devices.cpu import CpuDevice
from actorflow.kernels.native.library import loaded
from actorflow.kernels.shared import threads
from actorflow.testing.running import VirtualMachine

V1_QUOTA, V1_PERIOD = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"


def group(folder: Path, files: dict[str, str]) -> str:
    """A folder as the system shows a control group."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"cpu.max": "300000 100000\n"}, 3),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": ""}, None),
        ({V1_QUOTA: "300000\n", V1_PERIOD: "100000\n"}, 3),
        ({V1_QUOTA: "20000\n", V1_PERIOD: "100000\n"}, 1),
        ({V1_QUOTA: "-1\n", V1_PERIOD: "100000\n"}, None),
        ({V1_QUOTA: "300000\n"}, None),
        ({V1_QUOTA: "300000\n", V1_PERIOD: "0\n"}, None),
        ({}, None),
    ],
)
def test_a_control_group_limits_the_cores(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    assert machine._limit_of_group(group(tmp_path, files)) == limit


@pytest.mark.parametrize(("affinity", "limit", "cores"), [(8, None, 8), (8, 3, 3), (2, 3, 2), (1, 1, 1), (8, 1, 1)])
def test_both_the_affinity_and_the_group_limit_the_cores(
    monkeypatch: pytest.MonkeyPatch, affinity: int, limit: int | None, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)))
    monkeypatch.setattr(machine, "_limit_of_group", lambda: limit)
    assert machine.usable_cores() == machine.cores() == cores


def test_devices_and_kernels_take_the_cores_of_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    monkeypatch.setattr(machine, "_limit_of_group", lambda: 3)
    monkeypatch.setattr(threads, "_thread_limit", lambda: None)
    assert CpuDevice("/device:CPU:0").cores == 3
    assert threads._threads_of_pool.__wrapped__() == (1 if loaded() is None else 3)


def test_a_simulated_machine_has_no_cores() -> None:
    def asked() -> tuple[int, int]:
        machine.put(VirtualMachine(lambda: 0))
        return machine.cores(), threads.most_threads()

    assert contextvars.copy_context().run(asked) == (0, 1)
