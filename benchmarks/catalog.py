"""The families of benchmarks, each a module with a tuple `BENCHMARKS`."""

from __future__ import annotations

import importlib

from benchmarks.definitions import Benchmark

FAMILIES = (
    "session_calls",
    "chains",
    "mlp",
    "importing",
    "nodes",
    "planning",
    "loop_lag",
    "concurrency",
    "memory",
)


def family(name: str) -> tuple[Benchmark, ...]:
    """The benchmarks of one family. Raises KeyError naming those that there are."""
    if name not in FAMILIES:
        raise KeyError(f"There is no family {name!r}; there are: {', '.join(FAMILIES)}.")
    found: tuple[Benchmark, ...] = importlib.import_module(f"benchmarks.{name}").BENCHMARKS
    return found


def benchmark(path: str) -> Benchmark:
    """The benchmark `family/name`. Raises KeyError where there is none."""
    group, _, name = path.partition("/")
    for found in family(group):
        if found.name == name:
            return found
    raise KeyError(f"Family {group} has no benchmark {name!r}; it has: {', '.join(b.name for b in family(group))}.")
