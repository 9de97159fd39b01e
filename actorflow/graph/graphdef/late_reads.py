"""Reads of TensorFlow's reference variables, where the nodes that take the values would see them.

The read of a reference variable is no copy there. A node that takes it sees the value of the moment in which the node
runs, with all writes that the node waits for, directly or through others. Here a read is a snapshot. So a node gets a
read of its own if the node is behind a write of the variable, and the read that it names is not. In a branch or a loop
that is a read of the reference, which is brought in beside the value.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from actorflow.base.registry import opdef
from actorflow.errors import UnknownNameError
from actorflow.graph.graphdef.inputs import canonical, has_back_edge, split
from actorflow.graph.graphdef.ops import READ
from actorflow.graph.graphdef.protos import NodeDef

_VARIABLES = {"VariableV2", "Variable"}


@dataclass(frozen=True, slots=True)
class _ReferencePlace:
    """Place of a variable's reference: as `text`, or as the output `port` of a node like `carrier` of `outer`."""

    text: str
    carrier: NodeDef | None = None
    port: int = 0
    outer: _ReferencePlace | None = None


@dataclass(frozen=True, slots=True)
class _View:
    """An output that shows a variable. `seen` has the bits of the writes that its read waits for; `bare` says that nothing
    has been read yet."""

    variable: str
    place: _ReferencePlace
    seen: int = 0
    bare: bool = False


def with_late_reads(order: Sequence[NodeDef], replaced: Collection[str]) -> list[NodeDef]:
    """The messages of a graph, with reads of their own for nodes that are behind writes.

    Args:
        order: the messages, each behind its inputs, but for the ends of loops.
        replaced: the inputs, as `name:port` and `^name`, in whose place other tensors are given.
    """
    if not any(message.op in _VARIABLES for message in order):
        return list(order)
    return _LateReads(order, replaced).messages()


class _LateReads:
    def __init__(self, order: Sequence[NodeDef], replaced: Collection[str]) -> None:
        self.order = order
        self.names = {message.name: message for message in order}
        self.inputs = {
            message.name: [text for text in map(canonical, message.input) if text not in replaced] for message in order
        }
        self.heads = {message.name for message in order if has_back_edge(message, self.names)}
        self.bits: dict[str, int] = {}
        """For each write, its bit."""
        self.writes: dict[str, int] = {}
        """For each variable, the bits of its writes."""
        self.after: dict[str, int] = {}
        """For each node, the bits of the writes that were made when it has run."""
        self.views: dict[str, _View] = {}
        self.result: list[NodeDef] = []

    def messages(self) -> list[NodeDef]:
        self._find_writes()
        while self._hand_writes_on() and self.heads:  # what a loop's end brings to its head goes round again
            pass
        for message in self.order:
            self._add(message)
        return self.result

    def _find_writes(self) -> None:
        variables: dict[str, str] = {}
        for message in self.order:
            name, texts = message.name, self.inputs[message.name]
            if message.op in _VARIABLES:
                variables[f"{name}:0"] = name
            elif message.op.startswith("Ref") and texts and texts[0] in variables:
                variables.update((f"{name}:{port}", variables[texts[0]]) for port in (0, 1))
            elif _writes(message):
                written = [variables[text] for text in texts if text in variables]
                if written:
                    bit = self.bits[name] = 1 << len(self.bits)
                    variables[f"{name}:0"] = written[0]
                    for variable in written:
                        self.writes[variable] = self.writes.get(variable, 0) | bit

    def _hand_writes_on(self) -> bool:
        """Goes through all nodes once. Gives whether a node learned of a write."""
        news = False
        for message in self.order:
            writes = self.bits.get(message.name, 0) | self._made_before(self.inputs[message.name])
            if writes != self.after.get(message.name):
                self.after[message.name] = writes
                news = True
        return news

    def _made_before(self, texts: Sequence[str]) -> int:
        bits = 0
        for text in texts:
            bits |= self.after.get(split(text)[0], 0)
        return bits

    def _add(self, message: NodeDef) -> None:
        texts = self.inputs[message.name]
        data = [text for text in texts if not text.startswith("^")]
        if message.name in self.heads:
            data = data[:1]
        first = data[0] if data and data[0] == canonical(message.input[0]) else ""
        late: dict[str, str] = {}
        for text in data:
            view = self.views.get(text)
            if view is None or _gives_on(message) or view.bare and _takes_references(message):
                continue
            # a Merge runs when the first of its inputs is there, so that the others are no ancestors
            others = [] if message.op == "Merge" else [other for other in texts if other != text]
            seen = view.seen
            if view.bare:  # the import lets the read of a bare reference wait for what its user waits for by controls
                seen |= self._made_before([other for other in others if other.startswith("^")])
            missing = self.writes.get(view.variable, 0) & self._made_before([text, *others]) & ~seen
            if missing:
                waits = [other for other in others if self._made_before([other]) & missing]
                late[text] = self._read(message, view, waits)
        if late:
            message = _copy(message, message.name, [late.get(canonical(text), text) for text in message.input])
        self.result.append(message)
        self._look(message, first, first in late)

    def _look(self, message: NodeDef, text: str, is_late: bool) -> None:
        """Takes down which outputs of a node show a variable."""
        name = message.name
        if message.op in _VARIABLES:
            self.views[f"{name}:0"] = _View(name, _ReferencePlace(f"{name}:0"), bare=True)
        view = self.views.get(text)
        if view is None:
            return
        if message.op == "Identity":
            seen = self.after[name] if view.bare or is_late else view.seen
            self.views[f"{name}:0"] = _View(view.variable, view.place, seen)
        elif _gives_on(message):
            for port in (0, 1):
                output = f"{name}:{port}"
                place = _ReferencePlace(output) if view.bare else _ReferencePlace("", message, port, view.place)
                self.views[output] = _View(view.variable, place, view.seen, view.bare)
        elif name in self.bits:  # an update gives the reference on, and the import reads behind it
            self.views[f"{name}:0"] = _View(view.variable, view.place, self.after[name])

    def _read(self, user: NodeDef, view: _View, waits: Sequence[str]) -> str:
        controls = dict.fromkeys(f"^{split(text)[0]}" for text in waits)
        name = self._unique(f"{user.name}/late")
        self._append(NodeDef(name=name, op="Identity", input=[self._reference(view.place), *controls]))
        return f"{name}:0"

    def _reference(self, place: _ReferencePlace) -> str:
        if place.carrier is None or place.outer is None:
            return place.text
        name = f"{place.carrier.name}/reference"
        if name not in self.names:
            outer = self._reference(place.outer)
            self._append(_copy(place.carrier, name, [outer, *place.carrier.input[1:]]))
        return f"{name}:{place.port}"

    def _append(self, message: NodeDef) -> None:
        self.names[message.name] = message
        self.result.append(message)

    def _unique(self, name: str) -> str:
        number = 0
        while (unique := f"{name}_{number}" if number else name) in self.names:
            number += 1
        return unique


def _definition(message: NodeDef) -> opdef.OpDef | None:
    try:
        return opdef.lookup(READ.get(message.op, message.op))
    except UnknownNameError:
        return None


def _writes(message: NodeDef) -> bool:
    definition = _definition(message)
    return definition is not None and definition.writes


def _takes_references(message: NodeDef) -> bool:
    """Whether a node takes the variable itself, or is the import's own read of it."""
    definition = _definition(message)
    return message.op == "Identity" or definition is not None and any(i.kind == "ref" for i in definition.inputs)


def _gives_on(message: NodeDef) -> bool:
    """Whether a node hands on what it takes, in a branch or a loop, so that those behind it are the first to look."""
    if message.op in ("Enter", "RefEnter"):
        return bool(message.attr["is_constant"].b) if "is_constant" in message.attr else False
    return message.op in ("Switch", "RefSwitch", "RefIdentity")


def _copy(message: NodeDef, name: str, inputs: Sequence[str]) -> NodeDef:
    copy = NodeDef.FromString(message.SerializeToString())
    copy.name = name
    del copy.input[:]
    copy.input.extend(inputs)
    return copy
