"""`Changes`: how the changes that several workers make to a variable become a single change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actorflow.errors import InvalidArgumentError
from actorflow.graph import scopes
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Operation
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.global_steps import get_global_step
from actorflow.models.train.replicas.batch_shares import tree_mean

if TYPE_CHECKING:
    from actorflow.models.train.replicas.towers import Towers

_ADDS = ("AssignAdd", "AssignSub", "ScatterAdd", "ScatterSub", "ScatterNdAdd", "ScatterNdSub")
_WRITES = ("Assign", "Scatter", "CountUpTo", "StridedSliceAssign")
"""The beginnings of the types of nodes that change a variable."""


@dataclass
class _Joint:
    """A change that all workers make together: the variable, and so far their values or the result of the first."""

    handle: Any
    values: list[Any] = field(default_factory=list)
    result: Any = None


@dataclass
class _JointChanges:
    """The joint changes of one kind, and the number that each worker has reached."""

    what: str
    changes: list[_Joint] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)

    def next(self, number: int, variable: Any) -> _Joint:
        """The joint change that a worker comes to. Raises InvalidArgumentError if the first worker has another in its place."""
        handle, turn = getattr(variable, "handle", variable), self.counts.get(number, 0)
        self.counts[number] = turn + 1
        if number == 0:
            self.changes.append(_Joint(handle))
        if turn >= len(self.changes) or self.changes[turn].handle is not handle:
            raise InvalidArgumentError(
                f"Logical worker {number} {self.what} {handle.op.name}, and worker 0 does not in this place.",
                hint="Let the function of the workers change the same variables each time.",
            )
        return self.changes[turn]


class Changes:
    """The changes of variables in one build of `Towers`. It joins them for replicas of `tf.distribute` alone.

    Args:
        towers: the workers.
        joins: whether the rule of a variable, its `aggregation`, counts.
    """

    def __init__(self, towers: Towers, joins: bool) -> None:
        self._towers, self.joins = towers, joins and towers.count > 1
        self._firsts, self._means = _JointChanges("changes"), _JointChanges("moves")

    def rule(self, variable: Any) -> str:
        """How the workers' updates of a variable, or of its handle, are joined: a name of `tf.VariableAggregation`; empty for
        updates that each worker makes."""
        if not self.joins:
            return ""
        graph, handle = self._towers.graph, getattr(variable, "handle", variable)
        step = get_global_step(graph)
        if step is not None and step.handle is handle:
            return "ONLY_FIRST_REPLICA"
        keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
        same = (v for key in keys for v in graph.get_collection(key) if getattr(v, "handle", None) is handle)
        own = getattr(variable, "aggregation", None) or getattr(next(same, None), "aggregation", None)
        return str(getattr(own, "name", ""))

    def change(self, number: int, variable: Any, write: Callable[[], Any]) -> Any:
        """See `actorflow.graph.scopes.Tower`."""
        if self.rule(variable) != "ONLY_FIRST_REPLICA":
            return write()
        joint = self._firsts.next(number, variable)
        if number == 0:
            joint.result = write()
        return joint.result

    def move(self, number: int, variable: Any, value: Any, write: Callable[[Any], Any]) -> Any:
        """See `actorflow.graph.scopes.Tower`."""
        if not self.joins:
            return write(value)
        joint, graph = self._means.next(number, variable), self._towers.graph
        joint.values.append(convert_to_tensor(value))
        with self._towers.outside(), scopes.changed(graph, controls=scopes.of(graph).controls):
            if number < self._towers.count - 1:
                return variable.read_value()
            return write(tree_mean(graph, joint.values, None, self._towers.device))

    def check(self, number: int, write: Operation) -> None:
        """Raises NotImplementedError for a change that the workers' changes can't be joined with."""
        if not write.inputs or not write.type.startswith(_WRITES):
            return
        rule = self.rule(write.inputs[0])
        if not rule or (rule == "SUM" and write.type in _ADDS) or (rule == "ONLY_FIRST_REPLICA" and number == 0):
            return
        raise NotImplementedError(
            f"{write.type} of {write.inputs[0].op.name} in {self._towers.count} replicas with aggregation {rule}: replicas are "
            "built in turn here, and only sums of assign_add and assign_sub, or ONLY_FIRST_REPLICA with the assignments of "
            "a variable, can be joined. Return the value, and assign strategy.reduce(...) behind experimental_run_v2."
        )
