"""Gradients of what ran at once: tapes, functions of gradients, and gradients of one's own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from interpreter import Interpreter

import actorflow as af


@pytest.fixture(autouse=True)
def _eager() -> Iterator[None]:
    with af.eager():
        yield


def value(tensor: Any) -> Any:
    return af.convert_to_tensor(tensor).numpy().tolist()


def test_the_gradient_of_a_variable_f119() -> None:
    x = af.Variable(3.0)
    with af.GradientTape() as tape:
        y = x * x
    assert value(tape.gradient(y, x)) == 6.0


def test_tensors_have_to_be_watched_f119() -> None:
    x, z = af.constant(3.0), af.constant(2.0)
    with af.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * z
    assert value(tape.gradient(y, x)) == 2.0
    assert tape.gradient(y, z) is None
    assert value(tape.gradient(y, [x, z], unconnected_gradients=af.UnconnectedGradients.ZERO)) == [2.0, 0.0]


def test_the_structure_of_the_sources_is_kept() -> None:
    a, b = af.Variable(1.0), af.Variable(2.0)
    with af.GradientTape() as tape:
        y = a * b
    found = tape.gradient(y, {"a": a, "rest": [b]})
    assert value(found["a"]) == 2.0
    assert value(found["rest"][0]) == 1.0


def test_only_what_runs_inside_is_remembered() -> None:
    x = af.Variable(3.0)
    y = x * x
    with af.GradientTape(persistent=True) as tape:
        inside = x * 2.0
        with tape.stop_recording():
            hidden = inside * 3.0
    z = inside * 5.0
    assert value(tape.gradient(inside, x)) == 2.0
    assert [tape.gradient(t, x) for t in (y, hidden, z)] == [None, None, None]


def test_variables_that_are_not_trainable_are_not_watched() -> None:
    kept, learned = af.Variable(2.0, trainable=False), af.Variable(3.0)
    with af.GradientTape() as tape:
        y = kept * learned
    assert tape.watched_variables() == (learned,)
    assert [g if g is None else value(g) for g in tape.gradient(y, [kept, learned])] == [None, 2.0]
    with af.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(kept)
        y = kept * learned
    assert [g if g is None else value(g) for g in tape.gradient(y, [kept, learned])] == [3.0, None]


def test_gradients_of_gradients_f119() -> None:
    x = af.constant(3.0)
    with af.GradientTape() as outer:
        outer.watch(x)
        with af.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert value(first) == 27.0
    assert value(outer.gradient(first, x)) == 18.0


def test_a_persistent_tape_takes_in_the_gradients_that_it_gives_inside() -> None:
    x = af.constant(3.0)
    with af.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        first = tape.gradient(y, x)
    assert value(tape.gradient(first, x)) == 18.0


def test_weights_of_the_targets() -> None:
    x = af.constant([1.0, 2.0])
    with af.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert value(tape.gradient(y, x, output_gradients=af.constant([1.0, 10.0]))) == [2.0, 40.0]


def test_gathered_rows_give_slices() -> None:
    table = af.Variable(np.ones((5, 2), np.float32))
    with af.GradientTape() as tape:
        y = af.reduce_sum(af.gather(table, [1, 1, 3]))
    found = tape.gradient(y, table)
    assert isinstance(found, af.IndexedSlices)
    assert value(found) == [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]]


def test_a_jacobian_f119() -> None:
    x = af.constant([1.0, 2.0, 3.0])
    with af.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        apart = af.constant(1.0) * 2.0
    assert value(tape.jacobian(y, x)) == np.diag([2.0, 4.0, 6.0]).tolist()
    assert tape.jacobian(apart, x) is None


def test_a_jacobian_of_each_example() -> None:
    x = af.constant([[1.0, 2.0], [3.0, 4.0]])
    with af.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert value(tape.batch_jacobian(y, x)) == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]


@pytest.mark.parametrize(
    ("mistake", "error", "words"),
    [
        (lambda tape, y, x: (tape.gradient(y, x), tape.gradient(y, x)), RuntimeError, "non-persistent"),
        (lambda tape, y, x: af.GradientTape().gradient(y, x), RuntimeError, "non-persistent"),
        (lambda tape, y, x: tape.gradient(None, x), TypeError, "target"),
        (lambda tape, y, x: tape.gradient(y, 3.0), ValueError, "not a tensor"),
        (lambda tape, y, x: tape.gradient(y, x, unconnected_gradients="nothing"), ValueError, "unconnected_gradients"),
        (lambda tape, y, x: tape.watch(x), RuntimeError, "inside of its block"),
        (lambda tape, y, x: tape.batch_jacobian(y, x), ValueError, "first dimension"),
    ],
)
def test_mistakes_with_tapes_f119(mistake: Callable[..., Any], error: type[Exception], words: str) -> None:
    x = af.Variable(3.0)
    with af.GradientTape() as tape:
        y = x * x
    with pytest.raises(error, match=words):
        mistake(tape, y, x)


def test_what_is_no_tensor_cannot_be_watched() -> None:
    with af.GradientTape() as tape, pytest.raises(ValueError, match="Passed in object"):
        tape.watch(3.0)
    with af.GradientTape() as tape, pytest.raises(ValueError, match="still recording"), tape:
        pass


def test_a_gradient_of_ones_own_f119() -> None:
    w = af.Variable(2.0)

    @af.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any) -> Any:
            return dy * 10.0, [dy * 100.0 for _ in variables]

        return x * w, grad

    x = af.constant(3.0)
    with af.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x) * 2.0
    assert [value(g) for g in tape.gradient(y, [x, w])] == [20.0, 200.0]


def test_a_gradient_of_ones_own_that_may_take_variables_is_called_without_them_where_none_is_read() -> None:
    @af.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * (10.0 if variables is None else 0.0)

        return x * 2.0, grad

    def slope(x: Any) -> Any:
        with af.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        return tape.gradient(y, x)

    x = af.constant(3.0)
    assert value(slope(x)) == value(af.function(slope)(x)) == 10.0


def test_a_gradient_of_ones_own_has_to_know_of_variables() -> None:
    w = af.Variable(2.0)

    @af.custom_gradient
    def careless(x: Any) -> Any:
        return x * w, lambda dy: dy

    with pytest.raises(TypeError, match="variables"):
        careless(af.constant(1.0))


def test_functions_that_give_gradients_f119() -> None:
    x = af.Variable(3.0)
    assert value(af.gradients_function(lambda a, b: a * b)(2.0, 5.0)) == [5.0, 2.0]
    assert value(af.gradients_function(lambda a, b: a * b, params=[1])(2.0, 5.0)) == [2.0]
    found, grads = af.value_and_gradients_function(lambda a: a * a)(4.0)
    assert (value(found), value(grads)) == (16.0, [8.0])
    found, pairs = af.implicit_value_and_gradients(lambda: x * x)()
    assert (value(found), value(pairs[0][0]), pairs[0][1]) == (9.0, 6.0, x)
    assert value(af.implicit_gradients(lambda: x * x)()[0][0]) == 6.0
    with pytest.raises(ValueError, match="No trainable variables"):
        af.implicit_gradients(lambda: af.constant(1.0))()


def test_an_optimizer_learns() -> None:
    w = af.Variable([5.0, -3.0])
    optimizer = af.train.AdamOptimizer(0.5)
    for _ in range(100):
        with af.GradientTape() as tape:
            loss = af.reduce_sum(w * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert float(af.reduce_sum(w * w)) < 0.1


def test_a_tape_in_a_graph_gives_what_gradients_gives() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [])
        apart = af.placeholder(af.float32, [])
        with af.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * apart
        found = tape.gradient(y, x)
        assert tape.gradient(y, apart) is None
    with af.blocking.Session(graph=graph) as session:
        assert session.run(found, {x: 3.0, apart: 2.0}) == 12.0


def program(seed: int) -> Callable[[Any, Any], Any]:
    """A random function of two matrices of three rows and columns, made of ops that broadcast, reduce, and take apart."""

    def build(x: Any, y: Any) -> Any:
        rng = random.Random(seed)
        unary = [
            af.tanh, af.sigmoid, af.square, af.sin, af.nn.relu, af.nn.softmax, af.transpose,
            lambda t: af.reshape(af.reshape(t, [9]), [3, 3]),
            lambda t: af.gather(t, [2, 0, 0]),
            lambda t: t[::-1, 1:2],
            lambda t: af.reduce_sum(t, 0),
            lambda t: af.reduce_mean(t, 1, keepdims=True),
            lambda t: af.cumsum(t, 1),
        ]  # fmt: skip
        binary = [
            af.add, af.subtract, af.multiply, af.maximum, af.matmul,
            lambda a, b: af.concat([a[:1], b[1:]], 0),
            lambda a, b: af.where(a > 0.0, a, b),
            lambda a, b: a / (1.0 + af.square(b)),
        ]  # fmt: skip
        made = [x, y]
        for _ in range(rng.randint(3, 12)):
            if rng.random() < 0.5:
                tensor = rng.choice(unary)(rng.choice(made))
            else:
                tensor = rng.choice(binary)(rng.choice(made), rng.choice(made))
            made.append(tensor + af.zeros([3, 3], af.float64))
        return made[-1] + made[-2]

    return build


def test_tapes_give_the_gradients_of_graphs_f119(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for number in range(60):
        build = program(seed + number)
        arrays = [rng.normal(size=(3, 3)) for _ in range(2)]
        graph = af.Graph()
        with graph.as_default():
            inputs = [af.placeholder(af.float64, [3, 3]) for _ in range(2)]
            first = af.gradients(build(*inputs), inputs)
            second = af.gradients([g for g in first if g is not None], inputs)
            found = [af.convert_to_tensor(g) for g in (*first, *second) if g is not None]
        expected = iter(Interpreter(graph).run(found, dict(zip(inputs, arrays))))
        xs = [af.constant(array) for array in arrays]
        with af.GradientTape() as outer:
            outer.watch(xs)
            with af.GradientTape() as inner:
                inner.watch(xs)
                y = build(*xs)
            taken = inner.gradient(y, xs)
        again = outer.gradient([g for g in taken if g is not None], xs)
        for one, other in zip((*taken, *again), (*first, *second)):
            assert (one is None) == (other is None), f"program {seed + number}"
            if one is not None:
                np.testing.assert_allclose(value(one), next(expected), 1e-9, 1e-12, err_msg=f"program {seed + number}")
