"""Questions about tensors that are answered as the graph is built, and shapes that broadcasting would give."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INDEX
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, ShapeLike, TensorShape, as_shape, broadcast
from actorflow.graph.constant_value import constant_value, shape_value
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af")
def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor, a variable, or another value that converts to a tensor of the graph (`tf.is_tensor`).

    Example:
        >>> af.is_tensor(af.constant(1.0)), af.is_tensor(1.0)
        (True, False)
    """
    return is_symbolic(x)


@public("af", "tf.debugging")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether `tensor` is a tensor of numbers: not of truth values, strings or references (`tf.is_numeric_tensor`).

    Example:
        >>> af.is_numeric_tensor(af.constant(1.0)), af.is_numeric_tensor(af.constant("a"))
        (True, False)
    """
    return isinstance(tensor, Tensor) and tensor.dtype in dt.NUMERIC


@public("af")
def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of `tensor` as an array where the graph alone decides it, else None (`tf.get_static_value`).

    With `partial`, a vector of integers that is known in part becomes an array of objects with None for the rest. A value
    that is no tensor comes back as it is.

    Example:
        >>> x = af.placeholder(af.float32, [3, None])
        >>> af.get_static_value(af.shape(x)[0])
        3
        >>> af.get_static_value(x) is None
        True
    """
    if not is_symbolic(tensor):
        return tensor
    source = convert_to_tensor(tensor)
    value = constant_value(source.graph.nodes, source.tensor_id)
    if value is not None or not partial:
        return value
    sizes = shape_value(source.graph.nodes, source.tensor_id)
    return None if sizes is None or not any(s is not None for s in sizes) else np.array(sizes, object)


@public("af")
def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The shape of an elementwise result of tensors of two shapes (`tf.broadcast_static_shape`).

    Raises ValueError where sizes differ and neither is 1.

    Example:
        >>> af.broadcast_static_shape(af.TensorShape([2, 1, None]), af.TensorShape([5, 3]))
        TensorShape([2, 5, 3])
    """
    return TensorShape(broadcast(as_shape(shape_x), as_shape(shape_y)))


def _longer(c: Inference) -> Shape:
    left, right = require_rank(c, 0, 1), require_rank(c, 1, 1)
    first, second = c.shape_value(0), c.shape_value(1)
    if first is not None and second is not None:
        broadcast(first, second)
    lengths = [None if s is None else s[0] for s in (left, right)]
    return (None if None in lengths else max(n for n in lengths if n is not None),)


@public("af")
@op("BroadcastArgs", shape=_longer, dtypes=INDEX, gradient=None, prefer=dt.int32, work=0)
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike, *, name: str | None = None) -> Tensor:
    """The shape of an elementwise result of tensors of two shapes, which are vectors themselves
    (`tf.broadcast_dynamic_shape`).

    Raises ValueError, or InvalidArgumentError in the run, where sizes differ and neither is 1.

    Example:
        >>> af.broadcast_dynamic_shape([2, 1, 3], [5, 3])
        [2 5 3]
    """
