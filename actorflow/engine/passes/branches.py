"""Branches that are never taken go: where the predicate of a Switch is a constant, one of its outputs is dead in each run.

Programs switch between training and inference by a predicate. When it is known, the nodes of the other branch are left out,
and those of this one become neighbours of what is around it, with which they may be fused.
"""

from __future__ import annotations

from dataclasses import replace

from actorflow.base.registry import opdef, roles
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.frames import ROOT, Frames, frames, is_free
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph, uses_of
from actorflow.graph.node import NO_ATTRS, Node, TensorId


def fold_branches(graph: Subgraph) -> Subgraph:
    """Leaves out what is dead in each run, and the Switches and Merges whose way is known.

    The graph stays as it is where something that is dead is fetched or a target, so that the run can say so, and where more than
    one input of a Merge is left. Loops stay.

    Args:
        graph: what a signature needs, its constants folded.
    """
    if not any(_is_constant(n.inputs[1], graph) for n in graph.nodes.values() if n.role is roles.SWITCH):
        return graph
    work = _BranchFolding(graph, frames(graph))
    try:
        for node in yielding(graph.nodes.values()):
            work.visit(node)
        return work.result()
    except _TooHard:
        return graph


_LOOKS = (roles.VARIABLE, roles.READ, roles.IS_INITIALIZED)
"""The roles of ops that change nothing, and depend on what others do."""


class _TooHard(Exception):
    """The rest of the graph depends on which nodes die in a run."""


def _is_constant(tensor_id: TensorId, graph: Subgraph) -> bool:
    return tensor_id not in graph.feeds and graph.nodes[tensor_id.node].role is roles.CONSTANT


class _BranchFolding:
    """The nodes so far. `alias` maps a tensor that only passes a value on to its source; `dead` are tensors that no run makes,
    and `gone` the nodes that no run reaches."""

    def __init__(self, graph: Subgraph, where: Frames) -> None:
        self._graph, self._where, self._uses = graph, where, uses_of(graph)
        self._alias: dict[TensorId, TensorId] = {}
        self._stands: dict[str, tuple[str, ...]] = {}
        """For each Switch and Merge that is left out, the nodes that others wait for in its place."""
        self._dead: set[TensorId] = set()
        self._gone: set[str] = set()
        self._nodes: dict[str, Node] = {}

    def visit(self, node: Node) -> None:
        ended = any(name in self._gone for name in node.controls)
        dead = [e in self._dead or (e.node in self._gone and e not in self._graph.feeds) for e in node.inputs]
        if node.role is roles.MERGE:
            self._merge(node, dead, ended)
        elif (ended or any(dead)) and not opdef.lookup(node.op).fires_dead:
            self._gone.add(node.name)
        elif ended or any(dead):
            self._fires_dead(node, dead)
        elif node.role is roles.SWITCH and self._where.of[node.name] == ROOT:
            self._switch(node, self._alias.get(node.inputs[1], node.inputs[1]))
        else:
            self._keep(node)

    def _switch(self, node: Node, predicate: TensorId) -> None:
        if not _is_constant(predicate, self._graph):
            self._keep(node)
            return
        taken = int(bool(self._graph.nodes[predicate.node].attrs["value"]))
        self._dead.add(TensorId(node.name, 1 - taken))
        self._stand_for(TensorId(node.name, taken), node, node.inputs[0])

    def _merge(self, node: Node, dead: list[bool], ended: bool) -> None:
        nodes = self._graph.nodes
        loops = any(nodes[e.node].role is roles.NEXT_ITERATION for e in node.inputs if e not in self._graph.feeds)
        if ended:
            raise _TooHard
        if all(dead) or loops and any(dead):
            self._gone.add(node.name)
        elif not any(dead):
            self._keep(node)
        elif sum(dead) == len(dead) - 1 and not self._uses[TensorId(node.name, 1)]:
            self._stand_for(TensorId(node.name, 0), node, node.inputs[dead.index(False)])
        else:
            raise _TooHard

    def _fires_dead(self, node: Node, dead: list[bool]) -> None:
        """A node that waits for others whether they run or not."""
        if any(dead) or node.role is not roles.TRIGGER:
            raise _TooHard
        self._keep(replace(node, controls=tuple(name for name in node.controls if name not in self._gone)))

    def _stand_for(self, tensor_id: TensorId, node: Node, source: TensorId) -> None:
        """Lets `source` take the place of the only output of a node that is alive."""
        if any(TensorId(node.name, port) in self._graph.feeds for port in range(len(node.dtypes))):
            raise _TooHard
        origin = self._alias.get(source, source)
        copy = None if origin in self._graph.feeds else self._nodes.get(origin.node)  # what leaves a branch is copied
        if copy is not None and copy.role is roles.IDENTITY and not copy.controls and self._uses[copy.name] == 1:
            origin = copy.inputs[0]
            del self._nodes[copy.name]
        self._alias[tensor_id] = origin
        waits = self._controls(() if origin in self._graph.feeds else (origin.node,))
        self._stands[node.name] = self._controls((*node.controls, *waits))
        if self._stands[node.name] != waits:
            self._nodes[node.name] = replace(
                node,
                op="Identity",
                inputs=(origin,),
                controls=self._controls(node.controls),
                attrs=NO_ATTRS,
                dtypes=node.dtypes[:1],
                shapes=node.shapes[:1],
            )
            self._alias[tensor_id] = TensorId(node.name, 0)
            self._stands[node.name] = (node.name,)

    def _controls(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the nodes to wait for in the place of others."""
        own_names = [own for name in names for own in self._stands.get(name, (name,))]
        return tuple(dict.fromkeys(name for name in own_names if not is_free(self._graph.nodes[name])))

    def _keep(self, node: Node) -> None:
        inputs = tuple(self._alias.get(e, e) for e in node.inputs)
        controls = self._controls(node.controls)
        changed = (inputs, controls) != (node.inputs, node.controls)
        self._nodes[node.name] = replace(node, inputs=inputs, controls=controls) if changed else node

    def result(self) -> Subgraph:
        graph = self._graph
        fetches = tuple(self._alias.get(e, e) for e in graph.fetches)
        targets = tuple(dict.fromkeys(own for t in graph.targets for own in self._stands.get(t, (t,))))
        dead = [e for e in fetches if e not in graph.feeds and (e in self._dead or e.node in self._gone)]
        if dead or self._gone.intersection(targets):
            raise _TooHard
        loops = [node for node in graph.nodes.values() if node.role is roles.ENTER]
        for frame in {node.attrs["frame_name"] for node in loops if node.name in self._gone}:
            if any(node.attrs["frame_name"] == frame and node.name not in self._gone for node in loops):
                raise _TooHard  # such a loop runs, and part of it is dead
        entered = {name: enters for name, enters in graph.entered.items() if name not in self._gone}
        folded = replace(graph.with_nodes(self._nodes.values()), fetches=fetches, targets=targets, entered=entered)
        needed = prune(folded).nodes
        # A branch does not run, but the nodes around it that only it uses do.
        effects = [name for name, node in folded.nodes.items() if name not in needed and _has_effect(node)]
        return replace(folded, targets=(*targets, *effects))


def _has_effect(node: Node) -> bool:
    return opdef.lookup(node.op).stateful and node.role not in _LOOKS
