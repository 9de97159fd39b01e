"""The families of benchmarks, each a module with a tuple `BENCHMARKS`."""

from __future__ import annotations

import importlib

from benchmarks.definitions import Benchmark, Suite

FAMILIES = (
    "session_calls",
    "chains",
    "mlp",
    "eager",
    "datasets",
    "estimators",
    "steps",
    "shared_host",
    "models",
    "kinds",
    "torch_steps",
    "onnx_models",
    "ops",
    "control",
    "remote",
    "resuming",
    "arena",
    "checkpoint",
    "importing",
    "nodes",
    "watching",
    "planning",
    "first_runs",
    "placement",
    "placement_search",
    "loop_lag",
    "concurrency",
    "clients",
    "awaiting",
    "serving",
    "serving_bodies",
    "memory",
)


def family(name: str) -> tuple[Benchmark, ...]:
    """The benchmarks of one family. Raises KeyError naming those that there are."""
    if name not in FAMILIES:
        raise KeyError(f"There is no family {name!r}; there are: {', '.join(FAMILIES)}.")
    found: tuple[Benchmark, ...] = importlib.import_module(f"benchmarks.{name}").BENCHMARKS
    return found


def missing(name: str) -> str:
    """A sentence where something that a family needs is not there; else nothing."""
    found = getattr(importlib.import_module(f"benchmarks.{name}"), "missing", str)
    return str(found())


def benchmark(path: str) -> Benchmark:
    """The benchmark `family/name`, or a suite's cases of that name. Raises KeyError where there is none."""
    group, _, name = path.partition("/")
    some = family(group)
    for found in some:
        if found.name == name:
            return found
    for found in some:
        if isinstance(found, Suite) and (narrowed := found.narrowed(name)):
            return narrowed
    raise KeyError(f"Family {group} has no benchmark {name!r}; it has: {', '.join(b.name for b in family(group))}.")
