"""Batches of examples with sparse tensors, by each function that makes batches. The answers are TensorFlow 1.15's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af

WAYS: dict[str, Callable[[Any], Any]] = {
    "batch": lambda x: af.train.batch([x], 2),
    "maybe_batch": lambda x: af.train.maybe_batch([x], True, 2),
    "batch_join": lambda x: af.train.batch_join([[x], [x]], 2),
    "maybe_batch_join": lambda x: af.train.maybe_batch_join([[x]], True, 2),
    "shuffle_batch": lambda x: af.train.shuffle_batch([x], 2, 10, 2),
    "maybe_shuffle_batch": lambda x: af.train.maybe_shuffle_batch([x], 2, 10, 2, True),
    "shuffle_batch_join": lambda x: af.train.shuffle_batch_join([[x]], 2, 10, 2),
    "a dict": lambda x: af.train.batch({"x": x}, 2)["x"],
    "a smaller last batch": lambda x: af.train.batch([x], 2, allow_smaller_final_batch=True),
    "padded": lambda x: af.train.batch([x], 2, dynamic_pad=True),
    "with shapes": lambda x: af.train.batch([x], 2, shapes=[[2, 2]]),
}


async def taken(batch: Any, graph: af.Graph) -> Any:
    async with af.Session(graph=graph) as session, af.train.Coordinator() as coord:
        af.train.start_queue_runners(session, coord)
        value = await session.run(batch)
        coord.request_stop()
    return value


@pytest.mark.parametrize("way", WAYS)
async def test_sparse_examples_make_a_sparse_batch(way: str) -> None:
    with af.Graph().as_default() as graph:
        batch = WAYS[way](af.SparseTensor([[0, 1], [1, 0]], [1, 2], [2, 2]))
        assert isinstance(batch, af.SparseTensor) and batch.dtype is af.int32 and batch.shape.ndims == 3
    value = await taken(batch, graph)
    np.testing.assert_array_equal(value.indices, [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0]])
    assert value.values.tolist() == [1, 2, 1, 2] and value.dense_shape.tolist() == [2, 2, 2]


async def test_rows_of_a_sparse_tensor_are_examples_beside_dense_ones() -> None:
    with af.Graph().as_default() as graph:
        rows = af.SparseTensor([[0, 1], [1, 0], [2, 2]], [b"a", b"b", b"c"], [3, 3])
        batch = af.train.batch({"rows": rows, "number": af.constant([7, 8, 9])}, 3, enqueue_many=True)
        assert batch["rows"].shape.as_list() == [None, None]
    value = await taken(batch, graph)
    assert value["number"].tolist() == [7, 8, 9]
    np.testing.assert_array_equal(value["rows"].indices, [[0, 1], [1, 0], [2, 2]])
    assert value["rows"].values.tolist() == [b"a", b"b", b"c"] and value["rows"].dense_shape.tolist() == [3, 3]


async def test_examples_of_several_sizes_take_the_largest() -> None:
    with af.Graph().as_default() as graph:
        size = af.train.range_input_producer(2, shuffle=False).dequeue()
        end = af.cast(size + 1, af.int64)
        example = af.SparseTensor(af.stack([[end - 1]]), af.stack([size]), af.stack([end]))
        batch = af.train.batch([example], 2)
    value = await taken(batch, graph)
    assert value.indices.tolist() == [[0, 0], [1, 1]] and value.values.tolist() == [0, 1]
    assert value.dense_shape.tolist() == [2, 2]


def test_sources_have_sparse_tensors_at_the_same_places() -> None:
    with af.Graph().as_default():
        x = af.SparseTensor([[0]], [1], [2])
        for other in (af.constant([1, 2]), af.SparseTensor([[0]], [1.0], [2])):
            with pytest.raises(TypeError, match="Expected types to be consistent"):
                af.train.batch_join([[x], [other]], 2)
