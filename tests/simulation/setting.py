"""The setting of results: the commit and the machine, under the names that those of `benchmarks` have."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def commit() -> dict[str, Any]:
    """The commit that is checked out, when, and whether files outside `benchmarks/results` differ from it."""
    changes = _git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    return {
        "family": "simulation",
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changes is None else bool(changes),
    }


def machine() -> dict[str, Any]:
    """The machine on which it ran."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": f"numpy {np.__version__}",
    }


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
