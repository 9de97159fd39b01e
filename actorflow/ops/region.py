"""Ops that only passes make: `_Region` and `_Loop`, several nodes in one, and `_Done`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.dtypes import bool as bool_dtype
from actorflow.graph.tensor import Operation, Tensor
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


@op("_Done", shape=lambda c: (), result=bool_dtype, gradient=None, stateful=True)
def done(*, name: str | None = None) -> Tensor:
    """True, once its control inputs have run: how a partial run sees that a target did."""


@op("_Loop", shape=lambda c: list(c.attrs["shapes"]), result=lambda c: c.attrs["dtypes"], gradient=None, stateful=True)
def loop(
    data: Sequence[Any],
    *,
    body: Any,
    members: Any,
    inputs: Any,
    input_types: Any,
    outputs: Any,
    exits: Any,
    dtypes: Any,
    shapes: Any,
    name: str | None = None,
) -> Operation:
    """Runs a while loop as one node. `inputs` are what `data` is called inside it, the variables first; `outputs` are the
    positions of those variables whose last values others use, `exits` the Exits that gave them. `body` is a `LoopBody`."""
