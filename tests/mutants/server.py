"""A pytest that has collected all tests, and forks a child for each mutant: what takes seconds is done once.

`Server` is the side of the runner; the other one is a plugin of pytest (`-p mutants.server`), which answers requests, one line of
JSON each, in the place of running tests. In the child the mutant's functions get its code (`live`); it then runs the tests that
were asked for, in their order, up to the first that fails.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mutants.live import NotLive, exchange, functions_by_file

_PIPES = "MUTANTS_PIPES"
NOT_LIVE = "not live"


class Server:
    """A pytest in the folder `root` that waits for requests. `environment` is its own, `log` gets what it writes."""

    def __init__(self, root: Path, environment: dict[str, str], files: Sequence[str], log: Path) -> None:
        asking, self._requests = os.pipe()
        self._replies, answering = os.pipe()
        command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "mutants.server"]
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [*command, "--hypothesis-seed=0", "--timeout=30", *files],
                cwd=root,
                env=environment | {_PIPES: f"{asking} {answering}"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=(asking, answering),
            )
        os.close(asking)
        os.close(answering)
        self._lines = os.fdopen(self._replies, encoding="utf-8")

    def ask(self, file: Path, old: str, new: str, tests: Mapping[str, float], seconds: float) -> dict[str, Any]:
        """Runs tests, each of which may take its number of seconds, and all of them `seconds`, on a mutant of `file`.

        The answer has a `status`: 0 where all passed, 1 where one failed (`test`, and `why`), None where the time was over,
        NOT_LIVE where the mutant needs a new interpreter. Raises RuntimeError where the server is gone.
        """
        request = {"file": str(file), "old": old, "new": new, "tests": dict(tests), "seconds": seconds}
        try:
            self._send(request)
            line = self._lines.readline()
        except OSError as error:
            raise RuntimeError(f"the server of tests is gone: {error}") from error
        if not line:
            raise RuntimeError(f"the server of tests has ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _send(self, request: dict[str, Any]) -> None:
        data = (json.dumps(request) + "\n").encode()
        while data:
            data = data[os.write(self._requests, data) :]

    def close(self) -> None:
        """Ends it."""
        os.close(self._requests)
        self._lines.close()
        self._process.wait()


# ---- the plugin


class Plugin:
    """Answers requests in the place of running tests."""

    def __init__(self, asking: int, answering: int) -> None:
        self._asking, self._answering = asking, answering
        self._failed: dict[str, Any] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        # code objects name files by the way that led to them: through the links in the copy's package
        names = {os.path.realpath(name): name for name in _file_names()}
        functions = functions_by_file(names.values())
        with os.fdopen(self._asking, encoding="utf-8") as requests:
            for line in requests:
                request = json.loads(line)
                name = names.get(os.path.realpath(request["file"]), request["file"])
                answer = self._forked(session, items, request, functions.get(name, []), name)
                os.write(self._answering, (json.dumps(answer) + "\n").encode())
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._failed is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = str(crash.message if crash is not None else report.longrepr).strip()
            self._failed = {"status": 1, "test": report.nodeid, "why": why.partition("\n")[0][:300]}

    def _forked(self, session: pytest.Session, items: Any, request: Any, functions: Any, name: str) -> dict[str, Any]:
        """The findings of a child. It has a session of its own, so that what it leaves behind can be ended."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setsid()
                os.close(reading)
                answer = self._run(session, items, request, functions, name)
                os.write(writing, json.dumps(answer).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        try:
            ready, _, _ = select.select([reading], [], [], request["seconds"])
            answer = os.read(reading, 1 << 16) if ready else b""
            if not ready:
                return {"status": None}
            return json.loads(answer) if answer else {"status": 1, "test": "a crash", "why": "the process has ended"}
        finally:
            os.close(reading)
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _run(self, session: pytest.Session, items: Any, request: Any, functions: Any, name: str) -> dict[str, Any]:
        try:
            exchange(functions, name, request["old"], request["new"])
        except NotLive:
            return {"status": NOT_LIVE}
        chosen = [items[test] for test in request["tests"] if test in items]
        for item in chosen:
            item.add_marker(pytest.mark.timeout(request["tests"][item.nodeid]), append=False)
        if not chosen:
            return {"status": NOT_LIVE}
        begin = time.monotonic()
        for item, following in zip(chosen, [*chosen[1:], None]):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed is not None:
                break
        return self._failed or {"status": 0, "seconds": time.monotonic() - begin}


def _file_names() -> list[str]:
    return [
        name
        for module in list(sys.modules.values())
        if (name := getattr(module, "__file__", None)) and "actorflow" in name
    ]


def pytest_configure(config: pytest.Config) -> None:
    if _PIPES in os.environ:
        asking, answering = map(int, os.environ.pop(_PIPES).split())
        config.pluginmanager.register(Plugin(asking, answering), "mutants_server")
