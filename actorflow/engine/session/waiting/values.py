"""From what a step computed to what its caller gets: read-only arrays, numpy scalars, bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.registry import roles
from actorflow.engine.runtime.plan import Plan
from actorflow.engine.runtime.step import Step
from actorflow.engine.runtime.tokens import DEAD
from actorflow.errors import InvalidArgumentError, ResourceExhaustedError
from actorflow.graph.node import Node, TensorId

_COMBINED = {roles.REGION: "outputs", roles.LOOP: "exits"}
"""The roles of nodes that stand for others, and the attribute that says for which outputs."""


def fetched(step: Step, places: Sequence[tuple[int, int]], feeds: Mapping[TensorId, Any]) -> list[Any]:
    """The values of a finished step's fetches.

    Raises:
        InvalidArgumentError: a fetch is dead: it lies on a branch that was not taken.
    """
    executors = step.executors
    return [
        result_of(step, executor, position, executors[executor].slots[position], feeds) for executor, position in places
    ]


def result_of(step: Step, executor: int, position: int, value: Any, feeds: Mapping[TensorId, Any]) -> Any:
    """One fetched value as its caller gets it."""
    if type(value) is np.ndarray:
        if not value.ndim:
            return value[()]
        if feeds and (value.base is not None or value.flags.writeable):
            for fed in feeds.values():
                if type(fed) is np.ndarray and (value is fed or np.may_share_memory(value, fed)):
                    value = _copied(value)  # what the caller fed stays the caller's to write
                    break
        if value.flags.writeable:
            value.flags.writeable = False
        return value
    if value is DEAD:
        raise _dead(step, step.executors[executor].plan.fetches[position])
    return value


def _copied(value: Any) -> Any:
    try:
        return value.copy()
    except MemoryError as error:
        raise ResourceExhaustedError(f"A fetched value has no room: {error}") from None


def _original(tensor_id: TensorId, nodes: Mapping[str, Node]) -> TensorId:
    """The tensor of the user's graph that an output of a region is."""
    node = nodes.get(tensor_id.node)
    if node is None or node.role not in _COMBINED:
        return tensor_id
    original: TensorId = node.attrs[_COMBINED[node.role]][tensor_id.port]
    return original


def _nodes_of(plan: Plan) -> dict[str, Node]:
    """The nodes of a plan and of the loops in it."""
    by_name = {node.node.name: node.node for node in plan.nodes}
    for inner in plan.loops.values():
        by_name |= _nodes_of(inner)
    return by_name


def _dead(step: Step, fetch: TensorId) -> InvalidArgumentError:
    """The error of a fetch that has no value: it names the nearest Switch of this process that sent its token elsewhere."""
    nodes: dict[str, Node] = {}
    chosen: dict[str, bool] = {}
    for executor in step.executors:
        nodes |= _nodes_of(executor.plan)
        if executor.plan.controlled:
            chosen |= executor.chosen
    senders = {node.attrs["key"]: node for node in nodes.values() if node.role is roles.SEND}
    shown = _original(fetch, nodes)
    seen = {fetch}
    waiting = deque([fetch])
    while waiting:
        tensor_id = waiting.popleft()
        source = nodes[tensor_id.node]
        taken = chosen.get(source.name)
        if taken is not None and tensor_id.port == (not taken):
            side, other = ("true", "false") if taken else ("false", "true")
            return InvalidArgumentError(
                f"The fetch {shown} has no value: it lies on the {other} branch, which this run did not take.",
                node=source.name,
                op=source.op,
                where=source.where,
                details=[f"the predicate {_original(source.inputs[1], nodes)} was {taken}, so the {side} branch ran"],
                hint="Fetch what the cond gives, or feed a predicate that takes the branch.",
            )
        sender = senders.get(source.attrs["key"]) if source.role is roles.RECV else None
        inputs = (*source.inputs, *(sender.inputs if sender is not None else ()))
        for before in (*inputs, *(TensorId(control, -1) for control in source.controls)):
            if before.node in nodes and before not in seen:
                seen.add(before)
                waiting.append(before)
    return InvalidArgumentError(f"The fetch {shown} has no value: it lies on a branch that this run did not take.")
