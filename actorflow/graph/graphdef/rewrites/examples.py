"""`ParseExample` as TensorFlow has it: the keys of features are inputs there, and attributes here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, string
from actorflow.graph.constant_value import constant_value
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.attributes import shape_proto
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.graphdef.rewrites.builder import ExpansionBuilder
from actorflow.graph.ops.array.constant import constant as constant_op
from actorflow.graph.tensor import Tensor

PARSING = frozenset({"ParseExample", "ParseExampleV2", "ParseSequenceExampleV2", "ParseSingleSequenceExample"})
_KEPT = ("sparse_types", "dense_shapes")
_SEQUENCE_KEPT = (
    *("context_sparse_types", "feature_list_sparse_types", "feature_list_dense_types"),
    *("context_dense_shapes", "feature_list_dense_shapes"),
)


def with_keys(graph: Graph, message: NodeDef, tensors: Sequence[Tensor]) -> tuple[NodeDef, list[Tensor]]:
    """A node with its keys as attributes, and the inputs that are left.

    Args:
        graph: the graph that the inputs are in.
        message: a `ParseExample` or `ParseExampleV2` of TensorFlow's, or an op of actorflow's, which stays as it is.
        tensors: its inputs.

    Raises:
        ValueError: a key is no constant, or a feature is ragged.
    """
    if "sparse_keys" in message.attr or "context_sparse_keys" in message.attr:
        return message, list(tensors)

    def constant(tensor: Tensor) -> list[bytes]:
        value = constant_value(graph.nodes, tensor.tensor_id)
        if value is None:
            raise ValueError(f"Node {message.name!r} ({message.op}): the keys of its features are no constants.")
        return list(np.ravel(value))

    node = NodeDef(name=message.name, op=message.op, input=list(message.input), device=message.device)

    def keep(names: Sequence[str], keys: Mapping[str, Sequence[bytes]]) -> None:
        for name in names:
            node.attr[name].CopyFrom(message.attr[name])
        for name, several in keys.items():
            node.attr[name].list.s.extend(several)
            node.attr[name].list.SetInParent()

    if message.op == "ParseSequenceExampleV2":
        if tensors[0].static_shape != ():
            raise ValueError(f"Node {message.name!r} ({message.op}) parses several messages, which is not read here.")
        kinds = ("context_sparse", "context_dense", _RAGGED, "feature_list_sparse", "feature_list_dense", _RAGGED)
        several = [(kind, constant(tensor)) for kind, tensor in zip(kinds, tensors[2:8])]
        if any(keys for kind, keys in several if kind is _RAGGED):
            raise ValueError(f"Node {message.name!r} ({message.op}) has ragged features, which are not read here.")
        features = {f"{kind}_keys": keys for kind, keys in several if kind is not _RAGGED}
        missing = zip(features["feature_list_dense_keys"], constant(tensors[8]), strict=True)
        node.op = "ParseSingleSequenceExample"
        keep(_SEQUENCE_KEPT, {_EMPTY: [key for key, may_lack in missing if may_lack], **features})
        with graph.as_default():
            name = tensors[1] if tensors[1].static_shape == () else constant_op("", string)
        return node, [tensors[0], name, *tensors[9:]]
    if message.op == "ParseSingleSequenceExample":
        at = 2
        features = {_EMPTY: constant(tensors[1])}
        for kind in _SEQUENCE_KEYS:
            count = int(message.attr[f"N{kind}"].i)
            features[f"{kind}_keys"] = [constant(tensor)[0] for tensor in tensors[at : at + count]]
            at += count
        keep(_SEQUENCE_KEPT, features)
        return node, [tensors[0], tensors[-1], *tensors[at:-1]]
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
    keep(_KEPT, {"sparse_keys": sparse, "dense_keys": dense})
    if tensors[0].static_shape == ():  # TensorFlow 2 parses one message by the op of many
        node.op = "ParseSingleExample"
        return node, [tensors[0], *defaults]
    node.op = "ParseExample"
    return node, [*tensors[:2], *defaults]


def parse_example(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """A `ParseExample` whose keys are constants."""
    attrs = b.node.attrs
    keys = {"sparse_keys": attrs["sparse_keys"], "dense_keys": attrs["dense_keys"], "ragged_keys": ()}
    inputs = [*b.inputs[:2], *(_texts(b, name, several) for name, several in keys.items()), *b.inputs[2:]]
    b.add(
        "",
        "ParseExampleV2",
        inputs,
        Tdense=types[2:],
        num_sparse=len(attrs["sparse_keys"]),
        sparse_types=attrs["sparse_types"],
        ragged_value_types=(),
        ragged_split_types=(),
    )
    _shapes(b, "dense_shapes")


def parse_sequence(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """A `ParseSingleSequenceExample` whose keys are constants."""
    attrs = b.node.attrs
    inputs = [b.inputs[0], _texts(b, _EMPTY, attrs[_EMPTY])]
    counts = {}
    for kind in _SEQUENCE_KEYS:
        keys = attrs[f"{kind}_keys"]
        counts[f"N{kind}"] = len(keys)
        inputs += [_texts(b, f"{kind}_key_{index}", key) for index, key in enumerate(keys)]
    kept = {name: attrs[name] for name in _SEQUENCE_KEPT[:3]}
    inputs += [*b.inputs[2:], b.inputs[1]]
    b.add("", "ParseSingleSequenceExample", inputs, Tcontext_dense=types[2:], **counts, **kept)
    for name in _SEQUENCE_KEPT[3:]:
        _shapes(b, name)


_EMPTY = "feature_list_dense_missing_assumed_empty"
_RAGGED = "ragged"
_SEQUENCE_KEYS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")


def _shapes(b: ExpansionBuilder, name: str) -> None:
    shape_list = b.made[-1].attr[name].list
    shape_list.shape.extend([shape_proto(shape) for shape in b.node.attrs[name]])
    shape_list.SetInParent()


def _texts(b: ExpansionBuilder, name: str, keys: Any) -> str:
    """A constant with the keys of features, or one key."""
    several = [keys] if isinstance(keys, (str, bytes)) else keys
    values = np.empty(len(several), object)
    values[:] = [key.encode() if isinstance(key, str) else key for key in several]
    return b.constant(name, values if several is keys else values.reshape(()), string)
