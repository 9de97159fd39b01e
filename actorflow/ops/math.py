"""Elementwise arithmetic."""

from __future__ import annotations

from typing import Any

from actorflow.dtypes import NUMERIC
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import elementwise
from actorflow.registry.op import op


@op("Add", shape=elementwise, dtypes=NUMERIC, commutative=True, broadcasts=True)
def add(x: TensorLike, y: TensorLike, *, name: str | None = None) -> Tensor:
    """x + y, elementwise with broadcasting. Integers wrap around."""


@add.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, dy]
