"""`import actorflow` leaves to their first use what takes long to load and what few programs need."""

from __future__ import annotations

import json
import subprocess
import sys

LATER = (
    "anyio",
    "asyncio",
    "concurrent.futures",
    "html",
    "logging",
    "msgpack",
    "ssl",
    "structlog",
    "subprocess",
    "zmq",
)
SHOWN = "import {package}, json, sys; print(json.dumps(list(sys.modules)))"


def loaded(package: str) -> set[str]:
    """The modules that are there after an import."""
    command = [sys.executable, "-c", SHOWN.format(package=package)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def test_slow_modules_are_left_to_their_first_use() -> None:
    beside_numpy = loaded("actorflow") - loaded("numpy")
    assert not beside_numpy.intersection(LATER)
