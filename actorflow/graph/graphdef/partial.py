"""`import_part`: what of a `GraphDef` actorflow can read; the rest is left out, and a caller asks for what it needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape
from actorflow.errors import OpError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import Importer
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.graph.graphdef.saving import source
from actorflow.graph.tensor import Tensor


class StandIn(NamedTuple):
    """The type and shape of a tensor that is fed or restored, so that what computes it in the message may be left out."""

    dtype: DType
    shape: Shape


@dataclass(frozen=True, slots=True)
class PartialImport:
    """The nodes that an import left out, and for each of them the reason; `dropped` are those for which a gate waited."""

    reasons: Mapping[str, Exception]
    dropped: Sequence[str] = ()

    def require(self, names: Collection[str]) -> None:
        """Raises the error of the first of these nodes, or tensors, that was left out."""
        for name in names:
            if (reason := self.reasons.get(source(name))) is not None:
                raise reason


def import_part(
    graph_def: GraphDef, name: str = "", stand_ins: Mapping[str, StandIn] | None = None, gates: Collection[str] = ()
) -> PartialImport:
    """Adds the nodes of a message that can be read to the default graph.

    Args:
        graph_def: the message.
        name: what comes before the names of all nodes.
        stand_ins: tensors by name that become placeholders if they can't be computed.
        gates: nodes without a value that wait for others; they do not wait for what is left out.
    """
    several: dict[str, dict[int, StandIn]] = {}
    for tensor, stand_in in (stand_ins or {}).items():
        node, _, port = tensor.partition(":")
        several.setdefault(node, {})[int(port or 0)] = stand_in
    importer = _Partial(get_default_graph(), graph_def, name, several, frozenset(gates))
    importer.add_all()
    return PartialImport(importer.left, importer.dropped)


class _Partial(Importer):
    def __init__(
        self,
        graph: Graph,
        message: GraphDef,
        name: str,
        stand_ins: Mapping[str, Mapping[int, StandIn]],
        gates: frozenset[str],
    ) -> None:
        super().__init__(graph, message, name, {})
        self._stand_ins, self._gates = stand_ins, gates
        self.left: dict[str, Exception] = {}
        self.dropped: list[str] = []

    def _add(self, message: NodeDef) -> None:
        if message.name in self._gates:
            for text in [text for text in message.input if source(text) in self.left]:
                message.input.remove(text)
                self.dropped.append(source(text))
        try:
            for text in message.input:
                if (reason := self.left.get(source(text))) is not None:
                    raise reason
            with self._naming(message):
                super()._add(message)
        except (ValueError, TypeError, OpError) as error:
            if message.name in self._stand_ins:
                self._stand_in(message.name, self._stand_ins[message.name])
            else:
                self.left[message.name] = error

    def _stand_in(self, name: str, ports: Mapping[int, StandIn]) -> None:
        full = f"{self.prefix}{name}"

        def placeholder(port: int, scope: str) -> Tensor:
            stand_in = ports.get(port, next(iter(ports.values())))
            attrs = {"dtype": stand_in.dtype, "shape": stand_in.shape}
            return self.graph.create_op("Placeholder", (), attrs, scope).outputs[0]

        if set(ports) == {0}:
            self.made[name] = placeholder(0, f"{full}/").op
            return
        several = [placeholder(port, f"{full}/fed_{port}/") for port in range(max(ports) + 1)]
        self.made[name] = self.graph.create_op("IdentityN", several, {}, f"{full}/")

    def _close(self, message: NodeDef) -> None:
        """Closes a loop. A loop whose back edge was left out can't be read, and neither can what depends on it."""
        if message.name not in self.made:
            return
        reason = next((self.left[source(text)] for text in message.input if source(text) in self.left), None)
        if reason is None:
            super()._close(message)
        else:
            self._leave(message.name, reason)

    def _leave(self, name: str, reason: Exception) -> None:
        readers: dict[str, list[str]] = {}
        for node in self.messages.values():
            for text in node.input:
                readers.setdefault(source(text), []).append(node.name)
        waiting = [name]
        while waiting:
            reached = waiting.pop()
            if reached not in self.left and reached not in self._stand_ins:
                self.left[reached] = reason
                waiting.extend(readers.get(reached, ()))
