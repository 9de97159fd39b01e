"""The progress of a test run: to `tools/run_tests.py`, a line of JSON for each test, over a pipe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from patience import MachineTime

PIPE = "ACTORFLOW_TEST_PROGRESS"


class Progress:
    """A plugin of pytest that tells how many tests there are, and of each how it ended and what it took."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._given = pipe, MachineTime()
        os.set_inheritable(pipe, False)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._tell(tests=len(session.items))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(failed=report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = self._given.seconds()
        try:
            return (yield)
        finally:
            self._tell(test=item.nodeid, seconds=round(self._given.seconds() - before, 3))

    def _tell(self, **facts: object) -> None:
        os.write(self._pipe, json.dumps(facts).encode() + b"\n")


def register(config: pytest.Config) -> None:
    """Registers the reporter if the environment names a pipe. No process below this one tells."""
    pipe = os.environ.pop(PIPE, None)
    if pipe is not None:
        config.pluginmanager.register(Progress(int(pipe)), "progress")
