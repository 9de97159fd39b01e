"""Whole loops as one node: which become one, that they give others their turn, and how they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import numpy as np
import pytest
from patience import MachineTime
from random_graphs import later

import actorflow as af
from actorflow import errors
from actorflow.base.registry import opdef
from actorflow.engine.passes.coalesce_loops import coalesce_loops
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.control_flow.while_loop import while_loop

Build = Callable[[af.Tensor], Any]


def mergeable(node: Any) -> bool:
    definition = opdef.lookup(node.op)
    return not (definition.asynchronous or definition.fires_dead or definition.emits_dead)


def ops_of(fetches: Sequence[af.Tensor], feeds: Sequence[af.Tensor] = ()) -> list[str]:
    """The ops of the nodes that are left when loops were made one node, constants apart."""
    graph = fetches[0].graph
    before = prune(
        Subgraph(
            graph.nodes,
            {f.tensor_id: (f.dtype, f.static_shape) for f in feeds},
            tuple(f.tensor_id for f in fetches),
            (),
        )
    )
    after = coalesce_loops(before, mergeable)
    return [node.op for node in after.nodes.values() if node.op != "Const"]


def counted(body: Build = lambda i: i + 1, limit: Any = 5) -> af.Tensor:
    made: af.Tensor = while_loop(lambda i: i < limit, body, [af.constant(0)])
    return made


def test_a_loop_of_cheap_nodes_is_one_node(graph: af.Graph) -> None:
    assert ops_of([counted()]) == ["_Loop"]


def test_branches_and_inner_loops_are_inside(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (), name="x")

    def body(i: af.Tensor, total: af.Tensor) -> Any:
        inner = while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + x), [0, total])[1]
        return i + 1, cond(af.equal(i % 2, 0), lambda: inner, lambda: inner * 2.0)

    _, total = while_loop(lambda i, _: i < 5, body, [0, af.constant(1.0)])
    assert ops_of([total], [x]) == ["_Loop"]


@pytest.mark.parametrize(("nodes", "elements", "kept"), [(150, 8_000, False), (8, 8_000, False), (8, 300_000, True)])
def test_a_body_may_cost_what_the_tasks_of_its_nodes_would(
    graph: af.Graph, nodes: int, elements: int, kept: bool
) -> None:
    x = af.placeholder(af.float32, (elements,), name="x")

    def body(i: af.Tensor, total: af.Tensor) -> Any:
        for _ in range(nodes):
            total = total + x
        return i + 1, total

    _, total = while_loop(lambda i, _: i < 3, body, [0, x])
    assert ("_Loop" not in ops_of([total], [x])) is kept


async def test_a_loop_reads_a_tensor_that_no_cache_holds(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (1_500, 1_000), name="x")
    _, total = while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t + x[i, 0]), [0, af.constant(0.0)])
    async with af.Session(graph=graph) as session:
        assert await session.run(total, {x: np.ones((1_500, 1_000), np.float32)}) == 3.0


def test_its_own_arrays_are_inside(graph: af.Graph) -> None:
    _, array = while_loop(
        lambda i, _: i < 4, lambda i, a: (i + 1, a.write(i, i * i)), [0, TensorArray(af.int32, size=4)]
    )
    assert ops_of([array.stack()]) == ["TensorListReserve", "_Loop", "TensorListStack"]


def test_gradients_of_loops_are_loops_of_one_node(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (), name="x")
    _, y = while_loop(lambda i, _: i < 5, lambda i, t: (i + 1, af.sin(t * x)), [0, af.constant(1.0)])
    assert ops_of(af.gradients(y, x), [x]).count("_Loop") == 2


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda i: later(i + 1, turns=1), id="asynchronous"),
        pytest.param(lambda i: i + af.cast(af.reduce_sum(af.matmul(big(), big())) * 0 + 1, af.int32), id="heavy"),
        pytest.param(lambda i: variable().assign_add(1) * 0 + i + 1, id="writes"),
    ],
)
def test_what_needs_frames_keeps_them(graph: af.Graph, body: Build) -> None:
    assert "NextIteration" in ops_of([counted(body)])


def big() -> af.Tensor:
    return af.ones((1000, 1000))


def variable() -> af.Variable:
    return af.Variable(0, name="v")


def test_a_loop_that_something_asynchronous_waits_for_does_not_wait_for_it(graph: af.Graph) -> None:
    """A value that enters late must not hold the loop up, if it comes only after something that leaves the loop."""
    slow = later(af.constant(3), turns=1)
    i, k = while_loop(lambda i, k: i < 5, lambda i, k: (i + 1, k * 2), [af.constant(0), slow])
    assert "NextIteration" in ops_of([later(i, turns=1), k])
    assert "NextIteration" not in ops_of([i + 1, k])


# ---- the run


async def test_an_endless_loop_ends_at_its_deadline(graph: af.Graph) -> None:
    endless = while_loop(lambda i: True, lambda i: i + 1, [af.constant(0)])
    async with af.Session(graph=graph) as session:
        await session.warmup(endless)
        given = MachineTime()
        with pytest.raises(errors.DeadlineExceededError, match="goes through its iterations"):
            await session.run(endless, timeout=0.1)
        assert given.seconds() < 2.0
        assert await session.run(af.constant(1)) == 1


async def test_an_endless_loop_gives_others_their_turn(graph: af.Graph) -> None:
    endless = while_loop(lambda i: True, lambda i: i + 1, [af.constant(0)])
    other = af.constant(1) + af.placeholder_with_default(2, ())
    async with af.Session(graph=graph) as session, anyio.create_task_group() as tasks:

        async def run_endless() -> None:
            await session.run(endless)

        tasks.start_soon(run_endless)
        for _ in range(20):
            assert await session.run(other) == 3
        assert "goes through its iterations" in session.pending()
        tasks.cancel_scope.cancel()
    assert session.statistics().inflight == 0


async def test_two_loops_of_one_step_take_turns(graph: af.Graph) -> None:
    """Neither is at its end before the other one has begun."""
    a, b = (counted(limit=200_000) for _ in range(2))
    async with af.Session(graph=graph) as session:
        assert await session.run([a, b]) == [200_000, 200_000]


async def test_a_body_that_raises_names_its_node_and_inputs(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (None,), name="x")

    def body(i: af.Tensor, t: af.Tensor) -> Any:
        return i + 1, af.add(t, x, name="sum")  # <- here

    result = while_loop(lambda i, _: i < 5, body, [0, af.ones((3,))], shape_invariants=[(), (None,)])
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            await session.run(result, {x: [1.0, 2.0]})
        text = str(caught.value)
        assert "while/sum" in text and "float32 (3,)" in text and "float32 (2,)" in text and __file__ in text
        assert (await session.run(result, {x: [1.0, 2.0, 3.0]}))[1].tolist() == [6.0, 11.0, 16.0]


async def test_variables_may_grow(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (None, 2), name="x")
    _, grown = while_loop(
        lambda i, _: i < 3,
        lambda i, t: (i + 1, af.concat([t, x], 0)),
        [0, x],
        shape_invariants=[(), (None, 2)],
    )
    async with af.Session(graph=graph) as session:
        for rows in (1, 4, 1):
            value = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
            np.testing.assert_array_equal(await session.run(grown, {x: value}), np.concatenate([value] * 4))


async def test_each_shape_has_its_code(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (None, None), name="x")
    _, y = while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, af.tanh(af.matmul(t, x)) + t), [0, x])
    async with af.Session(graph=graph) as session:
        for size in (1, 3, 200, 3):
            value = np.eye(size, dtype=np.float32) / 2
            expected = value
            for _ in range(3):
                expected = np.tanh(expected @ value) + expected
            np.testing.assert_allclose(await session.run(y, {x: value}), expected, rtol=1e-6)


async def test_a_trace_sees_each_iteration(graph: af.Graph) -> None:
    x = af.placeholder(af.int32, (), name="x")
    result = counted(lambda i: af.add(i, 1, name="increment"), limit=x)
    async with af.Session(graph=graph) as session:
        trace = af.Trace()
        assert await session.run(result, {x: 4}, trace=trace) == 4
        assert [event.node for event in trace.events].count("while/increment") == 4


async def test_a_million_iterations(graph: af.Graph) -> None:
    async with af.Session(graph=graph) as session:
        assert await session.run(counted(limit=1_000_000)) == 1_000_000


# ---- sums over the iterations


async def test_a_sum_over_iterations_is_added_up_in_place(graph: af.Graph) -> None:
    """The first value of the sum, and the values in between, stay as they are for others that hold them."""
    x = af.placeholder(af.float32, [3, 3])

    def body(i: Any, total: Any, kept: Any, other: Any) -> Any:
        return i + 1, total + af.matmul(x, x), kept + x, other + kept

    _, total, kept, other = while_loop(lambda i, *_: i < 4, body, [0, x, x, af.zeros([3, 3])])
    given = np.arange(9, dtype=np.float32).reshape(3, 3)
    async with af.Session(graph=graph) as session:
        for _ in range(3):
            found = await session.run([total, kept, other, x], {x: given})
            square = given @ given
            wanted = [given + 4 * square, 5 * given, 10 * given, np.arange(9.0).reshape(3, 3)]
            for one, two in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, two, rtol=1e-6)
