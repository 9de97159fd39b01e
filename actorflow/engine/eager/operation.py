"""`EagerOperation`: an op that has run, with the face that gradient rules know of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import OpDef
from actorflow.base.registry.type_attrs import type_attr
from actorflow.engine.eager.scope import graph_for_values
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node, TensorId
from actorflow.graph.tensor import Operation, Tensor

if TYPE_CHECKING:
    from actorflow.errors import Where


class EagerOperation(Operation):
    """An operation that ran: its op, attributes, inputs and outputs. A tape keeps those that it needs; others go with their
    outputs.
    """

    __slots__ = ("_attrs", "_inputs", "_type", "rule")

    def __init__(
        self,
        op_type: str,
        attrs: Mapping[str, Any],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        name: str = "",
    ) -> None:
        self._type = op_type
        self._attrs = attrs
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self.name = name.rstrip("/") or op_type
        self.rule: Any = None
        """The gradient rule of this operation alone, if it differs from the rule of its op."""

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        return graph_for_values()

    @property
    def node(self) -> Node:
        return Node(
            self.name,
            self._type,
            tuple(TensorId(tensor, 0) for tensor in self._inputs),  # type: ignore[arg-type]
            attrs=self._attrs,
            dtypes=tuple(tensor.dtype for tensor in self._outputs),
            shapes=tuple(tensor.static_shape for tensor in self._outputs),
        )

    @property
    def type(self) -> str:
        return self._type

    @property
    def definition(self) -> OpDef:
        return opdef.lookup(self._type)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def control_inputs(self) -> list[Operation]:
        return []

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self._attrs

    def get_attr(self, name: str) -> Any:
        """See `Operation.get_attr`."""
        if name in self._attrs:
            return self._attrs[name]
        types = [tensor.dtype for tensor in self._inputs]
        attr = type_attr(self.definition, name, types, [tensor.dtype for tensor in self._outputs])
        if attr is None:
            raise ValueError(f"{self._type} has no attribute {name!r}; it has: {sorted(self._attrs)}.")
        return attr

    @property
    def device(self) -> str:
        return self._outputs[0].device if self._outputs else ""

    @property
    def where(self) -> Where | None:
        return None

    def add_control_input(self, other: Operation) -> None:
        """Does nothing: both have run, in the order of the program."""

    _add_control_input = add_control_input

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Does nothing: it has run."""

    def __repr__(self) -> str:
        return f"<actorflow.Operation '{self.name}' type={self._type} that has run>"
