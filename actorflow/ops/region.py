"""`_Region` and `_Loop`: several nodes in one, made by the coalescing passes."""

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


@op("_Loop", shape=lambda c: list(c.attrs["shapes"]), result=lambda c: c.attrs["dtypes"], gradient=None, stateful=True)
def loop(
    data: Sequence[Any],
    *,
    body: Any,
    members: Any,
    inputs: Any,
    input_types: Any,
    outputs: Any,
    dtypes: Any,
    shapes: Any,
    name: str | None = None,
) -> Operation:
    """Runs a while loop as one node. `inputs` are what `data` is called inside it, the variables first; `outputs` are the
    positions of those variables whose last values others use. `body` is a `LoopBody`."""
