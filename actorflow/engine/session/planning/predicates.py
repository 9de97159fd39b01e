"""Predicates that are fed: a plan is made for each of their values, so that branches that are not taken are not part of it.

A program that feeds `{training: True}` and `{training: False}` has two plans, in each of which layers are next to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from actorflow.base import dtypes
from actorflow.base.registry import roles
from actorflow.graph.node import Node, TensorId
from actorflow.graph.structure.feeds import Feed

Given: TypeAlias = "tuple[bool | None, ...]"
"""A value for each predicate, None for a value that is no scalar."""
MOST_PLANS = 8
"""The plans of a signature; further values are left to a plan for all of them."""
_LOGIC = (roles.IDENTITY, roles.LOGIC)


def predicates_of(nodes: Mapping[str, Node], feeds: Iterable[Feed]) -> tuple[TensorId, ...]:
    """The tensors among `feeds` on which a Switch depends.

    Args:
        nodes: those of the graph, each after its inputs.
        feeds: what a signature feeds.
    """
    candidates = [feed.tensor_id for feed in feeds if _may_be_one(feed, nodes)]
    return tuple([tensor_id for tensor_id in candidates if _steers(nodes, tensor_id)]) if candidates else ()


def given(predicates: Sequence[TensorId], values: Mapping[TensorId, Any]) -> Given:
    """The values of predicates in a run."""
    return tuple([bool(values[e]) if values[e].shape == () else None for e in predicates])


def all_given(predicates: Sequence[TensorId]) -> list[Given]:
    """All values that predicates may have; empty if they are too many."""
    return list(product((False, True), repeat=len(predicates))) if 1 << len(predicates) <= MOST_PLANS else []


def _may_be_one(feed: Feed, nodes: Mapping[str, Node]) -> bool:
    tensor = feed.tensor
    return tensor.dtype is dtypes.bool and not tensor.static_shape and len(nodes[tensor.op.name].dtypes) == 1


def _steers(nodes: Mapping[str, Node], tensor_id: TensorId) -> bool:
    """Whether a Switch takes a tensor, or what is computed of it by logic, as its predicate. A function may have one inside."""
    steering = {tensor_id}
    for node in nodes.values():
        if node.role is roles.SWITCH and node.inputs[1] in steering:
            return True
        if node.role is roles.CALL and not steering.isdisjoint(node.inputs):
            return True
        if node.role in _LOGIC and not steering.isdisjoint(node.inputs):
            steering.add(TensorId(node.name, 0))
    return False
