"""Elements that are chosen, ordered or looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value
from keras_actorflow.src.numpy.promotion import common, kind, on_host, ordered, place_of
from keras_actorflow.src.sizes import joint_sizes, larger, size_of, sizes_of, smaller, vector


def _from_end(indices: Any, size: Any) -> Any:
    """Indices in which a negative number counts from the end."""
    if kind(indices).startswith("uint"):
        return af.cast(indices, "int64")
    if has_value(indices) and isinstance(size, int):
        array = np.asarray(indices.numpy())
        return af.constant(np.where(array < 0, array + size, array)) if (array < 0).any() else indices
    size = size if isinstance(size, int) else af.cast(size, indices.dtype)
    return af.where_v2(indices < 0, indices + size, indices)


def _indices(x: Any) -> Any:
    x = convert_to_tensor(x)
    if kind(x) in ("int32", "int64"):
        return x
    return af.cast(x, "int64" if kind(x) in ("uint32", "uint64") else "int32")


def take(x: Any, indices: Any, axis: Any = None) -> Any:
    x, indices = convert_to_tensor(x), _indices(indices)
    if axis is None:
        x, axis = af.reshape(x, [-1]), 0
    axis = place_of(axis, len(x.shape))
    return af.gather(x, _from_end(indices, size_of(x, axis)), axis=axis)


def take_along_axis(x: Any, indices: Any, axis: Any = None) -> Any:
    x, indices = convert_to_tensor(x), _indices(indices)
    if axis is None:
        x, indices, axis = af.reshape(x, [-1]), af.reshape(indices, [-1]), 0
    rank = len(x.shape)
    axis = place_of(axis, rank)
    last = [number for number in range(rank) if number != axis] + [axis]
    back = list(np.argsort(last))
    rows, places = af.transpose(x, last), af.transpose(indices, last)
    batch = joint_sizes(sizes_of(rows)[:-1], sizes_of(places)[:-1])
    size = size_of(rows, -1)
    rows = af.broadcast_to(rows, vector([*batch, size]))
    places = af.broadcast_to(places, vector([*batch, size_of(places, -1)]))
    picked = af.gather(rows, _from_end(places, size), axis=rank - 1, batch_dims=rank - 1)
    return af.transpose(picked, [int(number) for number in back])


def where(condition: Any, x1: Any = None, x2: Any = None) -> Any:
    condition = convert_to_tensor(condition, "bool")
    if x1 is None and x2 is None:
        return nonzero(condition)
    return af.where_v2(condition, *common(x1, x2))


def nonzero(x: Any) -> tuple[Any, ...]:
    places = af.cast(af.where(convert_to_tensor(x, "bool")), "int32")
    return tuple(af.unstack(places, len(convert_to_tensor(x).shape), axis=1))


def argwhere(x: Any) -> Any:
    return af.cast(af.where(convert_to_tensor(x, "bool")), "int32")


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    *choices, result = common(*choicelist, default)
    for condition, choice in zip(reversed(list(condlist)), reversed(choices), strict=True):
        result = af.where_v2(convert_to_tensor(condition, "bool"), choice, result)
    return result


def sort(x: Any, axis: Any = -1) -> Any:
    x, name = ordered(x)
    if axis is None:
        x, axis = af.reshape(x, [-1]), 0
    result = af.sort(x, axis)
    return af.cast(result, name)


def argsort(x: Any, axis: Any = -1) -> Any:
    x, _ = ordered(x)
    if axis is None:
        x, axis = af.reshape(x, [-1]), -1
    if not len(x.shape):
        return af.constant(0, af.int32)
    return af.cast(af.argsort(x, axis, stable=True), "int32")


def argpartition(x: Any, kth: int, axis: Any = -1) -> Any:
    return argsort(x, axis)


def partition(x: Any, kth: int, axis: Any = -1) -> Any:
    return sort(x, axis)


def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Any:
    sorted_sequence, values = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
    if len(sorted_sequence.shape) != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` to extend it to N-D "
            f"sequences. Received: sorted_sequence.shape={tuple(sorted_sequence.shape)}"
        )
    sequence, wanted = common(sorted_sequence, values)
    if kind(sequence) not in ("int32", "int64", "float32", "float64"):
        sequence, wanted = af.cast(sequence, "float64"), af.cast(wanted, "float64")
    places = af.searchsorted(sequence, af.reshape(wanted, [-1]), side=side)
    return af.reshape(af.cast(places, "int32"), vector(sizes_of(wanted)))


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    indices = convert_to_tensor(indices)
    places = _from_end(indices, int(np.prod(shape)))
    axes = []
    for size in reversed(shape):
        axes.append(af.cast(af.floormod(places, size), indices.dtype))
        places = af.floordiv(places, size)
    return tuple(reversed(axes))


def diag(x: Any, k: int = 0) -> Any:
    x = convert_to_tensor(x)
    if len(x.shape) == 1:
        matrix = af.linalg.diag(x)
        above, left = max(-k, 0), max(k, 0)
        widths = [[above, abs(k) - above], [left, abs(k) - left]]
        if kind(x) == "bool":
            return af.cast(af.pad(af.cast(matrix, "int32"), widths), "bool")
        return af.pad(matrix, widths)
    if len(x.shape) == 2:
        return diagonal(x, k)
    raise ValueError("`x` must be 1d or 2d. Received: x.ndim=" + str(len(x.shape)))


def diagflat(x: Any, k: int = 0) -> Any:
    return diag(af.reshape(convert_to_tensor(x), [-1]), k)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = convert_to_tensor(x)
    rank = len(x.shape)
    if rank < 2:
        raise ValueError(
            f"`diagonal` requires an array of at least two dimensions, but `x` is of shape {tuple(x.shape)}."
        )
    first, second = place_of(axis1, rank), place_of(axis2, rank)
    moved = af.transpose(x, [number for number in range(rank) if number not in (first, second)] + [first, second])
    *others, rows, columns = sizes_of(moved)
    above, left = max(-offset, 0), max(offset, 0)
    count = larger(smaller(rows - above, columns - left), 0)
    flat = af.reshape(moved, vector([*others, rows * columns]))
    places = (af.range_(count) + above) * columns + af.range_(count) + left
    return af.gather(flat, places, axis=-1)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = convert_to_tensor(x)
    small = kind(x) in ("bool", "int8", "int16", "uint8", "uint16")
    name = ("uint32" if kind(x).startswith("uint") else "int32") if small else kind(x)
    return af.reduce_sum(af.cast(diagonal(x, offset, axis1, axis2), name), -1)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    x = convert_to_tensor(a)
    axis = place_of(axis, len(x.shape))
    for _ in range(n):
        size = size_of(x, axis)
        after = af.gather(x, af.range_(1, larger(size, 1)), axis=axis)
        before = af.gather(x, af.range_(larger(size - 1, 0)), axis=axis)
        x = af.not_equal(after, before) if kind(x) == "bool" else after - before
    return x


def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    x = convert_to_tensor(x)
    values, first, inverse, counts = _unique_parts(x, axis)
    count = [None if size is None else size]
    tail = [] if axis is None else [n for number, n in enumerate(x.shape) if number != place_of(axis, len(x.shape))]

    def padded(part: Any, blank: Any, along: int) -> Any:
        if size is None:
            return part
        widths = [(0, 0)] * part.ndim
        widths[along] = (0, max(size - part.shape[along], 0))
        part = np.take(part, np.arange(min(size, part.shape[along])), axis=along)
        return np.pad(part, widths, constant_values=blank) if np.ndim(blank) == 0 else part

    along = 0 if axis is None else place_of(axis, len(x.shape))
    shape = [*tail[:along], *count, *tail[along:]]

    def blank(array: Any) -> Any:
        if fill_value is not None:
            return fill_value
        return np.min(array) if array.size else 0

    outputs = [on_host(lambda a: padded(values(a), blank(a), along), [x], kind(x), shape)]
    if return_index:
        outputs.append(on_host(lambda a: padded(first(a), first(a)[0] if a.size else 0, 0), [x], "int32", count))
    if return_inverse:
        flat = [x.shape[along]] if axis is not None else list(x.shape)
        outputs.append(on_host(inverse, [x], "int32", flat))
    if return_counts:
        outputs.append(on_host(lambda a: padded(counts(a), 0, 0), [x], "int32", count))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _unique_parts(x: Any, axis: int | None) -> list[Callable[[Any], Any]]:
    def part(number: int) -> Callable[[Any], Any]:
        return lambda array: np.unique(array, True, True, True, axis=axis, equal_nan=False)[number]

    return [part(number) for number in range(4)]
