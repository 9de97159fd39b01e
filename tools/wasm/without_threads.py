"""A plugin of pytest for a Python without threads, processes and sockets: it skips the tests that ask for them.

`RefusedThings` notes what a test asked for, by the functions of the standard library through which each request goes.
`PolledLoop` is an event loop without a selector, because WebAssembly has no pair of sockets to wake a selector with.
"""

from __future__ import annotations

import asyncio
import asyncio.base_events
import multiprocessing.process
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest


class _Sleeping:
    """A selector of nothing, which sleeps until the next timer."""

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("The event loop waits for a thread or a socket, and this Python has none.")
        if timeout > 0:
            time.sleep(timeout)
        return []


class PolledLoop(asyncio.base_events.BaseEventLoop):
    """An event loop of callbacks and timers."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Sleeping()

    def _process_events(self, events: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


class RefusedThings:
    """The things that the running test asked for, and that this Python does not have."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def refuse(self, name: str) -> Callable[..., Any]:
        """A function that notes the request, and fails as the system would."""

        def refused(*arguments: Any, **keywords: Any) -> Any:
            self.names.append(name)
            raise OSError(f"This Python has no {name}.")

        return refused


things = RefusedThings()


def pytest_configure(config: pytest.Config) -> None:
    asyncio._set_running_loop(None)  # that of the browser
    if not hasattr(signal, "setitimer"):
        signal.setitimer = lambda *_: (0.0, 0.0)  # no test is ended by a timer
    for module in (asyncio, asyncio.events):
        module.new_event_loop = PolledLoop  # type: ignore[attr-defined]
    threading.Thread.start = things.refuse("threads")  # type: ignore[method-assign]
    subprocess.Popen.__init__ = things.refuse("processes")  # type: ignore[method-assign]
    multiprocessing.process.BaseProcess.start = things.refuse("processes")  # type: ignore[method-assign]
    socket.socket.__init__ = things.refuse("sockets")  # type: ignore[method-assign]
    selectors.DefaultSelector.__init__ = things.refuse("sockets")  # type: ignore[method-assign]


MISSING = ("zmq", "uvloop", "httptools", "llvmlite", "cffi", "scipy", "cryptography")
"""Packages that WebAssembly does not have: a module of tests that imports such a package is skipped."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    text = str(report.longrepr)
    missing = [name for name in MISSING if f"No module named '{name}" in text] if report.failed else []
    if missing:
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: imports {missing[0]}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.failed and things.names:
        report.outcome = "skipped"
        report.longrepr = (
            str(item.path),
            item.location[1] or 0,
            f"Skipped: asks for {', '.join(sorted(set(things.names)))}",
        )
    if call.when == "teardown":
        things.names.clear()
    return report
