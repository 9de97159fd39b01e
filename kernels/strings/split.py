"""Kernels that take strings apart and put many together."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.base.registry.kernel import kernel

from ..array.shape import axis_in
from .objects import single

_SPACE = b" \t\n\v\f\r"


def _matrix(xp: Any, x: Any, split: Callable[[bytes], list[bytes]]) -> Any:
    """The parts of each string as the three tensors of a sparse matrix."""
    if x.ndim != 1:
        raise ValueError(f"A vector of strings is needed, but its shape is {x.shape}.")
    rows = [split(value) for value in x.tolist()]
    lengths = xp.fromiter(map(len, rows), xp.int64, len(rows))
    values = xp.empty(int(lengths.sum()), object)
    values[:] = list(chain.from_iterable(rows))
    places = xp.empty((len(values), 2), xp.int64)
    places[:, 0] = xp.repeat(xp.arange(len(rows)), lengths)
    places[:, 1] = xp.arange(len(values)) - xp.repeat(xp.cumsum(lengths) - lengths, lengths)
    return places, values, xp.array([len(rows), lengths.max(initial=0)], xp.int64)


@kernel("StringSplit")
def string_split(xp: Any, x: Any, delimiter: Any, *, skip_empty: bool) -> Any:
    separators = single(delimiter)
    first = separators[:1]
    alike = None if len(separators) == 1 else bytes.maketrans(separators, first * len(separators))

    def split(value: bytes) -> list[bytes]:
        if not separators:
            return [value[i : i + 1] for i in range(len(value))]
        if not value:
            return []
        parts = (value if alike is None else value.translate(alike)).split(first)
        return [part for part in parts if part] if skip_empty else parts

    return _matrix(xp, x, split)


@kernel("StringSplitV2")
def string_split_v2(xp: Any, x: Any, sep: Any, *, maxsplit: int) -> Any:
    between = single(sep)
    if between:
        return _matrix(xp, x, lambda value: value.split(between, maxsplit))

    def split(value: bytes) -> list[bytes]:
        # If no split is allowed, the whole string stays as it is.
        return [value] if maxsplit == 0 else value.split(None, maxsplit)

    return _matrix(xp, x, split)


@kernel("ReduceJoin")
def reduce_join(xp: Any, x: Any, axes: Any, *, keep_dims: bool, separator: str) -> Any:
    gone = [axis_in(int(axis), x.ndim) for axis in np.atleast_1d(axes)]
    if twice := [axis for i, axis in enumerate(gone) if axis in gone[:i]]:
        raise ValueError(f"Duplicate reduction dimension {twice[0]} in {np.atleast_1d(axes).tolist()}.")
    kept = [i for i in range(x.ndim) if i not in gone]
    shape = [x.shape[i] for i in kept]
    # The first of the axes is joined first, so it is the innermost.
    rows = x.transpose(kept + gone[::-1]).reshape(math.prod(shape), math.prod(x.shape[i] for i in gone))
    result = xp.empty(len(rows), object)
    result[:] = [separator.encode().join(row) for row in rows.tolist()]
    return result.reshape([1 if i in gone else n for i, n in enumerate(x.shape)] if keep_dims else shape)


@kernel("UnsortedSegmentJoin")
def unsorted_segment_join(xp: Any, x: Any, ids: Any, count: Any, *, separator: str) -> Any:
    if x.shape[: ids.ndim] != ids.shape:
        raise ValueError(f"Strings of shape {x.shape} do not begin with the shape of the segment ids, {ids.shape}.")
    length, row = int(count), x.shape[ids.ndim :]
    if length < 0:
        raise ValueError(f"Cannot specify a negative value for num_segments, such as {length}.")
    joined: list[list[list[bytes]]] = [[[] for _ in range(math.prod(row))] for _ in range(length)]
    for segment, strings in zip(ids.reshape(-1).tolist(), x.reshape(ids.size, math.prod(row)).tolist()):
        if not 0 <= segment < length:
            raise ValueError(f"Segment id {segment} is not in [0, {length}).")
        for place, value in zip(joined[segment], strings):
            place.append(value)
    result = xp.empty(length * math.prod(row), object)
    result[:] = [separator.encode().join(place) for segment_of in joined for place in segment_of]
    return result.reshape(length, *row)


# ---- tensors in a text

_ESCAPES: dict[int, str] = {i: f"\\{i:03o}" for i in (*range(32), 127)}
_ESCAPES |= {ord(c): f"\\{e}" for c, e in zip("\n\r\t\"'\\", "nrt\"'\\")}


@kernel("StringFormat")
def string_format(xp: Any, inputs: Any, *, template: str, placeholder: str, summarize: int) -> Any:
    pieces = template.split(placeholder)
    text = pieces[0].encode()
    for value, piece in zip(inputs, pieces[1:], strict=True):
        text += _shown(np.asarray(value), summarize, 1).encode("utf-8", "surrogateescape") + piece.encode()
    result = xp.empty((), object)
    result[()] = text
    return result


def _shown(array: Any, edge: int, depth: int) -> str:
    """The text that TensorFlow prints of a tensor: `edge` elements at both ends of each dimension."""
    if not array.ndim:
        return _element(array)
    count = len(array)
    if edge >= 0 and count > 2 * edge:
        shown: list[int | None] = [*range(edge), None, *range(count - edge, count)]
    else:
        shown = [*range(count)]
    parts = ["..." if i is None else _shown(array[i : i + 1].reshape(array.shape[1:]), edge, depth + 1) for i in shown]
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * depth
    return "[" + between.join(parts) + "]"


def _element(scalar: Any) -> str:
    dtype, value = as_dtype(scalar.dtype), scalar.item()
    if dtype.kind == "S":
        text: str = value.decode("utf-8", "surrogateescape").translate(_ESCAPES)
        return f'"{text}"'
    if dtype.kind == "b":
        return str(int(value))
    if dtype.kind == "c":
        return f"({value.real:g},{value.imag:g})"
    if dtype.kind != "f":
        return str(value)
    if not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return _shortest(value, np.float64 if dtype.name == "float64" else np.float32)


def _shortest(value: float, kind: Any) -> str:
    """The digits of `%g` that tell a number from its neighbours: those that the type surely has, else two or three more."""
    short, long = (15, 17) if kind is np.float64 else (6, 9)
    text = f"{value:.{short}g}"
    return text if kind(float(text)) == kind(value) else f"{value:.{long}g}"
