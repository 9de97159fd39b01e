"""`Attributes`: what a node of TensorFlow's says beside its inputs, for those who build it in another form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.graph.constant_value import constant_value
from actorflow.graph.graphdef.attributes import from_attr
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.tensor import Tensor


class Attributes:
    """The attributes of a node."""

    def __init__(self, message: NodeDef) -> None:
        self._message = message
        self.op, self.name = str(message.op), str(message.name)

    def __call__(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; a message may lack it if it is the default."""
        return from_attr(self._message.attr[name]) if name in self._message.attr else default

    def refuse(self, problem: str) -> ValueError:
        """The error of a node that can't be read."""
        return ValueError(f"Node {self._message.name!r} ({self._message.op}) {problem}, which is not read here.")


Form = Callable[[Attributes, Sequence[Tensor]], Any]
"""For a node's attributes and inputs the output, a list of outputs, or None for a node that is actorflow's as it is."""


def constant_of(tensor: Tensor) -> Any:
    """The array of a tensor that is a constant, else None."""
    return constant_value(tensor.graph.nodes, tensor.tensor_id)
