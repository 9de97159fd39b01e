"""Metrics: sums in local variables, so that they can be reset, and shared by several tasks."""

from __future__ import annotations

from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af


async def test_a_reset_starts_again(graph: af.Graph) -> None:
    mean, update = af.metrics.mean([2.0, 4.0], name="loss")
    other, add = af.metrics.mean([1.0])
    reset, all_of_them = af.metrics.reset("loss"), af.metrics.reset()
    async with af.Session() as session:
        await session.run(af.local_variables_initializer())
        assert await session.run([update, add]) == [3.0, 1.0]
        await session.run(reset)
        assert await session.run([mean, other]) == [0.0, 1.0]
        await session.run(all_of_them)
        assert await session.run([mean, other]) == [0.0, 0.0]


def test_where_a_metric_is_listed(graph: af.Graph) -> None:
    value, update = af.metrics.recall([True], [False], metrics_collections=["values"], updates_collections="updates")
    assert af.get_collection("values") == [value] and af.get_collection("updates") == [update]
    names = [v.op.name for v in af.get_collection(af.GraphKeys.METRIC_VARIABLES)]
    assert names == ["recall/true_positives/count", "recall/false_negatives/count"]
    assert af.local_variables() == af.get_collection(af.GraphKeys.METRIC_VARIABLES)
    assert not af.global_variables() and not af.trainable_variables()


async def test_a_prediction_that_is_no_probability(graph: af.Graph) -> None:
    _, update = af.metrics.auc([True, False], af.placeholder_with_default([0.5, 1.5], [2]))
    async with af.Session() as session:
        await session.run(af.local_variables_initializer())
        with pytest.raises(af.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            await session.run(update)


@pytest.mark.parametrize("shape", [[2, 1], [1, 2], [2], []])
async def test_weights_of_unknown_rank(graph: af.Graph, shape: list[int]) -> None:
    values, weights = af.placeholder(af.float32), af.placeholder(af.float32)
    _, update = af.metrics.mean(values, weights)
    given = np.full(shape, 2.0)
    fed = np.array([[1.0], [3.0]]) if shape == [2] else np.array([[1.0, 3.0]] * 2)
    async with af.Session() as session:
        await session.run(af.local_variables_initializer())
        assert await session.run(update, {values: fed, weights: given}) == 2.0


async def test_tasks_share_an_evaluation(seed: int) -> None:
    """Two clients add what each finds to sums on one task; the value is that of all batches."""
    rng = np.random.default_rng(seed)
    batches = [(rng.integers(0, 2, 5), rng.uniform(size=5).astype(np.float32)) for _ in range(8)]

    def program() -> tuple[af.Graph, Any, Any, Any]:
        graph = af.Graph()
        with graph.as_default():
            labels, found = af.placeholder(af.int64, [None]), af.placeholder(af.float32, [None])
            with af.device("/job:ps"):
                value, update = af.metrics.auc(labels, found, num_thresholds=20)
            return graph, (labels, found), value, (update, af.local_variables_initializer())

    graph, inputs, value, (update, start) = program()
    async with af.LocalCluster({"ps": 1, "worker": 2}) as cluster:
        async with af.Session(cluster.target, graph) as session:
            await session.run(start)

            async def worker(number: int) -> None:
                mine, fed, _, (add, _) = program()
                async with af.Session(cluster.target, mine) as own:
                    for batch in batches[number::2]:
                        await own.run(add, dict(zip(fed, batch)))

            async with anyio.create_task_group() as tg:
                tg.start_soon(worker, 0)
                tg.start_soon(worker, 1)
            together = await session.run(value)
    async with af.Session(graph=_alone(graph)) as session:
        await session.run(start.name)
        for batch in batches:
            last = await session.run(update.name, {tensor.name: one for tensor, one in zip(inputs, batch)})
    np.testing.assert_allclose(together, last, rtol=1e-6)


def _alone(graph: af.Graph) -> af.Graph:
    """The same graph in one process, whose devices take no jobs."""
    copy = af.Graph()
    with copy.as_default():
        labels, found = af.placeholder(af.int64, [None]), af.placeholder(af.float32, [None])
        af.metrics.auc(labels, found, num_thresholds=20)
        af.local_variables_initializer()
    assert set(copy.nodes) == set(graph.nodes)
    return copy
