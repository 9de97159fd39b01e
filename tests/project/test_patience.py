"""The limits of tests follow the machine: time without a processor is not counted, waiting is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import patience
import pytest
from patience import MachineTime, watch

TESTS = Path(__file__).resolve().parents[1]


class Machine:
    """The readings of the clock and the system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.threads = 0.0, {1: (0.0, 0.0)}
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience, "_threads", lambda process: iter(self.threads.items()))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_time_without_a_processor_is_not_counted(machine: Machine) -> None:
    given = MachineTime()
    machine.now, machine.threads = 10.0, {1: (1.0, 9.0)}
    assert given.seconds() == 1.0
    machine.now, machine.threads = 20.0, {1: (11.0, 9.0)}
    assert given.seconds() == 11.0


def test_waiting_for_an_event_is_counted(machine: Machine) -> None:
    given = MachineTime()
    machine.now, machine.threads = 60.0, {1: (0.1, 0.4)}
    assert given.seconds() == pytest.approx(59.6)


def test_many_threads_count_as_one_processor_at_least_and_never_more_than_the_wall_clock(machine: Machine) -> None:
    given = MachineTime()
    machine.now, machine.threads = 10.0, {number: (5.0, 5.0) for number in range(1, 9)}
    assert given.seconds() == 10.0
    machine.now, machine.threads = 20.0, {number: (5.5, 14.5) for number in range(1, 9)}
    assert given.seconds() == 14.0


def test_a_process_that_ends_takes_nothing_back(machine: Machine) -> None:
    given = MachineTime()
    machine.now, machine.threads = 10.0, {1: (5.0, 0.0), 2: (0.0, 8.0)}
    assert given.seconds() == 5.0
    machine.now, machine.threads = 11.0, {1: (5.0, 0.0)}
    assert given.seconds() == 6.0


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="this system does not say how long a thread waited"
)
def test_the_system_tells_of_threads_and_of_processes_below_processes() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'])"
    started = threading.Event()
    thread = threading.Thread(target=started.wait)
    thread.start()
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline()
        found = dict(patience._threads(os.getpid()))
        assert {os.getpid(), thread.native_id, process.pid} <= found.keys() and len(found) >= 4
        assert found[os.getpid()][0] > 0.0
    finally:
        process.communicate(b"\n")
        started.set()
        thread.join()


@pytest.mark.parametrize("limit, starved, ends_at", [(60.0, 0.0, 60.0), (60.0, 0.9, 600.0), (60.0, 1.0, 600.0)])
def test_a_limit_stretches_with_what_the_machine_withholds(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, limit: float, starved: float, ends_at: float
) -> None:
    armed: list[float] = []
    looks: list[Any] = []
    monkeypatch.setattr(patience.signal, "setitimer", lambda which, seconds: armed.append(seconds))
    monkeypatch.setattr(patience.signal, "signal", lambda number, handler: looks.append(handler))
    ended: list[float] = []
    end = watch(limit, lambda: ended.append(machine.now))
    while not ended:
        machine.now += armed[-1]
        machine.threads = {1: (machine.now * (1 - starved), machine.now * starved)}
        looks[0](signal.SIGALRM, None)
    assert ended[0] == pytest.approx(ends_at, rel=0.02)
    end()
    assert armed[-1] == 0 and looks[-1] is signal.SIG_DFL


def pytest_in(folder: Path, body: str, *, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a test with this project's conftest, in a process whose start `before` has prepared."""
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS / 'support'}\nasyncio_mode = auto\n")
    (folder / "test_it.py").write_text(textwrap.dedent(body), encoding="utf-8")
    start = "import os, sys; os.execv(sys.executable, [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider'])"
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{start}"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


def test_a_test_that_waits_for_ever_fails_and_shows_its_threads(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
        import threading
        import pytest

        @pytest.mark.timeout(0.5)
        def test_waits() -> None:
            threading.Event().wait()

        def test_goes_on() -> None:
            pass
        """,
    )
    assert (
        "1 failed, 1 passed" in done.stdout and "Timeout" in done.stdout and "threading.Event().wait()" in done.stdout
    )


def test_ctrl_c_reaches_what_tests_start_where_the_suite_runs_in_the_background(tmp_path: Path) -> None:
    """A shell's `&` and nohup let their processes ignore signals, and these would pass that on. SIGHUP stays ignored."""
    done = pytest_in(
        tmp_path,
        """
        import signal
        import subprocess
        import sys

        def test_inherits() -> None:
            script = "import signal; print(*(signal.getsignal(n) for n in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)))"
            said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
            assert "default_int_handler" in said and said.split()[-2:] == ["0", "1"], said
        """,
        before="import signal\nfor n in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)",
    )
    assert done.returncode == 0, done.stdout + done.stderr
