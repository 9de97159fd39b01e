"""Values of a program's own types become tensors by registered functions, wherever an op takes a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.graph import convert


class Length:
    """A number of metres, and nothing else that tensors have."""

    def __init__(self, metres: float) -> None:
        self.metres = metres


def metres(value: Length, dtype: Any = None, name: str | None = None) -> Any:
    return af.constant(value.metres, dtype, name=name)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    af.register_tensor_conversion_function(Length, metres)
    yield
    convert._CONVERSIONS[:] = [row for row in convert._CONVERSIONS if row[1] not in (Length, (Length, set))]


CALLS: dict[str, tuple[Callable[[], Any], float]] = {
    "the first input": (lambda: af.add(Length(1.5), 2), 3.5),
    "the second input": (lambda: af.subtract(2, Length(1.5)), 0.5),
    "both": (lambda: af.multiply(Length(2.0), Length(3.0)), 6.0),
    "beside a tensor": (lambda: af.add(af.constant(1.0, af.float64), Length(1.5)), 2.5),
    "an operator": (lambda: Length(3.0) / af.constant(2.0), 1.5),
    "one of a list": (lambda: af.add_n([af.constant(1.0), Length(2.0)]), 3.0),
    "a part of a list": (lambda: af.reduce_sum(af.stack([Length(1.0), Length(2.0), 3.0])), 6.0),
    "a division": (lambda: af.truediv(1, Length(4.0)), 0.25),
    "a product of matrices": (lambda: af.squeeze(af.matmul([[Length(2.0)]], [[3]])), 6.0),
    "a function of several nodes": (lambda: af.reduce_mean(Length(2.0)), 2.0),
    "an initial value": (lambda: af.Variable(Length(2.5)), 2.5),
}


@pytest.mark.parametrize("where", CALLS)
def test_a_value_is_converted_as(where: str) -> None:
    build, expected = CALLS[where]
    found = build()
    with af.blocking.Session() as session:
        session.run(af.global_variables_initializer())
        assert session.run(found) == expected
    with af.eager():
        assert float(build().numpy()) == expected


def test_it_is_converted_in_the_graph_of_the_tensor_beside_it() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.constant(1.0)
    before = len(af.get_default_graph())
    assert af.add(x, Length(1.0)).graph is graph
    assert len(af.get_default_graph()) == before


def test_a_function_may_leave_a_value_to_the_next_one() -> None:
    """Those with a smaller priority are asked first."""
    asked = []

    def never(value: Any, dtype: Any = None, name: str | None = None) -> Any:
        asked.append(value)
        return NotImplemented

    af.register_tensor_conversion_function((Length, set), never, priority=1)
    assert af.get_static_value(af.convert_to_tensor(Length(2.0))) == 2.0
    assert len(asked) == 1


def test_what_is_registered_has_to_be_right() -> None:
    with pytest.raises(TypeError, match="base_type must be a type"):
        af.register_tensor_conversion_function("Length", metres)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="conversion_func must be callable"):
        af.register_tensor_conversion_function(Length, None)  # type: ignore[arg-type]
    af.register_tensor_conversion_function(Length, lambda value, dtype=None, name=None: "1 m", priority=1)
    with pytest.raises(TypeError, match="The conversion of a Length by <lambda> gave no tensor, but '1 m'"):
        af.add(1.0, Length(1.0))


def test_a_type_that_does_not_fit_is_told() -> None:
    with pytest.raises(TypeError, match=r"1\.5 is of type float64, but int32 is needed"):
        af.add(af.constant(1), Length(1.5))


def test_indexed_slices_are_made_of_values() -> None:
    rows = af.IndexedSlices([[1.0, 2.0]], [1], dense_shape=(3, 2))
    assert (rows.dtype, rows.indices.dtype, rows.static_shape) == (af.float32, af.int32, (3, 2))
    assert repr(rows).startswith("<actorflow.IndexedSlices of ")
    with af.blocking.Session() as session:
        assert session.run(af.convert_to_tensor(rows)).tolist() == [[0, 0], [1, 2], [0, 0]]
        assert session.run(-rows).indices.tolist() == [1]
    with af.eager():
        v = af.Variable([[1.0], [1.0]])
        af.train.GradientDescentOptimizer(0.5).apply_gradients(
            [(af.IndexedSlices(np.ones((1, 1), np.float32), [1]), v)]
        )
        assert v.numpy().tolist() == [[1.0], [0.5]]
        assert af.IndexedSlices([], []).indices.dtype is af.int32


def test_indices_are_integers() -> None:
    with pytest.raises(
        TypeError, match="The indices of IndexedSlices are int32 or int64, but they were given as float32"
    ):
        af.IndexedSlices([[1.0]], [1.0])
