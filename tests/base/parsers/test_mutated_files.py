"""Each parser takes a damaged or hostile input with a value or one of its own errors, in bounded time and memory.

`ACTORFLOW_PARSER_FUZZ` sets how many inputs each parser gets (25), `ACTORFLOW_TEST_SEED` the first one's seed; a failure names
the seeds. `python tests/base/parsers/fuzz_parsers.py SEED 1 NAME` runs one again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from base.parsers.parsers import PARSERS

COUNT = int(os.environ.get("ACTORFLOW_PARSER_FUZZ", "25"))
SEED = int(os.environ.get("ACTORFLOW_TEST_SEED", "1"))
SUPPORT = Path(__file__).parent

pytestmark = [
    pytest.mark.timeout(60 * max(10, COUNT)),
    pytest.mark.skipif(sys.platform != "linux", reason="the bounds of a process are looked up as Linux tells them"),
]


@pytest.fixture(scope="module")
def reports() -> dict[str, Any]:
    """The report of each parser, of a process whose memory is bounded."""
    command = [sys.executable, str(SUPPORT / "fuzz_parsers.py"), str(SEED), str(COUNT)]
    ended = run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(SUPPORT)}, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    return {row["parser"]: row for row in rows}


@pytest.mark.parametrize("name", PARSERS)
def test_a_mutated_input_is_read_or_refused(name: str, reports: dict[str, Any]) -> None:
    faults = reports[name]["faults"]
    assert not faults, "\n".join(f"seed {fault['seed']}: {fault['fault']}" for fault in faults)
