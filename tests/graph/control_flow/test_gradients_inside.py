"""Gradients that a program takes inside of a loop, a branch or a function: all constructs by all ways of the derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, initialize, run

import actorflow as af

__all__ = ["run"]

X, W = 1.5, 0.5


def slope(y: Any, x: Any) -> Any:
    (gradient,) = af.gradients(y, x)
    assert gradient is not None
    return gradient


# ---- places: each gives f(x), computed inside


def in_function(f: Callable[[Any], Any], x: Any) -> Any:
    return af.Defun((x.dtype, x.shape))(lambda p: f(p))(x)


PLACES: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "the root": lambda f, x: f(x),
    "a while_loop, of a tensor around": lambda f, x: af.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, f(x)), (0, af.zeros([], x.dtype))
    )[1],
    "a while_loop, of its variable": lambda f, x: af.while_loop(
        lambda i, a, y: i < 2, lambda i, a, y: (i + 1, a, f(a)), (0, x, af.zeros([], x.dtype))
    )[2],
    "map_fn": lambda f, x: af.map_fn(f, af.stack([x + 1.0, x]))[1],
    "scan": lambda f, x: af.scan(lambda a, row: f(row), af.stack([x + 1.0, x]))[1],
    "scan, of its state": lambda f, x: af.scan(lambda a, row: f(a), af.stack([x, x + 1.0]))[1],
    "foldl": lambda f, x: af.foldl(lambda a, row: f(row), af.stack([x + 1.0, x])),
    "foldr": lambda f, x: af.foldr(lambda a, row: f(row), af.stack([x, x + 1.0])),
    "cond, true": lambda f, x: af.cond(x > 0.0, lambda: f(x), lambda: x),
    "cond, false": lambda f, x: af.cond(x < 0.0, lambda: x, lambda: f(x)),
    "case": lambda f, x: af.case([(x < 0.0, lambda: x), (x < 2.0, lambda: f(x))], lambda: -x),
    "switch_case": lambda f, x: af.switch_case(af.cast(x, "int32"), [lambda: x, lambda: f(x), lambda: -x]),
    "a function": in_function,
}


# ---- ways: a derivative, what it is, and its own derivative by x


def power(x: Any, trips: int) -> Any:
    return af.while_loop(lambda i, y: i < trips, lambda i, y: (i + 1, y * x), (0, x))[1]


@af.custom_gradient
def tripled(x: Any) -> Any:
    return x * x, lambda dy: dy * 3.0 * x


WAYS: dict[str, tuple[Callable[[Any, Any], Any], float, float]] = {
    "by x": (lambda x, w: slope(x * x * x, x), 3 * X**2, 6 * X),
    "by x twice": (lambda x, w: slope(slope(x**4.0, x), x), 12 * X**2, 24 * X),
    "through cond": (lambda x, w: slope(af.cond(x > 0.0, lambda: x * x * x, lambda: x), x), 3 * X**2, 6 * X),
    "through while_loop": (lambda x, w: slope(power(x, 3), x), 4 * X**3, 12 * X**2),
    "through map_fn": (lambda x, w: slope(af.map_fn(lambda e: e * x, af.stack([x, x]))[0], x), 2 * X, 2.0),
    "through a function": (lambda x, w: slope(in_function(lambda p: p * p * p, x), x), 3 * X**2, 6 * X),
    "through custom_gradient": (lambda x, w: slope(tripled(x), x), 3 * X, 3.0),
    "by a tensor around": (lambda x, w: slope(x * w.tensor * w.tensor, w.tensor), 2 * X * W, 2 * W),
    "by a tensor far around": (lambda x, w: slope(x * w.square, w.tensor), 2 * X * W, 2 * W),
    "of a tensor around": (lambda x, w: slope(w.square, w.tensor) * x, 2 * X * W, 2 * W),
    "through a cond around": (lambda x, w: slope(w.chosen * x, w.tensor), 3 * X * W**2, 3 * W**2),
    "through a while_loop around": (lambda x, w: slope(w.looped * x, w.tensor), 4 * X * W**3, 4 * W**3),
    "by a variable": (lambda x, w: slope(x * w.variable * w.variable, w.variable), 2 * X * W, 2 * W),
    "by rows of a variable": (
        lambda x, w: af.convert_to_tensor(slope(x * af.gather(w.table, [1, 1]), w.table))[1],
        2 * X,
        2.0,
    ),
}


class Around:
    """Tensors that were made at the root, all by one of value `W`."""

    def __init__(self) -> None:
        self.variable = af.Variable(np.float64(W))
        self.table = af.Variable(np.ones(3))
        self.tensor = af.placeholder_with_default(np.float64(W), [])
        self.square = self.tensor * self.tensor
        self.chosen = af.cond(self.tensor < 1.0, lambda: self.tensor**3.0, lambda: self.tensor)
        self.looped = power(self.tensor, 3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_gradients_inside(run: Run, place: str, way: str) -> None:
    x, around = af.placeholder_with_default(np.float64(X), []), Around()
    derivative, value, further = WAYS[way]
    inside = PLACES[place](lambda p: derivative(p, around), x)
    outside = slope(inside, x)
    initialize(run)
    np.testing.assert_allclose(run([inside, outside]), [value, further])


@pytest.mark.parametrize("way", ["by x twice", "through while_loop", "through a cond around", "by a variable"])
@pytest.mark.parametrize("inner", ["a while_loop, of its variable", "map_fn", "cond, false", "a function"])
@pytest.mark.parametrize("outer", ["a while_loop, of its variable", "scan, of its state", "cond, true", "a function"])
def test_gradients_inside_of_two_places(run: Run, outer: str, inner: str, way: str) -> None:
    x, around = af.placeholder_with_default(np.float64(X), []), Around()
    derivative, value, further = WAYS[way]
    inside = PLACES[outer](lambda p: PLACES[inner](lambda q: derivative(q, around), p), x)
    outside = slope(inside, x)
    initialize(run)
    np.testing.assert_allclose(run([inside, outside]), [value, further])


# ---- what the gradient goes by, and what it can't go by


def test_a_training_loop_takes_the_steps_of_a_program(run: Run) -> None:
    """Gradient ascent of b²c in a loop: the numbers are those of the same steps in Python."""
    _, b, c = af.while_loop(lambda i, b, c: i < 3, lambda i, b, c: (i + 1, *_ascended(b, c)), (0, 3.0, 3.0))
    np.testing.assert_allclose(run([b, c]), [3.592022, 3.305133], rtol=1e-5)


def _ascended(b: Any, c: Any) -> list[Any]:
    return [v + 0.01 * g for v, g in zip((b, c), af.gradients(b * b * c, [b, c]))]


def test_a_gradient_in_the_condition(run: Run) -> None:
    y = af.while_loop(lambda i, a: slope(a * a, a) < 10.0, lambda i, a: (i + 1, a * 2.0), (0, af.constant(1.0)))
    assert list(run(y)) == [3, 8.0]


def test_nodes_of_a_gradient_wait_as_the_program_says(run: Run) -> None:
    """The gradient is computed after what the block in the body waits for, in each iteration."""
    counter = af.Variable(np.float64(0))

    def body(i: Any, y: Any) -> Any:
        with af.control_dependencies([af.assign_add(counter, 1.0)]):
            return i + 1, slope(y * y, y)

    y = af.while_loop(lambda i, y: i < 3, body, (0, np.float64(1)))[1]
    initialize(run)
    assert run(y) == 8.0
    assert run(counter) == 3.0


@pytest.mark.parametrize("also_around", [False, True], ids=["only by the variable", "also from around"])
def test_no_gradient_through_the_iterations_before(also_around: bool) -> None:
    """The body of those iterations is not known while it is built; silence would be a wrong value."""
    with af.Graph().as_default():
        x = af.placeholder(af.float32, [])

        def body(i: Any, y: Any) -> Any:
            return i + 1, y + slope(y * y * x if also_around else y * y, x)

        with pytest.raises(ValueError, match="through the initial value of a loop variable"):
            af.while_loop(lambda i, y: i < 3, body, (0, x * 2.0))


@pytest.mark.parametrize("asked", ["y", "x"])
def test_tensors_of_a_loop_have_no_gradient_outside(asked: str) -> None:
    inner: dict[str, Any] = {}

    def body(i: Any, y: Any) -> Any:
        inner.update(x=y, y=y * y)
        return i + 1, inner["y"]

    with af.Graph().as_default():
        result = af.while_loop(lambda i, y: i < 3, body, (0, 2.0))[1]
        with pytest.raises(ValueError, match="inside of the while loop"):
            af.gradients(inner["y"] if asked == "y" else result, [inner["x"]])
