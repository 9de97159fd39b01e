"""`_Region`: several nodes in one, made by the coalescing pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.tensor import Operation
from actorflow.registry.op import op


@op(
    "_Region", shape=lambda c: list(c.attrs["shapes"]), result=lambda c: c.attrs["dtypes"], gradient=None, stateful=True
)
def region(
    data: Sequence[Any],
    *,
    members: Any,
    inputs: Any,
    outputs: Any,
    dtypes: Any,
    shapes: Any,
    name: str | None = None,
) -> Operation:
    """Runs `members` (nodes, in order) as one straight line. `inputs` are what `data` is called inside it, `outputs`
    those of the members' outputs that others use."""
