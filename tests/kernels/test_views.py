"""Reshapes, transposes and splits whose sizes and orders are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorflow.base.dtypes import float32
from actorflow.base.registry import kernel, library, plugins
from actorflow.kernels.array import views


def test_constant_sizes_and_orders_are_read_once() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    run: Any = views._prepare_reshape({}, [(2, 3, 4), (2,)], [None, np.array([6, 4])])
    found = run(np, x, None)
    np.testing.assert_array_equal(found, x.reshape(6, 4))
    assert found.base is not None, "a view"
    turn: Any = views._prepare_transpose({}, [(2, 3, 4), (3,)], [None, np.array([2, 0, 1])])
    np.testing.assert_array_equal(turn(np, x, None), x.transpose(2, 0, 1))


@pytest.mark.parametrize("sizes", [[-1, 4], [24, -1], [3, -1, 2], [-1]])
def test_a_size_that_is_looked_for_follows_from_the_shape(sizes: list[int]) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    run: Any = views._prepare_reshape({}, [(2, 3, 4), (len(sizes),)], [None, np.array(sizes)])
    np.testing.assert_array_equal(run(np, x, None), x.reshape(sizes))


@pytest.mark.parametrize("sizes", [[-1, 5], [-1, -1], [-2, 12], [-1, 0], [5, 5], [0, 24], [[6, 4]], None])
def test_sizes_that_are_wrong_are_left_to_the_kernel(sizes: Any) -> None:
    given = None if sizes is None else np.array(sizes)
    assert views._prepare_reshape({}, [(2, 3, 4), (2,)], [None, given]) is None


@pytest.mark.parametrize("sizes, axis", [([1, 3], 2), ([-1, 1, 1], -2), ([2, 0], 0)])
def test_a_split_into_constant_sizes_gives_views(sizes: list[int], axis: int) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    constants = [None, np.array(sizes), np.array(axis)]
    run: Any = views._prepare_split({"num_split": len(sizes)}, [(2, 3, 4), (len(sizes),), ()], constants)
    wanted = views.split_v(np, x, constants[1], constants[2], num_split=len(sizes))
    found = run(np, x, None, None)
    assert len(found) == len(wanted) and all(part.base is not None for part in found)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "sizes, axis, count", [([1, 2], 2, 2), ([4], 2, 1), ([2, 2], 3, 2), ([1, 3], 2, 3), (None, 2, 2)]
)
def test_splits_that_are_wrong_or_of_one_part_are_left_to_the_kernel(sizes: Any, axis: int, count: int) -> None:
    constants = [None, None if sizes is None else np.array(sizes), np.array(axis)]
    assert views._prepare_split({"num_split": count}, [(2, 3, 4), (1,), ()], constants) is None


def test_a_value_that_has_another_shape_than_was_said_is_left_to_the_kernel() -> None:
    """Such as that of a function in Python, of which the program says too much."""
    x, sizes, axis = np.arange(14.0).reshape(2, 7), np.array([1, 5]), np.array(1)
    split: Any = views._prepare_split({"num_split": 2}, [(2, 6), (2,), ()], [None, sizes, axis])
    with pytest.raises(ValueError, match="don't add up to a dimension of 7"):
        split(np, x, sizes, axis)
    wanted = np.array([7, -1])
    reshape: Any = views._prepare_reshape({}, [(7, 1), (2,)], [None, wanted])
    np.testing.assert_array_equal(reshape(np, x, wanted), x.reshape(7, 2))


def test_a_split_of_unknown_shapes_is_prepared_in_each_call() -> None:
    """Attributes come as keywords then, and no `out`."""
    plugins.load_kernels()
    sizes, axis, shapes = np.array([1, 3]), np.array(1), [(None, 4), (2,), ()]
    base = kernel.lookup("SplitV", "CPU", [float32] * 2)
    chosen = library.best(base, "CPU", [float32] * 2, {"num_split": 2}, shapes, constants=[None, sizes, axis])
    x = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    one, other = chosen.function(np, x, sizes, axis, num_split=2)
    np.testing.assert_array_equal(np.concatenate([one, other], 1), x)


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [0, 1, -1], None])
def test_orders_that_are_wrong_are_left_to_the_kernel(order: Any) -> None:
    given = None if order is None else np.array(order)
    assert views._prepare_transpose({}, [(2, 3, 4), (3,)], [None, given]) is None
