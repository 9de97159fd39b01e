"""Logical workers: any number of tasks gives the same bits, and those are the mathematics of a whole batch."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.graph
import actorflow.models
from actorflow import errors
from actorflow.base.registry import opdef
from actorflow.engine.placement.logical import calls_program, draws, keeps
from actorflow.graph.node import Node
from actorflow.graph.ops.random.distributions import random_uniform_op

REPLICAS = 8
ROWS = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
ANSWERS = np.sin(ROWS.sum(1, keepdims=True))
STEPS = 4


class Training:
    """Two layers with dropout, by an optimizer with slots; `rows` examples in a batch."""

    def __init__(self, count: int = REPLICAS, rows: int | None = None) -> None:
        with af.Graph().as_default() as self.graph:
            af.set_random_seed(3)
            with af.device("/job:ps"):
                self.step = af.train.get_or_create_global_step()
                self.x = af.placeholder(af.float32, [rows, 6])
                self.y = af.placeholder(af.float32, [rows, 1])
                self.loss, self.train = af.train.Replicas(count).build(self.tower, self.x, self.y)
            self.initialize = af.global_variables_initializer()
            self.variables = af.global_variables()

    def tower(self, x: af.Tensor, y: af.Tensor) -> Any:
        first, second = af.glorot_uniform_initializer(seed=1), af.glorot_uniform_initializer(seed=2)
        hidden = af.layers.dense(x, 16, activation=af.nn.relu, kernel_initializer=first)
        hidden = af.layers.dropout(hidden, 0.3, training=True)
        loss = af.reduce_mean(af.square(af.layers.dense(hidden, 1, kernel_initializer=second) - y))
        return loss, af.train.AdamOptimizer(0.01).minimize(loss, global_step=self.step)

    async def bits(self, session: af.Session, rows: int) -> list[bytes]:
        await session.run(self.initialize)
        losses = []
        for _ in range(STEPS):
            loss, _ = await session.run([self.loss, self.train], {self.x: ROWS[:rows], self.y: ANSWERS[:rows]})
            losses.append(loss)
        return [np.asarray(value).tobytes() for value in [*losses, *await session.run(self.variables)]]


async def trained(tasks: int, rows: int, known: bool) -> list[bytes]:
    training = Training(rows=rows if known else None)
    async with af.LocalCluster({"ps": 1, "worker": tasks}, transport="local") as cluster:
        async with af.Session(cluster.target, training.graph) as session:
            bits = await training.bits(session, rows)
            numbers = {
                op.device: session.placement(op) for op in training.graph.get_operations() if "replica:" in op.device
            }
            assert len(set(numbers.values())) == tasks, "each task has a share"
            return bits


@pytest.mark.parametrize(("rows", "known"), [(16, True), (16, False), (21, True), (21, False)])
async def test_any_number_of_tasks_gives_the_same_bits(rows: int, known: bool) -> None:
    alone = await trained(1, rows, known)
    for tasks in (3, 5, 8):
        assert await trained(tasks, rows, known) == alone, tasks
    assert await trained(1, rows, not known) == alone, "sizes that only the run knows give the same shares"


async def test_a_session_of_one_process_gives_the_bits_of_a_cluster() -> None:
    training = Training(rows=16)
    for operation in training.graph.get_operations():
        if operation.device == "/job:ps":
            training.graph.set_device(operation, "")
    async with af.Session(graph=training.graph) as session:
        assert await training.bits(session, 16) == await trained(3, 16, True)


def linear(count: int, rows: int, optimizer: Callable[[], Any]) -> tuple[af.Graph, Any, Any, Any]:
    with af.Graph().as_default() as graph:
        x, y = af.placeholder(af.float64, [None, 6]), af.placeholder(af.float64, [None, 1])

        def tower(x: af.Tensor, y: af.Tensor) -> Any:
            w = af.get_variable("w", [6, 1], af.float64, initializer=af.zeros_initializer())
            loss = af.reduce_mean(af.square(af.matmul(x, w) - y))
            return {"loss": loss, "train": optimizer().minimize(loss)}

        results = af.train.Replicas(count).build(tower, x, y)
        feeds = {x: ROWS[:rows].astype(np.float64), y: ANSWERS[:rows].astype(np.float64)}
        return graph, results, feeds, af.global_variables_initializer()


@pytest.mark.parametrize("rows", [16, 21, 39])
@pytest.mark.parametrize("count", [2, 3, 8])
async def test_the_mean_of_the_shares_is_that_of_the_batch(count: int, rows: int) -> None:
    ends = []
    for replicas in (1, count):
        graph, results, feeds, initialize = linear(replicas, rows, lambda: af.train.MomentumOptimizer(0.1, 0.9))
        async with af.Session(graph=graph) as session:
            await session.run(initialize)
            for _ in range(3):
                values = await session.run(results, feeds)
            ends.append([values["loss"], *await session.run(graph.get_collection("trainable_variables"))])
    for mine, theirs in zip(*ends):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


async def test_gradients_that_are_slices_are_put_together_in_the_order_of_the_numbers() -> None:
    ends = []
    for tasks in (1, 3):
        with af.Graph().as_default() as graph:
            ids = af.placeholder(af.int32, [12])

            def tower(ids: af.Tensor) -> Any:
                table = af.get_variable("table", [5, 2], initializer=af.ones_initializer())
                loss = af.reduce_sum(af.sin(af.nn.embedding_lookup(table, ids) * 1.37))
                return af.train.GradientDescentOptimizer(0.1).minimize(loss)

            train = af.train.Replicas(4).build(tower, ids)
            initialize, table = af.global_variables_initializer(), af.global_variables()[0]
        async with af.LocalCluster({"worker": tasks}, transport="local") as cluster:
            async with af.Session(cluster.target, graph) as session:
                await session.run(initialize)
                for _ in range(3):
                    await session.run(train, {ids: np.arange(12) * 7 % 5})
                ends.append((await session.run(table)).tobytes())
    assert ends[0] == ends[1]


async def test_each_worker_draws_its_own_numbers_which_the_step_decides() -> None:
    def draws() -> tuple[af.Graph, list[af.Tensor], Any]:
        rows: list[af.Tensor] = []
        with af.Graph().as_default() as graph:
            step = af.train.get_or_create_global_step()
            count = step.assign_add(1)

            def tower() -> None:
                scores = af.zeros([2, 5])
                drawn = [
                    af.random_uniform([3]), af.random_uniform([3]), af.random_normal([3]), af.truncated_normal([3]),
                    af.random_uniform([3], 0, 100, af.int32), af.random_shuffle(af.range_(20)), af.multinomial(scores, 9),
                ]  # fmt: skip
                rows.append(af.concat([af.reshape(af.cast(d, af.float32), [-1]) for d in drawn], 0))

            af.train.Replicas(3, seed=5).build(tower)
            return graph, rows, (step.initializer, count)

    seen = []
    for _ in range(2):
        graph, rows, (initialize, count) = draws()
        async with af.Session(graph=graph) as session:
            await session.run(initialize)
            first, again = await session.run(rows), await session.run(rows)
            await session.run(count)
            seen.append([*first, *await session.run(rows)])
            assert all((a == b).all() for a, b in zip(first, again)), "a step that is done again has its numbers"
    assert all((a == b).all() for a, b in zip(*seen)), "as has another session"
    assert len({row[:12].tobytes() for row in seen[0]}) == 6, "workers and steps differ"
    assert not (seen[0][0][:3] == seen[0][0][3:6]).any(), "and so do nodes"


async def test_builds_of_a_graph_draw_numbers_of_their_own() -> None:
    rows: list[af.Tensor] = []
    with af.Graph().as_default() as graph:
        step = af.train.get_or_create_global_step()
        step.assign_add(1)
        for seed in (None, None, 4):
            af.train.Replicas(2).build(lambda seed=seed: rows.append(af.random_uniform([4], seed=seed)))
        af.train.Replicas(2).build(lambda: rows.append(af.random_uniform([4], seed=4)))
    async with af.Session(graph=graph) as session:
        await session.run(step.initializer)
        assert len({row.tobytes() for row in await session.run(rows)}) == 8


async def test_updates_of_layers_are_made_once() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [8, 3])

        def tower(x: af.Tensor) -> Any:
            loss = af.reduce_mean(af.layers.batch_normalization(x, training=True) ** 2)
            af.summary.scalar("loss", loss)
            af.losses.add_loss(loss)
            return af.losses.get_total_loss(), af.train.GradientDescentOptimizer(0.1).minimize(loss)

        loss, _ = af.train.Replicas(4).build(tower, x)
        assert len(graph.get_collection("update_ops")) == 2 and len(graph.get_collection("summaries")) == 1
        assert len(graph.get_collection("losses")) == 1
        initialize = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        assert 0.8 < await session.run(loss, {x: ROWS[:8, :3]}) < 1.0, "the mean, not a sum over workers"


def test_what_keeps_state_is_where_the_scopes_around_want_it() -> None:
    training = Training()
    devices = {
        op.device for op in training.graph.get_operations() if op.type in ("VariableV2", "Variable", "VarHandleOp")
    }
    assert devices == {"/job:ps"}
    assert {f"/job:worker/replica:{number}" for number in range(REPLICAS)} <= {
        op.device for op in training.graph.get_operations()
    }


def its_own_variable(x: af.Tensor) -> Any:
    w = af.Variable(af.ones([6, 1]))
    loss = af.reduce_mean(af.matmul(x, w))
    return af.train.GradientDescentOptimizer(0.1).minimize(loss)


def integers(x: af.Tensor) -> Any:
    return af.shape(x)


def gamma(x: af.Tensor) -> Any:
    return af.reduce_mean(af.random_gamma([3], 1.0))


def boxes(x: af.Tensor) -> Any:
    return af.image.sample_distorted_bounding_box([9, 9, 3], [[[0.1, 0.2, 0.5, 0.9]]], seed=3)[2]


def glimpse(x: af.Tensor) -> Any:
    return af.image.extract_glimpse(af.reshape(x, [1, 4, 6, 1]), [2, 2], [[0.0, 0.0]])


def pooled(x: af.Tensor) -> Any:
    return af.nn.fractional_max_pool(af.reshape(x, [1, 4, 6, 1]), [1.0, 1.5, 1.5, 1.0])[0]


def counting(x: af.Tensor) -> Any:
    return random_uniform_op([3], dtype=af.float32)


def with_a_step_that_nothing_counts(x: af.Tensor) -> Any:
    af.train.get_or_create_global_step()
    return af.reduce_mean(x + af.random_uniform([6]))


def in_a_loop(x: af.Tensor) -> Any:
    return af.while_loop(lambda i: i < 3.0, lambda i: i + af.random_uniform([]), [af.reduce_mean(x)])


def without_a_step(x: af.Tensor) -> Any:
    return af.reduce_mean(x + af.random_uniform([6]))


def synchronous(x: af.Tensor) -> Any:
    w = af.get_variable("w", [6, 1])
    step = af.train.get_or_create_global_step()
    optimizer = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), 2)
    return optimizer.minimize(af.reduce_mean(af.matmul(x, w)), global_step=step)


@pytest.mark.parametrize(
    ("tower", "error", "sentence"),
    [
        (
            its_own_variable,
            errors.InvalidArgumentError,
            "Logical worker 1 has gradients of other variables than worker 0",
        ),
        (integers, errors.InvalidArgumentError, "Logical workers give floating tensors"),
        (gamma, errors.UnimplementedError, "This random op counts its runs"),
        (boxes, errors.UnimplementedError, "SampleDistortedBoundingBoxV2 draws other numbers in each run"),
        (glimpse, errors.UnimplementedError, "ExtractGlimpse draws other numbers in each run"),
        (pooled, errors.UnimplementedError, "FractionalMaxPool draws other numbers in each run"),
        (counting, errors.UnimplementedError, "RandomUniform draws other numbers in each run"),
        (with_a_step_that_nothing_counts, errors.InvalidArgumentError, "and no optimizer here counts it"),
        (in_a_loop, errors.UnimplementedError, "random_uniform within a loop of logical worker 0"),
        (without_a_step, errors.InvalidArgumentError, "functions of the global step, and the graph has none"),
        (synchronous, errors.InvalidArgumentError, "logical workers share a session and a step"),
    ],
)
def test_what_would_not_be_the_same_on_any_number_of_tasks_is_refused(
    tower: Callable[[af.Tensor], Any], error: type[Exception], sentence: str
) -> None:
    with af.Graph().as_default():
        if tower is in_a_loop:
            af.train.get_or_create_global_step()
        x = af.placeholder(af.float32, [8, 6])
        with pytest.raises(error, match=re.escape(sentence)):
            af.train.Replicas(2).build(tower, x)


DRAWING = {
    "AllCandidateSampler", "ExtractGlimpse", "FixedUnigramCandidateSampler", "FractionalAvgPool", "FractionalMaxPool",
    "LearnedUnigramCandidateSampler", "LogUniformCandidateSampler", "Multinomial", "RandomGamma", "RandomPoissonV2",
    "RandomShuffle", "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "SampleDistortedBoundingBoxV2",
    "TruncatedNormal", "UniformCandidateSampler",
}  # fmt: skip
EFFECTS = {
    "Assert", "CommitCheckpoint", "ControlTrigger", "MatchingFiles", "NoOp", "Placeholder", "Print", "PrintV2", "ReadFile",
    "ReadNonce", "RestoreV2", "RestoreVariables", "SaveV2", "SaveVariables", "TensorSummary", "WriteFile",
}  # fmt: skip
"""Ops with an effect of one run, which keep nothing on their task."""
OF_A_RUN = {
    "AdoptCopies", "DatasetToSingleElement", "GetSessionHandle", "GiveCopies", "KeepCopies", "PagedAttention", "StackV2",
    "TakeCopies", "TakeVariables", "TensorArrayV3",
}  # fmt: skip
"""Ops that keep something for one run, or for their session."""
FIRST_INPUTS = {
    "accumulator", "gradient_accumulator", "handle", "iterator", "mutex", "otherwise", "pool", "queue_handle", "reader_handle",
    "ref", "resource", "string_handle", "table_handle", "var",
}  # fmt: skip
"""Inputs that name what an op changes: the op is where that is."""


def test_each_op_with_effects_draws_or_calls_or_keeps_or_changes_something_that_is_elsewhere() -> None:
    for package in (actorflow.graph, actorflow.models):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    stateful = {
        name: definition
        for name, definition in opdef.registered().items()
        if definition.stateful and not name.startswith("_") and "/tests/" not in definition.where
    }
    nodes = {name: Node(name, name) for name in stateful}
    assert {name for name, node in nodes.items() if draws(node)} == DRAWING
    assert {name for name, node in nodes.items() if calls_program(node)} == {"EagerPyFunc", "EagerPyFuncGrad", "PyFunc"}
    left = {
        name
        for name, node in nodes.items()
        if not (draws(node) or calls_program(node) or keeps(node))
        and not (stateful[name].inputs and stateful[name].inputs[0].name in FIRST_INPUTS)
    }
    assert left == EFFECTS | OF_A_RUN


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "8"])
def test_a_number_of_workers_that_cannot_be_is_refused(count: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="a positive number of logical workers"):
        af.train.Replicas(count)


async def test_a_batch_without_an_example_for_each_worker_is_refused() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="A batch of 7 examples is too small for 8 logical workers"):
        Training(rows=7)
    training = Training()
    async with af.LocalCluster({"ps": 1, "worker": 1}, transport="local") as cluster:
        async with af.Session(cluster.target, training.graph) as session:
            with pytest.raises(errors.InvalidArgumentError, match="A batch is too small for 8 logical workers"):
                await training.bits(session, 7)


async def test_a_ring_over_logical_workers_gives_the_same_bits_on_any_number_of_tasks() -> None:
    ends = []
    for tasks in (1, 3, 5):
        with af.Graph().as_default() as graph:
            places = [f"/job:worker/replica:{number}" for number in range(5)]
            values = []
            for number, place in enumerate(places):
                with af.device(place):
                    seed = af.constant([number, 7], af.int64)
                    values.append(af.stateless_random_normal([33], seed))
            sums = af.train.ring_all_reduce(values, places)
        async with af.LocalCluster({"worker": tasks}, transport="local") as cluster:
            async with af.Session(cluster.target, graph) as session:
                ends.append([value.tobytes() for value in await session.run(sums)])
    assert ends[0] == ends[1] == ends[2] and len(set(ends[0])) == 1
