"""Sequences and optionals."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import counted_axis, element, in_int32, moved, positive, size_of, whole
from actorflow.exchange.onnx.builders.control import Body, repeated
from actorflow.exchange.onnx.importer import Probe, stand_in
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.types import value_type
from actorflow.exchange.onnx.values import Listed, Optional_, dtype_of, ints, shape_of
from actorflow.graph.ops.flow import lists


def _common(shapes: list[Any]) -> Any:
    ranks = {None if shape is None else len(shape) for shape in shapes}
    if len(ranks) != 1 or None in ranks:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes))


@onnx_op("SequenceConstruct")
def construct(node: OnnxNode, *values: Any) -> Any:
    return Listed(dtype_of(values[0]), _common([shape_of(v) for v in values]), items=list(values))


@onnx_op("SequenceEmpty")
def empty(node: OnnxNode) -> Any:
    return Listed(element_type(node.attr("dtype", 1)), items=[])


@onnx_op("SequenceLength")
def length(node: OnnxNode, sequence: Listed) -> Any:
    if sequence.items is not None:
        return np.asarray(len(sequence.items), np.int64)
    return af.cast(lists.length(sequence.flow), af.int64)


def _place(sequence: Listed, position: Any, room: int) -> Any:
    """A position counted from the front, as int32. `room` is 1 where the end counts as well."""
    count = lists.length(sequence.flow) + np.int32(0)
    at = in_int32(af.reshape(position, []))
    return af.where_v2(at < 0, at + count, at)


@onnx_op("SequenceAt")
def sequence_at(node: OnnxNode, sequence: Listed, position: Any) -> Any:
    at = ints(position)
    if sequence.items is not None and at is not None:
        if not -len(sequence.items) <= at[0] < len(sequence.items):
            raise InvalidArgumentError(f"A sequence of {len(sequence.items)} elements has none at {at[0]}.")
        return sequence.items[at[0]]
    return lists.get_item(sequence.flow, _place(sequence, position, 0), **sequence.element)


@onnx_op("SequenceInsert")
def insert(node: OnnxNode, sequence: Listed, value: Any, position: Any = None) -> Any:
    shape = _common([sequence.shape, shape_of(value)]) if sequence.shape is not None else None
    kind = sequence.dtype or dtype_of(value)
    at = None if position is None else ints(position)
    if sequence.items is not None and (position is None or at is not None):
        items = list(sequence.items)
        if at is not None and not -len(items) <= at[0] <= len(items):
            raise InvalidArgumentError(f"A sequence of {len(items)} elements takes none at {at[0]}.")
        items.insert(len(items) if at is None else at[0], value)
        return Listed(kind, _common([shape_of(v) for v in items]), items=items)
    if position is None:
        flow = lists.set_item(sequence.flow, lists.length(sequence.flow), value, grows=True)
    else:
        flow = lists.insert_item(sequence.flow, _place(sequence, position, 1), value)
    return Listed(kind, shape, flow=flow)


@onnx_op("SequenceErase")
def erase(node: OnnxNode, sequence: Listed, position: Any = None) -> Any:
    at = [-1] if position is None else ints(position)
    if sequence.items is not None and at is not None:
        items = list(sequence.items)
        if not -len(items) <= at[0] < len(items):
            raise InvalidArgumentError(f"A sequence of {len(items)} elements has none at {at[0]}.")
        del items[at[0]]
        return Listed(sequence.dtype, sequence.shape, items=items)
    place = _place(sequence, np.int64(-1) if position is None else position, 0)
    return Listed(sequence.dtype, sequence.shape, flow=lists.remove_item(sequence.flow, place))


@onnx_op("ConcatFromSequence")
def concat_from(node: OnnxNode, sequence: Listed) -> Any:
    axis, new = node.required("axis"), node.attr("new_axis", 0)
    if sequence.items is not None:
        return af.stack(sequence.items, axis=axis) if new else af.concat(sequence.items, axis)
    if sequence.shape is None and axis != 0:
        raise InvalidArgumentError(f"The rank of the elements of {node} is not known.")
    rank = len(sequence.shape) if sequence.shape is not None else None
    if new:
        stacked = lists.stack_list(sequence.flow, **sequence.element)
        return stacked if axis == 0 else moved(stacked, 0, positive(axis, (rank or 0) + 1))
    if axis == 0 or rank == 1:
        return lists.concat_list(sequence.flow, **sequence.element)
    place = positive(axis, rank or 0)
    turned = _mapped(sequence, lambda item: moved(item, place, 0))
    return moved(lists.concat_list(turned.flow, **turned.element), 0, place)


def _mapped(sequence: Listed, function: Any) -> Listed:
    """A sequence of what a function makes of each element."""
    count = lists.length(sequence.flow)
    source = sequence.flow

    def step(at: Any, results: Any) -> Any:
        return at + 1, lists.set_item(results, at, function(lists.get_item(source, at, **sequence.element)))

    _, flow = af.while_loop(lambda at, _: at < count, step, [0, lists.reserve(count)])
    return Listed(sequence.dtype, None, flow=flow)


@onnx_op("SplitToSequence")
def split_to(node: OnnxNode, x: Any, sizes: Any = None) -> Any:
    """Pieces of one size, of which the last may be smaller, or pieces of sizes of their own."""
    axis = counted_axis(node.attr("axis", 0), x)
    total, kept = size_of(x, axis), sizes is not None or bool(node.attr("keepdims", 1))
    size = np.asarray(1) if sizes is None else sizes
    lengths = ints(size) if shape_of(size) else None
    if not shape_of(size):
        each = element(af.reshape(size, [1]), 0)
        if isinstance(each, int) and each < 1:
            raise InvalidArgumentError(f"The size of the pieces of {node} is {each}.")
        if isinstance(each, int) and isinstance(total, int):
            lengths = [min(each, total - at) for at in range(0, total, each)]
        else:
            count = (whole(total) + whole(each) - 1) // whole(each)
            size = af.minimum(whole(each), whole(total) - af.range_(count) * whole(each))
    if lengths is None and (shape_of(size) or (None,))[0] is None:
        return _pieces(x, size, axis, kept)
    count = shape_of(size)[0] if lengths is None else None  # type: ignore[index]
    parts = af.split(x, size if lengths is None else lengths, axis=axis, num=count) if lengths != [] else []
    items = list(parts) if kept else [af.squeeze(part, [axis]) for part in parts]
    return Listed(dtype_of(x), _common([shape_of(part) for part in items]), items=items)


def _pieces(x: Any, lengths: Any, axis: int, kept: bool) -> Listed:
    """A sequence of pieces whose number a run knows."""
    wide = af.cast(lengths, af.int64)
    starts = af.cumsum(wide, exclusive=True)
    count = af.size(wide)
    shape = [None if at == axis else size for at, size in enumerate(shape_of(x) or ())]
    if not kept:
        del shape[axis]

    def step(at: Any, items: Any) -> Any:
        piece = x[(*[slice(None)] * axis, slice(starts[at], starts[at] + wide[at]))]
        return at + 1, lists.set_item(items, at, piece if kept else af.squeeze(piece, [axis]))

    _, flow = af.while_loop(lambda at, _: at < count, step, [0, lists.reserve(count)])
    return Listed(dtype_of(x), tuple(shape), flow=flow)


@onnx_op("SequenceMap")
def sequence_map(node: OnnxNode, first: Listed, *others: Any) -> Any:
    graph = node.required("body")
    count = lists.length(first.flow) if first.items is None else np.int32(len(first.items))
    results = [Listed(value_type(info.type, info.name).dtype, items=[]) for info in graph.output]

    def over(scope: Any, sources: list[Any]) -> Body:
        def body(at: Any, flows: list[Any]) -> Any:
            place = af.cast(at, af.int32)
            taken = [lists.get_item(s.flow, place, **s.element) if isinstance(s, Listed) else s for s in sources]
            outputs = scope.subgraph(graph, taken)
            grown = [
                Listed(m.dtype or dtype_of(f), None, flow=lists.set_item(m.flow, place, f, grows=True))
                for m, f in zip(flows, outputs)
            ]
            return np.asarray(True), grown, []

        return body

    sources = [Listed(s.dtype, s.shape, flow=s.flow) if isinstance(s, Listed) else s for s in (first, *others)]

    def probe(at: Any, flows: list[Any]) -> Any:
        return over(Probe(node.scope.file, node.scope), [stand_in(s) for s in sources])(at, flows)

    last, _ = repeated(
        node, af.cast(count, af.int64), np.asarray(True), list(results), over(node.scope, sources), probe
    )
    return tuple(last)


@onnx_op("Optional")
def optional(node: OnnxNode, value: Any = None) -> Any:
    return Optional_(np.asarray(value is not None), value)


@onnx_op("OptionalHasElement")
def has_element(node: OnnxNode, value: Any = None) -> Any:
    if isinstance(value, Optional_):
        return af.identity(value.present) if isinstance(value.present, af.Tensor) else np.asarray(value.present)
    return np.asarray(value is not None)


@onnx_op("OptionalGetElement")
def get_element(node: OnnxNode, value: Any) -> Any:
    if not isinstance(value, Optional_):
        return value
    if value.value is None:
        raise InvalidArgumentError(f"{node} takes the content of an optional that has none.")
    return value.value
