"""Assertions about ranks, types and kinds of values: most are decided as the graph is built (`tf.assert_rank`, ...)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.shapes import show
from actorflow.graph.convert import convert_to_tensor, is_symbolic, symbolic_dtype
from actorflow.graph.ops.array.shape import rank as rank_of
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.flow.control import Assert, no_op
from actorflow.graph.ops.math.logic import equal, greater_equal
from actorflow.graph.ops.math.reduction import reduce_any
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af", "tf.debugging")
def assert_rank(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that `x` has `rank` dimensions, an int32 scalar (`tf.assert_rank`).

    Example:
        >>> x = af.placeholder(af.float32, [None, 3])
        >>> af.assert_rank(x, 1)
        Traceback (most recent call last):
            ...
        ValueError: Placeholder:0 must have rank 1, but its rank is 2: its shape is (?, 3).

    Args:
        x: a tensor of any type.
        rank: the number of dimensions, an int32 scalar.
        data: texts and tensors for the message; by default `x` and its shape.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.

    Raises ValueError where the graph shows another rank, and InvalidArgumentError in the run where only that does; TypeError
    and ValueError for a rank that is not an integer or not a scalar.
    """
    return _assert_rank("assert_rank", "rank", x, [rank], data, summarize, message, name)


@public("af", "tf.debugging")
def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that `x` has `rank` dimensions or more (`tf.assert_rank_at_least`). See `assert_rank`.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3])
        >>> af.assert_rank_at_least(x, 3)
        Traceback (most recent call last):
            ...
        ValueError: Placeholder:0 must have rank at least 3, but its rank is 2: its shape is (?, 3).

    Args:
        x: a tensor of any type.
        rank: the number of dimensions, an int32 scalar.
        data: texts and tensors for the message; by default `x` and its shape.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _assert_rank("assert_rank_at_least", "rank at least", x, [rank], data, summarize, message, name)


@public("af", "tf.debugging")
def assert_rank_in(
    x: TensorLike,
    ranks: Sequence[TensorLike],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that the number of dimensions of `x` is in `ranks` (`tf.assert_rank_in`). See `assert_rank`.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3])
        >>> af.assert_rank_in(x, [3, 4])
        Traceback (most recent call last):
            ...
        ValueError: Placeholder:0 must have rank in (3, 4), but its rank is 2: its shape is (?, 3).

    Args:
        x: a tensor of any type.
        ranks: a list of int32 scalars.
        data: texts and tensors for the message; by default `x` and its shape.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _assert_rank("assert_rank_in", "rank in", x, list(ranks), data, summarize, message, name)


# How a rank compares with those that are wanted: with numbers as the graph is built, with tensors in the run.
_TESTS: dict[str, tuple[Callable[[int, list[int]], bool], Callable[[Tensor, list[Tensor]], Tensor]]] = {
    "rank": (lambda n, rank: n == rank[0], lambda n, rank: equal(n, rank[0])),
    "rank at least": (lambda n, rank: n >= rank[0], lambda n, rank: greater_equal(n, rank[0])),
    "rank in": (lambda n, rank: n in rank, lambda n, rank: reduce_any([equal(n, w) for w in rank])),
}


def _assert_rank(
    default: str,
    what: str,
    x: TensorLike,
    ranks: Sequence[TensorLike],
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    with composite(name, default, x, *ranks):
        tensor = convert_to_tensor(x)
        rank_tensors = [convert_to_tensor(r, graph=tensor.graph) for r in ranks]
        for r in rank_tensors:
            if r.dtype is not dt.int32:
                raise TypeError(f"{default}: {r.name} must be of type <dtype: 'int32'>, not {r.dtype}.")
            if r.static_shape not in ((), None):
                raise ValueError(f"{default}: Rank must be a scalar, but {r.name} has shape {show(r.static_shape)}.")
        constants = [known_value(r) for r in rank_tensors]
        shape = tensor.static_shape
        if shape is not None and all(k is not None for k in constants):
            numbers = [int(k) for k in constants if k is not None]
            if not _TESTS[what][0](len(shape), numbers):
                shown = numbers[0] if len(numbers) == 1 else tuple(numbers)
                raise ValueError(
                    f"{message + ' ' if message else ''}{tensor.name} must have {what} {shown}, but its rank is "
                    f"{len(shape)}: its shape is {show(shape)}."
                )
            return no_op(name="static_checks_determined_all_ok")
        actual = rank_of(tensor)
        condition = _TESTS[what][1](actual, rank_tensors)
        if data is None:
            data = [f"Tensor {tensor.name} must have {what}", *rank_tensors, "Received rank:", actual]
        return Assert(condition, [message or "", *data], summarize)


@public("af", "tf.debugging")
def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Checks the element type as the graph is built; gives an operation that does nothing (`tf.assert_type`).

    Example:
        >>> af.assert_type(af.constant(3.0), af.int32)
        Traceback (most recent call last):
            ...
        TypeError: eager_tensor:0 must be of type int32, but is float32.

    Args:
        tensor: a tensor of any shape.
        tf_type: the element type that it has to have.
        message: the text with which the message begins.

    Raises:
        TypeError: the elements of `tensor` are of another type.
    """
    with composite(name, "assert_type", tensor):
        converted = convert_to_tensor(tensor)
        if converted.dtype is not as_dtype(tf_type):
            raise TypeError(
                f"{_begin(message)}{converted.name} must be of type {as_dtype(tf_type)}, but is {converted.dtype}."
            )
        return no_op(name="statically_determined_correct_type")


@public("af", "tf.debugging")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Raises TypeError unless the elements of `x` are integers (`tf.assert_integer`). Gives an operation that does
    nothing.

    Example:
        >>> af.assert_integer(af.constant(1.5))
        Traceback (most recent call last):
            ...
        TypeError: Expected an integer type, but eager_tensor:0 is float32.
    """
    with composite(name, "assert_integer", x):
        tensor = convert_to_tensor(x)
        if not tensor.dtype.is_integer:
            raise TypeError(f"{_begin(message)}Expected an integer type, but {tensor.name} is {tensor.dtype}.")
        return no_op(name="statically_determined_was_integer")


@public("af", "tf.debugging")
def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """`tensor` itself (`tf.assert_scalar`). Raises ValueError unless the graph shows that it is a scalar.

    Example:
        >>> af.assert_scalar(af.constant(3.0))
        3.0
        >>> af.assert_scalar(af.constant([3.0]))
        Traceback (most recent call last):
            ...
        ValueError: Expected scalar shape, but eager_tensor:0 has shape (1,).
    """
    with composite(name, "assert_scalar", tensor):
        converted = convert_to_tensor(tensor)
        if converted.static_shape != ():
            raise ValueError(
                f"{_begin(message)}Expected scalar shape, but {converted.name} has shape {show(converted.static_shape)}."
            )
        return converted


@public("af", "tf.debugging")
def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """The floating type that all `tensors` (None entries are left out) and `dtype` share (`tf.assert_same_float_dtype`).

    float32 if nothing decides. Raises ValueError for types that differ or are no floats.

    Example:
        >>> af.assert_same_float_dtype([af.constant(1.0), None])
        actorflow.float32
        >>> af.assert_same_float_dtype([af.constant(1.0)], af.float64)
        Traceback (most recent call last):
            ...
        ValueError: eager_tensor:0 is of type float32, but float64 is needed, which the others have.
    """
    common = None if dtype is None else as_dtype(dtype)
    for tensor in tensors or ():
        kind = symbolic_dtype(tensor)
        if tensor is None:
            continue
        if kind is None:
            raise TypeError(f"assert_same_float_dtype takes tensors, not a {type(tensor).__name__}.")
        if common is not None and kind is not common:
            raise ValueError(f"{tensor.name} is of type {kind}, but {common} is needed, which the others have.")
        common = kind
    if common is not None and not common.is_floating:
        raise ValueError(f"A floating type is needed, but the type is {common}.")
    return dt.float32 if common is None else common


@public("af", "tf.debugging")
def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError unless `values` is an iterable, and not a tensor, an array or text (`tf.assert_proper_iterable`).

    Example:
        >>> af.assert_proper_iterable([1, 2])
        >>> af.assert_proper_iterable("ab")
        Traceback (most recent call last):
            ...
        TypeError: Expected argument to be iterable, and a proper list of values, but a str was given.
    """
    if is_symbolic(values) or isinstance(values, (np.ndarray, bytes, str)) or not isinstance(values, Iterable):
        raise TypeError(
            f"Expected argument to be iterable, and a proper list of values, but a {type(values).__name__} was given."
        )


def _begin(message: str | None) -> str:
    return f"{message} " if message else ""
