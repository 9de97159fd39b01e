"""Assertions about tensors: operations that fail in the run, or at once where the graph alone decides (`tf.assert_*`).

Each takes `data` (tensors and texts to show instead of its own report), `summarize` (how many entries of each tensor) and a
`message` to begin the report with. An assertion is a target or a control dependency like another operation:

    with af.control_dependencies([af.assert_positive(x)]):
        y = af.log(x)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.reports.user_line import user_line
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import convert_to_tensor, symbolic_dtype
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import Op
from actorflow.graph.ops.flow.control import Assert
from actorflow.graph.ops.math import logic
from actorflow.graph.ops.math.reduction import reduce_all
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class _Comparison:
    """An assertion about the elements of two tensors: its name, its sign, its op, and the function of numpy."""

    name: str
    sign: str
    build: Op[Any, Tensor]
    holds: Callable[[Any, Any], Any]

    def check(
        self,
        x: TensorLike,
        y: TensorLike,
        data: Sequence[Any] | None,
        summarize: int | None,
        message: str | None,
        name: str | None,
    ) -> Operation:
        """The operation that raises unless it holds."""
        with composite(name, self.name, x, y):
            first, second = _both(x, y)
            report = [message or "", f"Condition x {self.sign} y did not hold element-wise:"]
            if data is not None and data[:1] == [f"Condition x {self.sign} 0 did not hold element-wise:"]:
                report[1] = data[0]  # of an assertion about one tensor
            if data is None:
                data = [*report, f"x ({first.name}) = ", first, f"y ({second.name}) = ", second]
            else:
                data = [message or "", *data]
            condition = reduce_all(self.build(first, second))
            values = known_value(first), known_value(second)
            if values[0] is not None and values[1] is not None and not np.all(self.holds(*values)):
                shown = [f"x ({first.name}) = {values[0].tolist()}", f"y ({second.name}) = {values[1].tolist()}"]
                raise InvalidArgumentError(" ".join(r for r in report if r), where=user_line(), details=shown)
            return Assert(condition, data, summarize)


_EQUAL = _Comparison("assert_equal", "==", logic.equal, np.equal)
_NONE_EQUAL = _Comparison("assert_none_equal", "!=", logic.not_equal, np.not_equal)
_LESS = _Comparison("assert_less", "<", logic.less, np.less)
_LESS_EQUAL = _Comparison("assert_less_equal", "<=", logic.less_equal, np.less_equal)
_GREATER = _Comparison("assert_greater", ">", logic.greater, np.greater)
_GREATER_EQUAL = _Comparison("assert_greater_equal", ">=", logic.greater_equal, np.greater_equal)


def _both(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as tensors, a plain value of the type of the other."""
    kinds = symbolic_dtype(x), symbolic_dtype(y)
    first = convert_to_tensor(x, preferred_dtype=kinds[1])
    return first, convert_to_tensor(y, preferred_dtype=first.dtype)


@public("af", "tf.debugging")
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x == y elementwise, after broadcasting; true for tensors without elements (`tf.assert_equal`).

    Example:
        >>> x = af.placeholder(af.float32)
        >>> with af.control_dependencies([af.assert_equal(af.rank(x), 1, message="A vector is needed.")]):
        ...     y = x * 2.0
        >>> await session.run(y, {x: [1.0, 2.0]})
        [2. 4.]

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.

    Raises:
        InvalidArgumentError: it does not hold: in the run, or here where both are constants.
        ValueError: the shapes can't be broadcast. TypeError: the types differ.
    """
    return _EQUAL.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x != y for each pair of elements (`tf.assert_none_equal`). See `assert_equal`.

    Example:
        >>> af.assert_none_equal([1, 2], [2, 2])
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Condition x != y did not hold element-wise:

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _NONE_EQUAL.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_less(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x < y elementwise (`tf.assert_less`). See `assert_equal`.

    Example:
        >>> af.assert_less([1, 2], 3)
        <actorflow.Operation 'Assert' type=Assert that has run>

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _LESS.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x <= y elementwise (`tf.assert_less_equal`). See `assert_equal`.

    Example:
        >>> af.assert_less_equal([1, 4], 3)
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Condition x <= y did not hold element-wise:

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _LESS_EQUAL.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_greater(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x > y elementwise (`tf.assert_greater`). See `assert_equal`.

    Example:
        >>> af.assert_greater([3, 4], [1, 2])
        <actorflow.Operation 'Assert' type=Assert that has run>
        >>> af.assert_greater([3, 4], 3)
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Condition x > y did not hold element-wise:

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _GREATER.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x >= y elementwise (`tf.assert_greater_equal`). See `assert_equal`.

    Example:
        >>> af.assert_greater_equal([3, 4], 3)
        <actorflow.Operation 'Assert' type=Assert that has run>

    Args:
        x, y: tensors of one type, of the same shape or of shapes that can be broadcast.
        data: texts and tensors for the message; by default `x` and `y`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _GREATER_EQUAL.check(x, y, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_negative(
    x: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x < 0 elementwise (`tf.assert_negative`). See `assert_equal`.

    Example:
        >>> af.assert_negative([-1.0, -2.0])
        <actorflow.Operation 'Assert' type=Assert that has run>

    Args:
        x: a tensor of a real type.
        data: texts and tensors for the message; by default `x`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _with_zero("assert_negative", "<", assert_less, x, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_positive(
    x: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x > 0 elementwise (`tf.assert_positive`). See `assert_equal`.

    Example:
        >>> af.assert_positive([0.5, 0.0], message="Rates are positive.")
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Rates are positive. Condition x > 0 did not hold ...

    Args:
        x: a tensor of a real type.
        data: texts and tensors for the message; by default `x`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _with_zero("assert_positive", ">", assert_greater, x, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_non_negative(
    x: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x >= 0 elementwise (`tf.assert_non_negative`). See `assert_equal`.

    Example:
        >>> af.assert_non_negative([0.0, -2.0])
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: Condition x >= 0 did not hold element-wise:

    Args:
        x: a tensor of a real type.
        data: texts and tensors for the message; by default `x`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _with_zero("assert_non_negative", ">=", assert_greater_equal, x, data, summarize, message, name)


@public("af", "tf.debugging")
def assert_non_positive(
    x: TensorLike,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that x <= 0 elementwise (`tf.assert_non_positive`). See `assert_equal`.

    Example:
        >>> af.assert_non_positive([0.0, -2.0])
        <actorflow.Operation 'Assert' type=Assert that has run>

    Args:
        x: a tensor of a real type.
        data: texts and tensors for the message; by default `x`.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.
    """
    return _with_zero("assert_non_positive", "<=", assert_less_equal, x, data, summarize, message, name)


def _with_zero(
    default: str,
    sign: str,
    against: Callable[..., Operation],
    x: TensorLike,
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> Operation:
    with composite(name, default, x):
        tensor = convert_to_tensor(x)
        zero = np.zeros((), tensor.dtype.numpy_dtype)
        if data is None:
            data = [f"Condition x {sign} 0 did not hold element-wise:", f"x ({tensor.name}) = ", tensor]
        return against(tensor, zero, data, summarize, message)


@public("af", "tf.debugging")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Asserts that |x - y| <= atol + rtol * |y| elementwise (`tf.assert_near`).

    Example:
        >>> af.assert_near([0.1 + 0.2], [0.3])
        <actorflow.Operation 'Assert' type=Assert that has run>
        >>> af.assert_near([0.30], [0.31], atol=0.001, rtol=0.0)
        Traceback (most recent call last):
            ...
        actorflow.errors.InvalidArgumentError: assertion failed: x and y are not equal within the ...

    Args:
        x, y: tensors of one floating or complex type, of the same shape or of shapes that can be broadcast; of integers
            only with both tolerances.
        rtol, atol: the tolerances relative to |y| and absolute, scalars; each is ten times the type's machine epsilon
            by default.
        data: texts and tensors for the message; by default `x`, `y` and the tolerances.
        summarize: how many elements of each tensor the message shows; 3 by default, -1 for all.
        message: the text with which the message begins.

    Raises:
        InvalidArgumentError: in the run, if the assertion does not hold.
        ValueError: the type is an integer's and a tolerance was left out.
    """
    from actorflow.graph.ops.math.elementwise import abs

    with composite(name, "assert_near", x, y, rtol, atol):
        first, second = _both(x, y)
        exact = not (second.dtype.is_floating or second.dtype.is_complex)
        if exact and (rtol is None or atol is None):
            raise ValueError(
                f"assert_near takes floating or complex tensors, not {second.dtype}; assert_equal compares them."
            )
        kind = second.dtype.real_dtype
        epsilon = 0.0 if exact else 10 * _epsilon(kind.numpy_dtype)
        relative = convert_to_tensor(epsilon if rtol is None else rtol, kind)
        absolute = convert_to_tensor(epsilon if atol is None else atol, kind)
        condition = logic.less_equal(abs(first - second), absolute + relative * abs(second))
        if data is None:
            data = [
                "x and y are not equal within the tolerances.",
                "rtol = ",
                relative,
                "atol = ",
                absolute,
                f"x ({first.name}) = ",
                first,
                f"y ({second.name}) = ",
                second,
            ]
        return Assert(reduce_all(condition), [message or "", *data], summarize)


def _epsilon(kind: Any) -> float:
    try:
        return float(np.finfo(kind).eps)
    except ValueError:  # numpy knows nothing of bfloat16, which has seven bits after the first
        return 2.0**-7
