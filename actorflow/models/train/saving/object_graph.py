"""TensorFlow's checkpoints of objects: keys such as `model/kernel/.ATTRIBUTES/VARIABLE_VALUE`, and a message that says which
object has which, by the names of attributes that lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The key of the message."""
_VALUE = "VARIABLE_VALUE"


class ObjectReference(Message):
    """An object by the name that another object has for it."""

    FIELDS: ClassVar[dict[str, Field]] = {"node_id": Field(1, "int"), "local_name": Field(2, "string")}


class SerializedTensor(Message):
    """A value of an object, and its key in the checkpoint."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "full_name": Field(2, "string"),
        "checkpoint_key": Field(3, "string"),
    }


class SlotVariableReference(Message):
    """A variable that an optimizer keeps for another variable."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "original_variable_node_id": Field(1, "int"),
        "slot_name": Field(2, "string"),
        "slot_variable_node_id": Field(3, "int"),
    }


class TrackableObject(Message):
    """An object, with those that it leads to."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "children": Field(1, ObjectReference, repeated=True),
        "attributes": Field(2, SerializedTensor, repeated=True),
        "slot_variables": Field(3, SlotVariableReference, repeated=True),
    }


class TrackableObjectGraph(Message):
    """The objects of a checkpoint. The first of them is the object that was saved."""

    FIELDS: ClassVar[dict[str, Field]] = {"nodes": Field(1, TrackableObject, repeated=True)}


@dataclass(frozen=True, slots=True)
class ObjectSlot:
    """A variable that an optimizer keeps for another variable: the ways to both, and its name there."""

    optimizer: str
    name: str
    variable: str


def keys_of(ways: Iterable[str], slots: Mapping[str, ObjectSlot]) -> dict[str, str]:
    """TensorFlow's key of the variable at each way.

    Args:
        ways: the ways.
        slots: those of them that are slots.
    """
    return {way: f"{_path(slots.get(way, way))}/.ATTRIBUTES/{_VALUE}" for way in ways}


def _path(place: str | ObjectSlot) -> str:
    if isinstance(place, ObjectSlot):
        return f"{_path(place.variable)}/.OPTIMIZER_SLOT/{_path(place.optimizer)}/{_escaped(place.name)}"
    return "/".join(map(_escaped, place.split("/"))) if place else ""


def _escaped(name: str) -> str:
    return name.replace(".", "..")


def graph_of(keys: Mapping[str, str], names: Mapping[str, str], slots: Mapping[str, ObjectSlot]) -> bytes:
    """The message of objects.

    Args:
        keys: the key of the variable at each way.
        names: the names of these variables.
        slots: those of them that are slots.
    """
    message = TrackableObjectGraph()
    places: dict[str, int] = {}

    def place(way: str) -> int:
        if way not in places:
            places[way] = len(message.nodes)
            message.nodes.add()
            if way:
                before, _, name = way.rpartition("/")
                message.nodes[place(before)].children.add(node_id=places[way], local_name=name)
        return places[way]

    place("")
    for way, key in keys.items():
        if way in slots:
            number = len(message.nodes)
            message.nodes.add()
        else:
            number = place(way)
        message.nodes[number].attributes.add(name=_VALUE, full_name=names.get(way, ""), checkpoint_key=key)
        if way in slots:
            slot = slots[way]
            message.nodes[place(slot.optimizer)].slot_variables.add(
                original_variable_node_id=place(slot.variable), slot_name=slot.name, slot_variable_node_id=number
            )
    return message.SerializeToString()


class ObjectKeys:
    """The keys of the values in a checkpoint of objects, by the ways to them.

    Args:
        data: TensorFlow's message of objects.
    """

    def __init__(self, data: bytes) -> None:
        self._nodes = TrackableObjectGraph.FromString(data).nodes

    def key(self, way: str, slot: ObjectSlot | None = None) -> str | None:
        """The key of the value at a way, or of a slot; None if there is no such key."""
        node = self._node(way) if slot is None else self._slot(slot)
        return next((str(a.checkpoint_key) for a in (() if node is None else node.attributes)), None)

    def every(self) -> set[str]:
        """All keys."""
        return {str(a.checkpoint_key) for node in self._nodes for a in node.attributes}

    def _number(self, way: str) -> int | None:
        number = 0
        for name in way.split("/") if way else ():
            children = self._nodes[number].children if 0 <= number < len(self._nodes) else ()
            child = next((c.node_id for c in children if c.local_name.replace("/", ".") == name), None)
            if child is None:
                return None
            number = child
        return number if 0 <= number < len(self._nodes) else None

    def _node(self, way: str) -> Any:
        number = self._number(way)
        return None if number is None else self._nodes[number]

    def _slot(self, slot: ObjectSlot) -> Any:
        optimizer, variable = self._node(slot.optimizer), self._number(slot.variable)
        for kept in () if optimizer is None else optimizer.slot_variables:
            if (kept.original_variable_node_id, kept.slot_name) == (variable, slot.name):
                number = int(kept.slot_variable_node_id)
                return self._nodes[number] if 0 <= number < len(self._nodes) else None
        return None
