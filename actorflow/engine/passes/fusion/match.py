"""`Match` and `FusionRule`: two nodes, of which one feeds the other, and what becomes of such a pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from actorflow.base.registry import kernel
from actorflow.graph.analysis.subgraph import Subgraph, Uses
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node, TensorId

JOINED = "_joined"
"""The attribute of a fused node that names the others for which it stands."""


@dataclass(frozen=True, slots=True)
class Match:
    """Two nodes that a rule may fuse: `first` computes the input `position` of `last`, and for nothing else.

    nodes: those so far, by name, in their order; `graph` has all, and the types and shapes of what is fed.
    uses: how many inputs and fetches of the graph take each tensor.
    """

    graph: Subgraph
    nodes: Mapping[str, Node]
    uses: Uses
    first: Node
    last: Node
    position: int

    @property
    def other(self) -> TensorId:
        """The other input of a `last` that has two."""
        return self.last.inputs[1 - self.position]


@dataclass(frozen=True, slots=True)
class FusionRule:
    """A pattern and its replacement: `first`, which is in `firsts`, feeds an input of `last`, which is in `lasts`.

    positions: the inputs of `last` at which `first` is looked for, in this order.
    fits: whether shapes and attributes allow it.
    made: the nodes that stand for the two. A made node has the name of `last`; if none has the name of `first`, `first` goes.
    keeps: whether a made node has the name of `first` and its other outputs, which may have users.
    """

    name: str
    firsts: frozenset[str]
    lasts: frozenset[str]
    positions: tuple[int, ...]
    fits: Callable[[Match], bool]
    made: Callable[[Match], Sequence[Node]]
    keeps: bool = False


def joined(match: Match, op: str, inputs: tuple[TensorId, ...], **attrs: Any) -> Node:
    """A node in the place of `last` that does the work of `first` as well."""
    first, last = match.first, match.last
    return replace(
        last,
        op=op,
        inputs=inputs,
        controls=tuple(dict.fromkeys((*first.controls, *last.controls))),
        attrs=MappingProxyType({**first.attrs, **attrs, JOINED: (*first.attrs.get(JOINED, ()), first.name)}),
    )


def has_kernel(op: str, node: Node) -> bool:
    """Whether a node's device has a kernel of an op for its types."""
    kind = DeviceSpec.parse(node.device).kind if node.device else "CPU"
    return kernel.includes(kernel.devices_of(op, node.dtypes), kind or "CPU")
