"""From what a kernel raised to an error that names the node, its device, its inputs and the user's line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.reports.tracebacks import is_told
from actorflow.base.shapes import in_brackets
from actorflow.engine.device.base import Device
from actorflow.engine.runtime.diagnostics.misfit import Given, given, misfit, translated
from actorflow.errors import (
    CancelledError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
)
from actorflow.graph.node import Node

if TYPE_CHECKING:
    from actorflow.engine.runtime.plan import PlanNode

_INPUTS = "_actorflow_inputs"
_MOST_INPUTS = 8
_TRANSFERS = ("_Send", "_Recv")
"""Ops of nodes that carry a tensor to another device: their origin is its node."""
_INVALID = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, np.linalg.LinAlgError)


def remember_inputs(error: BaseException, inputs: Sequence[Any] | None) -> None:
    """Notes the types and shapes of what a kernel was given when it raised `error`, for `located`."""
    if inputs:
        setattr(error, _INPUTS, [given(value) for value in inputs])


def _inputs(node: Node, kinds: Sequence[Given] | None) -> list[str]:
    if kinds is None or len(kinds) != len(node.inputs):
        return [f"inputs: {', '.join(map(str, node.inputs))}"]
    shown = [f"{tensor_id} {kind}" for tensor_id, kind in zip(node.inputs, kinds)]
    if len(shown) > _MOST_INPUTS:
        shown[_MOST_INPUTS - 1 :] = [f"... and {len(shown) - _MOST_INPUTS + 1} more"]
    return [f"inputs: {', '.join(shown)}"]


def located(
    error: BaseException, plan_node: PlanNode, device: Device, explain: Callable[[], Sequence[str]] | None = None
) -> OpError:
    """`error` as an `OpError` with its place. A region's error names the member at whose line it happened.
    `explain` says what was expected of the device's memory, for errors about that."""
    node: Node = plan_node.node
    kinds: Sequence[Given] | None = getattr(error, _INPUTS, None)
    if plan_node.region is not None:
        found_at = plan_node.region.locate(error)
        node, kinds = found_at if found_at is not None else (plan_node.members[0], None)
    facts: dict[str, Any] = {"node": node.name, "op": node.op, "device": device.name, "where": node.where}
    details = _inputs(node, kinds) if node.inputs else []
    if node.origin is not None:
        computes = "carries a result" if node.op in _TRANSFERS else "computes the gradient"
        details.append(f"it {computes} of {node.origin}")
    if explain is not None and isinstance(error, (ResourceExhaustedError, MemoryError)):
        details.extend(explain())
    facts["details"] = details
    if isinstance(error, OpError):
        placed = error.located(in_brackets(error.message), **facts)
        placed.__cause__ = error.__cause__
        return placed.with_traceback(None)
    if isinstance(error, MemoryError):
        kind: type[OpError] = ResourceExhaustedError
    elif isinstance(error, asyncio.CancelledError):
        kind = CancelledError  # of something inside the kernel: the caller of run() was not cancelled
    else:
        kind = InvalidArgumentError if isinstance(error, _INVALID) else UnknownError
    if kind is InvalidArgumentError and (message := _told(node, kinds, error)) is not None:
        refused = InvalidArgumentError(message, **facts)
        refused.__context__, refused.__suppress_context__ = error, True
        return refused
    failure = kind(f"The kernel of {node.op} failed: {type(error).__name__}: {error}", **facts)
    failure.__cause__ = error
    return failure


def _told(node: Node, kinds: Sequence[Given] | None, error: BaseException) -> str | None:
    """The fault of the inputs, in a sentence of actorflow's; None if only the kernel knows."""
    explanation = misfit(node, kinds) if kinds is not None else None
    message = explanation or (str(error) if is_told(error) else translated(node.op, str(error)))
    return message and in_brackets(message)


def wrong_outputs(plan_node: PlanNode, result: Any) -> InternalError:
    """The error for a kernel that returned another number of outputs than its op has."""
    expected = len(plan_node.edges)
    actual = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    return InternalError(
        f"The kernel of {plan_node.node.op} returned {actual}, but the op has {expected} output{'s' if expected > 1 else ''}.",
        hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
    )
