"""Gradients of branches and loops, with answers known beforehand. Random programs are in `test_flow_fuzz.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, initialize, run

import actorflow as af

__all__ = ["run"]


def power(x: Any, trips: Any, **options: Any) -> Any:
    """`x` to the power of `trips + 1`."""
    return af.while_loop(lambda i, y: i < trips, lambda i, y: (i + 1, y * x), (af.constant(0), x), **options)[1]


def slope(y: Any, x: Any) -> Any:
    found = af.gradients(y, x)[0]
    assert found is not None
    return found


# ---- of x, whatever x is


@pytest.mark.parametrize("kind", ["constant", "placeholder", "variable", "computed"])
def test_f81_by_tensors_of_every_origin(run: Run, kind: str) -> None:
    """A constant is there in every branch and iteration, and has a gradient all the same."""
    value = np.float64(2.0)
    made: Any = {
        "constant": lambda: af.constant(value),
        "placeholder": lambda: af.placeholder_with_default(value, []),
        "variable": lambda: af.Variable(value),
        "computed": lambda: af.placeholder_with_default(value / 2, []) * 2.0,
    }
    x = made[kind]()
    initialize(run) if kind == "variable" else None
    assert run(slope(power(x, 3), x)) == 32.0
    assert run(slope(slope(power(x, 3), x), x)) == 48.0
    assert run(slope(af.cond(af.constant(True), lambda: x * x, lambda: x * 3.0), x)) == 4.0
    assert run(slope(af.cond(af.constant(False), lambda: x * x, lambda: x * 3.0), x)) == 3.0
    assert run(slope(af.cond(af.constant(False), lambda: x, lambda: af.constant(value)), x)) == 0.0
    assert run(slope(af.reduce_sum(af.map_fn(lambda e: e * e * x, af.stack([x, x]))), x)) == 24.0


# ---- cond


def test_f81_of_either_branch_and_both_orders(run: Run) -> None:
    x, p, q = af.placeholder(af.float64, []), af.placeholder(af.bool, []), af.placeholder(af.bool, [])
    y = af.cond(p, lambda: af.cond(q, lambda: x * x * x, lambda: af.sin(x)), lambda: x * 5.0)
    first = slope(y, x)
    second = slope(first, x)
    for feeds, want in (
        ({p: True, q: True}, [12.0, 12.0]),
        ({p: True, q: False}, [np.cos(2.0), -np.sin(2.0)]),
        ({p: False, q: True}, [5.0, 0.0]),
    ):
        np.testing.assert_allclose(run([first, second], {**feeds, x: 2.0}), want)


def test_no_gradient_where_a_branch_has_none(run: Run) -> None:
    x, p = af.placeholder(af.float64, []), af.placeholder(af.bool, [])
    assert af.gradients(af.cond(p, lambda: 1.0, lambda: 2.0), x) == [None]
    stopped = af.cond(p, lambda: af.stop_gradient(x) * x, lambda: x)
    assert run(slope(stopped, x), {p: True, x: 3.0}) == 3.0


# ---- loops


@pytest.mark.parametrize("options", [{}, {"parallel_iterations": 1}, {"swap_memory": True}, {"maximum_iterations": 50}])
@pytest.mark.parametrize("trips", [0, 1, 4])
def test_f81_of_a_loop(run: Run, trips: int, options: Any) -> None:
    x, n = af.placeholder(af.float64, []), af.placeholder(af.int32, [])
    y = power(x, n, **options)
    first = slope(y, x)
    feeds = {x: 1.5, n: trips}
    np.testing.assert_allclose(run(first, feeds), (trips + 1) * 1.5**trips)
    np.testing.assert_allclose(run(slope(first, x), feeds), (trips + 1) * trips * 1.5 ** (trips - 1))


def test_back_prop_off_cuts(run: Run) -> None:
    x = af.placeholder(af.float64, [])
    assert af.gradients(power(x, 3, back_prop=False), x) == [None]
    assert run(slope(power(x, 3, back_prop=False) + 7.0 * x, x), {x: 2.0}) == 7.0


def test_f81_of_nested_loops_and_of_inner_branches(run: Run) -> None:
    """The inner number of trips is that of the outer iteration."""
    x, n = af.placeholder(af.float64, []), af.placeholder(af.int32, [])

    def body(i: Any, y: Any) -> Any:
        inner = af.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), (0, y))[1]
        return i + 1, af.cond(af.equal(i % 2, 0), lambda: inner * x, lambda: inner + y)

    y = af.while_loop(lambda i, y: i < n, body, (0, x))[1]

    def direct(at: float) -> float:
        value = at
        for i in range(4):
            inner = value * at**i
            value = inner * at if i % 2 == 0 else inner + value
        return value

    first, h = slope(y, x), 1e-5
    np.testing.assert_allclose(run(first, {x: 1.1, n: 4}), (direct(1.1 + h) - direct(1.1 - h)) / (2 * h), rtol=1e-8)
    numeric = (direct(1.1 + 1e-4) - 2 * direct(1.1) + direct(1.1 - 1e-4)) / 1e-8
    np.testing.assert_allclose(run(slope(first, x), {x: 1.1, n: 4}), numeric, rtol=1e-5)


def test_f81_a_recurrent_net_as_a_loop_is_the_unrolled_one(run: Run, seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps, batch, width = 6, 3, 4
    x = af.placeholder(af.float64, [steps, batch, width])
    w = af.Variable(rng.normal(size=(2 * width, width)) / 2)
    b = af.Variable(np.zeros(width))

    def cell(state: Any, row: Any) -> Any:
        return af.tanh(af.matmul(af.concat([row, state], 1), w) + b)

    zero = af.zeros([batch, width], af.float64)
    looped = af.reduce_sum(af.foldl(cell, x, initializer=zero) ** 2.0)
    state: Any = zero
    for t in range(steps):
        state = cell(state, x[t])
    unrolled = af.reduce_sum(state**2.0)
    initialize(run)
    feeds = {x: rng.normal(size=(steps, batch, width))}
    for mine, other in zip(run(af.gradients(looped, [x, w, b]), feeds), run(af.gradients(unrolled, [x, w, b]), feeds)):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def test_f81_rows_of_a_table(run: Run) -> None:
    """A gather's gradient is slices; in a loop they are summed over the iterations."""
    table, n = af.Variable(np.arange(8.0).reshape(4, 2)), af.placeholder(af.int32, [])
    y = af.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, s + af.reduce_sum(af.gather(table, [i % 2, 3]) ** 2.0)),
        (0, np.float64(0)),
    )[1]
    initialize(run)
    found = run(af.convert_to_tensor(slope(y, table)), {n: 3})
    np.testing.assert_allclose(found, [[0, 4], [4, 6], [0, 0], [36, 42]])


def test_a_loop_trains(run: Run) -> None:
    """An optimizer's step through a loop and a branch."""
    w, p = af.Variable(1.0), af.placeholder(af.bool, [])
    y = af.cond(p, lambda: power(w.value(), 2), lambda: w * 2.0)
    step = af.train.GradientDescentOptimizer(0.1).minimize(y)
    initialize(run)
    run(step, {p: True})
    np.testing.assert_allclose(run(w), 0.7, rtol=1e-6)
    run(step, {p: False})
    np.testing.assert_allclose(run(w), 0.5, rtol=1e-6)


def test_shapes_that_change(run: Run) -> None:
    x = af.placeholder(af.float64, [None])
    y = af.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, af.concat([y, y[:1] * x[:1]], 0)),
        (0, x),
        shape_invariants=(af.TensorShape([]), af.TensorShape([None])),
    )[1]
    weights = af.cast(af.range_(af.size(y)), af.float64)
    np.testing.assert_allclose(run(slope(af.reduce_sum(y * weights), x), {x: [2.0, 3.0]}), [4 * (2 + 3 + 4), 1.0])
