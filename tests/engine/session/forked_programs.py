"""Programs as processes of their own that cost no import each: a process that has imported actorflow forks a child for each one,
and each child ends as a program ends. See `outcomes`.

    python forked_programs.py FOLDER < programs.json
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from patience import MachineTime

SECONDS = 60.0
"""After so long a time of the machine's a program is taken for one that does not end. The slowest takes two seconds."""
_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program has ended: its exit status, less than 0 for a signal, None where it did not; and what it wrote."""

    status: int | None
    output: str


def outcomes(programs: Mapping[str, str]) -> dict[str, Outcome]:
    """Runs all programs, a few of them at a time."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, folder],
            input=json.dumps(dict(programs)),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{done.returncode}: {done.stderr}")
    return {name: Outcome(*outcome) for name, outcome in json.loads(done.stdout).items()}


def main() -> None:
    import actorflow.compat.v1  # noqa: F401
    from actorflow import blocking, data, estimator, testing  # noqa: F401
    from actorflow.base.registry import plugins

    plugins.load_kernels()
    clock = MachineTime()
    programs = json.load(sys.stdin)
    waiting = list(programs)
    running: dict[int, tuple[str, Path, float]] = {}
    ended: dict[str, tuple[int | None, str]] = {}
    while waiting or running:
        while waiting and len(running) < _AT_ONCE:
            name = waiting.pop()
            path = Path(sys.argv[1], str(len(waiting)))
            pid = os.fork()
            if not pid:
                return _become(programs[name], path)  # no block is left behind: the child's end would run it as well
            running[pid] = name, path, clock.seconds() + SECONDS
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            name, path, _ = running.pop(pid)
            ended[name] = os.waitstatus_to_exitcode(status), path.read_text(encoding="utf-8", errors="replace")
        for late in [pid for pid, (_, _, end) in running.items() if clock.seconds() > end]:
            name, path, _ = running.pop(late)
            os.kill(late, signal.SIGABRT)  # it writes where its threads are
            os.waitpid(late, 0)
            ended[name] = None, path.read_text(encoding="utf-8", errors="replace")
        time.sleep(0.01)
    json.dump(ended, sys.stdout)


def _become(program: str, path: Path) -> None:
    """Makes this process that of the program, which ends when this returns, or raises."""
    import faulthandler

    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    faulthandler.enable(2)
    exec(compile(program, "program", "exec"), vars(sys.modules["__main__"]))


if __name__ == "__main__":
    main()
