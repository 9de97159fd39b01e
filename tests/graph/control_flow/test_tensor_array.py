"""`TensorArray`, in and out of loops and branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph.control_flow.flows import Run, run

import actorflow as af
from actorflow import errors

__all__ = ["run"]


def array(size: Any = 3, **options: Any) -> af.TensorArray:
    return af.TensorArray(af.float32, size=size, **options)


# ---- what is in it


def test_what_is_written_is_read(run: Run) -> None:
    a = array().write(0, 1.0).write(2, 3.0).write(1, 2.0)
    assert run([a.read(0), a.read(2)]) == [1.0, 3.0]
    assert run(a.stack()).tolist() == [1.0, 2.0, 3.0]
    assert run(a.gather([2, 0])).tolist() == [3.0, 1.0]
    assert run(a.size()) == 3
    assert run(a.close()) is None


def test_an_array_is_a_value(run: Run) -> None:
    """A write gives another array, and the one before stays what it was."""
    before = array(2, element_shape=[]).write(0, 1.0)
    left, right = before.write(1, 2.0), before.write(1, 3.0)
    assert [v.tolist() for v in run([before.stack(), left.stack(), right.stack()])] == [[1, 0], [1, 2], [1, 3]]


def test_rows(run: Run) -> None:
    x = af.placeholder(af.float32, [None, 2])
    a = array(2).unstack(x)
    assert a.element_shape == (2,) and a.dtype is af.float32
    feeds = {x: [[1, 2], [3, 4]]}
    assert run(a.read(1), feeds).tolist() == [3, 4]
    assert run(a.stack(), feeds).tolist() == [[1, 2], [3, 4]]
    assert run(array().scatter([2, 0, 1], [1.0, 2.0, 3.0]).stack()).tolist() == [2, 3, 1]
    assert run(array(5).unstack([1.0, 2.0]).size()) == 5


def test_pieces(run: Run) -> None:
    a = array(2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
    assert run([a.read(0), a.read(1)])[1].tolist() == [2, 3]
    assert run(a.concat()).tolist() == [1, 2, 3]
    uneven = array(2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    assert run(uneven.concat()).tolist() == [1, 1, 2]


def test_a_dynamic_array_grows(run: Run) -> None:
    a = array(0, dynamic_size=True).write(3, 1.0)
    assert run([a.size(), a.stack()])[1].tolist() == [0, 0, 0, 1]
    assert run(a.size()) == 4


def test_what_nobody_wrote_is_zero_where_the_shape_is_known(run: Run) -> None:
    assert run(array().write(1, 1.0).stack()).tolist() == [0, 1, 0]
    assert run(array().write(1, 1.0).read(0)) == 0
    assert run(array(element_shape=[2]).read(0)).tolist() == [0, 0]
    assert run(array(0, element_shape=[2]).stack()).shape == (0, 2)


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "string"])
def test_types(run: Run, dtype: str) -> None:
    value: Any = {"int32": [1, 2], "bool": [True, False], "complex64": [1j, 2], "string": [b"a", b"bc"]}[dtype]
    a = af.TensorArray(dtype, size=2).unstack(af.constant(value, dtype))
    assert run(a.stack()).tolist() == value
    assert run(a.read(1)) == value[1]


# ---- in loops and branches


def test_f79_an_array_goes_through_loops(run: Run) -> None:
    n = af.placeholder(af.int32, [])
    start = af.TensorArray(af.int32, size=n)

    def body(i: Any, a: af.TensorArray) -> Any:
        return i + 1, a.write(i, i * i)

    _, a = af.while_loop(lambda i, a: i < n, body, (af.constant(0), start))
    assert isinstance(a, af.TensorArray)
    assert run(a.stack(), {n: 5}).tolist() == [0, 1, 4, 9, 16]


def test_an_element_may_be_read_in_the_iteration_after(run: Run) -> None:
    start = af.TensorArray(af.int64, size=2, dynamic_size=True, element_shape=[]).unstack(af.constant([0, 1], af.int64))
    _, a = af.while_loop(
        lambda i, a: i < 40, lambda i, a: (i + 1, a.write(i, a.read(i - 1) + a.read(i - 2))), (af.constant(2), start)
    )
    assert run(a.stack())[39] == 63245986


def test_an_array_in_branches(run: Run) -> None:
    p = af.placeholder(af.bool, [])
    a = array(2, element_shape=[]).write(0, 1.0)
    b = af.cond(p, lambda: a.write(1, 2.0), lambda: a)
    assert isinstance(b, af.TensorArray)
    assert run(b.stack(), {p: True}).tolist() == [1, 2]
    assert run(b.stack(), {p: False}).tolist() == [1, 0]


def test_in_an_array_of_gradients_writes_add_to_zeros(run: Run) -> None:
    a = array(3, element_shape=[2]).unstack([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    g = a.grad("x")
    assert run(g.stack()).tolist() == [[0, 0]] * 3
    g = g.write(1, [1.0, 2.0]).write(1, [10.0, 20.0]).scatter([2, 1], [[7.0, 8.0], [100.0, 200.0]])
    assert run([g.read(1), g.size()])[0].tolist() == [111, 222]
    g = g.unstack([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    assert run(g.stack()).tolist() == [[1, 1], [112, 223], [8, 9]]
    assert run(a.grad("x").stack()).tolist() == [[0, 0]] * 3, "another array"


def test_pieces_are_added_to_an_array_of_gradients(run: Run) -> None:
    a = array(2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2])
    g = a.grad("x").split([1.0, 1.0, 1.0], [1, 2]).split([1.0, 2.0, 3.0], [1, 2])
    assert run(g.concat()).tolist() == [2, 3, 4]


def test_f81_gradients_go_through_arrays(run: Run) -> None:
    x = af.placeholder(af.float64, [3])
    a = af.TensorArray(af.float64, size=3).unstack(x * x)
    y = a.read(0) * 2.0 + a.read(2) + af.reduce_sum(a.stack()) + af.reduce_sum(a.gather([1, 1]))
    slope = af.gradients(y, x)[0]
    assert run(slope, {x: [1, 2, 3]}).tolist() == [6, 12, 12]
    _, b = af.while_loop(
        lambda i, b: i < 3,
        lambda i, b: (i + 1, b.write(i, af.reduce_prod(a.gather([0, i])))),
        (af.constant(0), af.TensorArray(af.float64, size=3)),
    )
    slope = af.gradients(b.stack(), x)[0]
    np.testing.assert_allclose(run(slope, {x: [1, 2, 3]}), [4 + 2 * 4 + 2 * 9, 4, 6])


# ---- what goes wrong


@pytest.mark.parametrize(
    ("words", "build"),
    [
        ("written before", lambda: array().write(0, 1.0).write(0, 2.0).read(0)),
        ("element 3 is written", lambda: array().write(3, 1.0).read(0)),
        ("element -1 is written", lambda: array().write(-1, 1.0).read(0)),
        ("element -1 is written", lambda: array(0, dynamic_size=True).write(-1, 1.0).size()),
        ("element 3 is read", lambda: array().unstack([1.0, 2.0, 3.0]).read(3)),
        ("element 3 is read", lambda: array().unstack([1.0, 2.0, 3.0]).gather([0, 3])),
        ("element 3 is written", lambda: array().scatter([0, 3], [1.0, 2.0]).stack()),
        ("never written", lambda: array(2).read(0)),
        ("never written", lambda: array(2).stack()),
        ("shape of its elements is not known", lambda: array(0).stack()),
        ("read before it was written", lambda: array(2, infer_shape=False).write(1, 1.0).read(0)),
        ("different shapes", lambda: array(2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0]).stack()),
        ("3 rows are written to 2 places", lambda: array().scatter([2, 0], [1.0, 2.0, 3.0]).stack()),
        ("sum to 2", lambda: array(2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 1]).read(1)),
        ("-1 elements", lambda: array(-1).size()),
    ],
)
def test_errors_of_a_run(run: Run, words: str, build: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=words) as caught:
        run(build())
    assert "test_tensor_array.py:" in str(caught.value), "the user's line"


def test_an_element_written_in_two_iterations(run: Run) -> None:
    _, a = af.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(0, i)), (0, af.TensorArray(af.int32, size=3)))
    with pytest.raises(errors.InvalidArgumentError, match="Could not write to TensorArray index 0"):
        run(a.stack())


@pytest.mark.parametrize(
    ("kind", "words", "build"),
    [
        (TypeError, "float32", lambda: array().write(0, af.constant(1))),
        (ValueError, r"\(1,\), but \(2,\)", lambda: array().write(0, [1.0]).write(1, [1.0, 2.0])),
        (ValueError, "no rows", lambda: array().unstack(1.0)),
        (ValueError, "size already", lambda: array(3, flow=array().flow)),
        (ValueError, "no handles", lambda: array(None, handle=array().flow)),
    ],
)
def test_bad_input(kind: type[Exception], words: str, build: Any) -> None:
    with af.Graph().as_default(), pytest.raises(kind, match=words):
        build()
