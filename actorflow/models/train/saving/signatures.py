"""`signature_messages`: the names of inputs and outputs that a checkpoint's graph has, as messages of its `.meta` file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.attributes import shape_proto
from actorflow.graph.graphdef.protos import SignatureDef, TensorInfo

_METHOD = "tensorflow/serving/predict"


def signature_messages(
    signatures: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]], graph: Graph
) -> dict[str, SignatureDef]:
    """Signatures as messages.

    Args:
        signatures: (inputs, outputs) by the names of signatures, each tensors or variables by the names that clients use.
        graph: the graph of the tensors.

    Raises:
        TypeError: something is no tensor of a graph.
        ValueError: a signature has no outputs, or a tensor of another graph.
    """
    messages = {}
    for name, (inputs, outputs) in signatures.items():
        if not outputs:
            raise ValueError(f"The signature {name!r} has no outputs.")
        messages[name] = message = SignatureDef(method_name=_METHOD)
        for several, tensors in ((message.inputs, inputs), (message.outputs, outputs)):
            for key, tensor in tensors.items():
                several[key].CopyFrom(_info(f"{key!r} of the signature {name!r}", tensor, graph))
    return messages


def _info(what: str, tensor: Any, graph: Graph) -> TensorInfo:
    source = tensor.value() if callable(getattr(tensor, "value", None)) else tensor
    if not hasattr(source, "static_shape") or not hasattr(source, "graph"):
        raise TypeError(f"{what} is {tensor!r:.60}, which is no tensor of a graph.")
    if source.graph is not graph:
        raise ValueError(f"{what} is {source.name!r} of another graph than the variables that are saved.")
    return TensorInfo(
        name=source.name, dtype=source.dtype.base_dtype.code, tensor_shape=shape_proto(source.static_shape)
    )
