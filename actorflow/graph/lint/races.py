"""The race lint: accesses of one variable that nothing orders, so that a run may give one result or another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actorflow.base.registry import opdef
from actorflow.errors import Where
from actorflow.graph.analysis.inline import inline
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.graph import Graph
from actorflow.graph.lint.happens_before import HappensBefore, happens_before
from actorflow.graph.node import Node, TensorId
from actorflow.graph.structure.fetches import Fetches

_COMMUTING: tuple[frozenset[str], ...] = (
    frozenset(
        ("AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "ScatterAdd", "ScatterSub")
        + ("ResourceScatterAdd", "ResourceScatterSub", "ScatterNdAdd", "ScatterNdSub")
        + ("ResourceScatterNdAdd", "ResourceScatterNdSub")
    ),
    frozenset(
        ("AssignMul", "AssignMulVariableOp", "ScatterMul", "ScatterDiv", "ResourceScatterMul", "ResourceScatterDiv")
    ),
    frozenset(("ScatterMin", "ResourceScatterMin")),
    frozenset(("ScatterMax", "ResourceScatterMax")),
)
_PASSING = frozenset(("Switch", "Enter", "Identity"))


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses of one variable, a write among them, that may happen in either order.

    If an access is the read that all uses of a variable share, `users` has the first node that uses it, by its name.
    `first` and `second` are one node where a loop executes it in iterations that overlap.
    """

    variable: str
    first: Node
    second: Node
    users: Mapping[str, Node] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`read/write` or `write/write`."""
        both = opdef.lookup(self.first.op).writes and opdef.lookup(self.second.op).writes
        return "write/write" if both else "read/write"

    @property
    def lines(self) -> tuple[Where | None, Where | None]:
        """The lines of the program that make the accesses; of a shared read, the line that uses it."""
        return self._place(self.first).where, self._place(self.second).where

    def __str__(self) -> str:
        if self.first is self.second:
            return (
                f"{self.kind} race on variable {self.variable}: {self._say(self.first)} of one iteration and of the next are "
                f"not ordered; let what the loop carries on wait for it if the order matters."
            )
        commute = _commute(self.first, self.second)
        seen = (
            " Both orders leave the same value in the variable, but the values that they give differ."
            if commute
            else ""
        )
        return (
            f"{self.kind} race on variable {self.variable}: {self._say(self.first)} and {self._say(self.second)} are not "
            f"ordered; add af.control_dependencies between them if the order matters.{seen}"
        )

    def _place(self, access: Node) -> Node:
        return self.users.get(access.name, access)

    def _say(self, access: Node) -> str:
        user = self.users.get(access.name)
        if user is None:
            return f"{access.name} ({access.op}) at {access.where}"
        return f"{access.name} ({access.op}), used by {user.name} ({user.op}) at {user.where},"


def races_of_runs(graph: Graph, runs: Sequence[Any]) -> list[Race]:
    """The races within each of `runs`, structures of fetches as for `session.run`; without any, those of all of `graph`.

    Raises:
        InvalidArgumentError: the nodes form a cycle.
        KeyError, TypeError, ValueError: something can't be fetched.
    """
    if not runs:
        return find_races(graph.nodes)
    races: dict[tuple[str, str, str], Race] = {}
    for run in [Fetches(graph, structure) for structure in runs]:
        for race in find_races(graph.nodes, run.tensor_ids, run.targets):
            races.setdefault((race.variable, race.first.name, race.second.name), race)
    return list(races.values())


def find_races(
    nodes: Mapping[str, Node], fetches: Collection[TensorId] | None = None, targets: Collection[str] = ()
) -> list[Race]:
    """All pairs of accesses that nothing orders, in the order of the graph.

    Updates that commute (`+=` with `+=`) are no race if nothing takes the values that they give, and a read that nothing
    takes is none either. Accesses inside of critical sections of one mutex exclude each other, so their order is free.

    Args:
        nodes: the graph, in the order in which it was made.
        fetches, targets: the tensors and operations that one run is asked for. Without fetches all of the graph is looked at,
            as one run, but for initialisers and what only they need. Then a tensor counts as fetched that nothing takes or
            waits for and that is outside of branches, loops and functions, but not the read that all uses of a variable
            share.

    Raises:
        InvalidArgumentError: the graph has a cycle.
    """
    if fetches is None:
        inlined, _ = inline(nodes)
        kept = _without_initialisers(inlined)
        run = prune(Subgraph(inlined, {}, (), tuple(kept)))
        return _Lint(run, nodes, kept, None).races()
    inlined, resolved = inline(nodes, tuple(fetches))
    run = prune(Subgraph(inlined, {}, resolved, tuple(targets)))
    return _Lint(run, nodes, run.nodes, frozenset(resolved)).races()


class _Lint:
    """The work of one `find_races`. `kept` are the nodes whose accesses count."""

    def __init__(
        self,
        run: Subgraph,
        original: Mapping[str, Node],
        kept: Collection[str],
        fetched: frozenset[TensorId] | None,
    ) -> None:
        self._nodes = run.nodes
        self._position = {name: i for i, name in enumerate(original)}
        self._fetched = fetched
        self._users: dict[TensorId, Node] = {}
        self._awaited = {control for node in run.nodes.values() for control in node.controls}
        for node in sorted(run.nodes.values(), key=self._place):
            for tensor_id in node.inputs:
                self._users.setdefault(tensor_id, node)
        self._variables = {name: variables for name in kept if (variables := self._accessed(run.nodes[name]))}
        self._run = run

    def _place(self, node: Node) -> int:
        """The position of a node in the program; copies of functions' bodies come last."""
        return self._position.get(node.name, len(self._position))

    def races(self) -> list[Race]:
        writes = {variable for name, accessed in self._variables.items() if self._writes(name) for variable in accessed}
        accesses = {name for name, accessed in self._variables.items() if not writes.isdisjoint(accessed)}
        if not accesses:
            return []
        locks = {name for name, node in self._nodes.items() if node.op in ("MutexLock", "ConsumeMutexLock")}
        reads = {name for name in accesses if not self._writes(name)}
        order = happens_before(self._run, accesses | locks, reads)
        sections = self._sections(order)
        of_variable: dict[str, int] = {}
        writing = 0
        commuting = [0] * len(_COMMUTING)
        races: dict[tuple[str, str, str], Race] = {}
        for at, instance in enumerate(order.instances):
            if instance.node not in accesses:
                continue
            node, bit = self._nodes[instance.node], 1 << at
            group = self._group(node)
            unordered = ~order.before[at] & ~order.never_with[at]
            if not self._writes(node.name):
                unordered &= writing
            if group is not None:
                unordered &= ~commuting[group]
                commuting[group] |= bit
            if self._writes(node.name):
                writing |= bit
            for variable in self._variables[node.name]:
                for other in _bits(of_variable.get(variable, 0) & unordered):
                    if not _exclude(sections.get(at, {}), sections.get(other, {})):
                        race = self._race(variable, node, self._nodes[order.instances[other].node])
                        races.setdefault((variable, race.first.name, race.second.name), race)
                of_variable[variable] = of_variable.get(variable, 0) | bit
        return sorted(races.values(), key=lambda race: (self._place(race.first), self._place(race.second)))

    def _writes(self, name: str) -> bool:
        return opdef.lookup(self._nodes[name].op).writes

    def _accessed(self, node: Node) -> list[str]:
        """The variables that a node reads or writes, unless it is a read that nothing takes."""
        definition = opdef.lookup(node.op)
        if not definition.has_ref_input or node.op == "IsVariableInitialized":
            return []
        handles = [h.name for e in node.inputs if (h := self._origin(e)).op == "VariableV2" and h.dtypes[0].is_ref]
        if handles and not definition.writes and not self._is_taken(node, handles[0]):
            return []
        return list(dict.fromkeys(handles))

    def _origin(self, tensor_id: TensorId) -> Node:
        """The node that makes what is only passed on into branches and loops."""
        node = self._nodes[tensor_id.node]
        while node.op in _PASSING:
            node = self._nodes[node.inputs[0].node]
        return node

    def _is_taken(self, node: Node, variable: str) -> bool:
        """Whether something takes the value of a node."""
        output = TensorId(node.name, 0)
        if output in self._users:
            return True
        if self._fetched is not None:
            return output in self._fetched
        outside = node.name in self._position and node.inputs[0].node == variable
        return outside and node.name not in self._awaited and node.name != f"{variable}/read"

    def _group(self, node: Node) -> int | None:
        """The number of the updates with which this one commutes; None where its value is taken, so that it tells."""
        if node.dtypes and self._is_taken(node, self._origin(node.inputs[0]).name):
            return None
        return next((i for i, group in enumerate(_COMMUTING) if node.op in group), None)

    def _sections(self, order: HappensBefore) -> dict[int, dict[str, int]]:
        """For each access the mutexes that its run holds meanwhile, and the lock of each."""
        numbers = {instance: at for at, instance in enumerate(order.instances)}
        sections: dict[int, dict[str, int]] = {}
        for at, instance in enumerate(order.instances):
            node = self._nodes[instance.node]
            if node.op != "ConsumeMutexLock":
                continue
            lock = numbers.get(instance._replace(node=self._origin(node.inputs[1]).name))
            mutex = self._origin(node.inputs[0])
            if lock is not None:
                name = mutex.attrs["shared_name"] or mutex.name
                for inner in _bits(order.before[at]):
                    if order.before[inner] >> lock & 1:
                        sections.setdefault(inner, {})[name] = lock
        return sections

    def _race(self, variable: str, node: Node, other: Node) -> Race:
        first, second = sorted((node, other), key=self._place)
        shared = {n.name: user for n in (first, second) if (user := self._user(n, variable)) is not None}
        return Race(variable, first, second, shared)

    def _user(self, access: Node, variable: str) -> Node | None:
        return self._users.get(TensorId(access.name, 0)) if access.name == f"{variable}/read" else None


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _exclude(locks: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether two accesses are in different executions of critical sections of one mutex."""
    return any(other.get(mutex, lock) != lock for mutex, lock in locks.items())


def _commute(first: Node, second: Node) -> bool:
    return any(first.op in group and second.op in group for group in _COMMUTING)


def _without_initialisers(nodes: Mapping[str, Node]) -> list[str]:
    """The names of all nodes but the bodies of functions, initialisers, and what only initialisers need.

    An initialiser is the Assign that a variable was made with; a program runs it once, by itself.
    """
    users: dict[str, list[str]] = {}
    bodies: set[str] = set()
    for node in nodes.values():
        sources = [e.node for e in node.inputs] + list(node.controls)
        for source in sources:
            users.setdefault(source, []).append(node.name)
    stack = [node.name for node in nodes.values() if node.op in ("_Arg", "_Return")]
    while stack:
        name = stack.pop()
        if name not in bodies:
            bodies.add(name)
            stack.extend(users.get(name, ()))
    starting: set[str] = set()
    for node in reversed(list(prune(Subgraph(nodes, {}, (), tuple(nodes))).nodes.values())):
        theirs = users.get(node.name, ())
        only_that = bool(theirs) and all(user in starting for user in theirs)
        if _initialises(node, nodes) or only_that or _starts_all(node, nodes):
            starting.add(node.name)
    return [name for name in nodes if name not in bodies and name not in starting]


def _initialises(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether `node` is the Assign that `Variable` made together with its handle."""
    return node.op in ("Assign", "AssignVariableOp") and node.name == f"{node.inputs[0].node}/Assign"


def _starts_all(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether `node` is a group of initialisers only."""
    waits = node.op == "NoOp" and bool(node.controls)
    return waits and all(_initialises(nodes[c], nodes) or _starts_all(nodes[c], nodes) for c in node.controls)
