"""Small products and optimizers' updates in C, against numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.graph.ops.state.update import TABLE, Update
from actorflow.kernels.native import update
from actorflow.kernels.native.library import loaded
from actorflow.kernels.state import training
from actorflow.kernels.state.update_program import program_of

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

Rng = np.random.Generator


def stored(x: Any, turned: bool) -> Any:
    return np.ascontiguousarray(x.T) if turned else x


@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product((False, True), repeat=2)))
def test_small_products_with_a_bias_and_a_relu_are_numpys_but_for_the_last_bits(
    turned_a: bool, turned_b: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for m, k, n in [
        (1, 1, 1),
        (32, 16, 16),
        (5, 7, 33),
        (3, 9, 32),
        (4, 3, 64),
        (9, 2, 47),
        (2, 40, 100),
        *rng.integers(1, 40, (40, 3)),
    ]:
        a, b = rng.normal(size=(m, k)).astype("f4"), rng.normal(size=(k, n)).astype("f4")
        bias = rng.normal(size=n).astype("f4")
        given = stored(a, turned_a), stored(b, turned_b), turned_a, turned_b
        plain = loaded().call("product", 1, *given)
        np.testing.assert_allclose(plain, a.astype("f8") @ b, rtol=1e-4, atol=1e-5)
        out = np.empty((m, n), "f4")
        assert loaded().call("product", 1, *given, bias, False, out) is out
        np.testing.assert_array_equal(out, plain + bias)  # the product's own bits, whatever comes after it
        np.testing.assert_array_equal(loaded().call("product", 1, *given, bias, True), np.maximum(plain + bias, 0))
        more = rng.normal(size=(m, n)).astype("f4")
        for relu in (False, True):
            both = loaded().call("product", 1, *given, more, relu, None, bias)
            wanted = plain + bias + more
            np.testing.assert_array_equal(both, np.maximum(wanted, 0) if relu else wanted)
        buffer, alpha = rng.normal(size=(m, n)).astype("f4"), np.float32(0.3)
        wanted = buffer - plain * alpha
        assert loaded().call("descend", 1, buffer, alpha, *given)
        np.testing.assert_array_equal(buffer, wanted)


def heads(rng: np.random.Generator, sizes: tuple[int, ...], between: bool) -> Any:
    """A tensor [batch, head, row, element]; in memory with the heads `between` the rows."""
    batch, some, rows, elements = sizes
    lying = (batch, rows, some, elements) if between else sizes
    found = rng.normal(size=lying).astype("f4")
    return found.transpose(0, 2, 1, 3) if between else found


@pytest.mark.parametrize("turned_y", [False, True])
@pytest.mark.parametrize("turned_x", [False, True])
@pytest.mark.parametrize("between", [False, True])
def test_products_of_heads_lie_as_their_second_matrices_do(
    between: bool, turned_x: bool, turned_y: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    for m, k, n in [(1, 1, 1), (32, 16, 32), (8, 4, 17), (70, 33, 48), (65, 5, 16), *rng.integers(1, 40, (12, 3))]:
        x = heads(rng, (2, 3, *((k, m) if turned_x else (m, k))), between)
        y = heads(rng, (2, 3, *((n, k) if turned_y else (k, n))), between)
        for some in (slice(None), np.s_[:, 0], np.s_[:, :1]):
            left, right = (one.swapaxes(-1, -2) if turned else one for one, turned in ((x, turned_x), (y, turned_y)))
            wanted = left[some].astype("f8") @ right[some]
            out = np.empty(wanted.shape, "f4")
            given = x[some], y[some], turned_x, turned_y
            found = loaded().call("head_products", 1, *given, out)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
            assert np.shares_memory(found, out)
            for threads in (2, 4, 8):
                np.testing.assert_array_equal(loaded().call("head_products", threads, *given, None), found)
        if between and not turned_y and k > 1:
            assert found.shape == (2, 1, m, n)
            whole = loaded().call("head_products", 1, x, y, turned_x, turned_y, None)
            assert whole.transpose(0, 2, 1, 3).flags.c_contiguous


def test_products_of_heads_that_do_not_fit_are_left_to_numpy_untouched() -> None:
    x, y = np.ones((2, 3, 4, 4), "f4"), np.ones((2, 3, 4, 4), "f4")
    for given in [
        (x, y[:, :2], False, False, None),
        (x, y[..., :3, :], False, False, None),
        (x, y[0], False, False, None),
        (x[0, 0], y[0, 0], False, False, None),
        (x, y.astype("f8"), False, False, None),
        (x[:0], y[:0], False, False, None),
        (x, y, False, False, y),
        (x, y, False, False, np.empty((2, 3, 4, 5), "f4")),
        (x, y, False, False),
    ]:
        assert loaded().call("head_products", 1, *given) is NotImplemented


def test_products_that_do_not_fit_are_left_to_numpy_untouched() -> None:
    a, b = np.ones((3, 4), "f4"), np.ones((4, 2), "f4")
    buffer = np.zeros((3, 2), "f4")
    for given in [
        (a, a, False, False),
        (a, b.astype("f8"), False, False),
        (a, b[::-1], False, False),
        (a[0], b, False, False),
        (a[:0], b, False, False),
        (a, b),
        (a, b, False, False, np.ones(3, "f4")),
        (a, b, False, False, None, False, np.empty((2, 2), "f4")),
        (a, b, False, False, np.ones((3, 2), "f4"), False, None, np.ones(3, "f4")),
        (a, b, False, False, np.ones((3, 2), "f4"), False, (out := np.empty((3, 2), "f4")), out[0]),
        (np.ones((4, 4), "f4"), (square := np.ones((4, 4), "f4")), False, False, None, False, square),
        (np.ones((2, 40_000), "f4"), np.ones((40_000, 9), "f4"), False, False),
    ]:
        assert loaded().call("product", 1, *given) is NotImplemented
    for given in [
        (buffer, 0.1, a, a, False, False),
        (buffer, "x", a, b, False, False),
        (buffer[:2], 0.1, a, b, False, False),
    ]:
        assert loaded().call("descend", 1, *given) is NotImplemented
    assert not buffer.any()


def test_zeros_and_what_is_no_number_go_through_products() -> None:
    a = np.array([[np.inf, 0, 1], [np.nan, 1, 1], [-0.0, -1, 0]], "f4")
    b = np.eye(3, 5, dtype="f4")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(loaded().call("product", 1, a, b, False, False), a @ b)
        relu = loaded().call("product", 1, a, b, False, False, np.zeros(5, "f4"), True)
        np.testing.assert_array_equal(relu, np.maximum(a @ b, 0))


async def test_a_step_of_descent_tells_of_a_wrong_shape_as_without_the_library() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, None])
        w = af.Variable(np.ones((4, 3), np.float32))
        train = af.train.GradientDescentOptimizer(0.1).apply_gradients([(af.matmul(x, x, transpose_a=True), w)])
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        with pytest.raises(af.errors.InvalidArgumentError, match="shape"):
            await session.run(train, {x: np.ones((2, 4), np.float32)})


ROWS = [(row, flag) for row in TABLE for flag in ((False, True) if row.flag else (row.default,))]


@pytest.mark.parametrize(("row", "flag"), ROWS, ids=[f"{row.dense_type}-{flag}" for row, flag in ROWS])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_updates_have_the_bits_of_numpys(row: Update, flag: bool, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for size in (1, 7, 256, 1000):
        arrays = [rng.uniform(0.1, 2, size).astype(dtype) for _ in range(row.refs)] + [
            rng.normal(size=size).astype(dtype)
        ]
        kinds = [row.types.get(name) for name in row.scalars]
        scalars = [np.int64(3) if kind else np.dtype(dtype).type(rng.uniform(0.1, 0.9)) for kind in kinds]
        found, wanted = [a.copy() for a in arrays], [a.copy() for a in arrays]
        program = program_of(row, flag)
        update.compute(np, program, found, scalars)
        with np.errstate(invalid="ignore"):
            training.compute(np, program, wanted, scalars)
        for one, other in zip(found, wanted):
            np.testing.assert_array_equal(one, other)


def test_most_updates_are_steps_that_c_knows_and_do_not_depend_on_threads(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = 0
    for row, flag in ROWS:
        scalars = [np.int64(3) if row.types.get(name) else np.float32(0.5) for name in row.scalars]
        loop, numbers = training.prepared(np, program_of(row, flag), np.dtype("f4"), scalars)
        steps = update._steps(loop)
        if steps is None:
            continue
        known += 1
        arrays = [rng.uniform(0.1, 2, 70_001).astype("f4") for _ in range(row.refs + 1)]
        made = []
        for threads in (1, 4):
            given = [a.copy() for a in arrays]
            assert loaded().call("update", threads, steps, row.refs, loop.scratch, given, numbers)
            made.append(b"".join(a.tobytes() for a in given))
        assert made[0] == made[1], row.dense_type
    assert known > 0.7 * len(ROWS)


def test_updates_that_are_not_expected_are_left_to_numpy_untouched() -> None:
    steps = np.array([[0, 0, 1, 0]], "i4")
    x, y = np.ones(5, "f4"), np.ones(5, "f4")
    frozen = np.ones(5, "f4")
    frozen.flags.writeable = False
    whole = np.ones(6, "f4")
    for given in [
        (np.array([[99, 0, 1, 0]], "i4"), 1, 0, [x, y], []),
        (np.array([[0, 0, 2, 0]], "i4"), 1, 0, [x, y], []),
        (np.array([[0, 0, 1, -1]], "i4"), 1, 0, [x, y], []),
        (np.array([[0, 0, 1, 2]], "i4"), 1, 0, [x, y], [0.5]),
        (steps, 1, 0, [frozen, y], []),
        (steps, 1, 0, [x, y[:4]], []),
        (steps, 1, 0, [x, y.astype("f8")], []),
        (steps, 1, 0, [whole[:5], whole[1:]], []),
        (steps, 1, 99, [x, y], []),
        (steps, 1, 0, [x, y], ["a"]),
        (steps, 1, 0, [x, y]),
    ]:
        assert loaded().call("update", 1, *given) is NotImplemented
    assert (x == 1).all() and (whole == 1).all()
