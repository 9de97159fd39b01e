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


FLOAT = np.float32
CONSTANTS: dict[str, tuple[Callable[[], af.Tensor], Any]] = {
    "a number in no place": (lambda: af.constant(0, shape=[0]), np.zeros([0], FLOAT)),
    "a text in no place": (lambda: af.constant("", shape=[0]), np.zeros([0], FLOAT)),
    "a type for no place": (lambda: af.constant(1, af.int64, shape=[2, 0]), np.zeros([2, 0], np.int64)),
    "a list in no place": (lambda: af.constant([1, 2], shape=[0, 2]), np.zeros([0, 2], FLOAT)),
    "True as a float": (lambda: af.constant(True, af.float32), FLOAT(1)),
    "False as an integer": (lambda: af.constant([False, True], af.uint8), np.array([0, 1], np.uint8)),
    "True as a complex number": (lambda: af.constant(True, af.complex64), np.complex64(1)),
    "True with a hint": (lambda: af.convert_to_tensor(True, preferred_dtype=af.float32), FLOAT(1)),
    "True beside a float": (lambda: af.constant([2.0]) * True, np.array([2], FLOAT)),
    "False beside an integer": (lambda: True + af.constant([2]), np.array([3], np.int32)),
    "True alone": (lambda: af.constant([True]), np.array([True])),
    "numpy's float32 and a number": (lambda: af.constant([np.float32(1), 2]), np.array([1, 2], FLOAT)),
    "numpy's float64 in a list": (lambda: af.constant([np.float64(1), 2.5]), np.array([1, 2.5], FLOAT)),
    "numpy's int64 in a list": (lambda: af.constant((np.int64(1), np.int64(2))), np.array([1, 2], np.int32)),
    "numpy's large int64 in a list": (lambda: af.constant([np.int64(2**40)]), np.array([2**40])),
    "numpy's float16 in a list": (lambda: af.constant([np.float16(1)]), np.array([1], np.float16)),
    "numpy's uint8 in a list": (lambda: af.constant([np.uint8(1)]), np.array([1], np.uint8)),
    "numpy's float64 alone": (lambda: af.constant(np.float64(1)), np.float64(1)),
    "arrays in a list": (lambda: af.constant([np.ones(1), np.ones(1)]), np.ones([2, 1])),
    "zeros of half a size": (lambda: af.zeros([4 / 2, 3]), np.zeros([2, 3], FLOAT)),
    "ones of half a size": (lambda: af.ones((4 / 2,), af.int32), np.ones([2], np.int32)),
    "zeros of True": (lambda: af.zeros([True]), np.zeros([1], FLOAT)),
    "a norm of nothing": (lambda: af.global_norm([None]), FLOAT(0)),
    "the norm of clipped nothing": (lambda: af.clip_by_global_norm([], 1.0)[1], FLOAT(0)),
}
"""Constants of a graph as TensorFlow 1.15 makes them."""


@pytest.mark.parametrize("case", CONSTANTS)
async def test_a_constant_has_the_type_and_shape_of_tensorflow(case: str) -> None:
    build, expected = CONSTANTS[case]
    with af.Graph().as_default() as graph:
        tensor = build()
    async with af.Session(graph=graph) as session:
        value = await session.run(tensor)
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected, strict=True)


def test_sizes_are_whole() -> None:
    assert af.TensorShape([4 / 2, None]).as_list() == [2, None] and af.TensorShape(3.0).as_list() == [3]
    for sizes in ([2.5], 0.5, [None, np.float64(1.5)]):
        with pytest.raises(ValueError, match="Ambiguous dimension"):
            af.TensorShape(sizes)  # type: ignore[arg-type]
