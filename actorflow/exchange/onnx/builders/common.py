"""The common helpers of builders: sizes that may be known in a run only, axes, and casts around ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.base.dtypes import DType
from actorflow.engine.eager.scope import eager
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.values import NotKnownError, dtype_of, ints, shape_of, static

HALVES = (af.float16, af.bfloat16)


def rank_of(value: Any) -> int:
    """The rank. Raises InvalidArgumentError for an unknown rank."""
    dims = shape_of(value)
    if dims is None:
        raise NotKnownError(
            "The rank of an input is not known while the graph is built.", hint="Give the shapes of inputs by shapes=."
        )
    return len(dims)


def sizes_of(value: Any) -> Any:
    """The shape as a vector of int64: an array where all of it is known, else a tensor."""
    dims = shape_of(value)
    if dims is not None and None not in dims:
        return np.array(dims, np.int64)
    return af.shape(value, out_type=af.int64)


def size_of(value: Any, axis: int) -> Any:
    """The size of one dimension: an int, or a scalar of int64."""
    dims = shape_of(value)
    if dims is not None and dims[axis] is not None:
        return dims[axis]
    return af.shape(value, out_type=af.int64)[axis if axis >= 0 else axis + rank_of(value)]


def vector(sizes: Sequence[Any]) -> Any:
    """A vector of int64 of ints and scalars."""
    if all(isinstance(size, (int, np.integer)) for size in sizes):
        return np.array(sizes, np.int64)
    parts = [af.constant(s, af.int64) if isinstance(s, (int, np.integer)) else af.cast(s, af.int64) for s in sizes]
    return af.stack(parts)


def shaped(value: Any, sizes: Sequence[Any]) -> Any:
    """`value` in a shape of ints and scalars."""
    return af.reshape(value, vector(sizes))


def computed(function: Callable[..., Any], *values: Any) -> Any:
    """The results of a function of ops: arrays at once where its arguments are numbers and arrays, else tensors."""
    if any(isinstance(value, af.Tensor) for value in values):
        return function(*values)
    with eager():
        results = function(*values)
        several = isinstance(results, (tuple, list))
        return tuple(np.asarray(t.numpy()) for t in results) if several else np.asarray(results.numpy())


def whole(value: Any) -> Any:
    """A size as a scalar of int64, whether it is known or not."""
    return np.int64(value) if isinstance(value, int) else af.cast(value, af.int64)


def element(values: Any, at: int) -> Any:
    """An element of a vector of whole numbers: an int if known, else a scalar of int64."""
    numbers = ints(values)
    return numbers[at] if numbers is not None else af.cast(values[at], af.int64)


def at_least(value: Any, least: int) -> Any:
    """The maximum of a size, which may be known or not, and a number."""
    return max(value, least) if isinstance(value, int) else af.maximum(value, np.int64(least))


def in_int32(value: Any) -> Any:
    """A count or place as int32, for ops that take no int64. A larger value becomes the maximum of int32, which no tensor
    has."""
    bounds = np.iinfo(np.int32)
    if dtype_of(value) is af.int64:
        value = af.minimum(af.maximum(value, np.int64(bounds.min)), np.int64(bounds.max))
    return af.cast(value, af.int32)


def positive(axis: int, rank: int) -> int:
    """An axis counted from the first dimension. Raises InvalidArgumentError for an axis outside of the rank."""
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"The axis {axis} is outside of the rank {rank}.")
    return axis % rank


def counted_axis(axis: int, value: Any) -> int:
    """An axis of a value, counted from the first dimension. The rank need not be known if the axis is counted so already."""
    if axis >= 0 and shape_of(value) is None:
        return axis
    return positive(axis, rank_of(value))


def known(value: Any, what: str) -> list[int]:
    """Whole numbers that have to be known while the graph is built."""
    numbers = ints(value)
    if numbers is None:
        raise NotKnownError(f"{what} has to be known while the graph is built, but is computed in a run.")
    return numbers


def scalar(value: Any, default: Any = None) -> Any:
    """The number that a value of one element is known to be; `default` without a value."""
    if value is None:
        return default
    constant = static(value)
    if constant is None or constant.size != 1:
        raise NotKnownError("A number has to be known while the graph is built, but is computed in a run.")
    return constant.reshape(-1)[0].item()


def moved(value: Any, source: int, target: int) -> Any:
    """`value` with one dimension at another place."""
    rank = rank_of(value)
    source, target = positive(source, rank), positive(target, rank)
    if source == target:
        return value
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return af.transpose(value, order)


def with_rank(value: Any, rank: int, axis: int) -> Any:
    """A vector along dimension `axis` of a tensor of `rank` dimensions."""
    for _ in range(rank - 1 - axis):
        value = af.expand_dims(value, -1)
    return value


def in_type(wider: DType, function: Callable[..., Any], *values: Any) -> Any:
    """`function` computed in another type, and brought back to that of the first value."""
    kind = dtype_of(values[0])
    if kind is wider:
        return function(*values)
    return af.cast(function(*(af.cast(value, wider) for value in values)), kind)


def widened(function: Callable[..., Any], *values: Any) -> Any:
    """`function`, for halves computed in float32."""
    return in_type(af.float32, function, *values) if dtype_of(values[0]) in HALVES else function(*values)


def number(value: Any, like: Any) -> Any:
    """A number in the type of a tensor."""
    return np.asarray(value).astype(dtype_of(like).numpy_dtype)
