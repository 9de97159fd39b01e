"""From what a step computed to what its caller gets: read-only arrays, numpy scalars, bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.graph.node import Endpoint, Node
from actorflow.runtime.part import Part
from actorflow.runtime.plan import Plan
from actorflow.runtime.step import Step
from actorflow.runtime.tokens import DEAD

_COMBINED = {"_Region": "outputs", "_Loop": "exits"}
"""The nodes that stand for others, and the attribute that says for which outputs."""


def fetched(step: Step, places: Sequence[tuple[int, int]], feeds: Mapping[Endpoint, Any]) -> list[Any]:
    """The values of a finished step's fetches.

    Raises:
        InvalidArgumentError: a fetch is dead: it lies on a branch that was not taken.
    """
    parts = step.parts
    return [result_of(step, part, position, parts[part].slots[position], feeds) for part, position in places]


def result_of(step: Step, part: int, position: int, value: Any, feeds: Mapping[Endpoint, Any]) -> Any:
    """One fetched value as its caller gets it."""
    if type(value) is np.ndarray:
        if not value.ndim:
            return value[()]
        if feeds and (value.base is not None or value.flags.writeable):
            for fed in feeds.values():
                if type(fed) is np.ndarray and (value is fed or np.may_share_memory(value, fed)):
                    value = value.copy()  # what the caller fed stays the caller's to write
                    break
        if value.flags.writeable:
            value.flags.writeable = False
        return value
    if value is DEAD:
        raise _dead(step.parts[part], position)
    return value


def _original(endpoint: Endpoint, nodes: Mapping[str, Node]) -> Endpoint:
    """The tensor of the user's graph that an output of a region is."""
    node = nodes.get(endpoint.node)
    if node is None or node.op not in _COMBINED:
        return endpoint
    original: Endpoint = node.attrs[_COMBINED[node.op]][endpoint.port]
    return original


def _nodes_of(plan: Plan) -> dict[str, Node]:
    """The nodes of a plan and of the loops in it."""
    found = {node.node.name: node.node for node in plan.nodes}
    for inner in plan.loops.values():
        found |= _nodes_of(inner)
    return found


def _dead(part: Part, position: int) -> InvalidArgumentError:
    """The error of a fetch that has no value: it names the nearest Switch that sent its token elsewhere."""
    nodes = _nodes_of(part.plan)
    fetch = part.plan.fetches[position]
    node = nodes[fetch.node]
    shown = _original(fetch, nodes)
    chosen = part.chosen if part.plan.controlled else {}
    seen = {node.name}
    waiting = deque([node])
    while waiting:
        node = waiting.popleft()
        for endpoint in (*node.inputs, *(Endpoint(control, -1) for control in node.controls)):
            source = nodes.get(endpoint.node)
            if source is None:
                continue
            taken = chosen.get(source.name)
            if taken is not None and endpoint.port == (not taken):
                side, other = ("true", "false") if taken else ("false", "true")
                return InvalidArgumentError(
                    f"The fetch {shown} has no value: it lies on the {other} branch, which this run did not take.",
                    node=source.name,
                    op=source.op,
                    where=source.where,
                    details=[
                        f"the predicate {_original(source.inputs[1], nodes)} was {taken}, so the {side} branch ran"
                    ],
                    hint="Fetch what the cond gives, or feed a predicate that takes the branch.",
                )
            if source.name not in seen:
                seen.add(source.name)
                waiting.append(source)
    return InvalidArgumentError(f"The fetch {shown} has no value: it lies on a branch that this run did not take.")
