"""One-hot codes, masks of lengths, and grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, normalize_axis
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import broadcast_to, expand_dims, reshape, shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.cumulative import as_type, range_, type_of
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

# ---- codes and masks


def _one_hot(c: Inference) -> Shape:
    source, depth, axis = c.shapes[0], c.value(1), c.attrs["axis"]
    require_rank(c, 1, 0)
    if axis < -1:
        raise ValueError(f"The axis of one_hot is -1 or more, but is {axis}.")
    if depth is not None and depth < 0:
        raise ValueError(f"The depth of one_hot is zero or more, but is {int(depth)}.")
    if source is None:
        return None
    at = normalize_axis(axis, len(source) + 1)
    return (*source[:at], None if depth is None else int(depth), *source[at:])


@op(
    "OneHot",
    shape=_one_hot,
    types={"indices": frozenset((dt.uint8, dt.int8, dt.int32, dt.int64)), "depth": dt.int32},
    gradient=None,
)
def one_hot_op(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike,
    off_value: TensorLike,
    *,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """`on_value` at the position that each index names, `off_value` elsewhere. See `one_hot`."""


@public("af")
def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A new dimension of size `depth`, with `on_value` where its position is the index and `off_value` elsewhere
    (`tf.one_hot`).

    Example:
        >>> af.one_hot([0, 2, -1], 3)
        [[1. 0. 0.]
         [0. 0. 1.]
         [0. 0. 0.]]

    Args:
        indices: a tensor of uint8, int8, int32 or int64. An index outside [0, depth) gives `off_value` throughout.
        depth: the size of the new dimension, an int32 scalar.
        on_value, off_value: scalars of one type; 1 and 0 by default, True and False of bool.
        axis: where the new dimension is put; -1 (by default) makes it the last.
        dtype: the element type of the result; that of the values by default, float32 without any.

    Raises:
        TypeError: `dtype` and the values' types differ, or a value for strings is left out.
    """
    kinds = [k for k in (None if v is None else type_of(v, dtype) for v in (on_value, off_value)) if k is not None]
    kind = as_dtype(dtype) if dtype is not None else kinds[0] if kinds else dt.float32
    if any(k is not kind for k in kinds):
        raise TypeError(f"one_hot: the values have types {', '.join(map(str, kinds))}, but dtype is {kind}.")
    if (on_value is None or off_value is None) and not kind.is_bool and kind is dt.string:
        raise TypeError("one_hot of strings needs on_value and off_value.")
    with composite(name, "one_hot", indices, depth, on_value, off_value) as scope:
        on = convert_to_tensor(as_type(1, kind) if on_value is None else on_value, kind)
        off = convert_to_tensor(as_type(0, kind) if off_value is None else off_value, kind)
        return one_hot_op(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


@public("af")
def sequence_mask(
    lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = dt.bool, name: str | None = None
) -> Tensor:
    """For each length n a row whose first n elements are True (or 1), and the others False (or 0) (`tf.sequence_mask`).

    Example:
        >>> af.sequence_mask([1, 3, 0], dtype=af.int32)
        [[1 0 0]
         [1 1 1]
         [0 0 0]]

    Args:
        lengths: a tensor of integers.
        maxlen: the length of the rows, a scalar; by default the largest of `lengths`.
        dtype: the element type of the result, bool by default.

    Returns:
        A tensor of the shape of `lengths` and a dimension of `maxlen` more.
    """
    from actorflow.graph.ops.math.arithmetic import maximum
    from actorflow.graph.ops.math.cast import cast
    from actorflow.graph.ops.math.reduction import reduce_max

    with composite(name, "SequenceMask", lengths, maxlen) as scope:
        each = convert_to_tensor(lengths)
        if each.dtype.is_unsigned:
            each = cast(each, dt.int64)  # a range has no unsigned numbers
        zero = np.zeros((), each.dtype.numpy_dtype)
        width = maximum(reduce_max(reshape(each, [-1])), zero) if maxlen is None else as_type(maxlen, each.dtype)
        row = range_(zero, width, np.ones((), each.dtype.numpy_dtype))
        column = expand_dims(each, -1)
        if as_dtype(dtype).is_bool:
            from actorflow.graph.ops.math.logic import less

            return less(row, column, name=scope)
        return cast(row < column, dtype, name=scope)


@public("af")
def meshgrid(*args: TensorLike, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """The coordinates of a grid over the given vectors, one tensor for each of them (`tf.meshgrid`).

    `indexing` "xy" lets the first vector run along dimension 1, "ij" along dimension 0. Raises ValueError for another.

    Example:
        >>> af.meshgrid([1, 2, 3], [10, 20])
        [[[1 2 3]
          [1 2 3]], [[10 10 10]
                     [20 20 20]]]
    """
    from actorflow.graph.ops.array.join import concat

    if indexing not in ("xy", "ij"):
        raise ValueError(f"`indexing` is 'xy' or 'ij', not {indexing!r}.")
    if not args:
        return []
    with composite(name, "meshgrid", *args):
        vectors = [reshape(v, [-1]) for v in args]
        order = list(range(len(vectors)))
        if indexing == "xy" and len(vectors) > 1:
            order[:2] = [1, 0]
        full: Any = [v.static_shape[0] if v.static_shape else None for v in (vectors[i] for i in order)]
        if None in full:
            full = concat([shape(vectors[i]) for i in order], 0)
        columns = [reshape(v, [-1 if j == i else 1 for j in order]) for i, v in enumerate(vectors)]
        return [broadcast_to(column, full) for column in columns]
