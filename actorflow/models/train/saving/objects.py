"""The variables of a program's objects, each by the way to it: `model/layers/0/kernel`.

An object's parts are the values of its attributes or entries. An optimizer has its slots, by the ways to their variables. A
variable that is reached in two ways has the first of them. Iterators of datasets have a state, which is one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol

from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.optimizer import Optimizer
from actorflow.models.train.saving.object_graph import ObjectSlot

_LEAVES = (Tensor, Operation, Graph, str, bytes, int, float, complex, type, ModuleType, FunctionType, MethodType)


class ResumableObject(Protocol):
    """An object with a state of bytes and no variables, such as an iterator. `_checkpoint_resumes` marks its class."""

    _checkpoint_resumes: bool

    def state(self) -> bytes: ...

    def restore(self, state: bytes) -> None: ...


def variables_of(root: Any) -> dict[str, Variable]:
    """All variables that are reached from an object, by the ways to them."""
    return reached_from(root).variables


@dataclass(frozen=True, slots=True)
class Reached:
    """The things that are reached from an object, by the ways to them: variables, objects with a state of their own, and the
    places of those variables that are slots of optimizers."""

    variables: dict[str, Variable] = field(default_factory=dict)
    resumable: dict[str, ResumableObject] = field(default_factory=dict)
    slots: dict[str, ObjectSlot] = field(default_factory=dict)


def reached_from(root: Any) -> Reached:
    """All variables that are reached from an object, and all that has a state of its own, by the ways to them."""
    reached = Reached()
    variables, resumable = reached.variables, reached.resumable
    visited: set[int] = set()
    optimizers: list[tuple[str, Optimizer]] = []
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        way, value = stack.pop()
        if id(value) in visited or value is None or isinstance(value, (*_LEAVES, BuiltinFunctionType)):
            continue
        visited.add(id(value))
        if isinstance(value, Variable):
            variables[way] = value
        elif getattr(type(value), "_checkpoint_resumes", False):
            resumable[way] = value
        elif isinstance(value, Optimizer):
            optimizers.append((way, value))
        else:
            parts = [(f"{way}/{name}" if way else name, part) for name, part in _parts(value)]
            stack.extend(reversed(parts))
    ways = {id(variable): way for way, variable in variables.items()}
    for way, optimizer in optimizers:
        for name, slot, variable in _kept_by(optimizer, ways):
            place = f"{way}/{name}/{slot}" if slot else f"{way}/{name}"
            variables[place] = variable
            if slot:
                reached.slots[place] = ObjectSlot(way, name, slot)
    return reached


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key).replace("/", "."), part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(number), part) for number, part in enumerate(value))
    else:
        attributes = getattr(value, "__dict__", {})
        yield from ((name, part) for name, part in attributes.items() if not name.startswith(("__", "_checkpoint_")))


def _kept_by(optimizer: Optimizer, ways: Mapping[int, str]) -> Iterator[tuple[str, str, Variable]]:
    """The values that an optimizer keeps, by their names: for variables that are reached, with the ways to these, and for
    itself."""
    for name, slots in optimizer._slots.items():
        for variable, slot in slots.items():
            if id(variable) in ways:
                yield name, ways[id(variable)], slot
    for (name, _), variable in optimizer._non_slots.items():
        yield name, "", variable
