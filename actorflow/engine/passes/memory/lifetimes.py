"""How long tensors live: what a part of a graph takes of its device's memory, for any order in which its nodes may run.

A tensor takes memory from the beginning of the node that makes it to the end of the last node that takes it, through views too.
Only what the device counts is counted here: tensors of the allocator's threshold and more, and none of the constants and
variables, which are there before and after. Sizes are static, with a guess for what only the run knows.

The order in which the runtime would run the nodes is known as well (`fifo`): its ready queue gives them out as they come, and
who becomes ready is decided by the graph. Kernels on threads and what comes from elsewhere disturb it; nothing else does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef, roles
from actorflow.base.shapes import Shape
from actorflow.engine.passes.coalesce import writes_last
from actorflow.engine.placement.cost_model import expected_bytes
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import PRIMITIVES, is_free
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

Feeds: TypeAlias = Literal["free", "counted", "followed"]
_ELSEWHERE = (roles.READ, roles.PLACEHOLDER, roles.CONSTANT, roles.SWAP_OUT)
"""The roles of ops whose results are there already, or in host memory."""
_WITH_SCRATCH = frozenset(("_SgdMatMul",))
"""Ops whose kernels take a buffer of the variable's size while they run."""


class Lifetimes:
    """The nodes of a part as numbers, in the part's order, and the memory that they make, hold and let go of.

    nodes: all but the constants, which run at no time.
    size: bytes of each piece of memory.
    makes, takes: for each node the pieces that its outputs are in, and those that its inputs are in.
    held: for each tensor the pieces that it keeps alive: its own, or for a view those that it may look at.
    kept: the pieces that fetches hold to the end.
    extra: bytes that a region or an update needs while it runs, beside its inputs and outputs.

    A fed tensor is in no memory of the device ("free"), or is brought there when the step begins ("counted");
    "followed", it takes none, but its views are known.
    """

    def __init__(self, graph: Subgraph, threshold: int, feeds: Feeds = "free") -> None:
        self.graph = graph
        self.threshold = threshold
        self.feeds = feeds
        self.nodes: list[Node] = [node for node in graph.nodes.values() if not is_free(node)]
        self.index = {node.name: at for at, node in enumerate(self.nodes)}
        self.size: list[int] = []
        self.held: dict[TensorId, tuple[int, ...]] = {}
        self.extra = [0] * len(self.nodes)
        self._fed: list[int] = []
        self._waiting: tuple[list[int], list[list[int]]] | None = None
        for tensor_id, (dtype, _) in graph.feeds.items():
            self.held[tensor_id] = self._fed_piece(dtype, graph.size_of(tensor_id), feeds)
            self._fed.extend(self.held[tensor_id])
        self.takes: list[list[int]] = []
        self.makes: list[list[int]] = []
        for at, node in yielding(enumerate(self.nodes)):
            taken = dict.fromkeys(piece for e in node.inputs for piece in self.held.get(e, ()))
            first = len(self.size)
            self._outputs(at, node, tuple(taken))
            self.takes.append(list(taken))
            self.makes.append(list(range(first, len(self.size))))
        self.kept = {piece for e in graph.fetches for piece in self.held.get(e, ())}
        self.users = [0] * len(self.size)
        for pieces in self.takes:
            for piece in pieces:
                self.users[piece] += 1

    # The memory that nodes make

    def _piece(self, dtype: DType, shape: Shape) -> tuple[int, ...]:
        """A new piece of memory for a tensor, if the device counts that."""
        if dtype.is_ref or not dtype.size or (nbytes := expected_bytes(shape, dtype)) < self.threshold:
            return ()
        self.size.append(nbytes)
        return (len(self.size) - 1,)

    def _fed_piece(self, dtype: DType, shape: Shape, feeds: Feeds) -> tuple[int, ...]:
        if feeds != "followed":
            return self._piece(dtype, shape) if feeds == "counted" else ()
        self.size.append(0)
        return (len(self.size) - 1,)

    def _outputs(self, at: int, node: Node, taken: tuple[int, ...]) -> None:
        if node.role is roles.REGION:
            self._region(at, node)
            return
        if node.op in _WITH_SCRATCH:
            dtype, shape = self.graph.type_of(node.inputs[0])
            nbytes = expected_bytes(shape, dtype.base_dtype)
            self.extra[at] = nbytes if nbytes >= self.threshold else 0
        is_view = node.role in PRIMITIVES or opdef.lookup(node.op).view
        for port, dtype in enumerate(node.dtypes):
            tensor_id, pieces = TensorId(node.name, port), taken
            if not is_view:
                shape = self.graph.sizes.get(tensor_id, node.shapes[port])
                pieces = () if node.role in _ELSEWHERE else self._piece(dtype, shape)
            self.held.setdefault(tensor_id, pieces)  # others take what is fed in its place

    def _region(self, at: int, node: Node) -> None:
        """A region's outputs, which may be views of its inputs or of each other; what it needs beside them is added while it
        runs."""
        inner = inside(node, self.graph, self.threshold)
        pieces = {
            inner.held[name][0]: self.held.get(outer, ())
            for name, outer in zip(node.attrs["inputs"], node.inputs, strict=True)
        }
        for port, name in enumerate(node.attrs["outputs"]):
            held = inner.held.get(name, ())  # a member may be a constant
            for piece in held:
                if piece not in pieces:
                    self.size.append(inner.size[piece])
                    pieces[piece] = (len(self.size) - 1,)
            union = dict.fromkeys(mine for piece in held for mine in pieces[piece])
            self.held.setdefault(TensorId(node.name, port), tuple(union))
        left = sum(inner.size[piece] for piece in inner.kept)
        self.extra[at] = max(0, inner.peak(range(len(inner.nodes))) - left)

    # Orders

    def is_light(self, at: int) -> bool:
        """Whether a node neither makes nor takes what is counted."""
        return not (self.makes[at] or self.takes[at] or self.extra[at])

    def waiting(self) -> tuple[list[int], list[list[int]]]:
        """For each node how many edges it waits for (a list of the caller's own), and the nodes that wait for it: in the order in
        which the runtime tells them, once for each edge."""
        if self._waiting is None:
            self._waiting = self._count_edges()
        counts, users = self._waiting
        return counts.copy(), users

    def _count_edges(self) -> tuple[list[int], list[list[int]]]:
        counts = [0] * len(self.nodes)
        by_port: dict[TensorId, list[int]] = {}
        by_control: dict[str, list[int]] = {}
        graph = self.graph
        for at, node in yielding(enumerate(self.nodes)):
            needs = graph.predecessors(node)
            data = [e for e in node.inputs if e not in graph.feeds]
            if node.role is roles.MERGE:
                data = [e for e in data if graph.nodes[e.node].role is not roles.NEXT_ITERATION]
            for tensor_id in data:
                if tensor_id.node in self.index:
                    by_port.setdefault(tensor_id, []).append(at)
                    counts[at] += 1
            for name in needs[len(data) :]:
                if name in self.index:
                    by_control.setdefault(name, []).append(at)
                    counts[at] += 1
        users_of: list[list[int]] = []
        for node in self.nodes:
            users: list[int] = []
            for port in range(len(node.dtypes)):
                users.extend(by_port.get(TensorId(node.name, port), ()))
            users_of.append(users + by_control.get(node.name, []))
        return counts, users_of

    def fifo(self) -> list[int]:
        """The order in which the runtime runs the nodes where nothing disturbs it."""
        counts, users = self.waiting()
        fed = {at for at, node in enumerate(self.nodes) if any(e in self.graph.feeds for e in node.inputs)}
        roots = [at for at, count in enumerate(counts) if not count]
        queue = deque([at for at in roots if at not in fed] + [at for at in roots if at in fed])
        order: list[int] = []
        while queue:
            at = queue.popleft()
            order.append(at)
            for user in users[at]:
                counts[user] -= 1
                if not counts[user]:
                    queue.append(user)
        return order

    def profile(self, order: Sequence[int]) -> list[int]:
        """The counted bytes in memory while each node runs, in the order of `order`."""
        left = self.users.copy()
        live = sum(self.size[piece] for piece in self._fed)
        profile: list[int] = []
        for at in order:
            live += sum(self.size[piece] for piece in self.makes[at])
            profile.append(live + self.extra[at])
            for piece in self.takes[at]:
                left[piece] -= 1
            live -= sum(self.size[p] for p in (*self.takes[at], *self.makes[at]) if not left[p] and p not in self.kept)
        return profile

    def peak(self, order: Sequence[int]) -> int:
        """The most counted bytes that are in memory at once."""
        return max(self.profile(order), default=sum(self.size[piece] for piece in self._fed))

    def total(self) -> int:
        """The bytes of all tensors, as if none was ever let go: no order takes more."""
        return sum(self.size) + sum(self.extra)


def inside(region: Node, around: Subgraph, threshold: int) -> Lifetimes:
    """The members of a region, as a part of their own and in the order in which it runs them."""
    attrs = region.attrs
    nodes = attrs["members"] if attrs.get("ordered") else writes_last(attrs["members"])
    names = {node.name for node in nodes}
    cut = [replace(node, controls=tuple(c for c in node.controls if c in names)) for node in nodes]
    graph = Subgraph(
        nodes={node.name: node for node in cut},
        feeds=dict(zip(attrs["inputs"], map(around.type_of, region.inputs), strict=True)),
        fetches=tuple(attrs["outputs"]),
        sizes=around.sizes,
    )
    return Lifetimes(graph, threshold, "followed")
