"""Rules of lists of tensors: a list whose elements have one shape is the tensor of its elements as rows.

A list that a loop fills, one element in each iteration, is an output of the loop, which ONNX stacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rule, static
from actorflow.exchange.onnx.exporter.shapes import axes
from actorflow.graph.tensor import Operation, Tensor

_EMPTY = ""
"""The value of a list that has no elements yet, whose shape nothing says."""
_COPIES = ("Identity", "Cast", "StopGradient")
_NEW = ("TensorListReserve", "EmptyTensorList")


def source_of(tensor: Tensor) -> Tensor:
    """The tensor that copies and casts begin with."""
    while tensor.op.type in _COPIES:
        tensor = tensor.op.inputs[0]
    return tensor


def _full(block: ExportedBlock, op: Operation) -> str:
    """The tensor of a list that has all its elements."""
    value = block.get(op.inputs[0])
    if value == _EMPTY:
        raise UnimplementedError(
            f"{op.name} ({op.type}) takes from a list without elements, of which ONNX knows no shape."
        )
    return value


@rule(*_NEW)
def new(block: ExportedBlock, op: Operation) -> str:
    return _EMPTY


@rule("TensorListFromTensor")
def from_tensor(block: ExportedBlock, op: Operation) -> str:
    return block.get(op.inputs[0])


@rule("TensorListScatter")
def scatter(block: ExportedBlock, op: Operation) -> str:
    """All rows of a tensor in their order, which is how an array is unstacked; rows of a list that has some."""
    handle, indices, rows = op.inputs
    if block.get(handle) != _EMPTY:
        places = block.node("Unsqueeze", block.whole(indices), axes(block, -1))
        return str(block.node("ScatterND", block.get(handle), places, block.get(rows)))
    places = static(indices)
    ordered = places is not None and np.array_equal(places, np.arange(len(places)))
    if not ordered and indices.op.type == "Range":
        first, step = (static(value) for value in (indices.op.inputs[0], indices.op.inputs[2]))
        ordered = first is not None and step is not None and int(first) == 0 and int(step) == 1
    if not ordered:
        raise UnimplementedError(f"{op.name} puts elements into a new list in another order than they have.")
    return block.get(rows)


@rule("TensorListSetItem")
def set_item(block: ExportedBlock, op: Operation) -> str:
    """An element of a full list; or the last of the elements that fill a new list in their order."""
    handle, index, item = op.inputs
    items: dict[int, Tensor] = {}
    at = op
    while at.type == "TensorListSetItem" and (place := static(at.inputs[1])) is not None:
        items.setdefault(int(place), at.inputs[2])
        at = source_of(at.inputs[0]).op
    if at.type in _NEW and sorted(items) == list(range(len(items))):
        shapes = {tensor.static_shape for tensor in items.values()}
        if len(shapes) == 1:
            rows = [block.node("Unsqueeze", block.get(items[n]), axes(block, 0)) for n in range(len(items))]
            return str(block.node("Concat", *rows, axis=0))
    value = block.get(handle)
    if value == _EMPTY:
        return _EMPTY
    place_ = block.node("Reshape", block.whole(index), axes(block, 1, 1))
    return str(block.node("ScatterND", value, place_, block.node("Unsqueeze", block.get(item), axes(block, 0))))


@rule("TensorListGetItem", "TensorListGather")
def get_item(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Gather", _full(block, op), block.whole(op.inputs[1]), axis=0))


@rule("TensorListStack")
def stack(block: ExportedBlock, op: Operation) -> str:
    return str(block.node("Identity", _full(block, op)))


@rule("TensorListLength")
def length(block: ExportedBlock, op: Operation) -> str:
    count = block.node("Squeeze", block.node("Shape", _full(block, op), end=1), axes(block, 0))
    return block.cast(count, as_dtype("int64"), op.outputs[0].dtype)


@rule("TensorListConcat")
def concat(block: ExportedBlock, op: Operation) -> str:
    whole = _full(block, op)
    sizes = block.node("Concat", axes(block, -1), block.node("Shape", whole, start=2), axis=0)
    return str(block.node("Reshape", whole, sizes))


def appended(frame: Any, place: int) -> Tensor | None:
    """The element that each iteration adds to the list which goes round at a place; None where that is no such list.

    Raises:
        UnimplementedError: the list is filled in another order than that of the iterations.
    """
    enter, _, switch, again = frame.variables[place]
    if source_of(enter.inputs[0]).op.type not in _NEW or switch is None:
        return None
    write = source_of(again.inputs[0]).op
    if write.type not in ("TensorListSetItem", "TensorListPushBack"):
        return None
    if (
        source_of(write.inputs[0]) is not switch.outputs[1]
        and source_of(write.inputs[0]).name != switch.outputs[1].name
    ):
        return None
    item: Tensor = write.inputs[-1]
    if write.type == "TensorListSetItem" and not _counts(frame, source_of(write.inputs[1])):
        raise UnimplementedError(f"{write.name} fills a list in another order than that of the loop's iterations.")
    return item


def _counts(frame: Any, index: Tensor) -> bool:
    """Whether a tensor is the number of the iteration."""
    for enter, merge, switch, again in frame.variables:
        outputs = [merge.outputs[0].name] + ([] if switch is None else [switch.outputs[1].name])
        if index.name not in outputs:
            continue
        first, step = static(source_of(enter.inputs[0])), source_of(again.inputs[0]).op
        if first is None or int(first) != 0 or step.type not in ("Add", "AddV2"):
            return False
        more = [static(value) for value in step.inputs if source_of(value).name not in outputs]
        return len(more) == 1 and more[0] is not None and int(more[0]) == 1
    return False
