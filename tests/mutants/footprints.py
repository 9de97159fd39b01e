"""Footprints: which functions of the project each test enters, and how long it takes.

They tell which tests might notice a change of a function, and which of those are quick. A footprint belongs to a file of tests,
and is recorded again when that file changes. Child processes leave none.

This module is also a plugin of pytest (`-p mutants.footprints`). With FOOTPRINTS_RECORD=file it records; with
FOOTPRINTS_RUN=file it runs the tests that this file names (JSON: the seconds that each may take), in that order, and writes
what failed first beside it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mutants.mutant import ROOT

PARTS = ("actorflow", "transports", "checkpoint")
_RECORD, _RUN = "FOOTPRINTS_RECORD", "FOOTPRINTS_RUN"


@dataclass(frozen=True, slots=True)
class Footprint:
    """The functions that one test entered, as texts `file:function`, and its seconds."""

    test: str
    seconds: float
    entered: frozenset[str]


def digest(test_file: str) -> str:
    """The state of a test file for which its record is good: its present content."""
    return hashlib.sha256((ROOT / test_file).read_bytes()).hexdigest()[:16]


def load(path: Path) -> list[Footprint]:
    """The footprints of a record."""
    content = json.loads(path.read_text(encoding="utf-8"))
    names: list[str] = content["names"]
    return [
        Footprint(test, seconds, frozenset(names[number] for number in entered))
        for test, seconds, entered in content["tests"]
    ]


# ---- recording


class Recorder:
    """Notes the functions that are entered, on all threads, between `begin` and `end`."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[float, set[str]]] = {}
        self.bad: set[str] = set()
        self._files: dict[str, str | None] = {}
        self._now: set[tuple[str, str]] = set()

    def _trace(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        name = code.co_filename
        if name not in self._files:
            self._files[name] = self._inside(name)
        if self._files[name] is not None:
            self._now.add((name, code.co_qualname))

    @staticmethod
    def _inside(name: str) -> str | None:
        path = Path(name).resolve()
        file = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        return file if file.partition("/")[0] in PARTS else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now = set()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            seconds, _ = self.tests.get(item.nodeid, (0.0, set()))
            self.tests[item.nodeid] = (seconds, {f"{self._files[name]}:{function}" for name, function in self._now})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds, entered = self.tests.get(report.nodeid, (0.0, set()))
        self.tests[report.nodeid] = (seconds + report.duration, entered)
        if not report.passed:
            self.bad.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        good = {test: found for test, found in self.tests.items() if test not in self.bad}
        names = sorted({name for _, entered in good.values() for name in entered})
        number = {name: index for index, name in enumerate(names)}
        tests = [
            [test, round(seconds, 4), sorted(map(number.__getitem__, entered))]
            for test, (seconds, entered) in good.items()
        ]
        content = {"names": names, "tests": tests, "left_out": sorted(self.bad)}
        Path(os.environ[_RECORD]).write_text(json.dumps(content), encoding="utf-8")


# ---- running some


class Selection:
    """Runs the tests that are asked for, in their order, and lets each take the given number of seconds."""

    def __init__(self, path: Path) -> None:
        self._seconds: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        self._place = {test: place for place, test in enumerate(self._seconds)}
        self._told = path.with_suffix(".failed")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._place), key=lambda i: self._place[i.nodeid])
        for item in items:
            item.add_marker(pytest.mark.timeout(self._seconds[item.nodeid]), append=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._told.exists():
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message if crash is not None else str(report.longrepr)
            content = {"test": report.nodeid, "when": report.when, "why": why.strip().splitlines()[:1]}
            self._told.write_text(json.dumps(content), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    if _RECORD in os.environ:
        config.pluginmanager.register(Recorder(), "footprints_recorder")
    if _RUN in os.environ:
        config.pluginmanager.register(Selection(Path(os.environ[_RUN])), "footprints_selection")
