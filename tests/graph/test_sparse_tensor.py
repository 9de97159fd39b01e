"""Sparse tensors as one thing: made, fetched, fed, refused where a tensor is wanted; and the protocol behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import blocking
from actorflow.errors import InvalidArgumentError
from actorflow.graph.graph import Graph
from actorflow.graph.ops.indexed_slices import IndexedSlices

PLACES = np.array([[0, 1], [1, 0], [1, 2]], np.int64)
VALUES = np.float32([1, 2, 3])
SIZES = np.array([2, 3], np.int64)
VALUE = af.SparseTensorValue(PLACES, VALUES, SIZES)
DENSE = [[0, 1, 0], [2, 0, 3]]


def same(found: Any, expected: Any = VALUE) -> None:
    assert isinstance(found, af.SparseTensorValue)
    for part, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, wanted)
        assert part.dtype == wanted.dtype


def test_what_it_knows() -> None:
    with Graph().as_default() as graph:
        x = af.SparseTensor(PLACES, VALUES, SIZES)
        assert x.dtype is af.float32
        assert x.shape == (2, 3)
        assert x.get_shape() == x.shape
        assert x.graph is graph
        assert x.indices.dtype is x.dense_shape.dtype is af.int64
        assert "SparseTensor" in repr(x) and "(2, 3)" in repr(x)
        assert x.op is x.values.op and x.name == x.values.name
        dense = af.sparse_tensor_to_dense(x)
        assert dense.op in x.consumers()


def test_lists_become_int64() -> None:
    with Graph().as_default():
        x = af.SparseTensor([[0, 1]], [1.0], [2, 3])
        assert x.indices.dtype is x.dense_shape.dtype is af.int64


@pytest.mark.parametrize(
    "parts",
    [(PLACES, VALUES, [2]), (PLACES, VALUES[:2], SIZES), (PLACES[0], VALUES, SIZES), (PLACES, [VALUES], SIZES)],
)
def test_shapes_that_are_of_no_sparse_tensor(parts: Any) -> None:
    with (
        Graph().as_default(),
        pytest.raises(ValueError, match=r"indices \[n, r\], values \[n\] and a dense_shape \[r\]"),
    ):
        af.SparseTensor(*parts)


def test_indices_of_another_type() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="int64"):
        af.SparseTensor(af.constant([[0, 1]]), [1.0], [2, 3])


def test_it_is_no_tensor() -> None:
    with Graph().as_default():
        x = af.SparseTensor(PLACES, VALUES, SIZES)
        with pytest.raises(TypeError, match="is no tensor"):
            af.convert_to_tensor(x)
        with pytest.raises(TypeError, match="sparse_tensor_to_dense"):
            af.reduce_sum(x)
        with pytest.raises(TypeError):
            x + 1.0
        assert isinstance(np.ones(3, np.float32) * x, af.SparseTensor)


def test_fetched_alone_and_within_structures() -> None:
    with Graph().as_default() as graph:
        x = af.SparseTensor(PLACES, VALUES, SIZES)
        y = x * 2.0
        with blocking.Session(graph=graph) as session:
            same(session.run(x))
            found = session.run({"y": [y, y.values], "x": (x,)})
            same(found["x"][0])
            same(found["y"][0], (PLACES, 2 * VALUES, SIZES))
            np.testing.assert_array_equal(found["y"][1], 2 * VALUES)
            same(x.eval(session=session))


def test_fed_as_one() -> None:
    with Graph().as_default() as graph:
        x = af.sparse_placeholder(af.float32)
        number = af.placeholder(af.float32, [])
        y = af.sparse_tensor_to_dense(x * number)
        with blocking.Session(graph=graph) as session:
            for _ in range(2):  # the second run finds its plan
                np.testing.assert_array_equal(session.run(y, {x: VALUE, number: 1}), DENSE)
                np.testing.assert_array_equal(
                    session.run(y, {number: 2, x: (PLACES, VALUES, SIZES)}), 2 * np.float32(DENSE)
                )
            same(session.run(x, {x: VALUE}))
            apart = {x.indices: PLACES, x.values: VALUES, x.dense_shape: SIZES, number: 1}
            np.testing.assert_array_equal(session.run(y, apart), DENSE)
            with pytest.raises(InvalidArgumentError, match="3 parts"):
                session.run(y, {x: (PLACES, VALUES), number: 1})
            with pytest.raises(InvalidArgumentError, match="3 parts"):
                session.run(y, {x: 5, number: 1})
            with pytest.raises(InvalidArgumentError, match="fed twice"):
                session.run(y, {x: VALUE, x.values: VALUES, number: 1})
            with pytest.raises(InvalidArgumentError, match="does not fit"):
                session.run(y, {x: (PLACES[0], VALUES, SIZES), number: 1})


def test_a_placeholder_of_known_shape() -> None:
    with Graph().as_default() as graph:
        x = af.sparse_placeholder(af.float32, [2, 3], name="x")
        assert x.shape == (2, 3)
        assert af.sparse_placeholder(af.float32, [None, 3]).shape == (None, 3)
        assert af.sparse_placeholder(af.float32).shape.ndims is None
        y = af.sparse_tensor_to_dense(x)
        with blocking.Session(graph=graph) as session:
            np.testing.assert_array_equal(session.run(y, {x: VALUE}), DENSE)
            np.testing.assert_array_equal(session.run(y, {x.indices: PLACES, x.values: VALUES}), DENSE)


def test_a_value_that_an_op_made_is_fed() -> None:
    with Graph().as_default() as graph:
        x = af.SparseTensor(PLACES, VALUES, SIZES)
        y = af.sparse_reduce_sum(x * 1.0)
        with blocking.Session(graph=graph) as session:
            assert session.run(y, {x: (PLACES, 2 * VALUES, SIZES)}) == 12


def test_callables_and_partial_runs_take_them() -> None:
    with Graph().as_default() as graph:
        x, number = af.sparse_placeholder(af.float32), af.placeholder(af.float32, [])
        y, z = af.sparse_reduce_sum(x), number * 2.0
        with blocking.Session(graph=graph) as session:
            call = session.make_callable([y, z], [x, number])
            assert call(VALUE, 4) == [6, 8]
            with pytest.raises(TypeError, match="takes 2 values, but 1"):
                call(VALUE)
            handle = session.partial_run_setup([y, z], [x, number])
            assert session.partial_run(handle, y, {x: VALUE}) == 6
            assert session.partial_run(handle, z, {number: 4}) == 8


async def test_in_an_async_session() -> None:
    with Graph().as_default() as graph:
        x = af.sparse_placeholder(af.string)
        async with af.Session(graph=graph) as session:
            words = np.array([b"a", b"\0", b""], object)
            found = await session.run(x, {x: (PLACES, words, SIZES)})
            assert found.values.tolist() == [b"a", b"\0", b""]


def test_indexed_slices_are_fetched_and_fed_in_the_same_way() -> None:
    with Graph().as_default() as graph:
        values, indices = af.placeholder(af.float32, [None, 1]), af.placeholder(af.int32, [None])
        bare = IndexedSlices(values, indices)
        whole = IndexedSlices(values, indices, af.constant([3, 1]))
        dense = af.convert_to_tensor(whole)
        with blocking.Session(graph=graph) as session:
            rows, places = np.float32([[5], [6]]), np.int32([2, 2])
            found = session.run(bare, {bare: (rows, places)})
            assert found.dense_shape is None
            np.testing.assert_array_equal(found.values, rows)
            given = af.IndexedSlicesValue(rows, places, np.int32([4, 1]))
            np.testing.assert_array_equal(session.run(dense, {whole: given}), [[0], [0], [11], [0]])
            np.testing.assert_array_equal(session.run(dense, {bare: given}), [[0], [0], [11]])


def test_gradients_reach_the_values() -> None:
    with Graph().as_default() as graph:
        x = af.SparseTensor(PLACES, VALUES, SIZES)
        weights = af.constant(np.float32([[1, 2], [3, 4], [5, 6]]))
        y = af.sparse_tensor_dense_matmul(af.sparse_reorder(x), weights)
        found = af.gradients(y, [x.values, weights])
        with blocking.Session(graph=graph) as session:
            of_values, of_weights = session.run(found)
        np.testing.assert_array_equal(of_values, [7, 3, 11])
        np.testing.assert_array_equal(of_weights, [[2, 2], [1, 1], [3, 3]])


def test_the_namespaces_have_what_they_list() -> None:
    for space in (af.sparse, af.strings):
        assert all(hasattr(space, name) for name in space.__all__)
        assert list(space.__all__) == sorted(space.__all__)
