"""Linux is supported; elsewhere the import says so, and a session in one process does not need Linux."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from actorflow.base.process import platforms

ROOT = Path(__file__).parents[2]

ELSEWHERE = """
import asyncio, anyio._backends._asyncio, numpy, os, signal, sys, warnings  # which read sys.platform as they are imported
system = sys.argv[1]
if system != "linux":
    for name in ("fcntl", "resource"):
        sys.modules[name] = None
    for module, names in (
        (os, ["memfd_create", "sched_getaffinity", "sched_setaffinity", "sched_yield", "pidfd_open", "eventfd"]),
        (signal, ["pidfd_send_signal"]),
    ):
        for name in names:
            vars(module).pop(name, None)
sys.platform = system
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import actorflow as af
    import actorflow.train
x = af.placeholder(af.float32, [None, 2])
w = af.Variable(numpy.ones((2, 1), numpy.float32))
loss = af.reduce_mean(af.square(af.matmul(x, w)))
train = af.train.GradientDescentOptimizer(0.1).minimize(loss)
with af.blocking.Session() as session:
    session.run(af.global_variables_initializer())
    before, _ = session.run([loss, train], {x: numpy.ones((8, 2))})
    assert session.run(loss, {x: numpy.ones((8, 2))}) < before
for warning in told:
    print(warning.filename, warning.category.__name__, warning.message)
"""


def elsewhere(system: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, system],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.skipif(platform.machine() not in platforms.MACHINES, reason="is not supported itself")
def test_on_linux_nothing_is_said() -> None:
    assert elsewhere("linux") == []


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_the_import_says_so_and_a_local_session_works(system: str) -> None:
    (line,) = elsewhere(system)
    assert line.startswith(
        "<string> RuntimeWarning actorflow is made for Linux on x86-64 and aarch64 and not tested here"
    )
    assert (
        f"({system} on {platform.machine()})" in line and "clusters of processes and shared memory need Linux" in line
    )


@pytest.mark.parametrize(
    ("system", "machine", "told"),
    [
        ("linux", "x86_64", None),
        ("linux", "aarch64", None),
        ("linux", "ppc64le", "linux on ppc64le"),
        ("win32", "", "(win32)"),
        ("darwin", "arm64", "darwin on arm64"),
    ],
)
def test_what_is_told(system: str, machine: str, told: str | None) -> None:
    sentence = platforms.untested(system, machine)
    assert sentence is None if told is None else sentence is not None and told in sentence


def test_the_supported_platforms_are_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    systems = [c for c in project["classifiers"] if c.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert "Linux on x86-64 or aarch64" in (ROOT / "README.md").read_text("utf-8")
