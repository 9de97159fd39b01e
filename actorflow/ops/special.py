"""Special functions, elementwise, of floating tensors. They need the extra `special`, and say so in the run."""

from __future__ import annotations

import math
from typing import Any

from actorflow.dtypes import FLOATING
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import elementwise, unchanged
from actorflow.ops.unary import exp, square
from actorflow.registry.op import op

_SLOPE = 2 / math.sqrt(math.pi)


@op("Erf", shape=unchanged, dtypes=FLOATING, work=20)
def erf(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The Gauss error function, elementwise."""


@erf.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (_SLOPE * exp(-square(node.inputs[0])))]


@op("Erfc", shape=unchanged, dtypes=FLOATING, work=20)
def erfc(x: TensorLike, *, name: str | None = None) -> Tensor:
    """1 less the Gauss error function, elementwise; exact to the last digits for a large x."""


@erfc.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * (-_SLOPE * exp(-square(node.inputs[0])))]


@op("Lgamma", shape=unchanged, dtypes=FLOATING, work=30)
def lgamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The logarithm of |Γ(x)|, elementwise; inf at the poles 0, -1, -2, ..."""


@lgamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * digamma(node.inputs[0])]


@op("Digamma", shape=unchanged, dtypes=FLOATING, work=30)
def digamma(x: TensorLike, *, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`, elementwise; NaN at its poles 0, -1, -2, ..."""


@digamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy * polygamma(1, node.inputs[0])]


@op("Polygamma", shape=elementwise, dtypes=FLOATING, broadcasts=True, work=60)
def polygamma(a: TensorLike, x: TensorLike, *, name: str | None = None) -> Tensor:
    """The a-th derivative of `digamma` at x, elementwise with broadcasting; a is a whole number of x's type."""


@polygamma.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, x = node.inputs
    return [None, dy * polygamma(a + 1, x)]
