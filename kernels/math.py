"""Kernels of elementwise arithmetic. A small output is computed by an operator, a large one into `out`."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel


@kernel("Add")
def add(xp: Any, x: Any, y: Any, *, out: Any = None) -> Any:
    return x + y if out is None else xp.add(x, y, out=out)
