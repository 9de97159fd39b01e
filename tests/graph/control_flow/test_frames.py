"""How tokens travel: the primitives put together by hand, and what loops look like from inside."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import anyio
import numpy as np
import probes
import pytest
import virtual
from engine.runtime.ready_queues import Lifo, Shuffled
from graph.control_flow.flows import Run, initialize, run
from patience import PATIENCE
from probes import Probe, probe
from random_graphs import later

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.dispatcher import Dispatcher

__all__ = ["probe", "run"]


def number(kind: af.DType = af.int32) -> Any:
    return af.placeholder(kind, [])


# ---- Switch and Merge


def test_f77_switch_and_merge(run: Run) -> None:
    x, p = number(af.float32), af.placeholder(af.bool, [])
    no, yes = af.switch(x, p)
    value, index = af.merge([no * 10.0, yes + 1.0])
    assert index.dtype is af.int32
    assert run([value, index], {x: 2.0, p: True}) == [3.0, 1]
    assert run([value, index], {x: 2.0, p: False}) == [20.0, 0]


def test_f77_merge_forwards_the_first_that_lives(run: Run) -> None:
    x = number(af.float32)
    value, index = af.merge([later(x, turns=20), x + 1.0])
    assert run([value, index], {x: 2.0}) == [3.0, 1]


def test_f77_a_merge_of_dead_ones_is_dead(run: Run, probe: Probe) -> None:
    x, p, q = number(af.float32), af.placeholder(af.bool, []), af.placeholder(af.bool, [])
    _, yes = af.switch(x, p)
    inner_no, inner_yes = af.switch(yes, q)
    inner, _ = af.merge([probes.log(inner_no, tag="no"), probes.log(inner_yes, tag="yes")])
    outer, index = af.merge([probes.log(inner, tag="inner"), af.switch(x, p)[0]])
    assert run([outer, index], {x: 2.0, p: False, q: True}) == [2.0, 1] and not probe.ran
    assert run([outer, index], {x: 2.0, p: True, q: True}) == [2.0, 0] and probe.ran == {"yes": 1, "inner": 1}


def test_f77_deadness_travels_on_control_edges(run: Run, probe: Probe) -> None:
    x, p = number(af.float32), af.placeholder(af.bool, [])
    _, yes = af.switch(x, p)
    pivot = af.identity(yes)
    with af.control_dependencies([pivot]):
        dead = probes.log(x, tag="after")
        alive = af.control_trigger()
    with af.control_dependencies([alive]):
        ended = probes.target(tag="ended")
    value, _ = af.merge([dead, af.switch(x, p)[0] * 3.0])
    assert run([value, ended], {x: 2.0, p: False}) == [6.0, None]
    assert probe.ran == {"ended": 1}


def test_f77_a_dead_node_waits_for_all_its_tokens(run: Run, probe: Probe) -> None:
    """Its Merge may be next to a slow input; what follows the merge still comes after that."""
    x, p = number(af.float32), af.placeholder(af.bool, [])
    _, yes = af.switch(x, p)
    slow = later(probes.log(x, tag="slow"), turns=5)
    both = yes + slow
    with af.control_dependencies([af.merge([both, af.switch(slow, p)[0]])[0]]):
        after = probes.target(tag="after")
    run(after, {x: 1.0, p: False})
    assert probe.order == ["slow", "after"]


def test_f81_gradients_of_hand_made_branches(run: Run) -> None:
    x, p = number(af.float64), af.placeholder(af.bool, [])
    no, yes = af.switch(x, p)
    value, _ = af.merge([no * no, yes * 5.0])
    slope = af.gradients(value, x)[0]
    assert run(slope, {x: 3.0, p: True}) == 5.0
    assert run(slope, {x: 3.0, p: False}) == 6.0


# ---- loops by hand


def _by_hand(start: Any, limit: Any, name: str = "loop") -> Any:
    """`while i < limit: i += 1` in primitives."""
    graph = af.get_default_graph()
    entered = af.enter(start, frame_name=name)
    bound = af.enter(limit, frame_name=name, is_constant=True)
    merged = graph.create_op("Merge", [entered, entered], {}, "Merge")
    goes_on = af.loop_cond(af.less(merged.outputs[0], bound))
    stays, more = af.switch(merged.outputs[0], goes_on)
    one = af.enter(af.placeholder_with_default(1, []), frame_name=name, is_constant=True)
    graph.close_loop(merged, af.next_iteration(af.add(more, one, name="more")))
    return af.exit(stays)


def test_f78_a_loop_of_primitives(run: Run) -> None:
    n = number()
    i = _by_hand(af.placeholder_with_default(0, []), n)
    for trips in (0, 1, 50):
        assert run(i, {n: trips}) == trips


def test_f78_constant_enters_reach_every_iteration(run: Run) -> None:
    """Even one that comes when several iterations have begun."""
    n = number()
    slow = later(n, turns=10) * 2
    _, fast, total = af.while_loop(
        lambda i, f, t: i < n, lambda i, f, t: (i + 1, f + 1, t + slow), (0, 0, 0), parallel_iterations=4
    )
    assert run([fast, total], {n: 20}) == [20, 800]


def test_f78_dead_exits_leave_only_at_the_end(run: Run, probe: Probe) -> None:
    """A node that depends on the exit of a loop fires once, whatever the number of iterations."""
    n = number()
    i, x = af.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + 2), (0, 0))
    after = probes.log(x, tag="after")
    assert run([i, after], {n: 7}) == [7, 14]
    assert probe.ran == {"after": 1}


def test_f77_a_loop_on_an_untaken_branch_dies_at_once(run: Run, probe: Probe) -> None:
    """And its dead exit lets the Merge of the cond go on."""
    p, n = af.placeholder(af.bool, []), number()

    def nest(depth: int) -> Any:
        if not depth:
            return lambda i: probes.log(i, tag="body") + 1
        return lambda i: af.while_loop(lambda j: j < n, nest(depth - 1), [i]) + 1

    y = af.cond(p, lambda: af.while_loop(lambda i: i < n, nest(1), [0]), lambda: n * 100)
    z = y + 1
    assert run(z, {p: False, n: 3}) == 301 and not probe.ran
    assert run(z, {p: True, n: 3}) == 5 and probe.ran == {"body": 3}


def test_f78_one_child_frame_for_each_outer_iteration(run: Run, probe: Probe) -> None:
    """Inner loops of several outer iterations go on at once, and each counts for itself."""
    n = number()

    def body(i: Any, total: Any) -> Any:
        j, t = af.while_loop(
            lambda j, t: j <= i, lambda j, t: (j + 1, t + later(probes.log(i * 10 + j, tag="inner"), turns=2)), (0, 0)
        )
        return i + 1, total + t * j

    _, total = af.while_loop(lambda i, t: i < n, body, (0, 0), parallel_iterations=8)
    want = sum(sum(i * 10 + j for j in range(i + 1)) * (i + 1) for i in range(6))
    assert run(total, {n: 6}) == want
    assert probe.ran == {"inner": 21}


@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_f79_so_many_iterations_are_in_flight(parallel: int) -> None:
    """A body that takes a second and depends on no other iteration: the time is that of n/p, on a virtual clock."""
    graph = af.Graph()
    with graph.as_default():
        n = number()
        _, slow = af.while_loop(
            lambda i, s: i < n,
            lambda i, s: (i + 1, af.maximum(probes.nap(i, seconds=1.0), i)),
            (0, 0),
            parallel_iterations=parallel,
        )

    async def main() -> Any:
        async with af.Session(graph=graph) as session:
            return await session.run(slow, {n: 10})

    result, seconds = virtual.run(main)
    assert result == 9
    assert seconds == pytest.approx(10 / parallel, abs=0.01)


@pytest.mark.parametrize("order", ["lifo", "shuffled"])
@pytest.mark.parametrize("coalesce", [True, False])
async def test_the_order_of_the_ready_queue_changes_nothing(order: str, coalesce: bool, seed: int) -> None:
    Dispatcher.of(asyncio.get_running_loop()).queue = Lifo() if order == "lifo" else Shuffled(seed)
    graph = af.Graph()
    with graph.as_default():
        n = number()
        _, a, b = af.while_loop(
            lambda i, a, b: i < n,
            lambda i, a, b: (
                i + 1,
                af.cond(a < b, lambda: a + i, lambda: a - b),
                b + af.foldl(lambda s, x: s + x, af.stack([i, 1])),
            ),
            (0, 0, 1),
            parallel_iterations=5,
        )
    x, y = 0, 1
    for i in range(9):
        x, y = (x + i if x < y else x - y), y + i + 1
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert await session.run([a, b], {n: 9}, timeout=PATIENCE) == [x, y]
        several = [session.run([a, b], {n: 9}, timeout=PATIENCE) for _ in range(5)]
        assert await asyncio.gather(*several) == [[x, y]] * 5


def test_values_of_past_iterations_are_let_go(run: Run) -> None:
    """A step of many iterations over large values holds a few of them at a time."""
    x = af.placeholder(af.float32, [1000, 100])
    alive: list[int] = []

    def note(value: Any) -> Any:
        gc.collect() if len(alive) % 20 == 0 else None
        alive.append(sum(isinstance(o, np.ndarray) and o.nbytes >= 400_000 for o in gc.get_objects()))
        return value

    current = probes.current
    current.does["look"] = note
    _, y = af.while_loop(
        lambda i, y: i < 60, lambda i, y: (i + 1, probes.log(y, tag="look") + 1.0), (0, x), parallel_iterations=2
    )
    result = run(y, {x: np.zeros((1000, 100), np.float32)})
    assert result[0, 0] == 60 and max(alive) - alive[0] < 12


# ---- what is said when something goes wrong inside


@pytest.mark.parametrize("coalesce", [True, False])
async def test_a_report_names_the_iteration(probe: Probe, coalesce: bool) -> None:
    """Of the iterations that wait, and of the loops that they are in."""
    graph = af.Graph()
    with graph.as_default():
        n = number()

        def body(i: Any) -> Any:
            return af.while_loop(lambda j: j < n, lambda j: probes.wait(j, tag="gate", name="stuck") + 1, [i])

        i = af.while_loop(lambda i: i < n, body, [0], name="outer")
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.warmup(i, [n])
        with anyio.move_on_after(0.05) as scope:
            await session.run(i, {n: 2})
        assert scope.cancelled_caught
        task = asyncio.create_task(session.run(i, {n: 2}, timeout=0.5))
        with pytest.raises(errors.DeadlineExceededError) as caught:
            await task
        text = str(caught.value)
        assert "outer/while/stuck" in text and "iteration 0 of outer/while" in text
        assert "iteration 0 of outer" in text and "test_frames.py:" in text


def test_f77_an_enter_that_is_dead_kills_what_uses_it(run: Run) -> None:
    """A hand-made loop whose body uses a dead constant ends after its first iteration, and its exit is dead."""
    n, gone = number(), number()
    entered = af.enter(af.placeholder_with_default(0, []), frame_name="loop")
    graph = af.get_default_graph()
    merged = graph.create_op("Merge", [entered, entered], {}, "Merge")
    stays, more = af.switch(merged.outputs[0], af.loop_cond(af.less(merged.outputs[0], _enter(n))))
    _, dead = af.switch(gone, af.placeholder_with_default(False, []))
    graph.close_loop(merged, af.next_iteration(af.add(more, _enter(dead))))
    left = af.exit(stays)
    with pytest.raises(errors.InvalidArgumentError, match="no value"):
        run(left, {n: 3, gone: 1})
    assert run(left, {n: 0, gone: 1}) == 0


def _enter(tensor: Any) -> Any:
    return af.enter(tensor, frame_name="loop", is_constant=True)


@pytest.mark.parametrize(
    ("words", "build"),
    [
        ("different loops", lambda x: af.add(af.enter(x, frame_name="a"), x)),
        ("Exit is in no loop", lambda x: af.exit(x)),
        ("NextIteration is in no loop", lambda x: af.next_iteration(x)),
        ("two places", lambda x: af.enter(af.enter(af.enter(x, frame_name="a"), frame_name="b"), frame_name="a")),
    ],
)
def test_primitives_that_make_no_loop(run: Run, words: str, build: Any) -> None:
    x = number()
    fetch = build(x)
    with pytest.raises(errors.InvalidArgumentError, match=words) as caught:
        run(fetch, {x: 1})
    assert "test_frames.py:" in str(caught.value), "the user's line"


def test_primitives_refuse_wrong_types_and_shapes() -> None:
    with af.Graph().as_default():
        x = af.constant([1.0])
        with pytest.raises(TypeError, match="bool"):
            af.switch(x, af.constant(1))
        with pytest.raises(ValueError, match="rank 0 but is rank 1"):
            af.switch(x, af.constant([True]))
        with pytest.raises(TypeError, match="bool"):
            af.loop_cond(af.constant(1))
        with pytest.raises(TypeError):
            af.merge([x, af.constant(1)])
        with pytest.raises(ValueError, match="invariant"):
            af.enter(x, frame_name="a", invariant=True, shape=[2])


def test_variables_pass_through_loops_as_they_are_then(run: Run) -> None:
    """A loop reads a variable in each iteration after what that iteration assigned before."""
    v = af.Variable(1.0)

    def body(i: Any, seen: Any) -> Any:
        with af.control_dependencies([v.assign_add(1.0)]):
            now = v.read_value()
        return i + 1, seen.write(i, now)

    _, seen = af.while_loop(
        lambda i, s: i < 4, body, (af.constant(0), af.TensorArray(af.float32, size=4)), parallel_iterations=1
    )
    initialize(run)
    assert run(seen.stack()).tolist() == [2, 3, 4, 5]
