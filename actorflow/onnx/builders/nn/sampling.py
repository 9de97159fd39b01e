"""Images in other sizes and at given places: Resize, GridSample.

Resize goes dimension by dimension: each element of the result is a weighted sum of a few elements of the source, and which ones
and how much is known while the graph is built.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.onnx.builders.common import known, number, positive, rank_of, size_of, vector
from actorflow.onnx.builders.nn.layout import channels_first, last_place, within
from actorflow.onnx.nodes import Node, onnx_op
from actorflow.onnx.values import NotKnownError, dtype_of, static

Weights = Callable[[Any], Any]
"""From distances in elements of the source the weights of these elements."""


def _linear(distance: Any) -> Any:
    return np.maximum(1 - np.abs(distance), 0)


def cubic(distance: Any, a: float = -0.75) -> Any:
    """The weights of cubic convolution (R. G. Keys, 1981)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


@onnx_op("Resize", enlarging=True)
def resize(node: Node, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    rank = rank_of(x)
    axes = [positive(axis, rank) for axis in node.attr("axes") or range(rank)]
    inner = within(x)
    if inner is not None:  # the dimensions are resized where they lie, and the transpose goes behind
        x, axes = inner, [last_place(axis, rank) for axis in axes]
    made = _resized(node, x, axes, roi, scales, sizes)
    return made if inner is None else channels_first(made)


def _resized(node: Node, x: Any, axes: list[int], roi: Any, scales: Any, sizes: Any) -> Any:
    rank = rank_of(x)
    factors, targets = _targets(node, x, axes, scales, sizes)
    region = np.array([0.0] * len(axes) + [1.0] * len(axes))
    if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize" and roi is not None:
        found = static(roi)
        if found is None:
            raise NotKnownError(f"roi of {node} has to be known while the graph is built.")
        region = np.asarray(found, np.float64)
    kind = dtype_of(x)
    whole = kind.is_integer and node.attr("mode", "nearest") != "nearest"
    made = af.cast(x, af.float32) if whole else x
    outside: list[tuple[int, Any]] = []
    for at, axis in enumerate(axes):
        start, end = float(region[at]), float(region[at + len(axes)])
        own = size_of(x, axis)
        if factors[at] == 1 and (start, end) == (0.0, 1.0) and targets[at] in (None, own):
            continue
        (size,) = known(np.asarray(own), f"The size of what {node} resizes")
        places = _places(node, size, targets[at], factors[at], start, end)
        if node.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
            outside.append((axis, (places < 0) | (places > size - 1)))
        made = _along(node, made, axis, size, places, factors[at])
    if whole:
        made = af.cast(af.clip_by_value(af.rint(made), float(kind.min), float(kind.max)), kind)
    for axis, beyond in outside:
        if beyond.any():
            line = beyond.reshape([-1 if other == axis else 1 for other in range(rank)])
            made = af.where_v2(line, number(node.attr("extrapolation_value", 0.0), made), made)
    return made


def _targets(node: Node, x: Any, axes: list[int], scales: Any, sizes: Any) -> tuple[list[float], list[Any]]:
    """The factor of each dimension, and its size afterwards: None where the factor is 1 and the size is not known."""
    if sizes is None or (static(sizes) is not None and static(sizes).size == 0):
        found = None if scales is None else static(scales)
        if found is None:
            raise NotKnownError(f"scales of {node} have to be known while the graph is built.")
        factors = [float(np.float32(f)) for f in found.reshape(-1)]
        if len(factors) != len(axes) or not all(math.isfinite(f) and f > 0 for f in factors):
            raise InvalidArgumentError(f"scales of {node} are {factors}, for {len(axes)} dimensions.")
        return factors, [_scaled(size_of(x, axis), f) for axis, f in zip(axes, factors)]
    wanted = known(sizes, f"The sizes of {node}")
    if len(wanted) != len(axes) or min(wanted) < 0:
        raise InvalidArgumentError(f"sizes of {node} are {wanted}, for {len(axes)} dimensions.")
    own = known(vector([size_of(x, axis) for axis in axes]), f"The size of what {node} resizes")
    factors = [to / size for to, size in zip(wanted, own)]
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        factors = [(min if policy == "not_larger" else max)(factors)] * len(axes)
        return factors, [int(factors[0] * size + 0.5) for size in own]
    return factors, list(wanted)


def _scaled(size: Any, factor: float) -> Any:
    if isinstance(size, int):
        return math.floor(size * factor)
    if factor == 1:
        return None
    raise NotKnownError("The size of what Resize takes has to be known.", hint="Give the shapes of inputs by shapes=.")


def _places(node: Node, size: int, target: int, factor: float, start: float, end: float) -> Any:
    """The places of the result's elements in the source."""
    at = np.arange(target, dtype=np.float64)
    length = factor * size
    mode = node.attr("coordinate_transformation_mode", "half_pixel")
    half = (at + 0.5) / factor - 0.5
    if mode == "align_corners":
        return at * 0 if length == 1 else at * (size - 1) / (length - 1)
    if mode == "asymmetric":
        return at / factor
    if mode == "tf_crop_and_resize":
        inner = (
            at * 0 + (end - start) * (size - 1) / 2 if length == 1 else at * (end - start) * (size - 1) / (length - 1)
        )
        return inner + start * (size - 1)
    if mode == "pytorch_half_pixel":
        return half if target > 1 else at * 0 - 0.5
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - target / length) + half
    if mode != "half_pixel":
        raise InvalidArgumentError(f"coordinate_transformation_mode of {node} is {mode!r}.")
    return half


def _along(node: Node, x: Any, axis: int, size: int, places: Any, factor: float) -> Any:
    """`x` at `places` along one dimension."""
    mode = node.attr("mode", "nearest")
    if mode == "nearest":
        rounded = _ROUNDED[node.attr("nearest_mode", "round_prefer_floor")](places)
        return af.gather(x, np.clip(rounded, 0, size - 1).astype(np.int64), axis=axis)
    a = node.attr("cubic_coeff_a", -0.75)
    weigh: Weights = _linear if mode == "linear" else lambda distance: cubic(distance, a)
    shrunk = min(factor, 1.0) if node.attr("antialias", 0) else 1.0
    reach = (1 if mode == "linear" else 2) / shrunk
    steps = np.arange(math.floor(-reach) + 1, math.ceil(reach) + 1)
    taps = np.floor(places)[:, None] + steps
    weights = weigh((taps - places[:, None]) * shrunk)
    if node.attr("exclude_outside", 0):
        weights = np.where((taps < 0) | (taps > size - 1), 0, weights)
    if shrunk != 1 or node.attr("exclude_outside", 0):
        weights = weights / weights.sum(1, keepdims=True)
    indices = np.clip(taps, 0, size - 1).astype(np.int64)
    if len(places) * size <= 1 << 22:  # as a product with a matrix, of which a line has the weights of one element
        matrix = np.zeros([len(places), size])
        np.add.at(matrix, (np.arange(len(places))[:, None], indices), weights)
        rank = rank_of(x)
        if axis == rank - 1:
            return af.matmul(x, number(np.ascontiguousarray(matrix.T), x))
        if axis == rank - 2:
            return af.matmul(number(matrix, x), x)
    line = weights.reshape(*weights.shape, *[1] * (rank_of(x) - axis - 1))
    return af.reduce_sum(af.gather(x, indices, axis=axis) * number(line, x), axis + 1)


@onnx_op("GridSample")
def grid_sample(node: Node, x: Any, grid: Any) -> Any:
    """`x` at places between -1 and 1, which the grid gives in the order of the last dimension first."""
    rank = rank_of(x)
    sizes = known(vector([size_of(x, axis) for axis in range(2, rank)]), f"The size of what {node} takes")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.attr("mode", "linear"), node.attr("mode", "linear"))
    corners = bool(node.attr("align_corners", 0))
    grid = af.cast(grid, af.float32) if dtype_of(grid) is not af.float64 else grid
    places = []
    for at, size in enumerate(sizes):
        place = grid[..., len(sizes) - 1 - at]
        half = number(0.5, place)
        one = number(1, place)
        middle = (
            (place + one) * half * number(size - 1, place)
            if corners
            else ((place + one) * number(size, place) - one) * half
        )
        places.append(af.rint(middle) if mode == "nearest" else middle)
    padding = node.attr("padding_mode", "zeros")
    return sampled(x, places, sizes, mode, padding, corners)


def sampled(
    x: Any, places: Sequence[Any], sizes: Sequence[int], mode: str, padding: str = "zeros", corners: bool = True
) -> Any:
    """[batch, channels, ...] at places.

    Args:
        x: the images, of `[batch, channels, *sizes]`.
        places: for each dimension of an image the places in it, of `[batch, ...]`.
        sizes: the sizes of the image.
        mode: `nearest`, `linear` or `cubic`.
        padding: what lies outside: `zeros`, the `border`, or the `reflection` of the inside.
        corners: whether an image ends at the middles of its outermost elements, in reflections.
    """
    lines = []
    for place, size in zip(places, sizes):
        if padding == "border":
            place = af.clip_by_value(place, number(0, place), number(size - 1, place))
        elif padding == "reflection":
            place = _reflected(place, size, corners)
        lines.append(_taps(place, mode))
    total = None
    batch = af.reshape(af.range_(af.cast(size_of(x, 0), af.int64)), [-1, *[1] * (rank_of(places[0]) - 1)])
    last = af.transpose(x, [0, *range(2, rank_of(x)), 1])
    for taps in itertools.product(*lines):
        index, weight = [batch + af.zeros_like(af.cast(taps[0][0], af.int64))], None
        for (tap, share), size in zip(taps, sizes):
            place = tap
            if padding == "reflection":
                place = _reflected(tap, size, corners)
            elif padding == "zeros":
                inside = af.cast(af.logical_and(tap >= number(0, tap), tap <= number(size - 1, tap)), dtype_of(tap))
                share = inside if share is None else share * inside
            place = af.clip_by_value(place, number(0, place), number(size - 1, place))
            index.append(af.cast(place, af.int64))
            if share is not None:
                weight = share if weight is None else weight * share
        part = af.gather_nd(last, af.stack(index, -1))
        if weight is not None:
            part = part * af.cast(af.expand_dims(weight, -1), dtype_of(x))
        total = part if total is None else total + part
    rank = rank_of(total)
    return af.transpose(total, [0, rank - 1, *range(1, rank - 1)])


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """The elements around a place, with their weights; None is 1."""
    if mode == "nearest":
        return [(place, None)]
    below = af.floor(place)
    rest = place - below
    one = number(1, place)
    if mode == "linear":
        return [(below, one - rest), (below + one, rest)]
    if mode != "cubic":
        raise InvalidArgumentError(f"The mode {mode!r} of GridSample is not known.")
    a, two = -0.75, number(2, place)

    def far(x: Any) -> Any:
        return ((x * number(a, x) - number(5 * a, x)) * x + number(8 * a, x)) * x - number(4 * a, x)

    def near(x: Any) -> Any:
        return (x * number(a + 2, x) - number(a + 3, x)) * x * x + one

    return [
        (below - one, far(rest + one)), (below, near(rest)), (below + one, near(one - rest)), (below + two, far(two - rest))
    ]  # fmt: skip


def _reflected(place: Any, size: int, corners: bool) -> Any:
    """Places folded back into the image, as often as needed."""
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    reach = max(high - low, 1e-6)
    inside = af.floormod(place - number(low, place), number(2 * reach, place))
    return number(reach, place) - af.abs(inside - number(reach, place)) + number(low, place)
