"""`assert_*`: what fails as the graph is built, what fails in the run, and what holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def run(target: Any, feeds: Any = None) -> Any:
    with af.blocking.Session(graph=af.get_default_graph()) as session:
        return session.run(target, feeds)


Build = Callable[[Any], af.Operation]

# An assertion of one tensor, values for which it holds, and values for which it does not.
VALUES: list[tuple[str, Build, list[Any], list[Any]]] = [
    ("equal", lambda x: af.assert_equal(x, [1.0, 2.0]), [[1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]]], [[1.0, 3.0], 1.0]),
    ("equal nan", lambda x: af.assert_equal(x, x), [[1.0], []], [[np.nan]]),
    ("none equal", lambda x: af.assert_none_equal(x, [1.0, 2.0]), [[2.0, 1.0], [np.nan, 0.0]], [[0.0, 2.0]]),
    ("less", lambda x: af.assert_less(x, 2.0), [1.0, [], -np.inf], [2.0, [1.0, 3.0], np.nan]),
    ("less equal", lambda x: af.assert_less_equal(x, 2.0), [[1.0, 2.0], []], [[1.0, 3.0], np.nan]),
    ("greater", lambda x: af.assert_greater(x, 2.0), [3.0, []], [2.0, [3.0, 1.0], np.nan]),
    ("greater equal", lambda x: af.assert_greater_equal(x, 2.0), [[3.0, 2.0], []], [[3.0, 1.0]]),
    ("negative", af.assert_negative, [[-1.0, -0.5], []], [0.0, [-1.0, 1.0], np.nan]),
    ("positive", af.assert_positive, [[1.0, 0.5], []], [0.0, [-1.0, 1.0], np.nan]),
    ("non negative", af.assert_non_negative, [[1.0, 0.0], -0.0], [[-1.0, 1.0], np.nan]),
    ("non positive", af.assert_non_positive, [[-1.0, 0.0], -0.0], [[-1.0, 1.0]]),
]
ROWS = pytest.mark.parametrize(("assertion", "good", "bad"), [pytest.param(*r[1:], id=r[0]) for r in VALUES])


@ROWS
def test_values_that_only_the_run_knows(assertion: Build, good: list[Any], bad: list[Any]) -> None:
    x = af.placeholder(af.float32)
    checked = assertion(x)
    for value in good:
        assert run(checked, {x: value}) is None
    for value in bad:
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            run(checked, {x: value})


@ROWS
def test_constants_are_compared_as_the_graph_is_built(assertion: Build, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert run(assertion(af.constant(value, af.float32))) is None
    for value in bad:
        with pytest.raises(InvalidArgumentError, match="did not hold element-wise"):
            assertion(af.constant(value, af.float32))


def test_other_types_are_compared_too() -> None:
    assert run(af.assert_equal(["a", "b"], af.placeholder_with_default(["a", "b"], [2]))) is None
    assert run(af.assert_positive(af.constant([1, 2], af.int8))) is None
    assert run(af.assert_equal([True], [True])) is None
    with pytest.raises(InvalidArgumentError):
        af.assert_equal(["a"], ["b"])


def test_the_report_names_the_tensors_and_shows_their_values() -> None:
    x = af.placeholder(af.float32, name="speed")
    with pytest.raises(InvalidArgumentError) as caught:
        run(af.assert_less(x, 2.0, message="Too fast."), {x: [1.0, 5.5]})
    error: Any = caught.value
    assert error.message == "assertion failed: Too fast. Condition x < y did not hold element-wise."
    assert error.details[:2] == ("x (speed:0) = 1.0 5.5", "y (assert_less/Const:0) = 2.0"), error.details
    with pytest.raises(InvalidArgumentError) as caught:
        af.assert_less(af.constant(3.0, name="limit"), 2.0, message="Too fast.")
    for part in ("Too fast.", "x < y", "limit:0", "3.0", __file__):
        assert part in str(caught.value)


def test_data_takes_the_place_of_the_report() -> None:
    x = af.placeholder(af.float32)
    with pytest.raises(InvalidArgumentError) as caught:
        run(af.assert_positive(x, data=["seen", x], summarize=1, name="check"), {x: [-7.0, 8.0]})
    assert str(caught.value).startswith("assertion failed: seen.")
    assert "data 2: -7.0..." in str(caught.value) and "element-wise" not in str(caught.value)


def test_data_with_names_before_values_are_shown_as_in_tensorflow() -> None:
    x = af.placeholder(af.float32)
    data = ["A shape must fit. ", "x_shape: ", af.shape(x), "limits: ", [3]]
    with pytest.raises(InvalidArgumentError) as caught:
        run(af.Assert(af.constant(False), data), {x: [[-7.0, 8.0]]})
    error: Any = caught.value
    assert error.message == "assertion failed: A shape must fit."
    assert error.details == ("[A shape must fit. ] [x_shape: ] [1 2] [limits: ] [3]",)


def test_the_name_is_that_of_the_scope() -> None:
    x = af.placeholder(af.float32)
    assert af.assert_equal(x, x, name="same").name.startswith("same/")
    assert af.assert_near(x, x).name.startswith("assert_near/")


def test_types_and_shapes_that_can_not_be_compared() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        af.assert_equal([1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="float32"):
        af.assert_equal(af.constant([1, 2]), af.constant([1.0, 2.0]))


# ---- nearness


@pytest.mark.parametrize("dtype", [af.float16, af.bfloat16, af.float32, af.float64, af.complex64])
def test_near_by_ten_epsilons_of_the_type(dtype: af.DType) -> None:
    kind = dtype.real_dtype
    epsilon = 2.0**-7 if kind is af.bfloat16 else float(np.finfo(kind.numpy_dtype).eps)
    x = af.placeholder(dtype)
    checked = af.assert_near(x, af.constant(1, dtype))
    assert run(checked, {x: 1 + 8 * epsilon}) is None
    with pytest.raises(InvalidArgumentError):
        run(checked, {x: 1 + 32 * epsilon})


def test_near_by_given_tolerances() -> None:
    x = af.placeholder(af.float32)
    cases: Any = (({"atol": 0.25}, 1.125, 1.5), ({"rtol": 0.5, "atol": 0.0}, 1.5, 1.75))
    for options, near, far in cases:
        checked = af.assert_near(x, 1.0, **options)
        assert run(checked, {x: near}) is None
        for value in (far, np.nan):
            with pytest.raises(InvalidArgumentError, match="assertion failed"):
                run(checked, {x: value})
    with pytest.raises(ValueError, match="int32"):
        af.assert_near(1, 1)


# ---- ranks

RANKS: list[tuple[str, Build, list[int]]] = [
    ("rank", lambda x: af.assert_rank(x, 1), [1]),
    ("rank at least", lambda x: af.assert_rank_at_least(x, 1), [1, 2]),
    ("rank in", lambda x: af.assert_rank_in(x, (0, 2)), [0, 2]),
]


@pytest.mark.parametrize(("assertion", "good"), [pytest.param(*r[1:], id=r[0]) for r in RANKS])
def test_ranks(assertion: Build, good: list[int]) -> None:
    unknown = af.placeholder(af.float32)
    checked = assertion(unknown)
    for rank in range(3):
        value = np.zeros((1,) * rank, np.float32)
        if rank in good:
            assert run(checked, {unknown: value}) is None
            assert assertion(af.constant(value)).type == "NoOp"
            continue
        with pytest.raises(InvalidArgumentError):
            run(checked, {unknown: value})
        with pytest.raises(ValueError, match=f"its rank is {rank}"):
            assertion(af.constant(value))


def test_a_rank_may_be_a_tensor() -> None:
    x, n = af.constant([1.0]), af.placeholder(af.int32, [])
    checked = af.assert_rank(x, n)
    assert run(checked, {n: 1}) is None
    with pytest.raises(InvalidArgumentError):
        run(checked, {n: 2})
    with pytest.raises(ValueError, match="scalar"):
        af.assert_rank(x, [1])
    with pytest.raises(TypeError, match="int32"):
        af.assert_rank(x, 1.5)
    with pytest.raises(ValueError, match="Lengths differ"):
        af.assert_rank(x, 2, message="Lengths differ")


# ---- types and kinds


def test_types() -> None:
    assert af.assert_type(1.0, af.float32).type == "NoOp"
    assert af.assert_integer(af.constant(1, af.uint8)).type == "NoOp"
    with pytest.raises(TypeError, match=r"Here: .*int32, but is .*float32"):
        af.assert_type(1.0, af.int32, "Here:")
    with pytest.raises(TypeError, match="integer"):
        af.assert_integer(1.0)


def test_scalars() -> None:
    x = af.constant(1.0)
    assert af.assert_scalar(x) is x
    for other in (af.constant([1.0]), af.placeholder(af.float32)):
        with pytest.raises(ValueError, match="scalar"):
            af.assert_scalar(other)


def test_one_floating_type() -> None:
    single, double = af.constant(1.0), af.constant(1.0, af.float64)
    assert af.assert_same_float_dtype() is af.float32
    assert af.assert_same_float_dtype([single, None], af.float32) is af.float32
    assert af.assert_same_float_dtype([double]) is af.float64
    for tensors, dtype in (
        ([single, double], None),
        ([single], af.float64),
        ([af.constant(1)], None),
        (None, af.int32),
    ):
        with pytest.raises(ValueError):
            af.assert_same_float_dtype(tensors, dtype)


def test_proper_iterables() -> None:
    for good in ([1], (), {1: 2}, range(3)):
        af.assert_proper_iterable(good)
    for bad in ("text", b"bytes", 3, np.zeros(2), af.constant([1.0]), None):
        with pytest.raises(TypeError, match="iterable"):
            af.assert_proper_iterable(bad)
