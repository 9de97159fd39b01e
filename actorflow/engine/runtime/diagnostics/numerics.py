"""`PlanOptions(check_numerics=True)`: the first node that makes a NaN or an infinity out of finite numbers is the step's error.

Each kernel is put between two looks, at what it takes and at what it gives, so a plan without the setting pays nothing.
A node that only brings a value in (a feed, a constant, a read, a queue) makes none, and a node whose input has a NaN
already passes it on unnamed. An update is looked at through the variable that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from actorflow.base.registry import opdef
from actorflow.engine.runtime.diagnostics.misfit import given
from actorflow.errors import InvalidArgumentError, with_topic
from actorflow.graph.node import Node

_MOST_INPUTS = 4


class NotFiniteError(InvalidArgumentError):
    """A node made a NaN or an infinity out of finite numbers."""


def checked(node: Node, launch: Callable[..., Any], is_async: bool) -> Callable[..., Any]:
    """`launch`, the kernel of `node` for values in host memory, with a look at its inputs and its outputs.

    The result raises InvalidArgumentError where the inputs, and the variables that the node changes, were finite, and an
    output or such a variable is not any more.
    """
    definition = opdef.lookup(node.op)
    if not node.inputs or definition.has_ref_input and not definition.writes:
        return launch

    def look(*inputs: Any, **keywords: Any) -> Any:
        was_finite = all(map(_is_finite, _numbers(inputs)))
        result = launch(*inputs, **keywords)
        if was_finite:
            _look_at(result, node, inputs)
        return result

    async def look_later(*inputs: Any, **keywords: Any) -> Any:
        was_finite = all(map(_is_finite, _numbers(inputs)))
        result = await launch(*inputs, **keywords)
        if was_finite:
            _look_at(result, node, inputs)
        return result

    return look_later if is_async else look


def _look_at(result: Any, node: Node, inputs: Sequence[Any]) -> None:
    """Raises InvalidArgumentError where something is not finite that a node gave, or left in a variable."""
    outputs = result if type(result) in (tuple, list) and len(node.dtypes) > 1 else (result,)
    for port, value in enumerate(outputs):
        if not _is_finite(value):
            raise _error(f"gave {_count(value)} in output {port}", value, node, inputs)
    for state in filter(_is_variable, inputs):
        if state.initialized and not _is_finite(value := state.on_host()):
            raise _error(f"left {_count(value)} in the variable {state.name}", value, node, inputs)


def _is_variable(value: Any) -> bool:
    return hasattr(value, "on_host") and hasattr(value, "initialized")


def _numbers(inputs: Sequence[Any]) -> Iterator[Any]:
    """The inputs, variables by their value."""
    for value in inputs:
        if not _is_variable(value):
            yield value
        elif value.initialized:
            yield value.on_host()


def _is_finite(value: Any) -> bool:
    """Whether a value has no NaN and no infinity; what is no array of floats has none."""
    if not isinstance(value, (np.ndarray, np.generic)) or not _is_float(value.dtype):
        return True
    return bool(np.isfinite(value).all())


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" or dtype.name == "bfloat16"


def _count(value: Any) -> str:
    """How many there are of each, such as `2 NaN and 1 Inf`."""
    nan, inf = int(np.isnan(value).sum()), int(np.isinf(value).sum())
    return " and ".join(f"{count} {name}" for count, name in ((nan, "NaN"), (inf, "Inf")) if count)


def _error(what: str, value: Any, node: Node, inputs: Sequence[Any]) -> NotFiniteError:
    shown = [_range(str(tensor_id), operand) for tensor_id, operand in zip(node.inputs, inputs)]
    if len(shown) > _MOST_INPUTS:
        shown[_MOST_INPUTS - 1 :] = [f"... and {len(shown) - _MOST_INPUTS + 1} more inputs"]
    return NotFiniteError(
        f"{node.op} {what} ({np.size(value):,} numbers, {given(value)}), from finite inputs.",
        details=shown,
        hint=with_topic(
            "Keep its inputs in the range where it is defined and does not overflow: af.clip_by_value, af.maximum, a "
            "smaller learning rate. Its gradient has a NaN too, whichever branch of af.where is taken.",
            "not-a-number",
        ),
    )


def _range(name: str, value: Any) -> str:
    if not isinstance(value, (np.ndarray, np.generic)) or not value.size or value.dtype.kind not in "fiu":
        return f"{name}: {given(value)}"
    return f"{name}: {given(value)} from {value.min():.6g} to {value.max():.6g}"
