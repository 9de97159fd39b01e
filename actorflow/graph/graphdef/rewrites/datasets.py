"""Datasets in messages: TensorFlow's are nodes and functions, actorflow's are descriptions, which TensorFlow leaves alone.

So a graph with an input pipeline opens on the other side, where its iterators have to be fed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from actorflow.base.dtypes import DType, variant
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.graphdef.rewrites.builder import ExpansionBuilder
from actorflow.graph.graphdef.saving import source

_FOREIGN = re.compile(r".*Dataset(V\d)?|\w*(SeedGenerator|MemoryCache)")
_READ: Mapping[str, str] = {"IteratorV2": "OneShotIterator"}


def _described(b: ExpansionBuilder, op: str, inputs: Sequence[str], components: Sequence[str], **attrs: Any) -> None:
    """A node that keeps its Dataset's description where TensorFlow does not look, and waits for the tensors of it."""
    waits = [f"^{source(text)}" for text in components]
    description = {"_description": b.node.attrs["description"], "_components": tuple(components)}
    b.add("", op, [*inputs, *dict.fromkeys(waits)], **attrs, **description)


def _elements(b: ExpansionBuilder) -> dict[str, Any]:
    types = b.node.attrs["output_types"]
    return {"output_types": types, "output_shapes": b.node.attrs["output_shapes"] or (None,) * len(types)}


def _unknown(b: ExpansionBuilder) -> str:
    return b.add("dataset", "Placeholder", [], dtype=variant)


def one_shot_iterator(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """An iterator that TensorFlow does not begin."""
    names = {name: b.node.attrs[name] for name in ("shared_name", "container")}
    _described(b, "IteratorV2", [], b.inputs, **names, **_elements(b))


def make_iterator(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """The beginning of an iterator, which lacks its Dataset in TensorFlow."""
    _described(b, "MakeIterator", [_unknown(b), b.inputs[0]], b.inputs[1:])


def single_element(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """The element of a Dataset, which lacks it in TensorFlow."""
    _described(b, "DatasetToSingleElement", [_unknown(b)], b.inputs, **_elements(b))


def with_datasets(message: NodeDef) -> NodeDef:
    """A node with its Dataset as actorflow writes it, or with a placeholder for a TensorFlow Dataset; others as they are."""
    described = "_description" in message.attr
    if not described and message.op != "OneShotIterator" and not _FOREIGN.fullmatch(message.op):
        if message.op != "MakeIterator" or len(message.input) != 2:
            return message
    node = NodeDef(name=message.name, device=message.device)
    if described:
        components = [text.decode() for text in message.attr["_components"].list.s]
        gone = {f"^{source(text)}" for text in components} | {f"{message.name}/dataset"}
        node.op = _READ.get(message.op, message.op)
        controls = [text for text in message.input if text.startswith("^") and text not in gone]
        data = [text for text in message.input if not text.startswith("^") and text not in gone]
        node.input.extend([*data, *components, *controls])
        node.attr["description"].CopyFrom(message.attr["_description"])
    elif message.op == "OneShotIterator":
        node.op = "IteratorV2"
    elif message.op == "MakeIterator":
        node.op = "Identity"  # which fails where the Dataset is not fed
        node.input.append(message.input[0])
    else:
        node.op = "Placeholder"
        node.attr["dtype"].CopyFrom(to_attr(variant))
        return node
    for name in ("shared_name", "container", "output_types", "output_shapes"):
        if name in message.attr:
            node.attr[name].CopyFrom(message.attr[name])
    return node
