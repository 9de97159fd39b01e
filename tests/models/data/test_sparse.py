"""Elements with sparse tensors: what functions give and take, batches of them, and iterators of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

Dataset = af.data.Dataset
FEATURES = {"ids": af.VarLenFeature(af.int64), "n": af.FixedLenFeature([], af.int64)}


def example(*ids: int) -> bytes:
    features = {
        "ids": af.train.Feature(int64_list=af.train.Int64List(value=ids)),
        "n": af.train.Feature(int64_list=af.train.Int64List(value=[len(ids)])),
    }
    return af.train.Example(features=af.train.Features(feature=features)).SerializeToString()


MESSAGES = [example(1, 2), example(), example(3, 4, 5)]


def dense(value: Any) -> Any:
    made = np.zeros(value.dense_shape, value.values.dtype)
    made[tuple(value.indices.T)] = value.values
    return made.tolist()


def test_specs_have_tensorflows_types_and_shapes() -> None:
    dataset = Dataset.from_tensor_slices(MESSAGES).map(lambda x: af.parse_single_example(x, FEATURES))
    assert dataset.element_spec["ids"] == af.SparseTensorSpec([None], af.int64)
    assert dataset.output_types == {"ids": af.int64, "n": af.int64}
    assert dataset.output_classes == {"ids": af.SparseTensor, "n": af.Tensor}
    assert dataset.batch(2).element_spec["ids"] == af.SparseTensorSpec([None, None], af.int64)
    assert dataset.output_shapes["ids"].as_list() == [None]


async def test_batches_are_rows_of_one_sparse_tensor() -> None:
    dataset = Dataset.from_tensor_slices(MESSAGES).map(lambda x: af.parse_single_example(x, FEATURES))
    batches = [element["ids"] async for element in dataset.batch(2)]
    assert [dense(batch) for batch in batches] == [[[1, 2], [0, 0]], [[3, 4, 5]]]
    assert isinstance(batches[0], af.SparseTensorValue)
    whole = [
        element["ids"] async for element in Dataset.from_tensors(MESSAGES).map(lambda x: af.parse_example(x, FEATURES))
    ]
    assert dense(whole[0]) == [[1, 2, 0], [0, 0, 0], [3, 4, 5]]


async def test_functions_take_them_and_stages_keep_them() -> None:
    given = af.SparseTensorValue(np.array([[0, 1]]), np.array([7.0], np.float32), np.array([1, 3]))
    dataset = Dataset.from_tensors((given, 1)).repeat(3).map(lambda x, n: (x * 2.0, n)).shuffle(2).cache().prefetch(1)
    found = [element async for element in dataset]
    assert [dense(x) for x, _ in found] == [[[0.0, 14.0, 0.0]]] * 3
    async with dataset.iterate() as elements:
        await elements.__anext__()
        state = elements.state()
    async with dataset.iterate(state) as rest:
        assert len([x async for x in rest]) == 2


def test_in_graphs() -> None:
    with af.Graph().as_default():
        given = af.placeholder(af.string, [None])
        dataset = Dataset.from_tensors(given).map(lambda x: af.parse_example(x, FEATURES))
        iterator = dataset.make_initializable_iterator()
        other = af.data.Iterator.from_structure(
            dataset.output_types, dataset.output_shapes, None, dataset.output_classes
        )
        begin = other.make_initializer(dataset)
        elements = iterator.get_next(), other.get_next()
        sums = [tf.sparse_reduce_sum(element["ids"], 1) for element in elements]
        with af.blocking.Session() as session:
            session.run([iterator.initializer, begin], {given: MESSAGES})
            assert [x.tolist() for x in session.run(sums)] == [[3, 0, 12]] * 2


def test_under_eager_execution() -> None:
    with af.eager():
        (element,) = Dataset.from_tensors(af.sparse.from_dense([[0, 5]]))
        assert isinstance(element, af.SparseTensor) and af.sparse.to_dense(element).numpy().tolist() == [[0, 5]]


@pytest.mark.parametrize("bad", [lambda ds: ds.padded_batch(2), lambda ds: ds.unbatch(), lambda ds: ds.window(2)])
def test_what_is_refused(bad: Any) -> None:
    value = af.SparseTensorValue(np.array([[0]]), np.array([7.0]), np.array([3]))
    with pytest.raises(TypeError, match="sparse"):
        bad(Dataset.from_tensors(value))
