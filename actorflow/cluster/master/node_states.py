"""`NodeStates`: who keeps what the nodes of a session keep between runs, and whether it was lost.

Counters of random numbers and places in files live with the session's parts, and these end with the connection that brought
them. A run that went on without a word would draw the numbers of the beginning again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from actorflow.base.registry import opdef
from actorflow.errors import AbortedError
from actorflow.graph.node import Node


def keeps_state(node: Node) -> bool:
    """Whether a node has random counters, or a place in a file, that checkpoints keep."""
    return opdef.lookup(node.op).stateful and ("seed" in node.attrs or "Reader" in node.op)


def behind(nodes: Mapping[str, Node], wanted: Iterable[str]) -> list[Node]:
    """The nodes that `wanted` need, themselves among them."""
    ancestors: dict[str, Node] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in ancestors and name in nodes:
            node = ancestors[name] = nodes[name]
            waiting.extend(tensor_id.node for tensor_id in node.inputs)
            waiting.extend(node.controls)
    return list(ancestors.values())


class NodeStates:
    """For each place the holder (a connection) of the states there. `has_keepers` tells whether nodes of the graph keep
    something at a place."""

    def __init__(self, has_keepers: Callable[[str], bool]) -> None:
        self._has_keepers = has_keepers
        self._holders: dict[str, object] = {}
        self._used: set[str] = set()
        """The devices on which nodes with state have run, or for which a restore has brought state."""
        self._lost: set[str] = set()
        self._has_moved = False

    def met(self, place: str, holder: object) -> None:
        """`holder` has the states from now on."""
        if self._holders.setdefault(place, holder) is not holder:
            self._holders[place] = holder
            if place in self._used:
                self._lost.add(place)

    def moved(self) -> None:
        """Nodes have other places than in the last run, and their states did not go with them."""
        self._has_moved = True

    def check(self, place: str, nodes: Iterable[Node]) -> None:
        """Before `nodes` run there. State that a restore brings back is lost no more.

        Raises:
            AbortedError: they need states that are lost, or save them. Once: the next run begins with fresh states.
        """
        kept = restored = saved = None
        for node in nodes:
            if node.op in ("RestoreVariables", "AdoptCopies"):
                restored = node
            elif node.op in ("TakeVariables", "TakeCopies"):
                saved = node
            elif keeps_state(node):
                kept = node
        if kept is not None or (restored is not None and self._has_keepers(place)):
            self._used.add(place)
        needs = kept or saved
        if not (place in self._lost or self._has_moved) or (restored is None and needs is None):
            return
        self._lost.discard(place)
        if self._has_moved:
            self._has_moved = False
            self._lost.clear()
        if restored is None and needs is not None:
            raise AbortedError(
                f"The connection to {place} is another one than in the last run, or nodes have moved there, and what nodes kept "
                f"between runs is lost: counters of random numbers, places in files.",
                node=needs.name,
                op=needs.op,
                where=needs.where,
                hint="Restore a checkpoint to go on with the same numbers; or run again, and they begin anew.",
            )
