"""Second derivatives (`tf.hessians`), made of gradients of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import is_static, show
from actorflow.errors import describe
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af")
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """The second derivatives of the sum of `ys` with respect to each of `xs` (`tf.hessians`).

    The graph gets a pair of gradients for each element of each x: this is for small tensors.

    Example:
        >>> x = af.placeholder(af.float32, [2])
        >>> (curvature,) = af.hessians(x[0] ** 2 + 3.0 * x[0] * x[1], x)
        >>> await session.run(curvature, {x: [1.0, 2.0]})
        [[2. 3.]
         [3. 0.]]

    Args:
        ys: a tensor or a list of them.
        xs: a tensor or variable of fully known shape, or a list of them.
        name: the name scope of the nodes.
        colocate_gradients_with_ops, gate_gradients, aggregation_method: see `gradients`.

    Returns:
        A tensor for each x; for an x of shape s it has the shape s + s.

    Raises:
        ValueError: the shape of an x is not known, or no y depends on it.
    """
    x_list = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    first = gradients(ys, x_list, name=name, **options)
    return [_hessian(x, slope, name, options) for x, slope in zip(x_list, first, strict=True)]


def _hessian(x: Any, slope: Any, name: str, options: dict[str, Any]) -> Tensor:
    from actorflow.graph.ops.array.constant import zeros_like
    from actorflow.graph.ops.array.join import stack
    from actorflow.graph.ops.array.shape import reshape

    value = convert_to_tensor(x)
    shape = value.static_shape
    if shape is None or not is_static(shape):
        raise ValueError(
            describe(f"hessians needs the shape of {value.name}, which is {show(shape)}.", where=user_line())
        )
    if slope is None:
        raise ValueError(describe(f"No y depends on {value.name} in a differentiable way.", where=user_line()))
    sizes = [int(size) for size in shape if size is not None]
    with value.graph.as_default(), value.graph.name_scope(name) as scope:
        dense = convert_to_tensor(slope)
        rows: list[Tensor] = []
        for at in np.ndindex(*sizes):
            unit = np.zeros(sizes, value.dtype.numpy_dtype)
            unit[at] = 1
            (row,) = gradients(dense, x, [unit], name=name, **options)
            rows.append(zeros_like(dense) if row is None else convert_to_tensor(row))
        whole = stack(rows) if rows else zeros_like(dense)
        return reshape(whole, [*sizes, *sizes], name=scope)
