"""Gradient rules by name: `RegisterGradient`, `NotDifferentiable`, and which rule a node goes by.

A node's rule is that of its op, unless the node was made inside `Graph.gradient_override_map`. Then its attribute
`_gradient_op_type` names another rule: a rule registered here, or the rule of the op of this name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import MISSING_GRADIENT, GradientRule
from actorflow.errors import describe
from actorflow.graph.ops.arriving import QUOTIENT, quotient_gradient
from actorflow.graph.tensor import Operation
from actorflow.public import public

F = TypeVar("F", bound=Callable[..., Any])

OVERRIDE = "_gradient_op_type"
"""The attribute of a node that names its rule."""

_rules: dict[str, GradientRule | None] = {QUOTIENT: quotient_gradient}


@public("af")
class RegisterGradient:
    """Registers a gradient rule under a name (`tf.RegisterGradient`).

    The rule takes the operation and the gradient of each of its outputs, and gives one tensor or None for each input.
    The name is that of an op that has no rule yet, or a name for `Graph.gradient_override_map`.

    Example:
        >>> @af.RegisterGradient("StraightThrough")
        ... def _(op, dy):
        ...     return dy
        >>> x = af.placeholder(af.float32)
        >>> with x.graph.gradient_override_map({"Sign": "StraightThrough"}):
        ...     y = af.sign(x)
        >>> await session.run(af.gradients(y, x), {x: -2.5})
        [1.0]
    """

    def __init__(self, op_type: str) -> None:
        """Raises TypeError where `op_type` is no string."""
        if not isinstance(op_type, str):
            raise TypeError(f"A gradient is registered under the name of an op, but {op_type!r:.60} was given.")
        self._op_type = op_type

    def __call__(self, f: F) -> F:
        """Raises KeyError if there is a rule of that name."""
        _register(self._op_type, f)
        return f


@public("af", "tf:NoGradient", "tf:no_gradient")
def NotDifferentiable(op_type: str) -> None:
    """Says that the op `op_type` has no gradient (`tf.NotDifferentiable`, `tf.NoGradient`).

    Example:
        >>> af.NotDifferentiable("MyRoundToGrid")

    Raises:
        TypeError: `op_type` is no string.
        KeyError: there is a rule of that name.
    """
    if not isinstance(op_type, str):
        raise TypeError(f"An op is named by a string, but {op_type!r:.60} was given.")
    _register(op_type, None)


def _register(name: str, rule: GradientRule | None) -> None:
    declared = opdef.registered().get(name)
    if name in _rules or declared is not None and declared.gradient is not MISSING_GRADIENT:
        raise KeyError(f"There is a gradient of the name {name!r} already; a name takes one.")
    if declared is not None:
        declared.gradient = rule
    else:
        _rules[name] = rule


def rule_of(operation: Operation) -> Any:
    """The gradient rule by which `operation` goes: a function, None for no gradient, or what is no function where none
    was declared.

    Raises:
        LookupError: `gradient_override_map` named a rule that there is not.
    """
    name = operation.attrs.get(OVERRIDE)
    if name is None:
        return operation.definition.gradient
    if name in _rules:
        return _rules[name]
    declared = opdef.registered().get(name)
    if declared is not None:
        return declared.gradient
    raise LookupError(
        describe(
            f"No gradient is registered under the name {name!r}, which gradient_override_map gave to this node.",
            node=operation.name,
            op=operation.type,
            where=operation.where,
            hint=f"Register it before gradients are taken: @af.RegisterGradient({name!r}).",
        )
    )
