"""Small ONNX models, made with actorflow's own messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.base.dtypes import as_dtype
from actorflow.exchange.onnx.protos import GraphProto, ModelProto, NodeProto
from actorflow.exchange.onnx.tensors import tensor_proto
from actorflow.exchange.onnx.types import type_proto


def node(op: str, inputs: str, outputs: str, *, domain: str = "", name: str = "", **attrs: Any) -> Any:
    """A node. Inputs and outputs are names with spaces between; `-` is one that is left out."""
    made = NodeProto(op_type=op, domain=domain, name=name)
    made.input.extend("" if n == "-" else n for n in inputs.split())
    made.output.extend(outputs.split())
    for key, value in attrs.items():
        attribute = made.attribute.add(name=key)
        if isinstance(value, bool | int):
            attribute.type, attribute.i = 2, int(value)
        elif isinstance(value, float):
            attribute.type, attribute.f = 1, value
        elif isinstance(value, str):
            attribute.type, attribute.s = 3, value.encode()
        elif isinstance(value, np.ndarray):
            attribute.type = 4
            attribute.t.CopyFrom(tensor_proto(value))
        elif isinstance(value, GraphProto):
            attribute.type = 5
            attribute.g.CopyFrom(value)
        else:
            attribute.type = 7
            attribute.ints.extend(value)
    return made


def graph(nodes: Sequence[Any], inputs: Any, outputs: str, weights: Any = None) -> Any:
    """A graph. `inputs` are (type, shape) by names, `weights` are arrays by names."""
    made = GraphProto(name="main")
    made.node.extend(nodes)
    for name, (dtype, shape) in inputs.items():
        made.input.add(name=name, type=type_proto(as_dtype(dtype), shape))
    for name in outputs.split():
        made.output.add(name=name)
    for name, value in (weights or {}).items():
        made.initializer.append(tensor_proto(value, name))
    return made


def model(
    nodes: Sequence[Any], inputs: Any, outputs: str, weights: Any = None, *, opset: int = 21, functions: Any = ()
) -> Any:
    """A model. Its arguments are those of `graph`."""
    made = ModelProto(ir_version=10)
    made.opset_import.add(domain="", version=opset)
    made.graph.CopyFrom(graph(nodes, inputs, outputs, weights))
    made.functions.extend(functions)
    return made


async def answers(proto: Any, feeds: Any, **options: Any) -> dict[str, Any]:
    """The outputs of a model for inputs by name."""
    with af.Graph().as_default() as made:
        loaded = af.onnx.load(proto, **options)
    async with af.Session(graph=made) as session:
        found: dict[str, Any] = await session.run(dict(loaded.outputs), {loaded.inputs[n]: v for n, v in feeds.items()})
    return found
