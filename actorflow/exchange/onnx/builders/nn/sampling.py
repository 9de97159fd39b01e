"""Images at given places: GridSample."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import number, rank_of, size_of
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of


@onnx_op("GridSample")
def grid_sample(node: OnnxNode, x: Any, grid: Any) -> Any:
    """`x` at places between -1 and 1, which the grid gives in the order of the last dimension first."""
    rank = rank_of(x)
    sizes = [size_of(x, axis) for axis in range(2, rank)]
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.attr("mode", "linear"), node.attr("mode", "linear"))
    corners = bool(node.attr("align_corners", 0))
    grid = af.cast(grid, af.float32) if dtype_of(grid) is not af.float64 else grid
    places = []
    for at, size in enumerate(sizes):
        place = grid[..., len(sizes) - 1 - at]
        half = number(0.5, place)
        unit = number(1, place)
        middle = (
            (place + unit) * half * count(size - 1, place)
            if corners
            else ((place + unit) * count(size, place) - unit) * half
        )
        places.append(af.rint(middle) if mode == "nearest" else middle)
    padding = node.attr("padding_mode", "zeros")
    return sampled(x, places, sizes, mode, padding, corners)


def sampled(
    x: Any, places: Sequence[Any], sizes: Sequence[Any], mode: str, padding: str = "zeros", corners: bool = True
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
            place = clipped(place, size)
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
                inside = af.cast(af.logical_and(tap >= number(0, tap), tap <= count(size - 1, tap)), dtype_of(tap))
                share = inside if share is None else share * inside
            place = clipped(place, size)
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
    unit = number(1, place)
    if mode == "linear":
        return [(below, unit - rest), (below + unit, rest)]
    if mode != "cubic":
        raise InvalidArgumentError(f"The mode {mode!r} of GridSample is not known.")
    a, two = -0.75, number(2, place)

    def far(x: Any) -> Any:
        return ((x * number(a, x) - number(5 * a, x)) * x + number(8 * a, x)) * x - number(4 * a, x)

    def near(x: Any) -> Any:
        return (x * number(a + 2, x) - number(a + 3, x)) * x * x + unit

    return [
        (below - unit, far(rest + unit)), (below, near(rest)), (below + unit, near(unit - rest)), (below + two, far(two - rest))
    ]  # fmt: skip


def count(size: Any, like: Any) -> Any:
    """A size in the type of places."""
    return number(size, like) if isinstance(size, int) else af.cast(size, dtype_of(like))


def clipped(place: Any, size: Any) -> Any:
    """Places within a dimension."""
    return af.minimum(af.maximum(place, number(0, place)), count(size - 1, place))


def _reflected(place: Any, size: Any, corners: bool) -> Any:
    """Places folded back into the image, as often as needed."""
    low = number(0.0 if corners else -0.5, place)
    reach = af.maximum(count(size - 1 if corners else size, place), number(1e-6, place))
    inside = af.floormod(place - low, reach + reach)
    return reach - af.abs(inside - reach) + low
