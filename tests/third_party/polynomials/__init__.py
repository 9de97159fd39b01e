"""Polynomials as an op: the declaration and its gradient. The kernels are found through the entry point."""

from __future__ import annotations

from collections.abc import Sequence

import actorflow as af
from actorflow.base.dtypes import FLOATING
from actorflow.graph.ops.shape_rules import elementwise


@af.op("Polynomial", shape=elementwise, dtypes=FLOATING)
def polynomial(x: af.TensorLike, *, coefficients: Sequence[float], name: str | None = None) -> af.Tensor:
    """c0 + c1 x + c2 x² + ..., elementwise, for the coefficients c0, c1, c2, ..."""


@polynomial.gradient
def _(node: af.Operation, dy: af.Tensor) -> list[af.Tensor]:
    slopes = tuple(power * c for power, c in enumerate(node.get_attr("coefficients")))[1:]
    return [dy * polynomial(node.inputs[0], coefficients=slopes or (0.0,))]
