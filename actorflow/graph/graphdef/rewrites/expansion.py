"""Ops of actorflow's own as several nodes of TensorFlow's ops, the last of which has the node's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from actorflow.base.dtypes import DType, int32, resource
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry.opdef import lookup
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.graphdef.rewrites.builder import ExpansionBuilder
from actorflow.graph.graphdef.rewrites.datasets import make_iterator, one_shot_iterator, single_element
from actorflow.graph.graphdef.rewrites.examples import parse_example, parse_sequence
from actorflow.graph.graphdef.rewrites.lists import LISTS
from actorflow.graph.node import Node


def _sum_to(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    value, index = types
    x, shape = b.inputs
    target_shape = b.add("given", "Shape", [x], T=value, out_type=index)
    axes = b.add("axes", "BroadcastGradientArgs", [shape, target_shape], T=index)
    total = b.add("sum", "Sum", [x, axes], T=value, Tidx=index, keep_dims=False)
    b.add("", "Reshape", [total, shape], T=value, Tshape=index)


def _unreduce(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    value, index, along = types
    x, shape, axis = b.inputs
    if not b.node.attrs["keep_dims"]:
        rank = b.add("rank", "Size", [shape], T=index, out_type=int32)
        all_axes = b.add("range", "Range", [b.constant("zero", 0), rank, b.constant("one", 1)], Tidx=int32)
        axis = axis if along is int32 else b.add("axis", "Cast", [axis], SrcT=along, DstT=int32, Truncate=False)
        counted = b.add("mod", "FloorMod", [b.add("added", "AddV2", [axis, rank], T=int32), rank], T=int32)
        unit = f"{b.node.name}/one"
        if index is not int32:
            unit = b.add("wide", "Cast", [unit], SrcT=int32, DstT=index, Truncate=False)
        sizes = b.add("sizes", "Shape", [counted], T=int32, out_type=int32)
        ones = b.add("ones", "Fill", [sizes, unit], T=index, index_type=int32)
        kept = b.add("kept", "DynamicStitch", [all_axes, counted, shape, ones], T=index, N=2)
        x = b.add("reshape", "Reshape", [x, kept], T=value, Tshape=index)
    b.add("", "BroadcastTo", [x, shape], T=value, Tidx=index)


def _logical_xor(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    b.add("", "NotEqual", b.inputs, T=types[0], incompatible_shape_error=True)


def summed_rows(node: Node, inputs: Sequence[str], types: Sequence[DType]) -> tuple[list[NodeDef], list[str]]:
    """Nodes that sum the rows of a sparse update that have one index, as actorflow's ops do by themselves, and the inputs with
    their results."""
    names = [spec.name for spec in lookup(node.op).inputs]
    rows, places = names.index("grad"), names.index("indices")
    builder = ExpansionBuilder(replace(node, controls=()), inputs)
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


def _sparse_adam(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    kind = types[0].base_dtype
    before, inputs = summed_rows(b.node, b.inputs, types)
    b.made += before
    var, m, v, power1, power2, lr, beta1, beta2, epsilon, rows, places = inputs
    unit = b.constant("one", 1, kind)

    def moment(name: str, handle: str, beta: str, term: str) -> str:
        read = b.add(f"{name}/read", "ReadVariableOp", [handle], dtype=kind)
        shrunk = b.add(f"{name}/shrunk", "Mul", [read, beta], T=kind)
        assigned = b.add(f"{name}/assign", "AssignVariableOp", [handle, shrunk], dtype=kind)
        part = b.add(f"{name}/part", "Mul", [term, b.add(f"{name}/rest", "Sub", [unit, beta], T=kind)], T=kind)
        inputs = [handle, places, part, f"^{assigned}"]
        added = b.add(f"{name}/add", "ResourceScatterAdd", inputs, dtype=kind, Tindices=types[-1])
        return b.add(f"{name}/value", "ReadVariableOp", [handle, f"^{added}"], dtype=kind)

    mean = moment("m", m, beta1, rows)
    root = b.add("root", "Sqrt", [moment("v", v, beta2, b.add("square", "Square", [rows], T=kind))], T=kind)
    corrected = b.add("corrected", "Sqrt", [b.add("rest2", "Sub", [unit, power2], T=kind)], T=kind)
    rate = b.add("rate", "Mul", [lr, corrected], T=kind)
    rate = b.add("scaled", "RealDiv", [rate, b.add("rest1", "Sub", [unit, power1], T=kind)], T=kind)
    below = b.add("below", "Add", [root, epsilon], T=kind)
    step = b.add("step", "RealDiv", [b.add("moved", "Mul", [rate, mean], T=kind), below], T=kind)
    b.add("", "AssignSubVariableOp", [var, step], dtype=kind)


def _custom_gradient(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    b.add("", "IdentityN", b.inputs, T=tuple(types), _gradient_op_type=f"CustomGradient-{b.node.attrs['rule']}")


def _select_queue(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    otherwise, handle, index = b.inputs
    several = b.add("several", "Pack", [otherwise, handle], T=resource, N=2, axis=0)
    chosen = b.add("chosen", "Equal", [index, b.constant("position", b.node.attrs["position"])], T=int32)
    at = b.add("at", "Cast", [chosen], SrcT=bool_dtype, DstT=int32, Truncate=False)
    places = [several, at, b.constant("axis", 0)]
    b.add("", "GatherV2", places, Tparams=resource, Tindices=int32, Taxis=int32, batch_dims=0)


def _priority_queue(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    """TensorFlow leaves the priority out of the types, and the components of an element have it."""
    attrs = b.node.attrs
    names = {name: attrs[name] for name in ("capacity", "container", "shared_name")}
    b.add("", b.node.op, [], component_types=attrs["component_types"][1:], shapes=attrs["shapes"][1:], **names)


def _read_variable_or(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    kind = types[0].base_dtype
    ref, otherwise = b.inputs
    has = b.add("has", "VarIsInitializedOp", [ref])
    chosen = b.add("switch_handle", "Switch", [ref, has], T=resource)
    read = b.add("read", "ReadVariableOp", [f"{chosen}:1"], dtype=kind)
    other = b.add("switch", "Switch", [otherwise, has], T=kind)
    b.add("", "Identity", [b.add("merge", "Merge", [other, read], T=kind, N=2)], T=kind)


def _assign_product(b: ExpansionBuilder, kind: DType, name: str) -> str:
    ref, factor = b.inputs
    read = b.add("read", "ReadVariableOp", [ref], dtype=kind)
    product = b.add("product", "Mul", [read, factor], T=kind)
    return b.add(name, "AssignVariableOp", [ref, product], dtype=kind)


def _assign_mul(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    kind = types[0].base_dtype
    update = _assign_product(b, kind, "update")
    b.add("", "ReadVariableOp", [b.inputs[0], f"^{update}"], dtype=kind)


def _assign_mul_target(b: ExpansionBuilder, types: Sequence[DType]) -> None:
    _assign_product(b, types[0].base_dtype, "")


_EXPANSIONS: Mapping[str, Callable[[ExpansionBuilder, Sequence[DType]], None]] = {
    **LISTS,
    "AssignMul": _assign_mul,
    "AssignMulVariableOp": _assign_mul_target,
    "CustomGradient": _custom_gradient,
    "DatasetToSingleElement": single_element,
    "LogicalXor": _logical_xor,
    "MakeIterator": make_iterator,
    "OneShotIterator": one_shot_iterator,
    "ParseExample": parse_example,
    "ParseSingleSequenceExample": parse_sequence,
    "PriorityQueueV2": _priority_queue,
    "ReadVariableOr": _read_variable_or,
    "SelectQueue": _select_queue,
    "SparseApplyAdam": _sparse_adam,
    "SumTo": _sum_to,
    "Unreduce": _unreduce,
}


def expanded(node: Node, inputs: Sequence[str], types: Sequence[DType]) -> list[NodeDef] | None:
    """The nodes that stand for a node of an op that TensorFlow does not have; None for other nodes.

    Args:
        node: the node.
        inputs: its data inputs, as a NodeDef names them.
        types: their types.
    """
    expand = _EXPANSIONS.get(node.op)
    if expand is None:
        return None
    builder = ExpansionBuilder(node, inputs)
    expand(builder, types)
    return builder.made
