"""`and`, `or`, `not`, and Python's functions, on tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import actorflow as af
from actorflow.compat.autograph.states import Undefined, staged


def and_(*operands: Callable[[], Any]) -> Any:
    """`a and b`: of tensors a node, whose operands are computed in any case if they have no effects."""
    value = operands[0]()
    for operand in operands[1:]:
        if staged(value):
            value = af.cond(_truth(value), partial(_truth_of, operand), lambda: af.constant(False))
        elif not value:
            return value
        else:
            value = operand()
    return value


def or_(*operands: Callable[[], Any]) -> Any:
    """`a or b`."""
    value = operands[0]()
    for operand in operands[1:]:
        if staged(value):
            value = af.cond(_truth(value), lambda: af.constant(True), partial(_truth_of, operand))
        elif value:
            return value
        else:
            value = operand()
    return value


def _truth(value: Any) -> Any:
    return af.cast(value, af.bool)


def _truth_of(operand: Callable[[], Any]) -> Any:
    return _truth(operand())


def not_(value: Any) -> Any:
    """`not a`."""
    return af.logical_not(value) if staged(value) else not value


def assert_stmt(test: Any, message: Callable[[], Any]) -> None:
    """`assert`: of a tensor a node that raises in the run, in a function that runs its effects."""
    if staged(test):
        af.Assert(test, [message()])
    else:
        assert test, message()


def result(value: Any) -> Any:
    """The result of a function; None if no `return` was met."""
    if isinstance(value, Undefined) and value.is_unset:
        return None
    if isinstance(value, Undefined):
        raise UnboundLocalError(
            "A return depends on a tensor, and not all ways return tensors of the same form. Give a name its value in each "
            "branch, or break out of the loop, and return it at the end."
        )
    return value


def returned(value: Any) -> Any:
    """The value of a `return`. Raises UnboundLocalError for a name without a value."""
    if isinstance(value, Undefined):
        value.refuse()
    return value


# ---- Python's functions


def range_(*args: Any) -> Any:
    """`range`."""
    return af.range_(*args) if any(staged(arg) for arg in args) else range(*args)


def len_(value: Any) -> Any:
    """`len`: of a tensor the size of its first dimension, a number if it is known."""
    if not staged(value):
        return len(value)
    tensor = af.convert_to_tensor(value)
    if not tensor.static_shape:
        raise TypeError(f"len() of a tensor needs a dimension at least, and {tensor.name} has none.")
    return af.shape(tensor)[0] if tensor.static_shape[0] is None else tensor.static_shape[0]


def print_(*args: Any, **kwargs: Any) -> None:
    """`print`: of tensors a node that prints in the run, in a function that runs its effects."""
    if any(staged(arg) for arg in args):
        af.print_(*args, **{name: value for name, value in kwargs.items() if name in ("sep", "end")})
    else:
        print(*args, **kwargs)


def int_(value: Any = 0, *base: Any) -> Any:
    """`int`."""
    return af.cast(value, af.int32) if staged(value) else int(value, *base)


def float_(value: Any = 0.0) -> Any:
    """`float`."""
    return af.cast(value, af.float32) if staged(value) else float(value)


def abs_(value: Any) -> Any:
    """`abs`."""
    return af.abs(value) if staged(value) else abs(value)


BUILTINS: dict[Any, Any] = {range: range_, len: len_, print: print_, int: int_, float: float_, abs: abs_}
"""Python's functions that tensors have another function for."""
