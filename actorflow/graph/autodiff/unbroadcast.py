"""Undoing broadcasting: an operand that was stretched to the output's shape gets the sum over what it was stretched to.

Gradient rules of elementwise ops know nothing of this; the walk in `gradients` does it for all ops that are declared
with `broadcasts=True`. Most often the static shapes decide, and there is nothing to do or one sum over known axes.
"""

from __future__ import annotations

from actorflow.base.shapes import Shape, is_static
from actorflow.graph.ops.array.shape import reshape, shape
from actorflow.graph.ops.flow.control import sum_to
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.shape_rules import elementwise
from actorflow.graph.tensor import Operation, Tensor


def unbroadcast(gradient: Tensor, operation: Operation, index: int) -> Tensor:
    """`gradient`, of the output's shape, summed down to the shape of input `index` of `operation`."""
    operand = operation.inputs[index]
    target = operand.static_shape
    axes = stretched_axes(target, gradient.static_shape, _others(operation, index))
    if axes is None:
        return sum_to(gradient, shape(operand))
    if not axes:
        return gradient
    assert target is not None and gradient.static_shape is not None
    extra = len(gradient.static_shape) - len(target)
    if axes == list(range(extra)):
        return reduce_sum(gradient, axes)
    if not is_static(target):
        return sum_to(gradient, shape(operand))
    return reshape(reduce_sum(gradient, axes), target)


def stretched_axes(operand: Shape, gradient: Shape, others: list[Shape] | None) -> list[int] | None:
    """The axes of `gradient` along which `operand` was repeated; None where only a run can tell.

    `others` are the shapes with which it was broadcast, or None where these don't tell all (the shape was asked for).
    """
    if operand is None or gradient is None:
        return None
    extra = len(gradient) - len(operand)
    axes = list(range(extra))
    for axis, size in enumerate(operand, start=extra):
        if size == gradient[axis] and size is not None:
            continue
        if size == 1:
            axes.append(axis)
        elif size is None and gradient[axis] != 1 and not _alone(axis - len(gradient), others):
            return None
    return axes


def _alone(axis: int, others: list[Shape] | None) -> bool:
    """Whether nothing else has a size other than 1 along `axis`, which is counted from the end."""
    if others is None:
        return False
    return all(shape is not None and (len(shape) < -axis or shape[axis] == 1) for shape in others)


def _others(operation: Operation, index: int) -> list[Shape] | None:
    if operation.definition.shape_rule is not elementwise:
        return None
    return [tensor.static_shape for i, tensor in enumerate(operation.inputs) if i != index]
