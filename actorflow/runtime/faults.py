"""From what a kernel raised to an error that names the node, its device, its inputs and the user's line."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from actorflow.device.base import Device
from actorflow.errors import (
    CancelledError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
)
from actorflow.graph.node import Node
from actorflow.runtime.plan import PlanNode

_INVALID = (ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, np.linalg.LinAlgError)


def located(error: BaseException, plan_node: PlanNode, device: Device) -> OpError:
    """`error` as an `OpError` with its place. A region's error names the member at whose line it happened."""
    node: Node = plan_node.node
    if plan_node.region is not None:
        node = plan_node.region.locate(error.__traceback__) or plan_node.members[0]
    facts: dict[str, Any] = {"node": node.name, "op": node.op, "device": device.name, "where": node.where}
    details = [f"inputs: {', '.join(map(str, node.inputs))}"] if node.inputs else []
    if node.origin is not None:
        details.append(f"it computes the gradient of {node.origin}")
    facts["details"] = details
    if isinstance(error, OpError):
        found = error.located(**facts)
        found.__cause__ = error.__cause__
        return found.with_traceback(None)
    if isinstance(error, MemoryError):
        kind: type[OpError] = ResourceExhaustedError
    elif isinstance(error, asyncio.CancelledError):
        kind = CancelledError  # of something inside the kernel: the caller of run() was not cancelled
    else:
        kind = InvalidArgumentError if isinstance(error, _INVALID) else UnknownError
    made = kind(f"The kernel of {node.op} failed: {type(error).__name__}: {error}", **facts)
    made.__cause__ = error
    return made


def wrong_outputs(plan_node: PlanNode, result: Any) -> InternalError:
    """What a kernel raises that returned another number of outputs than its op has."""
    wanted = len(plan_node.edges)
    given = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
    return InternalError(
        f"The kernel of {plan_node.node.op} returned {given}, but the op has {wanted} output{'s' if wanted > 1 else ''}.",
        hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
    )
