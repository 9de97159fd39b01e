"""The way back along a tape: from the gradients of what was computed to those of what it was computed from.

It goes by the gradient rules of the ops, as the walk through a graph does (`actorflow.graph.autodiff.walk`); the operations
that a rule asks for run at once, and other tapes that watch take them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import variant
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.scope import eager_graph
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.errors import describe
from actorflow.graph.autodiff.gradients import seeds_of
from actorflow.graph.autodiff.override import rule_of
from actorflow.graph.autodiff.walk import Gradient, differentiable, fitted, output_gradient, total
from actorflow.graph.ops.math.arithmetic import add
from actorflow.graph.tensor import Tensor


def backward(
    operations: Sequence[EagerOperation],
    targets: Sequence[Tensor],
    given: Sequence[Any] | None,
    sources: Sequence[Tensor],
) -> list[Gradient | None]:
    """The gradients of `sources`, None for those on which no target depends.

    Args:
        operations: what a tape took in, in the order in which it ran.
        targets: what was computed.
        given: their gradients; None, for a target or for all of them, stands for a gradient of 1.
        sources: what is asked for: tensors, and handles of variables.

    Raises:
        LookupError: an op on the way has no gradient registered, nor is declared to have none.
    """
    reached = {id(source) for source in sources}
    way: list[EagerOperation] = []
    for operation in operations:
        for tensor in operation._inputs:
            if id(tensor) in reached:
                reached.update([id(output) for output in operation._outputs])
                way.append(operation)
                break
    parts: dict[int, list[Gradient]] = {}
    with eager_graph().as_default():
        for target, seed in zip(targets, _ones(targets) if given is None else seeds_of(targets, given)):
            if seed is not None and id(target) in reached:
                parts.setdefault(id(target), []).append(seed)
        for operation in reversed(way):
            outputs = operation._outputs
            dys = [_sum(parts, id(output)) for output in outputs]
            if any([gradient is not None for gradient in dys]):
                _visit(operation, dys, reached, parts)
        return [_sum(parts, id(source)) for source in sources]


def _ones(targets: Sequence[Tensor]) -> Sequence[Tensor | None]:
    if all(type(target) is EagerTensor and target._dtype.is_floating for target in targets):
        return [EagerTensor(np.ones(t.static_shape, t.dtype.numpy_dtype), t.dtype) for t in targets]
    return seeds_of(targets, None)


def _sum(parts: dict[int, list[Gradient]], key: int) -> Gradient | None:
    terms = parts.get(key)
    if terms is None:
        return None
    if len(terms) > 1:
        first, second = terms[0], terms[1]
        both = len(terms) == 2 and type(first) is type(second) is EagerTensor and first._dtype is not variant
        terms[:] = [add(first, second) if both else total(terms)]
    return terms[0]


def _visit(
    operation: EagerOperation, dys: Sequence[Gradient | None], reached: set[int], parts: dict[int, list[Gradient]]
) -> None:
    """Adds what an operation's rule makes of the gradients of its outputs to those of its inputs."""
    rule: Any = operation.rule or rule_of(operation)
    if rule is None:
        return
    inputs = operation._inputs
    if not callable(rule):
        raise LookupError(
            describe(
                f"No gradient is defined for operation {operation.name!r} (op type: {operation.type}).",
                details=[f"the op is declared at {operation.definition.where}"],
                hint="Register one with @NAME.gradient, or declare gradient=None where there is none.",
            )
        )
    slopes = [output_gradient(operation, t, dy) for t, dy in zip(operation._outputs, dys)]
    try:
        result = rule(operation, *slopes)
    except Exception as error:
        error.add_note(f"  while computing the gradient of {operation.name} ({operation.type})")
        raise
    gradients = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(gradients) != len(inputs):
        raise ValueError(
            f"The gradient rule of {operation.type} gave {len(gradients)} gradients, but it has {len(inputs)} inputs."
        )
    for index, (tensor, gradient) in enumerate(zip(inputs, gradients)):
        if gradient is not None and id(tensor) in reached and (tensor.dtype.is_ref or differentiable(tensor)):
            fits = (
                type(gradient) is EagerTensor
                and gradient._dtype is tensor.dtype.base_dtype
                and gradient.static_shape == tensor.static_shape
            )
            part = gradient if fits else fitted(operation, index, gradient)
            parts.setdefault(id(tensor), []).append(part)
