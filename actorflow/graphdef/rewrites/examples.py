"""`ParseExample` as TensorFlow has it: the keys of features are inputs there, and attributes here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.dtypes import string
from actorflow.graph.constant_value import constant_value
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor
from actorflow.graphdef.attributes import to_attr
from actorflow.graphdef.protos import NodeDef

PARSING = frozenset({"ParseExample", "ParseExampleV2"})
_KEPT = ("sparse_types", "dense_shapes")


def with_keys(graph: Graph, message: NodeDef, tensors: Sequence[Tensor]) -> tuple[NodeDef, list[Tensor]]:
    """A node with its keys as attributes, and the inputs that are left.

    Args:
        graph: the graph that the inputs are in.
        message: a `ParseExample` or `ParseExampleV2` of TensorFlow's, or one of actorflow's, which stays as it is.
        tensors: its inputs.

    Raises:
        ValueError: a key is no constant, or a feature is ragged.
    """
    if "sparse_keys" in message.attr:
        return message, list(tensors)

    def constant(tensor: Tensor) -> list[bytes]:
        value = constant_value(graph.nodes, tensor.tensor_id)
        if value is None:
            raise ValueError(f"Node {message.name!r} ({message.op}): the keys of its features are no constants.")
        return list(np.ravel(value))

    if message.op == "ParseExampleV2":
        sparse, dense, ragged = (constant(tensor) for tensor in tensors[2:5])
        if ragged:
            raise ValueError(f"Node {message.name!r} ({message.op}) has ragged features, which are not read here.")
        defaults = tensors[5:]
    else:
        counts = [int(message.attr[name].i) for name in ("Nsparse", "Ndense")]
        keys = [constant(tensor)[0] for tensor in tensors[2 : 2 + sum(counts)]]
        sparse, dense = keys[: counts[0]], keys[counts[0] :]
        defaults = tensors[2 + sum(counts) :]
    made = NodeDef(name=message.name, op="ParseExample", input=list(message.input), device=message.device)
    for name in _KEPT:
        made.attr[name].CopyFrom(message.attr[name])
    for name, found in (("sparse_keys", sparse), ("dense_keys", dense)):
        made.attr[name].list.s.extend(found)
        made.attr[name].list.SetInParent()
    return made, [*tensors[:2], *defaults]


def key_constant(name: str, keys: Sequence[Any], node_input: str) -> NodeDef:
    """A constant with the keys of features.

    Args:
        name: its name.
        keys: the keys.
        node_input: an input of the node that takes them, in whose frame it has to be.
    """
    made = NodeDef(name=name, op="Const", input=[f"^{node_input.partition(':')[0]}"])
    values = np.empty(len(keys), object)
    values[:] = [key.encode() if isinstance(key, str) else key for key in keys]
    made.attr["dtype"].CopyFrom(to_attr(string))
    made.attr["value"].CopyFrom(to_attr(values))
    return made
