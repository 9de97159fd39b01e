"""`ExpansionBuilder`: the nodes of TensorFlow's that stand for a node of actorflow's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, int32
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.node import Node


def constant_node(name: str, value: Any, node: Node, dtype: DType = int32) -> NodeDef:
    """A constant beside a node, in the frame of its first input."""
    const = NodeDef(name=name, op="Const", device=node.device)
    if node.inputs:
        const.input.append(f"^{node.inputs[0].node}")
    array = np.asarray(value)
    const.attr["dtype"].CopyFrom(to_attr(dtype))
    const.attr["value"].CopyFrom(to_attr(array.astype(dtype.numpy_dtype)))
    return const


class ExpansionBuilder:
    """The nodes of one expansion."""

    def __init__(self, node: Node, inputs: Sequence[str]) -> None:
        self.node, self.inputs, self.made = node, inputs, list[NodeDef]()

    def add(self, name: str, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Adds `node/name`, or with an empty name the node itself; gives its name."""
        full = f"{self.node.name}/{name}" if name else self.node.name
        record = NodeDef(
            name=full, op=op, input=[*inputs, *(f"^{c}" for c in self.node.controls)], device=self.node.device
        )
        for key, value in attrs.items():
            record.attr[key].CopyFrom(to_attr(value))
        self.made.append(record)
        return full

    def constant(self, name: str, value: Any, dtype: DType = int32) -> str:
        full = f"{self.node.name}/{name}"
        self.made.append(constant_node(full, value, self.node, dtype))
        return full
