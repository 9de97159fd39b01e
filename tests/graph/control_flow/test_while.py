"""`while_loop`: its values, shapes, effects and errors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import probes
import pytest
from graph.control_flow.flows import Run, initialize, run
from patience import PATIENCE, MachineTime
from probes import Probe, probe
from random_graphs import later

import actorflow as af
from actorflow import errors

__all__ = ["probe", "run"]


def number(kind: af.DType = af.int32) -> Any:
    return af.placeholder(kind, [])


def _kept(box: list[Any], tensor: Any) -> Any:
    """`tensor`, which the test looks at later."""
    box.append(tensor)
    return tensor


# ---- what comes out


@pytest.mark.parametrize("trips", [0, 1, 5, 1000])
def test_f78_a_loop_repeats_its_body(run: Run, trips: int) -> None:
    n = number()
    i, total = af.while_loop(lambda i, total: i < n, lambda i, total: (i + 1, total + i), (0, 0))
    assert run([i, total], {n: trips}) == [trips, sum(range(trips))]


def test_f78_a_long_loop(run: Run) -> None:
    n = number(af.int64)
    assert run(af.while_loop(lambda i: i < n, lambda i: i + 1, [af.constant(0, af.int64)]), {n: 20_000}) == 20_000


def test_structures(run: Run) -> None:
    n = number()
    i, state = af.while_loop(
        lambda i, state: i < n,
        lambda i, state: (i + 1, {"a": state["a"] + i, "b": (state["b"][0] * 2.0,)}),
        (0, {"a": af.constant(0), "b": (af.constant(1.0),)}),
    )
    assert run((i, state), {n: 4}) == (4, {"a": 6, "b": (16.0,)})
    named = af.while_loop(lambda i, j: i < n, lambda i, j: {"i": i + 1, "j": j + 2}, {"i": 0, "j": 0})
    assert run(named, {n: 3}) == {"i": 3, "j": 6}


def test_a_single_variable_comes_without_its_list(run: Run) -> None:
    assert run(af.while_loop(lambda i: i < 5, lambda i: i + 1, [0])) == 5
    assert run(af.while_loop(lambda i: i < 5, lambda i: [i + 1], [0])) == 5
    assert run(af.while_loop(lambda i: i < 5, lambda i: i + 1, af.constant(0))) == 5
    assert run(af.while_loop(lambda i: i < 5, lambda i: [i + 1], [0], return_same_structure=True)) == [5]


def test_a_variable_may_stay_or_take_anothers_place(run: Run) -> None:
    a, b, c = af.while_loop(lambda a, b, c: c < 5, lambda a, b, c: (b, a, c + 1), (1, 2, 0))
    assert run([a, b, c]) == [2, 1, 5]
    i, same = af.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (0, 7.5))
    assert run([i, same]) == [3, 7.5]


def test_what_is_around_is_there_in_each_iteration(run: Run) -> None:
    """Feeds, constants, variables and computed tensors, in the condition and in the body."""
    n, x, v = number(), af.placeholder(af.float32, [2]), af.Variable([10.0, 20.0])
    twice = later(x * 2.0, turns=2)
    limit = n + 1
    _, total = af.while_loop(lambda i, t: i < limit, lambda i, t: (i + 1, t + x + twice + v + 1.0), (1, af.zeros([2])))
    initialize(run)
    assert run(total, {n: 3, x: [1, 2]}).tolist() == [3 * 14.0, 3 * 27.0]


def test_a_body_of_constants(run: Run) -> None:
    i, x = af.while_loop(lambda i, x: x < 1.0, lambda i, x: (af.constant(7), af.constant(2.0)), (0, 0.0))
    assert run([i, x]) == [7, 2.0]
    outer = af.placeholder(af.float32, [])
    _, y = af.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, outer), (0, 0.0))
    assert run(y, {outer: 4.0}) == 4.0


def test_a_condition_of_constants(run: Run) -> None:
    assert run(af.while_loop(lambda i: False, lambda i: i + 1, [3])) == 3


@pytest.mark.parametrize(("limit", "want"), [(-1, 0), (0, 0), (3, 3), (20, 9)])
def test_maximum_iterations(run: Run, limit: int, want: int) -> None:
    assert run(af.while_loop(lambda i: i < 9, lambda i: i + 1, [0], maximum_iterations=limit)) == want
    m = number()
    assert run(af.while_loop(lambda i: i < 9, lambda i: i + 1, [0], maximum_iterations=m), {m: limit}) == want


def test_shape_invariants(run: Run) -> None:
    i, x = af.while_loop(
        lambda i, x: i < 3,
        lambda i, x: (i + 1, af.concat([x, x], 0)),
        [af.constant(0), af.constant([1, 2])],
        shape_invariants=[af.TensorShape([]), af.TensorShape([None])],
    )
    assert x.static_shape == (None,) and i.static_shape == ()
    assert run(x).tolist() == [1, 2] * 8
    free = af.while_loop(
        lambda x: af.size(x) < 5,
        lambda x: af.expand_dims(af.concat([af.reshape(x, [-1]), [1]], 0), 0),
        [af.constant([1])],
        shape_invariants=[af.TensorShape(None)],
    )
    assert free.static_shape is None
    assert run(free).tolist() == [[1] * 5]


@pytest.mark.parametrize("value", [b"", np.array([b"x"]), True, 1.5 + 1j, np.arange(6.0).reshape(2, 3)])
def test_variables_of_every_kind(run: Run, value: Any) -> None:
    start = af.placeholder_with_default(value, None)
    _, x = af.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, af.identity(x)), (0, start))
    assert np.array_equal(run(x), value)


def test_strings(run: Run) -> None:
    _, s = af.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, af.string_join([s, "ab"])), (0, af.constant("")))
    assert run(s) == b"ababab"


def test_large_variables(run: Run) -> None:
    """Values that are worth a buffer of their own: each iteration's is right though the one before is not needed."""
    x = af.placeholder(af.float32, [200, 200])
    _, y, first = af.while_loop(lambda i, y, f: i < 6, lambda i, y, f: (i + 1, y * 2.0 + 1.0, y), (0, x, x))
    start = np.arange(40_000, dtype=np.float32).reshape(200, 200) / 1000
    last, before = run([y, first], {x: start})
    want = start
    for _ in range(6):
        previous, want = want, want * 2.0 + 1.0
    np.testing.assert_array_equal(last, want)
    np.testing.assert_array_equal(before, previous)


# ---- branches and loops inside


def test_f78_nested_loops(run: Run) -> None:
    n = number()

    def body(i: Any, total: Any) -> Any:
        _, inner = af.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, total))
        return i + 1, inner

    _, total = af.while_loop(lambda i, t: i < n, body, (0, 0))
    assert run(total, {n: 6}) == sum(i * j for i in range(6) for j in range(i))


def test_a_branch_in_a_loop_and_a_loop_in_a_branch(run: Run) -> None:
    p, n = af.placeholder(af.bool, []), number()

    def collatz() -> Any:
        return af.while_loop(
            lambda x, steps: x > 1,
            lambda x, steps: (af.cond(af.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1), steps + 1),
            (n, 0),
        )[1]

    steps = af.cond(p, collatz, lambda: af.constant(-1))
    assert run(steps, {p: True, n: 27}) == 111
    assert run(steps, {p: False, n: 27}) == -1


@pytest.mark.parametrize("parallel", [1, 2, 32])
def test_f79_the_result_does_not_hang_on_the_iterations_in_flight(run: Run, parallel: int) -> None:
    n = number()
    _, fast, slow = af.while_loop(
        lambda i, f, s: i < n,
        lambda i, f, s: (i + 1, f + i, later(s * 2 + i, turns=3)),
        (0, 0, 0),
        parallel_iterations=parallel,
    )
    want = 0
    for i in range(12):
        want = want * 2 + i
    assert run([fast, slow], {n: 12}) == [66, want]


# ---- effects


def test_assignments_happen_once_an_iteration(run: Run) -> None:
    n, v = number(), af.Variable(0.0)

    def body(i: Any) -> Any:
        with af.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    i = af.while_loop(lambda i: i < n, body, [0])
    initialize(run)
    for trips, after in ((0, 0.0), (3, 6.0), (4, 14.0)):
        assert run(i, {n: trips}) == trips
        assert run(v) == after


def test_f78_a_node_without_inputs_runs_once_an_iteration(run: Run, probe: Probe) -> None:
    n = number()

    def body(i: Any) -> Any:
        with af.control_dependencies([probes.target(tag="body")]):
            return af.identity(i + 1)

    def cond(i: Any) -> Any:
        with af.control_dependencies([probes.target(tag="condition")]):
            return af.identity(i < n)

    run(af.while_loop(cond, body, [0]), {n: 4})
    assert probe.ran == {"body": 4, "condition": 5}


def test_random_numbers_differ_between_iterations(run: Run) -> None:
    array = af.TensorArray(af.float32, size=4)
    _, drawn = af.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, af.random_uniform([]))), (af.constant(0), array)
    )
    assert len(set(run(drawn.stack()).tolist())) == 4


def test_f77_control_dependencies_around_a_loop(run: Run, probe: Probe) -> None:
    n = number()
    with af.control_dependencies([later(probes.log(n, tag="before"), turns=3)]):
        i = af.while_loop(lambda i: i < n, lambda i: probes.log(i, tag="body") + 1, [0])
    with af.control_dependencies([i]):
        after = probes.target(tag="after")
    run(after, {n: 2})
    assert probe.order == ["before", "body", "body", "after"]


def test_control_dependencies_inside_order_each_iteration(run: Run, probe: Probe) -> None:
    n = number()

    def body(i: Any) -> Any:
        with af.control_dependencies([n, later(probes.log(i, tag="first"), turns=2)]):
            return probes.log(i, tag="second") + 1

    run(af.while_loop(lambda i: i < n, body, [0]), {n: 3})
    assert probe.order == ["first", "second"] * 3


def test_f77_a_loop_on_an_untaken_branch_runs_nothing(run: Run, probe: Probe) -> None:
    p, n = af.placeholder(af.bool, []), number()

    def looped() -> Any:
        return af.while_loop(lambda i: i < n, lambda i: probes.log(i, tag="body") + 1, [0])

    y = af.cond(p, looped, lambda: af.constant(-1))
    assert run(y, {p: False, n: 5}) == -1
    assert not probe.ran
    assert run(y, {p: True, n: 5}) == 5 and probe.ran == {"body": 5}


# ---- what goes wrong in a run


def test_an_error_in_the_body_names_the_node_and_the_line(run: Run) -> None:
    n, x = number(), af.placeholder(af.int32, [3])
    _, y = af.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, af.gather(x, i, name="picked")),
        (0, 0),
    )
    assert run(y, {n: 3, x: [7, 8, 9]}) == 9
    with pytest.raises(errors.InvalidArgumentError) as caught:
        run(y, {n: 9, x: [7, 8, 9]})
    assert caught.value.node == "while/picked" and "test_while.py:" in str(caught.value)
    assert run(y, {n: 2, x: [7, 8, 9]}) == 8, "the session goes on"


def test_an_endless_loop_ends_at_its_deadline(run: Run) -> None:
    n = number()
    i = af.while_loop(lambda i: i >= 0, lambda i: i % n + 1, [0])
    given = MachineTime()
    with pytest.raises(errors.DeadlineExceededError):
        run(i, {n: 7}, timeout=0.1)
    assert given.seconds() < 1.0
    assert run(n + 1, {n: 2}) == 3


@pytest.mark.parametrize("coalesce", [True, False])
async def test_an_endless_loop_is_cancelled(coalesce: bool) -> None:
    graph = af.Graph()
    with graph.as_default():
        n = number()
        i = af.while_loop(lambda i: i >= 0, lambda i: i % n + 1, [0])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        task = asyncio.create_task(session.run(i, {n: 7}))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done(), "it lets the event loop go on"
        task.cancel()
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(asyncio.CancelledError):
                await task
        assert session.statistics().inflight == 0
        task = asyncio.create_task(session.run(i, {n: 7}))
        await asyncio.sleep(0)
        await session.close()
        with pytest.raises(errors.CancelledError):
            await task


@pytest.mark.parametrize("coalesce", [True, False])
async def test_a_loop_waits_for_an_asynchronous_node(probe: Probe, coalesce: bool) -> None:
    """Meanwhile the step is reported as waiting, with the iteration."""
    graph = af.Graph()
    with graph.as_default():
        n = number()
        i = af.while_loop(lambda i: i < n, lambda i: probes.wait(i, tag="gate", name="blocked") + 1, [0])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        task = asyncio.create_task(session.run(i, {n: 3}, timeout=PATIENCE))
        await probe.arrived("gate").wait()
        report = session.pending()
        assert "while/blocked" in report and "test_while.py:" in report
        assert "iteration 0 of while" in report
        probe.gate("gate").set()
        assert await task == 3
    assert probe.ran == {"gate": 3}


@pytest.mark.parametrize("coalesce", [True, False])
async def test_an_error_beside_a_blocked_iteration_ends_the_step(probe: Probe, coalesce: bool) -> None:
    graph = af.Graph()
    with graph.as_default():
        n = number()
        probe.does["bad"] = lambda x: x if x < 2 else _fail()
        _, a, b = af.while_loop(
            lambda i, a, b: i < n,
            lambda i, a, b: (i + 1, probes.wait(i, tag="gate"), probes.log(i, tag="bad")),
            (0, 0, 0),
        )
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        with pytest.raises(errors.InvalidArgumentError, match="too large"):
            await session.run([a, b], {n: 5}, timeout=PATIENCE)
        assert session.statistics().inflight == 0


def _fail() -> Any:
    raise ValueError("too large")


def test_f78_a_trace_shows_the_nodes_of_each_iteration(run: Run) -> None:
    n = number()
    i = af.while_loop(lambda i: i < n, lambda i: af.add(i, 1, name="more"), [0])
    trace = af.Trace()
    assert run(i, {n: 3}, trace=trace) == 3
    names = trace.names()
    assert names.count("while/more") == 3 and names.count("while/Less") == 4
    assert names.count("while/Enter") == 1 and names.count("while/Switch") == 4


def test_a_tensor_of_the_body_can_not_be_fetched(run: Run) -> None:
    n = number()
    i, inside = _with_inside(n)
    for fetch in (inside, inside.op):
        with pytest.raises(ValueError, match="while/inside") as caught:
            run(fetch, {n: 3})
        assert "loop" in str(caught.value) and "test_while.py:" in str(caught.value)
    assert run(i, {n: 3}) == 3


def test_a_tensor_of_the_body_can_not_be_fed(run: Run) -> None:
    n = number()
    i, inside = _with_inside(n)
    with pytest.raises(ValueError, match="while/inside") as caught:
        run(i, {n: 3, inside: 1})
    assert "loop" in str(caught.value) and "test_while.py:" in str(caught.value)
    assert run(i, {n: 3}) == 3


def test_f77_the_result_of_a_loop_on_an_untaken_branch_is_dead(run: Run) -> None:
    p, n = af.placeholder(af.bool, []), number()
    inside: list[Any] = []
    af.cond(p, lambda: _kept(inside, af.while_loop(lambda i: i < n, lambda i: i + 1, [0])), lambda: n)
    assert run(inside[0], {p: True, n: 3}) == 3
    with pytest.raises(errors.InvalidArgumentError, match=f"{inside[0].name} has no value.*true branch"):
        run(inside[0], {p: False, n: 3})


def _with_inside(n: Any) -> tuple[Any, Any]:
    """The result of a loop, and a tensor of its body."""
    inside: list[Any] = []
    i = af.while_loop(lambda i: i < n, lambda i: _kept(inside, af.add(i, 1, name="inside")), [0])
    return i, inside[0]


# ---- bad input


def _two(shape_invariants: Any = None, body: Any = None) -> Any:
    return af.while_loop(
        lambda i, x: i < 3,
        body or (lambda i, x: (i + 1, af.concat([x, x], 0))),
        [af.constant(0), af.constant([1], name="grows")],
        shape_invariants=shape_invariants,
    )


def _loop(cond: Any = lambda i: i < 3, body: Any = lambda i: i + 1, **options: Any) -> Any:
    return af.while_loop(cond, body, [af.constant(0, name="start")], **options)


@pytest.mark.parametrize(
    ("kind", "words", "build"),
    [
        (TypeError, ["two functions"], lambda: _loop(cond=True)),
        (TypeError, ["two functions"], lambda: _loop(body=3)),
        (ValueError, ["at least one loop variable"], lambda: af.while_loop(lambda: True, list, [])),
        (
            TypeError,
            ["start:0", "int32", "float32", "while/Cast"],
            lambda: _loop(body=lambda i: af.cast(i, af.float32)),
        ),
        (ValueError, ["grows:0", "(1,)", "(2,)", "shape_invariants"], lambda: _two()),
        (ValueError, ["[1]", "[2]"], lambda: _two([af.TensorShape([]), af.TensorShape([2])])),
        (ValueError, ["1 entries", "2 variables"], lambda: _two([af.TensorShape([])])),
        (ValueError, ["another structure"], lambda: _two(body=lambda i, x: i + 1)),
        (ValueError, ["gave None"], lambda: _loop(body=lambda i: None)),
        (TypeError, ["boolean scalar", "int32"], lambda: _loop(cond=lambda i: i)),
        (ValueError, ["boolean scalar", "(1,)"], lambda: _loop(cond=lambda i: [i < 3])),
        (TypeError, ["parallel_iterations", "0"], lambda: _loop(parallel_iterations=0)),
        (TypeError, ["parallel_iterations", "None"], lambda: _loop(parallel_iterations=None)),
        (ValueError, ["maximum_iterations", "(1,)"], lambda: _loop(maximum_iterations=[3])),
        (TypeError, ["float64", "int32"], lambda: _loop(maximum_iterations=3.5)),
    ],
)
def test_bad_input(kind: type[Exception], words: list[str], build: Any) -> None:
    with af.Graph().as_default():
        with pytest.raises(kind) as caught:
            build()
        for word in words:
            assert word in str(caught.value)
        if "0" in words[0] or "scalar" in words[0] or "gave" in words[0] or "structure" in words[0]:
            assert "test_while.py:" in str(caught.value), "the user's line"


def test_a_tensor_of_the_body_stays_inside() -> None:
    with af.Graph().as_default():
        inside: list[Any] = []
        af.while_loop(lambda i: i < 3, lambda i: _kept(inside, af.add(i, 1, name="inside")), [0])
        with pytest.raises(ValueError, match="inside of the while loop made at") as caught:
            _ = inside[0] + 1
        assert "while/inside:0" in str(caught.value) and str(caught.value).count("test_while.py:") >= 2
        with pytest.raises(ValueError, match="inside of the while loop"):
            af.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])
        with pytest.raises(ValueError, match="nothing outside can wait for it"):
            with af.control_dependencies([inside[0]]):
                af.cond(af.placeholder(af.bool, []), lambda: af.constant(1), lambda: af.constant(2))


# ---- serialisation


def test_f78_a_loop_runs_after_a_round_trip(run: Run) -> None:
    n = number()

    def body(i: Any, x: Any) -> Any:
        inner = af.while_loop(lambda j: j < i, lambda j: j + 1, [0])
        return i + 1, af.cond(inner > 1, lambda: x * 2.0 + 1.0, lambda: x + 1.0)

    x0 = af.placeholder(af.float32, [])
    _, x = af.while_loop(lambda i, x: i < n, body, (0, x0))
    gradient: Any = af.gradients(x, x0)[0]
    copy = af.Graph.from_bytes(af.get_default_graph().to_bytes())
    with af.blocking.Session(graph=copy) as session:
        for trips in range(5):
            want = run([x, gradient], {n: trips, x0: 0.5})
            assert session.run([x.name, gradient.name], {n.name: trips, x0.name: 0.5}) == want


def test_f81_a_loop_that_was_read_has_no_gradient_and_says_so() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [], name="x")
        _, y = af.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
    copy = af.Graph.from_bytes(graph.to_bytes())
    with copy.as_default():
        with pytest.raises(NotImplementedError, match=r"af\.while_loop") as caught:
            af.gradients(copy.get_tensor_by_name(y.name), copy.get_tensor_by_name("x:0"))
    assert "while/Enter" in str(caught.value) and "test_while.py:" in str(caught.value)
