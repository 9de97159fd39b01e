"""Other shapes of the same elements: joined, split, moved, repeated, padded."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value, is_tensor
from keras_actorflow.src.numpy.promotion import common, kind, place_of
from keras_actorflow.src.sizes import larger, size_of, sizes_of, smaller, vector


def reshape(x: Any, newshape: Any) -> Any:
    newshape = (newshape,) if isinstance(newshape, int) else newshape
    return af.reshape(convert_to_tensor(x), vector(tuple(newshape)))


def ravel(x: Any) -> Any:
    return af.reshape(convert_to_tensor(x), [-1])


def broadcast_to(x: Any, shape: Any) -> Any:
    return af.broadcast_to(convert_to_tensor(x), vector(tuple(shape) if isinstance(shape, Sequence) else shape))


def expand_dims(x: Any, axis: Any) -> Any:
    x = convert_to_tensor(x)
    if isinstance(axis, int):
        return af.expand_dims(x, axis)
    rank = len(x.shape) + len(axis)
    for place in sorted(place_of(number, rank) for number in axis):
        x = af.expand_dims(x, place)
    return x


def squeeze(x: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    axes = None if axis is None else [axis] if isinstance(axis, int) else list(axis)
    for place in axes or ():
        if x.shape[place] not in (1, None):
            raise ValueError(
                f"Cannot squeeze axis {place}, because the dimension is not 1: the shape is {tuple(x.shape)}."
            )
    return af.squeeze(x, axes) if axes != [] else x


def transpose(x: Any, axes: Any = None) -> Any:
    x = convert_to_tensor(x)
    return af.transpose(x, None if axes is None else [place_of(number, len(x.shape)) for number in axes])


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    x = convert_to_tensor(x)
    order = list(range(len(x.shape)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return af.transpose(x, order)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    x = convert_to_tensor(x)
    rank = len(x.shape)
    sources = [place_of(n, rank) for n in ([source] if isinstance(source, int) else source)]
    targets = [place_of(n, rank) for n in ([destination] if isinstance(destination, int) else destination)]
    order = [number for number in range(rank) if number not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return af.transpose(x, order)


def concatenate(xs: Any, axis: Any = 0) -> Any:
    tensors = common(*xs)
    if axis is None:
        return af.concat([af.reshape(x, [-1]) for x in tensors], axis=0)
    return af.concat(tensors, axis=axis) if len(tensors) > 1 else tensors[0]


def append(x1: Any, x2: Any, axis: Any = None) -> Any:
    return concatenate([x1, x2], axis)


def stack(x: Any, axis: int = 0) -> Any:
    return af.stack(common(*(x if isinstance(x, (list, tuple)) else list(x))), axis=axis)


def _with_rank(x: Any, rank: int, last: bool = False) -> Any:
    x = convert_to_tensor(x)
    if rank == 3:  # as numpy's atleast_3d
        shapes = {0: [1, 1, 1], 1: [1, -1, 1], 2: [*sizes_of(x), 1]}
        return af.reshape(x, vector(shapes[len(x.shape)])) if len(x.shape) < 3 else x
    while len(x.shape) < rank:
        x = af.expand_dims(x, 0)
    return x


def atleast_1d(x: Any) -> Any:
    return _with_rank(x, 1)


def atleast_2d(x: Any) -> Any:
    return _with_rank(x, 2)


def atleast_3d(x: Any) -> Any:
    return _with_rank(x, 3)


def hstack(xs: Any) -> Any:
    xs = [_with_rank(x, 1) for x in xs]
    return concatenate(xs, 1 if len(xs[0].shape) > 1 else 0)


def vstack(xs: Any) -> Any:
    return concatenate([_with_rank(x, 2) for x in xs], 0)


def dstack(xs: Any) -> Any:
    return concatenate([_with_rank(x, 3) for x in xs], 2)


def _parts(x: Any, places: Sequence[Any], axis: int) -> list[Any]:
    size = size_of(x, axis)
    counted = [place + size if isinstance(place, int) and place < 0 else place for place in places]
    limits = [0, *[smaller(place, size) for place in counted], size]
    index: list[Any] = [builtins.slice(None)] * len(x.shape)
    parts = []
    for begin, end in itertools.pairwise(limits):
        index[axis] = builtins.slice(begin, larger(begin, end))
        parts.append(x[tuple(index)])
    return parts


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = convert_to_tensor(x)
    axis = place_of(axis, len(x.shape))
    if isinstance(indices_or_sections, (int, np.integer)):
        size, count = x.shape[axis], int(indices_or_sections)
        if size is not None and size % count:
            raise ValueError(f"array split does not result in an equal division: {size} by {count}.")
        return list(af.split(x, count, axis))
    return _parts(x, [place if is_tensor(place) else int(place) for place in indices_or_sections], axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if not isinstance(indices_or_sections, (int, np.integer)):
        return split(x, indices_or_sections, axis)
    x = convert_to_tensor(x)
    axis = place_of(axis, len(x.shape))
    size, count = size_of(x, axis), int(indices_or_sections)
    each, more = size // count, size % count
    return _parts(x, [each * number + smaller(number, more) for number in range(1, count)], axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    x = convert_to_tensor(x)
    return split(x, indices_or_sections, 1 if len(x.shape) > 1 else 0)


def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    return split(x, indices_or_sections, 2)


def flip(x: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    rank = len(x.shape)
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    places = [place_of(number, rank) for number in axes]
    return af.reverse(x, places) if places else x


def fliplr(x: Any) -> Any:
    return flip(x, 1)


def flipud(x: Any) -> Any:
    return flip(x, 0)


def rot90(array: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    x = convert_to_tensor(array)
    if len(x.shape) < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={len(x.shape)}")
    if len(axes) != 2 or axes[0] % len(x.shape) == axes[1] % len(x.shape):
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, axes)
    return flip(swapaxes(x, *axes), axes[0]) if turns == 1 else swapaxes(flip(x, axes[0]), *axes)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        return af.reshape(af.roll(af.reshape(x, [-1]), shift, 0), sizes_of(x))
    if isinstance(axis, (list, tuple)) and isinstance(shift, int):
        shift = [shift] * len(axis)
    return af.roll(x, shift, axis)


def tile(x: Any, repeats: Any) -> Any:
    x = convert_to_tensor(x)
    if isinstance(repeats, int):
        repeats = (repeats,)
    counts = list(repeats)
    if len(counts) < len(x.shape):
        counts = [1] * (len(x.shape) - len(counts)) + counts
    return af.tile(_with_rank(x, len(counts)) if len(counts) != 3 else _lifted(x, 3), vector(counts))


def _lifted(x: Any, rank: int) -> Any:
    while len(x.shape) < rank:
        x = af.expand_dims(x, 0)
    return x


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    x = convert_to_tensor(x)
    if axis is None:
        x, axis = af.reshape(x, [-1]), 0
    axis = place_of(axis, len(x.shape))
    if not isinstance(repeats, int):
        counts = convert_to_tensor(repeats, "int32")
        if has_value(counts) and x.shape[axis] is not None:
            size = int(x.shape[axis])
            numbers = np.repeat(np.arange(size), np.broadcast_to(np.ravel(counts.numpy()), [size]))
            return af.gather(x, af.constant(numbers, af.int32), axis=axis)
        return af.repeat(x, counts, axis)
    return (
        af.gather(x, af.range_(size_of(x, axis) * repeats) // repeats, axis=axis)
        if repeats
        else af.gather(x, af.zeros([0], "int32"), axis=axis)
    )


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Any:
    x = convert_to_tensor(x)
    widths = np.asarray(pad_width.numpy() if hasattr(pad_width, "numpy") else pad_width)
    widths = np.broadcast_to(widths, [len(x.shape), 2])
    if mode == "constant":
        value = convert_to_tensor(0 if constant_values is None else constant_values, x.dtype)
        if kind(x) == "bool":
            return af.cast(af.pad(af.cast(x, "int32"), widths, constant_values=af.cast(value, "int32")), "bool")
        return af.pad(x, widths, constant_values=value)
    if constant_values is not None:
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}"
        )
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = af.gather(x, _padded_places(x, axis, int(before), int(after), mode), axis=axis)
    return x


def _padded_places(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    """For each place of the padded axis, that from which its element comes."""
    size = x.shape[axis]
    if size is not None:
        return af.constant(np.pad(np.arange(int(size)), (before, after), mode=mode), af.int32)
    size = size_of(x, axis)
    places = af.range_(-before, size + after)
    if mode == "edge":
        return af.clip_by_value(places, 0, size - 1)
    if mode == "wrap":
        return af.floormod(places, size)
    if mode == "symmetric":
        turned = af.floormod(places, 2 * size)
        return af.minimum(turned, 2 * size - 1 - turned)
    if mode == "reflect":
        period = af.maximum(2 * (size - 1), 1)
        turned = af.floormod(places, period)
        return af.minimum(turned, period - turned)
    raise ValueError(f"The mode {mode!r} needs the size of axis {axis}, which this trace leaves open.")


def ndim(x: Any) -> int:
    return len(convert_to_tensor(x).shape)


def size(x: Any) -> Any:
    sizes = sizes_of(convert_to_tensor(x))
    total = 1
    for part in sizes:
        total = total * part
    return total if not isinstance(total, int) else convert_to_tensor(total, "int32")
