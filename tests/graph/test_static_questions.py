"""Questions that are answered as the graph is built, and older names of functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def test_is_tensor() -> None:
    slices = af.IndexedSlices(af.constant([1.0]), af.constant([0]))
    assert all(af.is_tensor(value) for value in (af.constant(1), af.Variable(1.0), slices))
    others: list[Any] = [1, "text", np.zeros(2), [af.constant(1)], None]
    assert not any(af.is_tensor(value) for value in others)


def test_is_numeric_tensor() -> None:
    assert all(af.is_numeric_tensor(af.constant(value)) for value in (1.0, 1, 1j))
    others: list[Any] = [af.constant("text"), af.constant(True), 3, af.Variable(1.0)]
    assert not any(af.is_numeric_tensor(value) for value in others)


def test_get_static_value() -> None:
    n = af.placeholder(af.int32, [])
    known: Any = af.get_static_value(af.stack([af.constant(2), af.constant(3)]))
    assert known.dtype == np.int32 and known.tolist() == [2, 3]
    assert af.get_static_value(af.placeholder(af.float32)) is None
    assert af.get_static_value(af.stack([n, 3])) is None
    assert af.get_static_value(af.stack([n, 3]), partial=True).tolist() == [None, 3]
    assert af.get_static_value(af.stack([n, n]), partial=True) is None
    assert af.get_static_value(7) == 7


def test_broadcast_static_shape() -> None:
    assert af.broadcast_static_shape(af.TensorShape([2, 1]), af.TensorShape([None, 3])) == [2, 3]
    assert af.broadcast_static_shape([4, 1, 2], [5, 2]) == [4, 5, 2]
    assert af.broadcast_static_shape(None, [5]).dims is None
    with pytest.raises(ValueError, match="broadcast"):
        af.broadcast_static_shape([2, 4], [2, 3])


def test_static_shapes_of_repeats_and_rolls() -> None:
    x = af.placeholder(af.float32, [2, None, 3])
    assert af.repeat(x, 2, axis=2).static_shape == (2, None, 6)
    assert af.repeat(x, [1, 4], axis=0).static_shape == (5, None, 3)
    assert af.roll(x, 1, 1).static_shape == (2, None, 3)
    assert af.sort(x, 1).static_shape == (2, None, 3)
    assert af.ensure_shape(x, [None, 7, None]).static_shape == (2, 7, 3)
    assert af.gather(x, af.placeholder(af.int32, [2, 5]), axis=2, batch_dims=1).static_shape == (2, None, 5)


def test_older_names() -> None:
    with af.blocking.Session(graph=af.get_default_graph()) as session:
        x = af.constant([[3.0, 1.0, 2.0], [0.0, 5.0, -1.0]])
        largest = af.arg_max(x, 1, af.int32)
        assert largest.dtype is af.int32 and session.run(largest).tolist() == [0, 1]
        assert session.run(af.arg_min(x, 0, name="least")).tolist() == [1, 0, 1]
        assert session.run(af.lin_space(0.0, 1.0, 3)).tolist() == [0.0, 0.5, 1.0]
        assert session.run(af.reverse_v2([1, 2], [0])).tolist() == [2, 1]
