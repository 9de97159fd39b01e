"""The arguments of `gradients`, and second derivatives of functions that are made of straight parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.blocking import Session

ZERO = af.UnconnectedGradients.ZERO


def evaluate(fetched: Any) -> Any:
    with Session(graph=af.get_default_graph()) as session:
        session.run(af.global_variables_initializer())
        return session.run(fetched)


@pytest.mark.parametrize("kind", ["constant", "placeholder", "variable", "of integers"])
def test_an_unconnected_x_gets_zeros_where_they_are_asked_for(kind: str) -> None:
    with af.Graph().as_default():
        x: Any = {
            "constant": lambda: af.constant([1.0, 2.0]),
            "placeholder": lambda: af.placeholder_with_default(np.ones(2, np.float32), [None]),
            "variable": lambda: af.Variable([1.0, 2.0]),
            "of integers": lambda: af.constant([1, 2]),
        }[kind]()
        y = af.constant(3.0)
        assert af.gradients(y * y, x) == [None]
        zeros, connected = af.gradients(y * y, [x, y], unconnected_gradients=ZERO)
        assert [np.asarray(v).tolist() for v in evaluate([zeros, connected])] == [[0, 0], 6.0]


def test_another_word_for_unconnected_gradients_is_refused() -> None:
    with af.Graph().as_default(), pytest.raises(ValueError, match="unconnected_gradients"):
        af.gradients(af.constant(1.0), af.constant(2.0), unconnected_gradients="nil")


@pytest.mark.parametrize(
    ("shape", "weights"),
    [((20, 2), (1, 20, 2)), ((), (1,)), ((), (1, 1)), ((2, 3), (6,)), ((6,), (2, 3)), ((1,), ()), ((2, 3), (3,))],
)
def test_weights_of_another_shape(shape: tuple[int, ...], weights: tuple[int, ...]) -> None:
    """As many elements take the shape of y; fewer are broadcast to it."""
    with af.Graph().as_default():
        x = af.ones(shape)
        given = np.arange(1, np.prod(weights) + 1, dtype=np.float32).reshape(weights)
        found = evaluate(af.gradients(x * 2.0, x, grad_ys=af.constant(given))[0])
    whole = given.reshape(shape) if given.size == np.prod(shape) else np.broadcast_to(given, shape)
    np.testing.assert_array_equal(found, 2 * whole)


STRAIGHT: dict[str, Any] = {
    "relu": af.nn.relu,
    "relu6": af.nn.relu6,
    "leaky_relu": af.nn.leaky_relu,
    "elu": af.nn.elu,
    "selu": af.nn.selu,
    "abs": af.abs,
    "crelu": af.nn.crelu,
}


@pytest.mark.parametrize("name", STRAIGHT)
@pytest.mark.parametrize("eager", [False, True], ids=["graph", "eager"])
def test_the_second_derivative_of_straight_parts_is_zero(eager: bool, name: str) -> None:
    """At 2 and 3 each of them is a line: zeros, and not None."""
    if eager:
        with af.eager():
            x = af.constant([2.0, 3.0])
            with af.GradientTape() as outer:
                outer.watch(x)
                with af.GradientTape() as inner:
                    inner.watch(x)
                    y = STRAIGHT[name](x)
                slope = inner.gradient(y, x)
            second = outer.gradient(slope, x)
            assert second.numpy().tolist() == [0.0, 0.0]
        return
    with af.Graph().as_default():
        x = af.constant([2.0, 3.0])
        (slope,) = af.gradients(STRAIGHT[name](x), x)
        (second,) = af.gradients(slope, x)
        assert evaluate(second).tolist() == [0.0, 0.0]


@af.custom_gradient
def softly_positive(x: Any) -> Any:
    e = af.exp(x)
    return af.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


@pytest.mark.parametrize("eager", [False, True], ids=["graph", "eager"])
def test_the_second_order_of_a_custom_gradient_goes_by_what_it_uses_of_the_function(eager: bool) -> None:
    exact = np.exp(2.0) / (1 + np.exp(2.0)) ** 2
    if eager:
        with af.eager():
            x = af.constant(2.0)
            with af.GradientTape() as outer:
                outer.watch(x)
                with af.GradientTape() as inner:
                    inner.watch(x)
                    y = softly_positive(x)
                slope = inner.gradient(y, x)
            np.testing.assert_allclose(slope.numpy(), 1 - 1 / (1 + np.exp(2.0)), rtol=1e-6)
            np.testing.assert_allclose(outer.gradient(slope, x).numpy(), exact, rtol=1e-5)
        return
    with af.Graph().as_default():
        x = af.constant(2.0)
        (slope,) = af.gradients(softly_positive(x), x)
        np.testing.assert_allclose(evaluate(af.gradients(slope, x)[0]), exact, rtol=1e-5)


@pytest.mark.parametrize("eager", [False, True], ids=["graph", "eager"])
@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 1546300800000, [1, 2**40], [[-(2**63)], [2**63 - 1]]])
def test_whole_numbers_beyond_32_bits_are_of_64(value: Any, eager: bool) -> None:
    with af.eager() if eager else af.Graph().as_default():
        assert af.constant(value).dtype is af.convert_to_tensor(value).dtype is af.int64
        assert af.constant(2**31 - 1).dtype is af.int32


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
@pytest.mark.parametrize(
    "version", [af.nn.softmax_cross_entropy_with_logits, af.nn.softmax_cross_entropy_with_logits_v2]
)
def test_labels_of_whole_numbers(version: Any, dtype: str) -> None:
    with af.Graph().as_default():
        labels = af.constant(np.eye(3)[:2].astype(dtype))
        np.testing.assert_allclose(evaluate(version(labels=labels, logits=af.zeros([2, 3]))), np.log(3.0), rtol=1e-6)
