"""The families of benchmarks, each a module with a tuple `BENCHMARKS`."""

from __future__ import annotations

import importlib

from benchmarks.harness.definitions import Benchmark, Suite

FAMILIES = {
    "session_calls": "engine.session_calls",
    "chains": "engine.chains",
    "mlp": "models.mlp",
    "eager": "engine.eager",
    "datasets": "models.datasets",
    "estimators": "training.estimators",
    "steps": "engine.steps",
    "shared_host": "cluster.shared_host",
    "models": "models",
    "kinds": "kinds",
    "torch_steps": "exchange.torch_steps",
    "keras_steps": "exchange.keras_steps",
    "onnx_models": "exchange.onnx_models",
    "ops": "graph.ops",
    "control": "graph.control",
    "remote": "cluster.remote",
    "resuming": "cluster.resuming",
    "elastic": "cluster.elastic",
    "arena": "cluster.arena",
    "checkpoint": "training.checkpoint",
    "importing": "exchange.importing",
    "nodes": "engine.nodes",
    "watching": "frontends.watching",
    "planning": "engine.planning",
    "ablations": "engine.ablations",
    "first_runs": "engine.first_runs",
    "placement": "placement.measured",
    "placement_search": "placement.search",
    "loop_lag": "engine.loop_lag",
    "concurrency": "engine.concurrency",
    "clients": "engine.clients",
    "tables": "exchange.tables",
    "awaiting": "exchange.awaiting",
    "serving": "frontends.serving",
    "serving_bodies": "frontends.serving_bodies",
    "generation": "frontends.generation",
    "memory": "engine.memory",
}
"""The module of each family, below `benchmarks`."""


def family(name: str) -> tuple[Benchmark, ...]:
    """The benchmarks of one family. Raises KeyError naming those that there are."""
    if name not in FAMILIES:
        raise KeyError(f"There is no family {name!r}; there are: {', '.join(FAMILIES)}.")
    found: tuple[Benchmark, ...] = importlib.import_module(f"benchmarks.{FAMILIES[name]}").BENCHMARKS
    return found


def missing(name: str) -> str:
    """A sentence where something that a family needs is not there; else nothing."""
    found = getattr(importlib.import_module(f"benchmarks.{FAMILIES[name]}"), "missing", str)
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
