"""The loops that stand at kernels, by op."""

from __future__ import annotations

from actorflow.base.registry import kernel, plugins
from actorflow.base.registry.traits import Loop


def kernel_loops() -> dict[str, Loop]:
    """The loop of each op of actorflow that has one."""
    plugins.load_kernels()
    return {
        op: entry.loop
        for op, entries in sorted(kernel.registered().items())
        for entry in entries
        if entry.loop is not None and entry.function.__module__.startswith("actorflow.")
    }
