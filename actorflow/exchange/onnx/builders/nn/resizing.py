"""Images in other sizes: Resize.

Resize goes dimension by dimension: each element of the result is a weighted sum of a few elements of the source. Elements and
weights are computed while the graph is built, or in the run if sizes or scales are inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import computed, number, positive, rank_of, size_of
from actorflow.exchange.onnx.builders.nn.layout import channels_first, last_place, within
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of, ints, shape_of, static

_LARGEST_MATRIX = 1 << 22
_OUTER = 2
"""The dimensions in front that are seldom resized: batch and channels."""


def _linear(distance: Any) -> Any:
    return af.maximum(np.float64(1) - af.abs(distance), np.float64(0))


def cubic(distance: Any, a: float) -> Any:
    """The weights of cubic convolution (R. G. Keys, 1981)."""
    x = af.abs(distance)
    near = (np.float64(a + 2) * x - np.float64(a + 3)) * x * x + np.float64(1)
    far = ((np.float64(a) * x - np.float64(5 * a)) * x + np.float64(8 * a)) * x - np.float64(4 * a)
    return af.where_v2(x <= np.float64(1), near, af.where_v2(x < np.float64(2), far, np.float64(0)))


_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: af.ceil(x - np.float64(0.5)),
    "round_prefer_ceil": lambda x: af.floor(x + np.float64(0.5)),
    "floor": af.floor,
    "ceil": af.ceil,
}


def _known(value: Any) -> bool:
    return not isinstance(value, af.Tensor)


@onnx_op("Resize", enlarging=True)
def resize(node: OnnxNode, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    rank = rank_of(x)
    axes = [positive(axis, rank) for axis in node.attr("axes") or range(rank)]
    inner = within(x)
    if inner is not None:  # the dimensions are resized in place, and the transpose goes behind
        x, axes = inner, [last_place(axis, rank) for axis in axes]
    resized = _resized(node, x, axes, roi, scales, sizes)
    return resized if inner is None else channels_first(resized)


def _resized(node: OnnxNode, x: Any, axes: list[int], roi: Any, scales: Any, sizes: Any) -> Any:
    factors, targets = _targets(node, x, axes, scales, sizes)
    crops = node.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    region: Any = np.array([0.0] * len(axes) + [1.0] * len(axes))
    if crops and roi is not None:
        region = af.cast(roi, af.float64) if static(roi) is None else np.asarray(static(roi), np.float64)
    kind = dtype_of(x)
    whole = kind.is_integer and node.attr("mode", "nearest") != "nearest"
    resized = af.cast(x, af.float32) if whole else x
    beyond: list[tuple[int, Any]] = []
    for at, axis in enumerate(axes):
        start, end = region[at], region[at + len(axes)]
        own, target, factor = size_of(x, axis), targets[at], factors[at]
        plain = _known(start) and (float(start), float(end)) == (0.0, 1.0)
        if plain and _known(factor) and factor == 1 and (target is None or (_known(target) and target == own)):
            continue
        target = own if target is None else target
        places = computed(_places(node), own, target, factor, start, end)
        if crops:
            last = af.cast(own, af.float64) - np.float64(1) if isinstance(own, af.Tensor) else np.float64(own - 1)
            beyond.append((axis, af.logical_or(places < np.float64(0), places > last)))
        resized = _maybe_along(node, resized, at, axis, (own, target, factor), places, plain)
    if whole:
        resized = af.cast(af.clip_by_value(af.rint(resized), float(kind.min), float(kind.max)), kind)
    for axis, outside in beyond:
        line = af.reshape(outside, [-1 if other == axis else 1 for other in range(rank_of(x))])
        resized = af.where_v2(line, number(node.attr("extrapolation_value", 0.0), resized), resized)
    return resized


def _targets(node: OnnxNode, x: Any, axes: list[int], scales: Any, sizes: Any) -> tuple[list[Any], list[Any]]:
    """The factor of each dimension, and its size afterwards: None for that which it has."""
    own = [size_of(x, axis) for axis in axes]
    if sizes is None or 0 in (shape_of(sizes) or ()):
        if scales is None:
            raise InvalidArgumentError(f"{node} has neither scales nor sizes.")
        factors_in = static(scales)
        if factors_in is None:
            factors: list[Any] = [af.cast(scales[at], af.float64) for at in range(len(axes))]
            return factors, [_floor(size, factor) for size, factor in zip(own, factors)]
        factors = [float(np.float32(f)) for f in factors_in.reshape(-1)]
        if len(factors) != len(axes) or not all(math.isfinite(f) and f > 0 for f in factors):
            raise InvalidArgumentError(f"scales of {node} are {factors}, for {len(axes)} dimensions.")
        return factors, [None if factor == 1 else _floor(size, factor) for size, factor in zip(own, factors)]
    targets: Any = ints(sizes)
    if targets is None:
        targets = [af.cast(sizes[at], af.int64) for at in range(len(axes))]
    elif len(targets) != len(axes) or min(targets) < 0:
        raise InvalidArgumentError(f"sizes of {node} are {targets}, for {len(axes)} dimensions.")
    factors = [_ratio(to, size) for to, size in zip(targets, own)]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return factors, list(targets)
    if all(map(_known, factors)):
        factor = (min if policy == "not_larger" else max)(factors)
    else:
        stacked = af.stack([np.float64(f) if _known(f) else f for f in factors])
        factor = af.reduce_min(stacked) if policy == "not_larger" else af.reduce_max(stacked)
    return [factor] * len(axes), [_floor(size, factor, 0.5) for size in own]


def _ratio(target: Any, size: Any) -> Any:
    if _known(target) and _known(size):
        return target / size if size else 1.0
    return _double(target) / _double(size)


def _double(value: Any) -> Any:
    return np.float64(value) if _known(value) else af.cast(value, af.float64)


def _floor(size: Any, factor: Any, more: float = 0.0) -> Any:
    if _known(size) and _known(factor):
        return math.floor(size * factor + more)
    return af.cast(af.floor(_double(size) * _double(factor) + np.float64(more)), af.int64)


def _places(node: OnnxNode) -> Callable[..., Any]:
    """A function from sizes and factor of a dimension to the places of the result's elements in the source."""
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    half, unit = np.float64(0.5), np.float64(1)

    def places(size: Any, target: Any, factor: Any, start: Any, end: Any) -> Any:
        size, factor = _double(size), _double(factor)
        at = af.cast(af.range_(np.int64(target) if _known(target) else target), af.float64)
        length = factor * size
        single = af.equal(length, unit)
        rest = af.where_v2(single, unit, length - unit)
        if mode == "align_corners":
            return af.where_v2(single, at * np.float64(0), at * (size - unit) / rest)
        if mode == "asymmetric":
            return at / factor
        if mode == "tf_crop_and_resize":
            middle = at * np.float64(0) + (end - start) * (size - unit) * half
            return af.where_v2(single, middle, at * (end - start) * (size - unit) / rest) + start * (size - unit)
        positions = (at + half) / factor - half
        if mode == "pytorch_half_pixel":
            return af.where_v2(af.equal(af.size(at), 1), at * np.float64(0) - half, positions)
        if mode == "half_pixel_symmetric":
            return size * half * (unit - _double(target) / length) + positions
        if mode != "half_pixel":
            raise InvalidArgumentError(f"coordinate_transformation_mode of {node} is {mode!r}.")
        return positions

    return places


def _maybe_along(
    node: OnnxNode, x: Any, at: int, axis: int, sizes: tuple[Any, Any, Any], places: Any, plain: bool
) -> Any:
    """`x` at `places`. Of a batch and channels whose factor a run knows, that is nothing in most runs, and costs nothing then."""
    own, target, factor = sizes
    if _known(factor) or not plain or at >= _OUTER or rank_of(x) <= _OUTER:
        return _along(node, x, axis, own, places, factor)
    same = af.logical_and(af.equal(factor, np.float64(1)), af.equal(af.cast(target, af.int64), np.int64(0) + own))
    resized = af.cond(same, lambda: af.identity(x), lambda: _along(node, x, axis, own, places, factor))
    shape = shape_of(x)
    return (
        resized if shape is None else af.ensure_shape(resized, [None if o == axis else s for o, s in enumerate(shape)])
    )


def _along(node: OnnxNode, x: Any, axis: int, size: Any, places: Any, factor: Any) -> Any:
    """`x` at `places` along one dimension."""
    mode = node.attr("mode", "nearest")

    def inside(taps: Any, size: Any) -> Any:
        last = _double(size) - np.float64(1)
        return af.cast(af.minimum(af.maximum(taps, np.float64(0)), last), af.int64)

    if mode == "nearest":
        rounded = _ROUNDED[node.attr("nearest_mode", "round_prefer_floor")]
        return af.gather(x, computed(lambda places, size: inside(rounded(places), size), places, size), axis=axis)
    a = node.attr("cubic_coeff_a", -0.75)

    def weighed(places: Any, size: Any, factor: Any) -> tuple[Any, Any]:
        unit, wide = np.float64(1), np.float64(1 if mode == "linear" else 2)
        shrunk = af.minimum(_double(factor), unit) if node.attr("antialias", 0) else unit
        steps = af.range_(af.floor(-wide / shrunk) + unit, af.ceil(wide / shrunk) + unit)
        taps = af.expand_dims(af.floor(places), 1) + steps
        distance = (taps - af.expand_dims(places, 1)) * shrunk
        weights = _linear(distance) if mode == "linear" else cubic(distance, a)
        if node.attr("exclude_outside", 0):
            within_ = af.logical_and(taps >= np.float64(0), taps <= _double(size) - unit)
            weights = af.where_v2(within_, weights, np.float64(0))
        if node.attr("antialias", 0) or node.attr("exclude_outside", 0):
            weights = weights / af.reduce_sum(weights, 1, keepdims=True)
        return inside(taps, size), weights

    indices, weights = computed(weighed, places, size, factor)
    rank = rank_of(x)
    if _known(weights) and axis >= rank - 2 and len(weights) * size <= _LARGEST_MATRIX:
        matrix = np.zeros([len(weights), size])  # a line has the weights of one element
        np.add.at(matrix, (np.arange(len(weights))[:, None], indices), weights)
        if axis == rank - 1:
            return af.matmul(x, number(np.ascontiguousarray(matrix.T), x))
        return af.matmul(number(matrix, x), x)
    line = af.reshape(weights, af.concat([af.shape(weights), [1] * (rank - axis - 1)], 0))
    return af.reduce_sum(af.gather(x, indices, axis=axis) * af.cast(line, dtype_of(x)), axis + 1)
