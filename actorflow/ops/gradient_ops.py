"""Ops that only the gradient walk makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.dtypes import INDEX, NUMERIC
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import from_value
from actorflow.registry.op import op


@op("SumTo", shape=from_value(1), dtypes=NUMERIC, types={"shape": INDEX}, view=True)
def sum_to(gradient: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """`gradient` summed down to `shape`, from which it may have been broadcast; itself where the shapes are equal.

    Leading dimensions that `shape` lacks are summed away, dimensions that have size 1 there are summed to 1.
    Raises InvalidArgumentError in the run where `shape` does not broadcast to the gradient's shape.
    """


@sum_to.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.ops.shaping import broadcast_to, shape

    return [broadcast_to(dy, shape(node.inputs[0])), None]


@op(
    "CustomGradient",
    shape=lambda c: list(c.shapes),
    result=lambda c: tuple(d.base_dtype for d in c.dtypes),
    view=True,
    work=0,
)
def custom_gradient_op(values: Sequence[Any], *, rule: str, name: str | None = None) -> Any:
    """`values` themselves: results of a function, then what it was computed from. The gradient of the results goes to
    the latter by the Python function that the graph keeps under the name `rule`. See `custom_gradient`."""


@custom_gradient_op.gradient
def _(node: Operation, *dys: Tensor) -> list[Any]:
    from actorflow.autodiff.custom import rule_of

    return rule_of(node)(*dys)
