"""Sums, extremes, means and what is like them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend import config
from keras.src.backend.common.dtypes import result_type

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.logic import isnan
from keras_actorflow.src.numpy.promotion import axes_of, common, counted, floating, kind, ordered, place_of
from keras_actorflow.src.sizes import size_of, sizes_of, vector


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return af.reduce_sum(counted(x), axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    x = counted(x) if dtype is None else convert_to_tensor(x, dtype)
    return af.reduce_prod(x, axis, keepdims)


def _mean_of(function: Callable[[Any, Any, bool], Any], x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduction that is computed with 32 bits at least."""
    x = convert_to_tensor(x)
    name = kind(x)
    wide = result_type(name, "float32")
    target = name if x.dtype.is_floating or name.startswith("complex") else wide
    return af.cast(function(af.cast(x, wide), axis, keepdims), target)


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _mean_of(af.reduce_mean, x, axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = convert_to_tensor(x)
    if kind(x).startswith("complex"):
        centred = x - af.reduce_mean(x, axis, True)
        return af.reduce_mean(af.real(centred * af.conj(centred)), axis, keepdims)
    return _mean_of(af.reduce_variance, x, axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = convert_to_tensor(x)
    wide = af.cast(x, result_type(kind(x), "float32"))
    return af.cast(af.sqrt(var(wide, axis, keepdims)), kind(x) if x.dtype.is_floating else "float32")


def _extreme(
    reduce: Callable[..., Any], join: Callable[[Any, Any], Any], x: Any, axis: Any, keepdims: bool, initial: Any
) -> Any:
    x, name = ordered(x)
    axes = axes_of(axis, len(x.shape))
    if any(x.shape[place] == 0 for place in axes):
        if initial is None:
            raise ValueError("Cannot compute the max or min of an empty tensor without `initial`.")
        kept = [1 if n in axes else size for n, size in enumerate(sizes_of(x)) if keepdims or n not in axes]
        return af.cast(af.broadcast_to(convert_to_tensor(initial, x.dtype), vector(kept)), name)
    result = reduce(x, axis, keepdims)
    if initial is not None:
        result = join(result, convert_to_tensor(initial, x.dtype))
    return result if name == kind(result) else af.cast(result, name)


def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    return _extreme(af.reduce_max, af.maximum, x, axis, keepdims, initial)


def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    return _extreme(af.reduce_min, af.minimum, x, axis, keepdims, initial)


def amax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return max(x, axis, keepdims)


def amin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return min(x, axis, keepdims)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return max(x, axis, keepdims) - min(x, axis, keepdims)


def _place_of_extreme(find: Callable[..., Any], x: Any, axis: Any, keepdims: bool) -> Any:
    x, _ = ordered(x)
    rank = len(x.shape)
    if axis is None:
        place = find(af.reshape(x, [-1]), axis=0)
        place = af.reshape(place, [1] * rank) if keepdims else place
    else:
        axis = place_of(axis, rank) if rank else 0
        place = find(x if rank else af.reshape(x, [1]), axis=axis)
        place = af.expand_dims(place, axis) if keepdims and rank else place
    return af.cast(place, "int32")


def argmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _place_of_extreme(af.argmax, x, axis, keepdims)


def argmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _place_of_extreme(af.argmin, x, axis, keepdims)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    return af.reduce_sum(af.cast(convert_to_tensor(x, "bool"), "int32"), axis)


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        x = convert_to_tensor(x)
        return mean(af.cast(x, result_type(kind(x), float)), axis)
    x, weights = common(x, weights, also=(float,))
    if len(weights.shape) == 1 and len(x.shape) > 1:
        if axis is None:
            raise TypeError("`axis` must be given when the shapes of `x` and `weights` differ.")
        sizes = [1] * len(x.shape)
        sizes[axis] = -1
        weights = af.reshape(weights, sizes)
    weights = weights + af.zeros_like(x)
    return af.reduce_sum(x * weights, axis) / af.reduce_sum(weights, axis)


def _running(function: Callable[..., Any], x: Any, axis: Any, dtype: Any) -> Any:
    x = convert_to_tensor(x, dtype)
    x = af.cast(x, "int32") if kind(x) == "bool" else x
    if axis is None:
        x, axis = af.reshape(x, [-1]), 0
    name = kind(x)
    if name in ("int8", "int16", "uint8", "uint16", "uint32"):
        return af.cast(function(af.cast(x, "int64"), axis), name)
    return function(x, axis)


def cumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running(af.cumsum, x, axis, dtype)


def cumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running(af.cumprod, x, axis, dtype)


def _without_nan(x: Any, instead: Any) -> Any:
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        return x
    return af.where_v2(isnan(x), convert_to_tensor(instead, x.dtype) + af.zeros([], x.dtype), x)


def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return sum(_without_nan(x, 0), axis, keepdims)


def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return prod(_without_nan(x, 1), axis, keepdims)


def nancumsum(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumsum(_without_nan(x, 0), axis, dtype)


def nancumprod(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumprod(_without_nan(x, 1), axis, dtype)


def _where_some(x: Any, result: Any, axis: Any, keepdims: bool) -> Any:
    """A result, and NaN where all elements are NaN."""
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        return result
    none = af.reduce_all(isnan(x), axis, keepdims)
    return af.where_v2(none, convert_to_tensor(math.nan, result.dtype), result)


def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _where_some(x, max(_without_nan(x, -math.inf), axis, keepdims), axis, keepdims)


def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _where_some(x, min(_without_nan(x, math.inf), axis, keepdims), axis, keepdims)


def _nan_place(find: Callable[..., Any], x: Any, axis: Any, keepdims: bool, instead: float) -> Any:
    x = convert_to_tensor(x)
    place = find(_without_nan(x, instead), axis, keepdims)
    if not x.dtype.is_floating:
        return place
    return af.where_v2(af.reduce_all(isnan(x), axis, keepdims), convert_to_tensor(-1, place.dtype), place)


def nanargmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _nan_place(argmax, x, axis, keepdims, -math.inf)


def nanargmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _nan_place(argmin, x, axis, keepdims, math.inf)


def _nan_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    count = af.reduce_sum(af.cast(af.logical_not(isnan(x)), x.dtype), axis, keepdims)
    return af.reduce_sum(_without_nan(x, 0), axis, keepdims) / count


def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    return af.cast(_nan_mean(af.cast(x, result_type(kind(x), "float32")), axis, keepdims), kind(x))


def nanvar(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    wide = af.cast(x, result_type(kind(x), "float32"))
    centred = wide - _nan_mean(wide, axis, True)
    return af.cast(_nan_mean(af.square(centred), axis, keepdims), kind(x))


def nanstd(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    wide = af.cast(x, result_type(kind(x), "float32"))
    return af.cast(af.sqrt(nanvar(wide, axis, keepdims)), kind(x))


def _columns(x: Any, axis: Any) -> tuple[Any, list[int], Any]:
    """A tensor with some axes joined to a last one."""
    rank = len(x.shape)
    axes = axes_of(axis, rank)
    others = [number for number in range(rank) if number not in axes]
    moved = af.transpose(x, others + axes)
    sizes = sizes_of(x)
    count = math.prod(sizes[number] for number in axes)
    return af.reshape(moved, vector([*(sizes[number] for number in others), count])), axes, count


def _quantile(x: Any, q: Any, axis: Any, method: str, keepdims: bool, beside_nan: bool) -> Any:
    x = floating(x)
    name = kind(x)
    wide = "float32" if name in ("float16", "bfloat16") else name
    rows, axes, count = _columns(af.cast(x, wide), axis)
    q = convert_to_tensor(q, wide)
    q_shape = sizes_of(q)
    levels = af.reshape(q, [-1])
    if beside_nan:
        numbers = af.reduce_sum(af.cast(af.logical_not(isnan(rows)), wide), -1, True)
        rows = af.sort(_without_nan(rows, math.inf))
        places = levels * af.maximum(numbers - 1, 0)
    else:
        numbers = None
        rows = rows if isinstance(count, int) and count == 0 else af.sort(rows)
        places = levels * convert_to_tensor(count - 1, wide) + af.zeros_like(rows[..., :1])
    lower, upper = af.floor(places), af.ceil(places)
    below = af.gather(rows, af.cast(lower, "int32"), axis=-1, batch_dims=len(rows.shape) - 1)
    above = af.gather(rows, af.cast(upper, "int32"), axis=-1, batch_dims=len(rows.shape) - 1)
    if method == "lower":
        result = below
    elif method == "higher":
        result = above
    elif method == "midpoint":
        result = (below + above) / 2
    elif method == "nearest":
        nearest = af.cast(af.round(places), "int32")
        result = af.gather(rows, nearest, axis=-1, batch_dims=len(rows.shape) - 1)
    else:
        part = places - lower
        result = below * (1 - part) + above * part
        result = af.where_v2(af.equal(below, above), below, result)
    if numbers is None:
        missing = af.reduce_any(isnan(rows), -1, True)
    else:
        missing = af.equal(numbers, 0)
    result = af.where_v2(missing, convert_to_tensor(math.nan, wide), result)
    inner = len(result.shape) - 1
    result = af.transpose(result, [inner, *range(inner)])
    kept = [1 if n in axes else size for n, size in enumerate(sizes_of(x)) if keepdims or n not in axes]
    return af.cast(af.reshape(result, vector([*q_shape, *kept])), name)


def quantile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantile(x, q, axis, method, keepdims, beside_nan=False)


def nanquantile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantile(x, q, axis, method, keepdims, beside_nan=True)


def percentile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    return quantile(x, convert_to_tensor(q, kind(x)) / 100, axis, method, keepdims)


def nanpercentile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
    x = floating(x)
    return nanquantile(x, convert_to_tensor(q, kind(x)) / 100, axis, method, keepdims)


def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return quantile(x, 0.5, axis, keepdims=keepdims)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = floating(y)
    axis = place_of(axis, len(y.shape))
    size = size_of(y, axis)
    first, second = af.range_(size - 1), af.range_(1, size)
    before, after = af.gather(y, first, axis=axis), af.gather(y, second, axis=axis)
    if x is None:
        width = convert_to_tensor(dx, y.dtype)
    else:
        x = convert_to_tensor(x, y.dtype)
        along = axis if len(x.shape) > 1 else 0
        width = af.gather(x, second, axis=along) - af.gather(x, first, axis=along)
        if len(x.shape) == 1:
            width = af.reshape(width, [-1] + [1] * (len(y.shape) - axis - 1))
    return af.reduce_sum(width * (before + after) / 2, axis)


def corrcoef(x: Any) -> Any:
    x = floating(x)
    name = kind(x)
    if len(x.shape) < 2:
        x = af.reshape(x, [1, -1])
        return af.reshape(corrcoef(x), [])
    wide = af.cast(x, "float32" if name in ("float16", "bfloat16") else name)
    centred = wide - af.reduce_mean(wide, -1, True)
    products = af.matmul(centred, centred, transpose_b=True)
    deviations = af.sqrt(af.linalg.diag_part(products))
    result = products / (af.expand_dims(deviations, 0) * af.expand_dims(deviations, 1))
    return af.cast(af.clip_by_value(result, -1.0, 1.0), name)


def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with actorflow backend")
    x = convert_to_tensor(x, "int32")
    dtype = "int32" if weights is None else kind(convert_to_tensor(weights))
    from keras_actorflow.src.core import has_value

    rows = af.reshape(x, [-1, size_of(x, -1)]) if len(x.shape) > 1 else af.expand_dims(x, 0)
    parts = (
        af.ones_like(rows, dtype)
        if weights is None
        else af.reshape(convert_to_tensor(weights, dtype), vector(sizes_of(rows)))
    )
    largest = af.constant(0) if 0 in tuple(x.shape) else af.reduce_max(x) + 1
    size = af.maximum(largest, minlength or 0)
    size = int(size) if has_value(size) else size
    marks = af.one_hot(rows, size, dtype=dtype)
    counts = af.reduce_sum(marks * af.expand_dims(parts, -1), 1)
    return counts if len(x.shape) > 1 else counts[0]


def digitize(x: Any, bins: Any) -> Any:
    x, bins = common(x, bins)
    if kind(x) in ("bool", "int8", "int16", "uint8", "uint16", "float16", "bfloat16"):
        x, bins = af.cast(x, "float32"), af.cast(bins, "float32")
    found = af.searchsorted(bins, af.reshape(x, [-1]), side="right")
    return af.reshape(af.cast(found, "int32"), vector(sizes_of(x)))


def histogram(x: Any, bins: Any = 10, range: Any = None) -> Any:
    from keras_actorflow.src.numpy.promotion import on_host

    x = convert_to_tensor(x)
    if range is not None and (not isinstance(range, (tuple, list)) or len(range) != 2):
        raise ValueError(f"`range` must be a tuple of two numbers. Received: range={range}")
    x = af.cast(x, config.floatx()) if not x.dtype.is_floating else x
    name = kind(x)
    edges = [] if isinstance(bins, int) else [convert_to_tensor(bins, name)]
    count = bins if isinstance(bins, int) else int(edges[0].shape[0]) - 1

    def part(number: int) -> Callable[..., Any]:
        return lambda values, *given: np.histogram(values, given[0] if given else bins, range)[number]

    return on_host(part(0), [x, *edges], "int32", [count]), on_host(part(1), [x, *edges], name, [count + 1])
