"""Runs the tests in two processes side by side, shows one line of progress, and at the end what failed.

    python tools/run_tests.py            all but the slow tests of tests/seconds.txt
    python tools/run_tests.py --all      all
    python tools/run_tests.py --changed  those that what has changed since the branch left main can break
    python tools/run_tests.py --measure  all, on a calm machine; writes tests/seconds.txt

The files are shared out by the seconds that they took when that was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from affected_tests import affected, due

ROOT = Path(__file__).resolve().parent.parent
SECONDS = ROOT / "tests" / "seconds.txt"
SLOW = 0.3  # seconds from which on a test is one of the slow ones
UNKNOWN = 1.0  # seconds that a file is thought to take of which nothing is known
CHECK_SECONDS = 50.0  # what the tests that depend on a change may take, in two processes half of it
NOT_COLLECTED_HERE = {"gpu", "soak", "chaos", "third_party"}


def measured() -> dict[str, float]:
    """The seconds of files, without their slow tests, and of slow tests, by their names for pytest."""
    lines = SECONDS.read_text(encoding="utf-8").splitlines() if SECONDS.exists() else []
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


def test_files() -> list[str]:
    folders = (ROOT / "tests", ROOT / "packages")
    found = (path.relative_to(ROOT) for folder in folders for path in folder.rglob("test_*.py"))
    return sorted(str(path) for path in found if not NOT_COLLECTED_HERE & set(path.parts))


def shared_out(files: Iterable[str], number: int, slow_too: bool) -> list[list[str]]:
    """The files in `number` lists that take about the same time: each in turn, the longest first, where there is least."""
    known, taken = measured(), Counter[str]()
    for name, seconds in known.items():
        if slow_too or "::" not in name:
            taken[name.partition("::")[0]] += seconds  # type: ignore[assignment]
    lists: list[list[str]] = [[] for _ in range(number)]
    sums = [0.0] * number
    for file in sorted(files, key=lambda file: (-taken.get(file, UNKNOWN), file)):
        least = sums.index(min(sums))
        lists[least].append(file)
        sums[least] += taken.get(file, UNKNOWN)
    return [sorted(files) for files in lists if files]


def within(files: Iterable[str], limit: float) -> list[str]:
    """The first of the files that take `limit` seconds together, and those behind them that still fit in; one at least."""
    known, found = measured(), list[str]()
    for file in files:
        if not found or known.get(file, UNKNOWN) <= limit:
            found.append(file)
            limit -= known.get(file, UNKNOWN)
    return found


class Run:
    """Processes of pytest, and what they have told."""

    def __init__(self, lists: list[list[str]], arguments: list[str]) -> None:
        self.tests = self.done = 0
        self.failed: list[str] = []
        self.seconds: dict[str, float] = {}
        self._begun, self._shown = time.monotonic(), 0.0
        self._logs: list[IO[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._selector = selectors.DefaultSelector()
        for files in lists:
            reading, writing = os.pipe()
            log = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it has been shown)
            self._logs.append(log)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, *files]
            environment = os.environ | {"ACTORFLOW_TEST_PROGRESS": str(writing)}
            self._processes.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, pass_fds=[writing]
                )
            )
            os.close(writing)
            self._selector.register(reading, selectors.EVENT_READ, bytearray())

    def wait(self) -> int:
        """Shows how far they are until all have ended. 0 where all is well; what they wrote is shown where it is not."""
        try:
            while self._selector.get_map():
                for key, _ in self._selector.select(1.0):
                    self._hear(key)
                self._show()
            for process in self._processes:
                process.wait()
        except KeyboardInterrupt:  # they have heard of it too
            for process in self._processes:
                process.wait()
        self._selector.close()
        self._show(last=True)
        statuses = [process.returncode for process in self._processes]
        good = all(status in (0, 5) for status in statuses)  # 5: all of a list were deselected
        for log, status in zip(self._logs, statuses):
            log.seek(0)
            text = log.read().decode(errors="replace")
            where = min((at for at in map(text.find, ("\n=", "\n!", "\nERROR", "Error")) if at >= 0), default=0)
            print(text[where:].strip() if status not in (0, 5) else text.strip().rpartition("\n")[2])
            log.close()
        return 0 if good else 1

    def _hear(self, key: selectors.SelectorKey) -> None:
        said = os.read(key.fd, 1 << 16)
        if not said:
            self._selector.unregister(key.fd)
            os.close(key.fd)
            return
        key.data.extend(said)
        *lines, rest = bytes(key.data).split(b"\n")
        key.data[:] = rest
        for line in lines:
            fact = json.loads(line)
            self.tests += fact.get("tests", 0)
            if "failed" in fact:
                self.failed.append(fact["failed"])
                self._print(f"FAILED {fact['failed']}\n")
            elif "test" in fact:
                self.done += 1
                self.seconds[fact["test"]] = fact["seconds"]

    def _show(self, last: bool = False) -> None:
        now, terminal = time.monotonic(), sys.stdout.isatty()
        if last or now - self._shown >= (0.2 if terminal else 15.0):
            self._shown = now
            spent = now - self._begun
            minutes, seconds = divmod(int(spent), 60)
            tests = f"{self.done:,} of {self.tests:,} tests" if self.tests else "collecting the tests"
            failed = f", {len(self.failed)} failed" if self.failed else ", none failed" if self.done else ""
            left = "" if last else time_left(spent, self.done, self.tests)
            self._print(f"{tests}{failed}, {minutes}:{seconds:02}{left}" + ("" if terminal and not last else "\n"))

    def _print(self, text: str) -> None:
        print(f"\r\x1b[K{text}" if sys.stdout.isatty() else text, end="", flush=True)


def time_left(spent: float, done: int, tests: int) -> str:
    """The time that the rest of the tests will take, as words, if they take as long as those before; "" if too few are done."""
    if done < tests / 50 or not done:
        return ""
    return f", about {max(1, round(spent * (tests - done) / done / 60))} min left" if done < tests else ""


def write(seconds: dict[str, float]) -> None:
    """Writes what was measured: the slow tests, and the rest of each file."""
    slow = {test: spent for test, spent in seconds.items() if spent >= SLOW}
    files = Counter[str]()
    for test, spent in seconds.items():
        files[test.partition("::")[0]] += 0 if test in slow else spent  # type: ignore[assignment]
    lines = [
        "# Seconds of each test file without its slow tests, and of each slow test: python tools/run_tests.py --measure"
    ]
    lines += [f"{spent:.1f} {name}" for name, spent in sorted((files | slow).items())]
    SECONDS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="the slow tests too")
    which.add_argument("--changed", action="store_true", help="the tests of what has changed")
    which.add_argument("--measure", action="store_true", help="write tests/seconds.txt")
    options, arguments = parser.parse_known_args()
    files = test_files()
    if options.changed:
        belong = due(ROOT)
        depend = [file for file in affected(ROOT) if file in files and file not in belong]
        chosen = within(depend, CHECK_SECONDS)
        files = [*belong, *chosen]
        print(
            f"{len(chosen)} of {len(depend)} test files that depend on what has changed, the nearest, and {len(belong)} that"
            " follow such a change. make test runs all."
        )
        if not files:
            return 0
    slow_too = options.all or options.measure
    run = Run(
        shared_out(files, 2, slow_too),
        arguments + ["-m", "not extras" if slow_too else "not slow and not extras"],
    )
    status = run.wait()
    if options.measure:
        write(run.seconds)
    return status


if __name__ == "__main__":
    sys.exit(main())
