"""New tensors: constants, ranges, windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from keras.src.backend import config
from keras.src.backend.common.dtypes import result_type

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor, has_value
from keras_actorflow.src.numpy.promotion import common, kind
from keras_actorflow.src.sizes import size_of, sizes_of, vector


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    value = convert_to_tensor(fill_value, dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    return af.broadcast_to(value, vector(tuple(shape) if isinstance(shape, Sequence) else shape))


def zeros(shape: Any, dtype: Any = None) -> Any:
    return full(shape, 0, dtype or config.floatx())


def ones(shape: Any, dtype: Any = None) -> Any:
    return full(shape, 1, dtype or config.floatx())


empty = zeros


def _dtype_like(x: Any, dtype: Any) -> Any:
    return kind(x) if dtype is None else convert_to_tensor(0, dtype).dtype


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    x = convert_to_tensor(x)
    return af.broadcast_to(
        convert_to_tensor(fill_value, dtype or kind(x)), af.shape(x) if None in tuple(x.shape) else x.shape
    )


def zeros_like(x: Any, dtype: Any = None) -> Any:
    x = convert_to_tensor(x)
    return af.zeros_like(x, _dtype_like(x, dtype))


def ones_like(x: Any, dtype: Any = None) -> Any:
    x = convert_to_tensor(x)
    return af.ones_like(x, _dtype_like(x, dtype))


empty_like = zeros_like


def array(x: Any, dtype: Any = None) -> Any:
    return convert_to_tensor(x, dtype=dtype)


def copy(x: Any) -> Any:
    return af.identity(convert_to_tensor(x))


def view(x: Any, dtype: Any = None) -> Any:
    x = convert_to_tensor(x)
    if dtype is None:
        return x
    target = convert_to_tensor(0, dtype).dtype
    if "bool" in (kind(x), target.name):
        if kind(x) == "bool":
            return view(af.cast(x, "uint8"), dtype)
        return af.cast(view(x, "uint8"), "bool")
    before, after = int(x.dtype.size), int(target.size)
    if before < after:  # some elements join to one
        sizes = sizes_of(x)
        x = af.reshape(x, [*sizes[:-1], sizes[-1] * before // after, after // before])
        return af.bitcast(x, target)
    parts = af.bitcast(x, target)
    if before == after:
        return parts
    sizes = sizes_of(x)
    return af.reshape(parts, [*sizes[:-1], sizes[-1] * before // after])


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    if dtype is None:
        dtype = result_type(*[getattr(item, "dtype", type(item)) for item in (start, stop, step) if item is not None])
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    numbers = (start, stop, step)
    if all(isinstance(item, (int, float)) for item in numbers):
        return convert_to_tensor(np.arange(start, stop, step), dtype)
    exact = convert_to_tensor(0, dtype).dtype.is_integer
    inner = "int32" if dtype in ("bool", "int8", "uint8", "int16", "uint16", "uint32") else dtype
    inner = "float32" if not exact and dtype in ("float16", "bfloat16") else inner
    return af.cast(af.range_(*(convert_to_tensor(item, inner) for item in numbers)), dtype)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    num = int(num)  # also a tensor that has its value
    if num < 0:
        raise ValueError(f"`num` must be a non-negative integer. Received: num={num}")
    if dtype is None:
        dtype = result_type(*[getattr(item, "dtype", type(item)) for item in (start, stop)], float)
    target = convert_to_tensor(0, dtype).dtype
    inner = target.name if target.is_floating else config.floatx()
    first, last = common(convert_to_tensor(start, inner), convert_to_tensor(stop, inner))
    parts = num - 1 if endpoint else num
    step = (last - first) / parts if parts > 0 else (last - first) * math.nan
    rank = max(len(first.shape), len(last.shape))
    numbers = af.reshape(convert_to_tensor(np.arange(num), inner), [num] + [1] * rank)
    line = first + numbers * (step if parts > 0 else 0)
    if endpoint and num > 1:
        line = af.where_v2(af.equal(numbers, num - 1), last + af.zeros_like(line), line)
    line = af.floor(line) if target.is_integer else line
    line = af.cast(line, target)
    if axis not in (0, -rank - 1):
        order = list(range(1, rank + 1))
        order.insert(axis if axis >= 0 else axis + rank + 1, 0)
        line = af.transpose(line, order)
    return (line, step) if retstep else line


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10, dtype: Any = None, axis: int = 0
) -> Any:
    if dtype is None:
        dtype = result_type(*[getattr(item, "dtype", type(item)) for item in (start, stop)], float)
    target = convert_to_tensor(0, dtype).dtype
    inner = target.name if target.is_floating else config.floatx()
    exponents = linspace(start, stop, num, endpoint, dtype=inner, axis=axis)
    return af.cast(af.pow(convert_to_tensor(base, inner), exponents), dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    if dtype is None:
        dtype = result_type(*[getattr(item, "dtype", type(item)) for item in (start, stop)], float)
    target = convert_to_tensor(0, dtype).dtype
    inner = target.name if target.is_floating else config.floatx()
    first, last = convert_to_tensor(start, inner), convert_to_tensor(stop, inner)
    signs = af.where_v2(first < 0, -af.ones_like(first), af.ones_like(first))
    line = linspace(af.log(first * signs), af.log(last * signs), num, endpoint, dtype=inner, axis=axis)
    return af.cast(af.exp(line) * signs, dtype)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    return tri_mask(N, M, lambda rows, columns: af.equal(columns - rows, convert_to_tensor(k, "int32")), dtype)


def identity(n: Any, dtype: Any = None) -> Any:
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    return tri_mask(N, M, lambda rows, columns: columns - rows <= convert_to_tensor(k, "int32"), dtype)


def tri_mask(rows: Any, columns: Any, rule: Any, dtype: Any) -> Any:
    """A matrix with a 1 where a rule about the numbers of row and column holds."""
    columns = rows if columns is None else columns
    for size in (rows, columns):
        if isinstance(size, float):
            raise TypeError(f"A size is an integer, but it is {size!r}.")
    first = af.expand_dims(af.range_(_size(rows)), 1)
    second = af.expand_dims(af.range_(_size(columns)), 0)
    return af.cast(rule(first, second), convert_to_tensor(0, dtype or config.floatx()).dtype)


def _size(size: Any) -> Any:
    return int(size) if isinstance(size, (int, np.integer)) or has_value(size) else af.cast(size, "int32")


def _triangle(x: Any, lower: bool, k: Any) -> Any:
    x = convert_to_tensor(x)
    rows, columns = size_of(x, -2 if len(x.shape) > 1 else -1), size_of(x, -1)
    mask = tri(rows, columns, k if lower else convert_to_tensor(k, "int32") - 1, "bool")
    mask = mask if lower else af.logical_not(mask)
    if kind(x) == "bool":
        return af.logical_and(x, mask)
    return af.where_v2(mask, x, af.zeros_like(x))


def tril(x: Any, k: Any = 0) -> Any:
    return _triangle(x, True, k)


def triu(x: Any, k: Any = 0) -> Any:
    return _triangle(x, False, k)


def meshgrid(*x: Any, indexing: str = "xy") -> Any:
    tensors = [af.reshape(convert_to_tensor(part), [-1]) for part in x]
    return list(af.meshgrid(*tensors, indexing=indexing))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    x = convert_to_tensor(x)
    count = size_of(x, 0) if N is None else N
    if isinstance(count, int) and count < 0:
        raise ValueError(f"N must be nonnegative. Received: N={N}")
    powers = af.range_(count) if increasing else count - 1 - af.range_(count)
    dtype = result_type(kind(x))
    base = convert_to_tensor(x, "int32" if kind(x) in ("bool", "int8", "uint8", "int16", "uint16") else dtype)
    return af.cast(af.pow(af.expand_dims(base, -1), convert_to_tensor(powers, base.dtype)), dtype)


def _angles(x: Any) -> tuple[Any, Any]:
    """The number of each point of a window, and the last number."""
    x = convert_to_tensor(x, "int32")
    floatx = config.floatx()
    last = af.cast(af.maximum(x - 1, 1), floatx)
    return af.cast(af.range_(_size(x)), floatx), last


def bartlett(x: Any) -> Any:
    numbers, last = _angles(x)
    return _window(x, 1 - af.abs(2 * numbers / last - 1))


def hamming(x: Any) -> Any:
    numbers, last = _angles(x)
    return _window(x, 0.54 - 0.46 * af.cos(2 * math.pi * numbers / last))


def hanning(x: Any) -> Any:
    numbers, last = _angles(x)
    return _window(x, 0.5 - 0.5 * af.cos(2 * math.pi * numbers / last))


def blackman(x: Any) -> Any:
    numbers, last = _angles(x)
    angle = 2 * math.pi * numbers / last
    return _window(x, 0.42 - 0.5 * af.cos(angle) + 0.08 * af.cos(2 * angle))


def kaiser(x: Any, beta: Any) -> Any:
    numbers, last = _angles(x)
    beta = convert_to_tensor(beta, numbers.dtype)
    inner = af.sqrt(af.maximum(1 - af.square(2 * numbers / last - 1), 0.0))
    return _window(x, af.math.bessel_i0(beta * inner) / af.math.bessel_i0(beta))


def _window(x: Any, window: Any) -> Any:
    """A window of one point is a 1."""
    return af.where_v2(convert_to_tensor(x, "int32") > 1, window, af.ones_like(window))
