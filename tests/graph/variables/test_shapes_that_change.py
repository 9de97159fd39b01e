"""`assign(v, value, validate_shape=False)`: a variable takes the shape of its value, and all that reads it sees that shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf


def _looped(v: Any) -> Any:
    return af.while_loop(lambda i, total: i < 3, lambda i, total: (i + 1, total + af.reduce_sum(v)), [0, 0.0])[1]


READERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "value": (lambda v: v.read_value(), lambda value: value),
    "chain": (lambda v: af.tanh(v * 2.0 + 1.0) - v, lambda value: np.tanh(value * 2 + 1) - value),
    "sum": (af.reduce_sum, np.sum),
    "mean": (af.reduce_mean, np.mean),
    "rows": (lambda v: af.reduce_sum(v, 1), lambda value: value.sum(1)),
    "flat": (lambda v: af.reshape(v, [-1]), np.ravel),
    "transposed": (af.transpose, np.transpose),
    "product": (lambda v: af.matmul(v, v, transpose_b=True), lambda value: value @ value.T),
    "concat": (lambda v: af.concat([v, v], 0), lambda value: np.concatenate([value, value])),
    "in a loop": (_looped, lambda value: 3 * value.sum()),
    "in a branch": (lambda v: af.cond(af.size(v) > 0, lambda: v * 2.0, lambda: v * 3.0), lambda value: value * 2),
}
SIZES = {
    "small": ((2, 3), (4, 3)),
    "fewer": ((5, 2), (1, 2)),
    "large": ((300, 200), (500, 200)),
    "other": ((2, 3), (3, 2)),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reader", READERS)
async def test_what_reads_the_variable_sees_its_shape_of_now(graph: af.Graph, reader: str, size: str) -> None:
    built, expected = READERS[reader]
    first, second = [np.linspace(0.5, 1, int(np.prod(shape)), dtype="f4").reshape(shape) for shape in SIZES[size]]
    v = af.Variable(first)
    result = built(v)
    changed = af.assign(v, second, validate_shape=False)
    async with af.Session(graph=graph) as session:
        for value, update in ((first, v.initializer), (second, changed), (first, v.initializer), (second, changed)):
            await session.run(update)
            for _ in range(4):  # compiled loops come with later runs
                np.testing.assert_allclose(await session.run(result), expected(value), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("reader", READERS)
async def test_plans_that_are_older_than_the_assignment(graph: af.Graph, reader: str) -> None:
    built, expected = READERS[reader]
    second = np.linspace(0.5, 1, 12, dtype="f4").reshape(4, 3)
    v = af.Variable(np.ones([2, 3], "f4"))
    result = built(v)
    async with af.Session(graph=graph) as session:
        await session.run(v.initializer)
        for _ in range(4):
            await session.run(result)
        await session.run(af.assign(v, second, validate_shape=False))
        np.testing.assert_allclose(await session.run(result), expected(second), rtol=1e-4, atol=1e-4)


VALUES: dict[str, tuple[Any, Any]] = {
    "longer": ([1.0, 2.0], [1.0, 2.0, 3.0]),
    "shorter": ([1.0, 2.0], [5.0]),
    "empty": ([1.0, 2.0], np.zeros([0], "f4")),
    "of more dimensions": ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]),
    "a number": ([1.0, 2.0], 7.0),
    "of a number": (7.0, [1.0, 2.0]),
    "text": (["a"], ["b", "c"]),
    "integers": ([1, 2], [[1], [2], [3]]),
    "truths": ([True], [True, False]),
}


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("fed", [False, True], ids=["constant", "fed"])
@pytest.mark.parametrize("kind", VALUES)
def test_the_value_may_have_any_shape(graph: af.Graph, kind: str, fed: bool, resource: bool) -> None:
    first, second = VALUES[kind]
    v = tf.Variable(first, use_resource=resource)
    value = tf.placeholder(v.dtype) if fed else second
    changed = tf.assign(v, value, validate_shape=False)
    feeds = {value: second} if fed else {}
    assert v.shape.as_list() == list(np.shape(first))
    assert fed or changed.shape.as_list() == list(np.shape(second))
    with tf.Session(graph=graph) as session:
        assert (
            session.run(changed, feeds).tolist() == session.run(v).tolist() == session.run(tf.constant(second)).tolist()
        )
        session.run(v.initializer)
        assert session.run(v).tolist() == session.run(tf.constant(first)).tolist()


def test_a_buffer_grows_by_what_it_has(graph: af.Graph) -> None:
    v = tf.Variable([1.0])
    grow = tf.assign(v, tf.concat([v, [5.0]], 0), validate_shape=False)
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        assert [session.run(grow).size for _ in range(5)] == [2, 3, 4, 5, 6]
        assert session.run(tf.scatter_update(v, [5], [9.0])).tolist() == [1, 5, 5, 5, 5, 9]


def test_an_assignment_without_it_is_checked(graph: af.Graph) -> None:
    v = tf.Variable([1.0, 2.0])
    for choice in (None, True):
        with pytest.raises(ValueError, match="shape"):
            tf.assign(v, [1.0, 2.0, 3.0], validate_shape=choice)
    value = tf.placeholder(tf.float32)
    with tf.Session(graph=graph) as session, pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        session.run(tf.assign(v, value), {value: [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("form", ["GraphDef", "bytes"])
def test_the_choice_goes_with_the_graph(graph: af.Graph, form: str) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False, name="grow")
    if form == "GraphDef":
        copy = af.Graph()
        with copy.as_default():
            tf.import_graph_def(graph.as_graph_def(), name="")
    else:
        copy = af.Graph.from_bytes(graph.to_bytes())
    with tf.Session(graph=copy) as session:
        session.run("grow")
        assert session.run("v/read:0").tolist() == [1.0, 2.0, 3.0]
