"""The compiled plan of one device: what a step needs to know of each node, as records and counts that never change.

Edges are slots: each input of each node has its place in one list, which the producer fills. A node may fire when its
pending count, the number of its data and control edges that have brought nothing yet, is zero (paper section 3.1).
A step starts with copies of `pending` and `slots`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from actorflow.engine.device.base import Device
from actorflow.engine.passes.coalesce import members_of
from actorflow.engine.runtime.codegen.region import Region
from actorflow.engine.runtime.diagnostics.costs import Cost, NodeCosts
from actorflow.graph.node import Node, TensorId

if TYPE_CHECKING:
    from actorflow.engine.runtime.actors import ExecutorState

SINK = 0
"""The index of the node that collects the fetches; it fires last, and has no kernel. Loops have none that fires."""

Edges: TypeAlias = "tuple[tuple[int, int], ...]"
"""The (slot, consumer) pairs that one output fills."""

Fire: TypeAlias = "Callable[[ExecutorState, PlanNode], None]"
"""A way in which a node fires."""
Run: TypeAlias = "Callable[[ExecutorState, PlanNode, list[Any]], Any]"
"""A way in which the task of a node runs its kernel; it may give a coroutine to wait for."""


class MergeEdge(NamedTuple):
    """An edge into a Merge: from which output, to which slot and node, as which input. This number of dead tokens kills
    it."""

    output: int
    slot: int
    consumer: int
    position: int
    fatal: int


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One node as its task sees it.

    `fire` starts it when its channels have filled, `fire_dead` if one of the channels brought a dead token; their task
    calls `run`, which calls `launch`. Both ways give the kernel its executor, but for `launch_by_cost`, whose kernels take
    their inputs alone; a primitive's `launch` moves its tokens.

    `places` are its input slots, `blank` is what they hold when nothing is in them. `edges` lists, for each
    output, the (slot, consumer) pairs that it fills; `merges` its edges into Merges; `controls` the nodes that only wait
    for it. The edges of an Enter are among the nodes of its loop, those of an Exit among those around it.
    """

    index: int
    node: Node
    fire: Fire
    fire_dead: Fire
    run: Run
    launch: Callable[..., Any]
    places: slice
    blank: list[Any]
    edges: tuple[Edges, ...]
    merges: tuple[MergeEdge, ...]
    controls: tuple[int, ...]
    cost: Cost
    costs: NodeCosts | None = None
    """The costs by the sizes of inputs, where shapes are open."""
    region: Region | None = None
    touches_state: bool = False
    is_threaded: bool = False
    """Whether its asynchronous kernel works on a thread of its own, and does not merely wait."""
    may_follow: bool = False
    """Whether a thread that has run what it waits for may go on with it: it keeps nothing between runs, and touches no state."""
    rank: float = 0.0
    """Of the nodes of a step that wait for a thread, the node with the highest rank is next; see `Subgraph.ranks`."""
    label: tuple[str, str, str, tuple[str, ...], str] = ("", "", "", (), "")
    """The name, the op, the key of an edge, the names of a region's members, and marks: what traces note in each run."""

    @property
    def members(self) -> tuple[Node, ...]:
        """The nodes of the user's graph that this one stands for."""
        return members_of(self.node)


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes of one device for one signature, or those of a loop among them.

    `feeds` lists, for each fed tensor, the edges that it fills. `loops` are the plans of the loops directly inside, by
    the name of their frame; `enters` counts the edges that lead into this loop.
    """

    device: Device
    nodes: tuple[PlanNode, ...]
    pending: list[int]
    slots: list[Any]
    roots: tuple[int, ...]
    feeds: Mapping[TensorId, tuple[Edges, tuple[MergeEdge, ...]]]
    fetches: tuple[TensorId, ...]
    executed: int
    """How many nodes of the user's graph one step runs, members of regions counted, and those of loops once."""
    loops: Mapping[str, Plan]
    controlled: bool
    """Whether there are branches or loops."""
    urgent: frozenset[int]
    """The nodes from which a way leads to what somebody else waits for: asynchronous kernels (a Send), branches, loops."""
    enters: int = 0
    parallel_iterations: int = 1
    seen: bool = False
    """Whether each node is a task that asyncio shows (see `visible_actors`)."""
    explain: Callable[[], Sequence[str]] | None = None
    """Says what the plan expects of its device's memory, in lines for an error."""
