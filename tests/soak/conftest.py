"""Writes down how a soak of the cluster went: each test with its outcome, its seconds, and what it noted.

A whole soak writes benchmarks/results/soak_cluster.json; `SOAK_RESULTS=FOLDER` has others write there. It may go in parts (`-k`):
tests of the same commit are added to those that are there.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parent.parent.parent
_FOLDER = os.environ.get("SOAK_RESULTS")
_MODULE = "soak_cluster"
_BEGUN = time.time()
_found: dict[str, dict[str, Any]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if f"{_MODULE}.py::" in report.nodeid and (report.when == "call" or report.failed):
        name = report.nodeid.partition("::")[2]
        known = _found.setdefault(name, {"outcome": report.outcome, "seconds": 0.0})
        known["seconds"] = round(known["seconds"] + report.duration, 3)
        known |= {key: value for key, value in report.user_properties}
        if report.failed:
            known |= {"outcome": "failed", "why": str(report.longrepr)[-2000:]}


def pytest_sessionfinish(session: pytest.Session) -> None:
    scale = float(os.environ.get("SOAK", "1"))
    folder = Path(_FOLDER) if _FOLDER else _ROOT / "benchmarks" / "results" if scale >= 1 else None
    if not _found or folder is None:
        return
    from benchmarks.harness import environment, stored

    seed = next((m.FIRST for name, m in sys.modules.items() if name.endswith(_MODULE)), None)
    path, commit = folder / f"{_MODULE}.json", environment.commit()
    parts, tests = _before(path, commit)
    part = {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_BEGUN)),
        "command": f"SOAK={scale:g} python -m pytest {shlex.join(sys.argv[1:])}",
        "seed": seed,
        "python": sys.version.split()[0],
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "seconds": round(time.time() - _BEGUN),
    }
    document = {"family": _MODULE, **commit, "parts": [*parts, part], "tests": tests | _found}
    path.write_text(stored.as_text(document), encoding="utf-8")


def _before(path: Path, commit: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The parts and the tests of a soak of the same commit."""
    if not path.exists():
        return [], {}
    found = json.loads(path.read_text(encoding="utf-8"))
    same = commit["dirty"] is False and all(found.get(key) == value for key, value in commit.items())
    return (found["parts"], found["tests"]) if same else ([], {})
