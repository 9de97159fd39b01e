"""The machine: how workers are started on it, what it is, and what else runs there."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.harness.definitions import Side

ROOT = Path(__file__).resolve().parents[2]
PEER_PYTHON = "BENCH_PEER_PYTHON"
"""Names the interpreter of the peer's workers, for a peer that is installed in an environment of its own."""

OTHER_PEERS = {
    "estimators": ("TensorFlow 2.15", "BENCH_ESTIMATORS_PYTHON", ".venv-bench-estimators/bin/python"),
    "torch_steps": ("PyTorch", "BENCH_TORCH_PYTHON", ".venv/bin/python"),
    "keras_steps": ("TensorFlow", "BENCH_KERAS_PYTHON", ".venv/bin/python"),
    "onnx_models": ("onnxruntime", "BENCH_ONNX_PYTHON", ".venv/bin/python"),
    "awaiting": ("onnxruntime", "BENCH_ONNX_PYTHON", ".venv/bin/python"),
    "tables": ("pyarrow", "BENCH_TABLES_PYTHON", ".venv/bin/python"),
    "serving": ("onnxruntime", "BENCH_SERVING_PYTHON", ".venv/bin/python"),
}
"""Families with a peer of their own: what it is, what names its interpreter, and which one that is by default."""
_PEERS = {
    "TensorFlow": ("tensorflow-cpu", "tensorflow"),
    "PyTorch": ("torch",),
    "onnxruntime": ("onnxruntime",),
    "pyarrow": ("pyarrow",),
}
"""The packages that a peer may come in."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def interpreter(side: Side, family: str = "") -> str:
    """The Python that runs a side's workers for a family of benchmarks."""
    if side != "peer":
        return sys.executable
    if family in OTHER_PEERS:
        _, variable, path = OTHER_PEERS[family]
        return os.environ.get(variable, str(ROOT / path))
    return os.environ.get(PEER_PYTHON, sys.executable)


def prepare() -> None:
    """Sets a worker's environment. Has to run before numpy is imported, which reads it once.

    OpenBLAS (in numpy's wheels) takes newer AMD processors for older ones without AVX-512 and then loses up to half of
    its speed; naming the core type brings it back. Both sides get the same, and what the user has set stays.
    Numbers of threads and their places are left alone: both sides run as they come.
    """
    if "avx512f" in _cpuinfo():
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def _version(*names: str) -> str | None:
    for name in names:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return None


EXTRAS = {"onednn": ("onednn-cpu-gomp", "onednn-cpu-tbb"), "jit": ("llvmlite", "numba"), "special": ("scipy",)}
"""The extras that speed kernels up: the extra, and the packages that it may bring."""


def extras() -> dict[str, str]:
    """The packages of those extras that this interpreter has. Our workers run in the interpreter of the parent."""
    return {extra: found for extra, names in EXTRAS.items() if (found := _version(*names)) is not None}


def versions() -> dict[str, str | None]:
    """The versions of what the figures depend on, in this interpreter."""
    return {
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        **{peer: _version(*packages) for peer, packages in _PEERS.items()},
    }


@functools.cache
def _versions_of(python: str) -> dict[str, str | None]:
    """The versions that an interpreter has; without one there is no peer."""
    if not os.path.exists(python):
        return dict.fromkeys(("python", "numpy", *_PEERS))
    code = "import json; from benchmarks.harness.environment import versions; print(json.dumps(versions()))"
    done = subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


def machine(family: str = "") -> dict[str, Any]:
    """A description that tells two machines apart, with the versions of a family's sides."""
    model = next((line.split(":", 1)[1].strip() for line in _cpuinfo().splitlines() if "model name" in line), None)
    ours, peer = _versions_of(interpreter("ours")), _versions_of(interpreter("peer", family))
    return {
        "cpu": model or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "avx512": "avx512f" in _cpuinfo(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": ours["python"],
        "numpy": ours["numpy"],
        "peer": peer[OTHER_PEERS.get(family, ("TensorFlow",))[0].partition(" ")[0]],
        "peer_python": peer["python"],
        "peer_numpy": peer["numpy"],
        "extras": extras(),
    }


def commit() -> dict[str, Any]:
    """The commit that is checked out, and whether files outside `results/` differ from it."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        return done.stdout.strip()

    changes = git("status", "--porcelain", "--", ".", ":(exclude)benchmarks/results")
    return {"commit": git("rev-parse", "HEAD"), "dirty": None if changes is None else bool(changes)}


def cpu_seconds(pid: int) -> float:
    """Processor time that a process and its ended children have used, zero where that can't be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Processor time so far, in seconds: of the whole machine, and of the processes that belong to the benchmark."""

    busy: float
    total: float
    mine: float

    @classmethod
    def now(cls, *pids: int) -> CpuUse | None:
        """None where the system does not tell."""
        try:
            line = Path("/proc/stat").read_text().splitlines()[0]
        except OSError:
            return None
        times = [int(field) / _TICKS for field in line.split()[1:9]]
        idle = times[3] + times[4]
        return cls(sum(times) - idle, sum(times), sum(map(cpu_seconds, (os.getpid(), *pids))))

    def others_since(self, earlier: CpuUse) -> float:
        """The share of all processors, 0 to 1, that other processes (and a hypervisor) have taken since `earlier`."""
        total = self.total - earlier.total
        others = (self.busy - earlier.busy) - (self.mine - earlier.mine)
        return min(1.0, max(0.0, others / total)) if total > 0 else 0.0


def load_average() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None
