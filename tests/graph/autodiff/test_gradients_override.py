"""`RegisterGradient` and `Graph.gradient_override_map`: a node goes by another gradient than its op's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import opdef
from actorflow.blocking import Session
from actorflow.graph.autodiff import override

X = np.float32([-2.0, 0.5, 3.0])


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    """Leaves no rule of a test behind."""
    before = dict(override._rules)
    yield
    override._rules.clear()
    override._rules.update(before)


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def value(tensor: Any, graph: af.Graph | None = None) -> Any:
    with Session(graph=graph) as session:
        return session.run(tensor)


def test_the_mapped_op_takes_the_registered_rule(graph: af.Graph) -> None:
    @af.RegisterGradient("Tenfold")
    def tenfold(op: af.Operation, dy: af.Tensor) -> af.Tensor:
        return 10.0 * dy * op.inputs[0]

    assert callable(tenfold)
    x = af.constant(X)
    with graph.gradient_override_map({"Relu": "Tenfold"}):
        inside = af.nn.relu(x)
        other = af.tanh(x)
    outside = af.nn.relu(x)
    assert inside.op.get_attr("_gradient_op_type") == "Tenfold"
    assert "_gradient_op_type" not in outside.op.attrs and "_gradient_op_type" not in other.op.attrs
    np.testing.assert_array_equal(value(af.gradients(inside, x)[0]), 10 * X)
    np.testing.assert_array_equal(value(af.gradients(outside, x)[0]), [0, 1, 1])
    np.testing.assert_allclose(value(af.gradients(other, x)[0]), 1 - np.tanh(X) ** 2, rtol=1e-5)
    np.testing.assert_array_equal(value(inside), [0, 0.5, 3])


def test_a_value_may_be_the_name_of_an_op(graph: af.Graph) -> None:
    """The straight-through estimator: Floor has no derivative, Identity's is taken instead."""
    x = af.constant(X)
    with graph.gradient_override_map({"Floor": "Identity"}):
        y = af.floor(x) ** 2
    np.testing.assert_array_equal(value(af.gradients(y, x)[0]), [-4, 0, 6])
    assert af.gradients(af.floor(x), x) == [None]


def test_a_name_that_is_not_differentiable_stops_the_gradient(graph: af.Graph) -> None:
    af.NotDifferentiable("Opaque")
    x = af.constant(X)
    with graph.gradient_override_map({"Square": "Opaque"}):
        y = af.square(x)
    assert af.gradients(y, x) == [None]
    np.testing.assert_array_equal(value(af.gradients(y + x, x)[0]), [1, 1, 1])


def test_inner_scopes_add_to_outer_ones(graph: af.Graph) -> None:
    x = af.constant(X)
    with graph.gradient_override_map({"Floor": "Identity", "Square": "Identity"}):
        with graph.gradient_override_map({"Square": "Neg"}):
            both = af.square(af.floor(x))
        again = af.square(x)
    np.testing.assert_array_equal(value(af.gradients(both, x)[0]), [-1, -1, -1])
    np.testing.assert_array_equal(value(af.gradients(again, x)[0]), [1, 1, 1])


def test_a_rule_may_be_registered_after_the_node(graph: af.Graph) -> None:
    x = af.constant(X)
    with graph.gradient_override_map({"Relu": "Later"}):
        y = af.nn.relu(x)
    with pytest.raises(LookupError, match=r"'Later', which gradient_override_map gave.*\n(.*\n)*.*RegisterGradient"):
        af.gradients(y, x)
    af.RegisterGradient("Later")(lambda op, dy: dy * 3.0)
    np.testing.assert_array_equal(value(af.gradients(y, x)[0]), [3, 3, 3])


def test_the_second_derivative_goes_through_the_rule(graph: af.Graph) -> None:
    af.RegisterGradient("Cubic")(lambda op, dy: dy * op.inputs[0] ** 3)
    x = af.constant(X)
    with graph.gradient_override_map({"Relu": "Cubic"}):
        y = af.nn.relu(x)
    first = af.gradients(y, x)[0]
    np.testing.assert_allclose(value(af.gradients(first, x)[0]), 3 * X**2)


def test_a_serialised_graph_keeps_the_rule(graph: af.Graph) -> None:
    af.RegisterGradient("Sevenfold")(lambda op, dy: dy * 7.0)
    x = af.constant(X, name="x")
    with graph.gradient_override_map({"Relu": "Sevenfold"}):
        af.nn.relu(x, name="y")
    copy = af.Graph.from_bytes(graph.to_bytes())
    y = copy.get_tensor_by_name("y:0")
    assert y.op.get_attr("_gradient_op_type") == "Sevenfold"
    found = af.gradients(y, copy.get_tensor_by_name("x:0"))[0]
    np.testing.assert_array_equal(value(found, copy), [7, 7, 7])


def test_an_op_without_a_rule_gets_one() -> None:
    opdef_before = dict(opdef._OPS)
    try:

        @af.op("ElsewhereDifferentiated", shape=lambda c: c.shapes[0])
        def elsewhere(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
            """x."""

        af.RegisterGradient("ElsewhereDifferentiated")(lambda op, dy: dy * 2.0)
        opdef.verify(["ElsewhereDifferentiated"])
        x = af.constant(X)
        np.testing.assert_array_equal(value(af.gradients(elsewhere(x), x)[0]), [2, 2, 2])
        with pytest.raises(KeyError, match="already"):
            af.NotDifferentiable("ElsewhereDifferentiated")
    finally:
        opdef._OPS.clear()
        opdef._OPS.update(opdef_before)


def test_names_are_taken_once() -> None:
    af.RegisterGradient("Once")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="'Once' already"):
        af.RegisterGradient("Once")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="'Relu' already"):
        af.RegisterGradient("Relu")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="'Floor' already"):
        af.NotDifferentiable("Floor")


def test_anything_but_names_is_refused(graph: af.Graph) -> None:
    wrong: Any
    for wrong in ({"Relu": None}, {1: "Relu"}, ["Relu"]):
        with pytest.raises(TypeError, match="dict from names"), graph.gradient_override_map(wrong):
            pass
    for call in (af.RegisterGradient, af.NotDifferentiable):
        with pytest.raises(TypeError, match=r"was given|by a string"):
            call(af.nn.relu)  # type: ignore[arg-type]
