"""The fixtures of conftest.py: a leak fails the test that made it, and no other; a failure reports its seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LEAKS = """
import asyncio, os, subprocess, sys, threading
import pytest
from hypothesis import given, strategies as st

kept = []
stop = threading.Event()

async def test_task():
    kept.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

@pytest.fixture
async def tidy():
    task = asyncio.create_task(asyncio.Event().wait())
    yield
    task.cancel()

async def test_clean_task(tidy):
    await asyncio.sleep(0)

async def test_clean_executor():
    await asyncio.to_thread(int)

def test_thread():
    kept.append(threading.Thread(target=stop.wait, name="endless", daemon=True))
    kept[-1].start()

def test_clean_thread():  # it ends shortly after the test
    done = threading.Event()
    threading.Timer(0.01, done.set).start()

def test_child():
    kept.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

def test_zombie():
    kept.append(os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", ""]))
    os.waitid(os.P_PID, kept[-1], os.WEXITED | os.WNOWAIT)  # it has ended, but is not waited for

def test_clean_child():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_fd():
    kept.append(os.pipe())

@pytest.mark.allow_leaks("fds")
def test_clean_fd():
    kept.append(os.pipe())

def test_shm():
    open(SHM, "w").close()

class Owner:
    def __init__(self):
        self.fd, self.me = os.dup(0), self

    def __del__(self):
        os.close(self.fd)

def test_clean_cycle():  # the collector frees it
    Owner()

@given(st.integers())
def test_clean_property(x):
    assert x == x

@given(st.integers())
async def test_property(x):
    kept.append(asyncio.create_task(asyncio.Event().wait(), name="of the property"))

def test_seed(seed):
    assert seed != seed

def test_clean_end():
    stop.set()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors, children and shared memory are listed from /proc")
def test_leaks_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "shm"  # of its own: other tests that run now would find the file in /dev/shm
    folder.mkdir()
    shm = folder / "left"
    conftest = Path(__file__).parents[1].joinpath("conftest.py").read_text(encoding="utf-8")
    for old, new in (("GRACE = 1.0", "GRACE = 0.2"), ('SHM = "/dev/shm"', f"SHM = {str(folder)!r}")):
        assert old in conftest
        conftest = conftest.replace(old, new)
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(LEAKS.replace("SHM", repr(str(shm))))
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
        f"pythonpath = {Path(__file__).parents[1] / 'support'}\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(tmp_path)],
        env=os.environ | {"ACTORFLOW_TEST_SEED": "20151109"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    out = result.stdout
    summary = [line.partition(" - ")[0] for line in out[out.index("short test summary") :].splitlines()]
    names = ("task", "thread", "child", "zombie", "fd", "shm", "property")
    assert {line for line in summary if line.startswith("ERROR")} == {f"ERROR test_it.py::test_{n}" for n in names}, out
    assert [line for line in summary if line.startswith("FAILED")] == ["FAILED test_it.py::test_seed"], out
    for text in ("task forgotten", "task of the property", "thread endless at", "nobody has waited", str(shm)):
        assert text in out
    assert "ACTORFLOW_TEST_SEED=20151109" in out
