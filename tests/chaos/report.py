"""The measurements of a run, as JSON beside the results of benchmarks: with its command, the commit and the machine's load."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.stored import as_text

ROOT = Path(__file__).parents[2]
RESULTS = Path(os.environ.get("ACTORFLOW_CHAOS_RESULTS", ROOT / "benchmarks" / "results"))


def distribution(values: Sequence[float]) -> dict[str, float]:
    """Count, median, 90th and 99th percentile, and the greatest."""
    if not values:
        return {"count": 0}
    quantiles = np.percentile(values, (50, 90, 99), method="higher")
    return {
        "count": len(values),
        **{name: round(float(q), 4) for name, q in zip(("p50", "p90", "p99"), quantiles)},
        "max": round(float(max(values)), 4),
    }


def write(name: str, command: str, begun: float, figures: Mapping[str, Any], folder: Path = RESULTS) -> Path:
    """Writes `name`.json. `begun` is when the run began, in seconds since 1970."""
    document = {
        "name": name,
        "command": command,
        **_commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begun)),
        "seconds": round(time.time() - begun, 1),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
            "load_average": [round(value, 2) for value in os.getloadavg()],
        },
        **figures,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(as_text(document), encoding="utf-8")
    return path


def _commit() -> dict[str, Any]:
    def git(*arguments: str) -> str | None:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    changes = git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if changes is None else bool(changes)}
