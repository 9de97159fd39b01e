"""Reshapes and transposes whose sizes and orders are constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorflow.kernels.array import views


def test_constant_sizes_and_orders_are_read_once() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    run: Any = views._prepare_reshape({}, [(2, 3, 4), (2,)], [None, np.array([6, 4])])
    found = run(np, x, None)
    np.testing.assert_array_equal(found, x.reshape(6, 4))
    assert found.base is not None, "a view"
    turn: Any = views._prepare_transpose({}, [(2, 3, 4), (3,)], [None, np.array([2, 0, 1])])
    np.testing.assert_array_equal(turn(np, x, None), x.transpose(2, 0, 1))


@pytest.mark.parametrize("sizes", [[-1, 4], [5, 5], [0, 24], [[6, 4]], None])
def test_sizes_that_are_looked_for_or_wrong_are_left_to_the_kernel(sizes: Any) -> None:
    given = None if sizes is None else np.array(sizes)
    assert views._prepare_reshape({}, [(2, 3, 4), (2,)], [None, given]) is None


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [0, 1, -1], None])
def test_orders_that_are_wrong_are_left_to_the_kernel(order: Any) -> None:
    given = None if order is None else np.array(order)
    assert views._prepare_transpose({}, [(2, 3, 4), (3,)], [None, given]) is None
