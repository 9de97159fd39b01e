"""Static shapes by sizes that a program computes from others. Sizes that a run decides stay open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import actorflow as af

SIZES: dict[str, tuple[Callable[[Any], Any], list[int | None]]] = {
    "times a number": (lambda s: [s[0] * 2, -1], [4, 6]),
    "a number times": (lambda s: [2 * s[0], 6], [4, 6]),
    "plus": (lambda s: [s[0] + 2, s[1] * 2], [4, 6]),
    "minus": (lambda s: [s[1] - 1, -1], [2, 12]),
    "whole quotient": (lambda s: [s[1] * 8 // s[0], 2], [12, 2]),
    "remainder": (lambda s: [s[1] % s[0], -1], [1, 24]),
    "negative": (lambda s: [-1, -s[0] + 5], [8, 3]),
    "product of sizes": (lambda s: [s[0] * s[1], -1], [6, 4]),
    "elements": (lambda s: [af.reduce_prod(s), 4], [6, 4]),
    "sum": (lambda s: [af.reduce_sum(s) + 1, 4], [6, 4]),
    "largest": (lambda s: [af.reduce_max(s), 8], [3, 8]),
    "smallest": (lambda s: [af.reduce_min(s), 12], [2, 12]),
    "the larger": (lambda s: [af.maximum(s[0], s[1]), 8], [3, 8]),
    "the smaller": (lambda s: [af.minimum(s[0], 7), 12], [2, 12]),
    "a vector": (lambda s: s * 2, [4, 6]),
    "concatenated": (lambda s: af.concat([s[:1] * 2, [6]], 0), [4, 6]),
    "filled": (lambda s: af.fill([3], s[0]) * [1, 2, 1] + [0, 0, 1], [2, 4, 3]),
    "tiled": (lambda s: af.tile(s[:1] * 2, [2]) + [0, 2], [4, 6]),
    "cast": (lambda s: [af.cast(s[0], "int64") * 2, -1], [4, 6]),
    "padded": (lambda s: af.pad(s[:1] + 2, [[0, 1]], constant_values=6), [None, None]),
}


@pytest.mark.parametrize("sizes", SIZES)
def test_the_static_shape_follows_the_arithmetic_of_sizes(sizes: str) -> None:
    build, shape = SIZES[sizes]
    with af.Graph().as_default():
        found = af.reshape(af.ones([24]), build(af.shape(af.zeros([2, 3])))).shape
        assert found.as_list() == shape


@pytest.mark.parametrize("sizes", [name for name in SIZES if name != "padded"])
def test_an_open_size_stays_open(sizes: str) -> None:
    build, _ = SIZES[sizes]
    with af.Graph().as_default():
        x = af.placeholder(af.float32, [None, None])
        found = af.reshape(x, build(af.shape(x))).shape
        assert len(found.as_list()) == len(SIZES[sizes][1])
        assert None in found.as_list()


def test_a_quotient_by_zero_is_left_to_the_run() -> None:
    with af.Graph().as_default():
        s = af.shape(af.zeros([0, 3]))
        assert af.reshape(af.placeholder(af.float32), [s[1] // s[0], 4]).shape.as_list() == [None, 4]
