"""Products and quotients for gradients: where no gradient arrives, none goes on.

There the result is 0, though the slope of the op be infinite or no number. A program that chooses between values by `where`
relies on it: the value that was not taken gets a gradient of 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.graph.tensor import Operation, Tensor

QUOTIENT = "GradientQuotient"
"""The rule by which the quotients of `divided` are differentiated; `actorflow.graph.autodiff.override` registers it."""


def scaled(dy: Tensor, slope: Tensor) -> Tensor:
    """dy · slope, and 0 where dy is 0."""
    from actorflow.graph.ops.math.special import multiply_no_nan

    return multiply_no_nan(slope, dy)


def divided(dy: Tensor, by: Tensor) -> Tensor:
    """dy / by, and 0 where dy is 0. Unlike that of `xdivy`, its derivative by dy is 1 / by there too."""
    if by.op.type == "Const" and np.all(by.op.attrs["value"]):
        return dy / by
    attrs = {"_gradient_op_type": QUOTIENT}
    return dy.graph.create_op("Xdivy", [dy, by], attrs, "truediv").outputs[0]


def quotient_gradient(node: Operation, ddy: Tensor) -> list[Any]:
    """The gradients of a quotient of `divided`."""
    from actorflow.graph.ops.math.cast import conj

    dy, by = map(conj, node.inputs)
    return [divided(ddy, by), scaled(ddy, divided(divided(-dy, by), by))]
