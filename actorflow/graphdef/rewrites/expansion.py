"""Ops of actorflow's own as several nodes of TensorFlow's ops, the last of which has the node's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from actorflow.dtypes import DType, int32, resource
from actorflow.graph.node import Node
from actorflow.graphdef.attributes import shape_proto, to_attr
from actorflow.graphdef.protos import NodeDef
from actorflow.graphdef.rewrites.examples import key_constant
from actorflow.registry.opdef import lookup


def constant_node(name: str, value: Any, node: Node) -> NodeDef:
    """A constant beside a node, in the frame of its first input."""
    made = NodeDef(name=name, op="Const", device=node.device)
    if node.inputs:
        made.input.append(f"^{node.inputs[0].node}")
    array = np.asarray(value)
    made.attr["dtype"].CopyFrom(to_attr(int32))
    made.attr["value"].CopyFrom(to_attr(array.astype(np.int32)))
    return made


class _Builder:
    """The nodes of one expansion."""

    def __init__(self, node: Node, inputs: Sequence[str]) -> None:
        self.node, self.inputs, self.made = node, inputs, list[NodeDef]()

    def add(self, name: str, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Adds `node/name`, or with an empty name the node itself; gives its name."""
        full = f"{self.node.name}/{name}" if name else self.node.name
        made = NodeDef(
            name=full, op=op, input=[*inputs, *(f"^{c}" for c in self.node.controls)], device=self.node.device
        )
        for key, value in attrs.items():
            made.attr[key].CopyFrom(to_attr(value))
        self.made.append(made)
        return full

    def constant(self, name: str, value: int) -> str:
        full = f"{self.node.name}/{name}"
        self.made.append(constant_node(full, value, self.node))
        return full


def _sum_to(b: _Builder, types: Sequence[DType]) -> None:
    value, index = types
    x, shape = b.inputs
    given = b.add("given", "Shape", [x], T=value, out_type=index)
    axes = b.add("axes", "BroadcastGradientArgs", [shape, given], T=index)
    total = b.add("sum", "Sum", [x, axes], T=value, Tidx=index, keep_dims=False)
    b.add("", "Reshape", [total, shape], T=value, Tshape=index)


def _unreduce(b: _Builder, types: Sequence[DType]) -> None:
    value, index, along = types
    x, shape, axis = b.inputs
    if not b.node.attrs["keep_dims"]:
        rank = b.add("rank", "Size", [shape], T=index, out_type=int32)
        all_axes = b.add("range", "Range", [b.constant("zero", 0), rank, b.constant("one", 1)], Tidx=int32)
        axis = axis if along is int32 else b.add("axis", "Cast", [axis], SrcT=along, DstT=int32, Truncate=False)
        counted = b.add("mod", "FloorMod", [b.add("added", "AddV2", [axis, rank], T=int32), rank], T=int32)
        one = f"{b.node.name}/one"
        if index is not int32:
            one = b.add("wide", "Cast", [one], SrcT=int32, DstT=index, Truncate=False)
        sizes = b.add("sizes", "Shape", [counted], T=int32, out_type=int32)
        ones = b.add("ones", "Fill", [sizes, one], T=index, index_type=int32)
        kept = b.add("kept", "DynamicStitch", [all_axes, counted, shape, ones], T=index, N=2)
        x = b.add("reshape", "Reshape", [x, kept], T=value, Tshape=index)
    b.add("", "BroadcastTo", [x, shape], T=value, Tidx=index)


def _logical_xor(b: _Builder, types: Sequence[DType]) -> None:
    b.add("", "NotEqual", b.inputs, T=types[0], incompatible_shape_error=True)


def summed_rows(node: Node, inputs: Sequence[str], types: Sequence[DType]) -> tuple[list[NodeDef], list[str]]:
    """Nodes that sum the rows of a sparse update that have one index, as actorflow's ops do by themselves, and the inputs with
    their results."""
    names = [spec.name for spec in lookup(node.op).inputs]
    rows, places = names.index("grad"), names.index("indices")
    builder = _Builder(replace(node, controls=()), inputs)
    index = types[places]
    unique = builder.add("unique", "Unique", [inputs[places]], T=index, out_idx=int32)
    count = builder.add("count", "Size", [unique], T=index, out_type=int32)
    total = builder.add(
        "rows",
        "UnsortedSegmentSum",
        [inputs[rows], f"{unique}:1", count],
        T=types[rows],
        Tindices=int32,
        Tnumsegments=int32,
    )
    changed = list(inputs)
    changed[rows], changed[places] = total, unique
    return builder.made, changed


def _read_variable_or(b: _Builder, types: Sequence[DType]) -> None:
    kind = types[0].base_dtype
    ref, otherwise = b.inputs
    has = b.add("has", "VarIsInitializedOp", [ref])
    chosen = b.add("switch_handle", "Switch", [ref, has], T=resource)
    read = b.add("read", "ReadVariableOp", [f"{chosen}:1"], dtype=kind)
    other = b.add("switch", "Switch", [otherwise, has], T=kind)
    b.add("", "Identity", [b.add("merge", "Merge", [other, read], T=kind, N=2)], T=kind)


def _assign_product(b: _Builder, kind: DType, name: str) -> str:
    ref, factor = b.inputs
    read = b.add("read", "ReadVariableOp", [ref], dtype=kind)
    product = b.add("product", "Mul", [read, factor], T=kind)
    return b.add(name, "AssignVariableOp", [ref, product], dtype=kind)


def _assign_mul(b: _Builder, types: Sequence[DType]) -> None:
    kind = types[0].base_dtype
    update = _assign_product(b, kind, "update")
    b.add("", "ReadVariableOp", [b.inputs[0], f"^{update}"], dtype=kind)


def _assign_mul_target(b: _Builder, types: Sequence[DType]) -> None:
    _assign_product(b, types[0].base_dtype, "")


def _parse_example(b: _Builder, types: Sequence[DType]) -> None:
    attrs = b.node.attrs
    keys = {"sparse_keys": attrs["sparse_keys"], "dense_keys": attrs["dense_keys"], "ragged_keys": ()}
    for name, several in keys.items():
        b.made.append(key_constant(f"{b.node.name}/{name}", several, b.inputs[0]))
    inputs = [*b.inputs[:2], *(f"{b.node.name}/{name}" for name in keys), *b.inputs[2:]]
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
    b.made[-1].attr["dense_shapes"].list.shape.extend([shape_proto(shape) for shape in attrs["dense_shapes"]])
    b.made[-1].attr["dense_shapes"].list.SetInParent()


_EXPANSIONS: Mapping[str, Callable[[_Builder, Sequence[DType]], None]] = {
    "AssignMul": _assign_mul,
    "AssignMulVariableOp": _assign_mul_target,
    "LogicalXor": _logical_xor,
    "ParseExample": _parse_example,
    "ReadVariableOr": _read_variable_or,
    "SumTo": _sum_to,
    "Unreduce": _unreduce,
}


def expanded(node: Node, inputs: Sequence[str], types: Sequence[DType]) -> list[NodeDef] | None:
    """The nodes that stand for one of an op that TensorFlow does not have; None where there are none.

    Args:
        node: the node.
        inputs: its data inputs, as a NodeDef names them.
        types: their types.
    """
    expand = _EXPANSIONS.get(node.op)
    if expand is None:
        return None
    builder = _Builder(node, inputs)
    expand(builder, types)
    return builder.made
