"""Branches as If, loops as Loop.

In the graph a branch lies between Switch nodes, by which tensors enter it, and a Merge; a loop lies within a frame, between
Enter and Exit nodes. ONNX's bodies use the values around them by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.base.shapes import Shape
from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.exporter.block import ExportedBlock, rule
from actorflow.exchange.onnx.exporter.lists import appended, source_of
from actorflow.exchange.onnx.protos import ValueInfoProto
from actorflow.exchange.onnx.types import type_proto
from actorflow.graph.tensor import Operation, Tensor


@dataclass(slots=True)
class LoopFrame:
    """A loop.

    Args:
        variables: for each value that goes round its Enter, Merge, Switch and NextIteration. A value that only the condition
            takes has no Switch.
        exits: the places of the values that leave it, by the names of their Exit nodes.
        condition: the tensor that says whether it goes on.
    """

    variables: list[tuple[Operation, Operation, Operation | None, Operation]] = field(default_factory=list)
    exits: dict[str, int] = field(default_factory=dict)
    condition: Tensor | None = None


def frames_of(operations: Iterable[Operation]) -> dict[str, LoopFrame]:
    """The loops of a graph, by the names of their frames."""
    users: dict[str, list[Operation]] = {}
    operations = list(operations)
    for op in operations:
        for tensor in op.inputs:
            users.setdefault(tensor.name, []).append(op)
    frames: dict[str, LoopFrame] = {}
    for merge in operations:
        if merge.type != "Merge" or merge.inputs[0].op.type != "Enter":
            continue
        enter, again = merge.inputs[0].op, merge.inputs[1].op
        takers = users.get(merge.outputs[0].name, ())
        switch = next((op for op in takers if op.type == "Switch" and op.inputs[1].op.type == "LoopCond"), None)
        frame = frames.setdefault(enter.attrs["frame_name"], LoopFrame())
        if switch is not None:
            for op in users.get(switch.outputs[0].name, ()):
                if op.type == "Exit":
                    frame.exits[op.name] = len(frame.variables)
            frame.condition = switch.inputs[1].op.inputs[0]
        frame.variables.append((enter, merge, switch, again))
    return frames


def value_info(name: str, tensor: Tensor, shape: Shape = None, *, typed: bool = True) -> Any:
    """The message of a value's type."""
    return (
        ValueInfoProto(name=name, type=type_proto(tensor.dtype.base_dtype, shape))
        if typed
        else ValueInfoProto(name=name)
    )


@rule("Exit")
def loop(block: ExportedBlock, op: Operation) -> list[str]:
    """Writes the loop that the value leaves, and gives all values that leave it their names."""
    name = op.inputs[0].op.inputs[0].op.inputs[0].op.attrs["frame_name"]
    frame: LoopFrame = block.file.frames[name]
    rows = {place: appended(frame, place) for place, (enter, *_) in enumerate(frame.variables) if _is_list(enter)}
    same = {place: block.get(frame.variables[place][0].inputs[0]) for place, row in rows.items() if row is None}
    for place in same:
        _check_kept(frame, place)
    carried = [place for place in range(len(frame.variables)) if place not in rows]
    variables = [frame.variables[place] for place in carried]
    first = [block.get(enter.inputs[0]) for enter, *_ in variables]
    assert frame.condition is not None
    start = ExportedBlock(block.file, block, nodes=block.nodes, frame=name)
    start.values |= {merge.outputs[0].name: value for (_, merge, *_), value in zip(variables, first)}
    begins = start.get(frame.condition)

    body = ExportedBlock(block.file, block, frame=name)
    at, going = block.file.fresh(f"{name}/at"), block.file.fresh(f"{name}/going")
    inner = [block.file.fresh(f"{name}/{enter.name}") for enter, *_ in variables]
    for (_, merge, switch, _), value in zip(variables, inner):
        body.values[merge.outputs[0].name] = value
        if switch is not None:
            body.values[switch.outputs[1].name] = value
    for place, value in same.items():
        _, merge, switch, _ = frame.variables[place]
        body.values |= {tensor.name: value for op in (merge, switch) if op is not None for tensor in op.outputs}
    later = [body.get(again.inputs[0]) for *_, again in variables]
    check = ExportedBlock(block.file, body, nodes=body.nodes, frame=name)
    check.values |= {merge.outputs[0].name: value for (_, merge, *_), value in zip(variables, later)}
    goes_on = _own(body, check.get(frame.condition))
    ends = [_own(body, value) for value in later]
    added = {place: _own(body, body.get(row)) for place, row in rows.items() if row is not None}
    shapes = [merge.outputs[0].static_shape for _, merge, *_ in variables]
    tensors = [merge.outputs[0] for _, merge, *_ in variables]
    inputs = [
        ValueInfoProto(name=at, type=type_proto(as_dtype("int64"), ())),
        ValueInfoProto(name=going, type=type_proto(as_dtype("bool"), ())),
        *map(value_info, inner, tensors, shapes),
    ]
    outputs = [
        ValueInfoProto(name=goes_on, type=type_proto(as_dtype("bool"), ())),
        *map(value_info, ends, tensors, shapes),
        *(value_info(value, rows[place], rows[place].static_shape) for place, value in added.items()),  # type: ignore[union-attr, arg-type]
    ]
    graph = body.graph(block.file.fresh(f"{name}_body"), inputs, outputs)
    results = block.node("Loop", "", begins, *first, count=len(first) + len(added), body=graph)
    values = dict(zip([*carried, *added], results)) | same
    for exit_name, place in frame.exits.items():
        block.values[f"{exit_name}:0"] = values[place]
    return [values[frame.exits[op.name]]]


def _is_list(enter: Operation) -> bool:
    return enter.outputs[0].dtype.name == "variant"


def _check_kept(frame: LoopFrame, place: int) -> None:
    """Raises UnimplementedError where a list that goes round is another one afterwards."""
    _, merge, switch, again = frame.variables[place]
    before = {tensor.name for op in (merge, switch) if op is not None for tensor in op.outputs}
    if source_of(again.inputs[0]).name not in before:
        raise UnimplementedError(f"{merge.name} changes a list in a loop in another way than by an element at its end.")


def _own(body: ExportedBlock, value: str) -> str:
    """A value as the output of a body: by a node of it, because an output of the outside is none."""
    return str(body.node("Identity", value))


@rule("Enter")
def enter(block: ExportedBlock, op: Operation) -> str:
    """A value of the outside, in a loop."""
    for around in block.around():
        if around.frame == op.attrs["frame_name"] and around.parent is not None:
            outer = around.parent
            while outer.frame == op.attrs["frame_name"] and outer.parent is not None:
                outer = outer.parent
            return outer.get(op.inputs[0])
    raise UnimplementedError(f"{op.name} enters a loop that is not around it.")


@rule("Switch")
def switch(block: ExportedBlock, op: Operation) -> list[str]:
    """A value of the outside, in a branch."""
    predicate = _source(op.inputs[1]).name
    for around in block.around():
        if around.predicate == predicate and around.parent is not None:
            value = around.parent.get(op.inputs[0])
            return [value, value]
    raise UnimplementedError(f"{op.name} leads into a branch whose end is not part of the outputs.")


def _source(tensor: Tensor) -> Tensor:
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


@rule("Merge")
def branches(block: ExportedBlock, op: Operation) -> list[str]:
    """The end of two branches. The second output says from which one the value came."""
    sides = [_deciding(tensor) for tensor in op.inputs]
    controlling = [side for side in sides if side is not None]
    if len(op.inputs) != 2 or not controlling:
        raise UnimplementedError(f"{op.name} is not the end of two branches of one condition.")
    predicate = controlling[0][0]
    truths = [side[1] if side is not None else 1 - controlling[0][1] for side in sides]
    if sorted(truths) != [0, 1]:
        raise UnimplementedError(f"{op.name} is not the end of two branches of one condition.")
    condition = block.get(predicate)
    shape, tensor = op.outputs[0].static_shape, op.outputs[0]
    graphs = {}
    for truth, value in zip(truths, op.inputs):
        inner = ExportedBlock(block.file, block, predicate=_source(predicate).name)
        end = _own(inner, inner.get(value))
        port = inner.constant(np.int32(op.inputs.index(value)))
        outputs = [value_info(end, tensor, shape)]
        if len(op.outputs) > 1:
            outputs.append(value_info(_own(inner, port), op.outputs[1], ()))
        graphs[truth] = inner.graph(block.file.fresh(f"{op.name}_{'then' if truth else 'else'}"), [], outputs)
    results: list[str] = block.node(
        "If", condition, count=len(op.outputs), then_branch=graphs[1], else_branch=graphs[0]
    )
    return results


def _deciding(tensor: Tensor) -> tuple[Tensor, int] | None:
    """The condition of the branch that a tensor is computed in, and the side."""
    seen: set[tuple[str, int]] = set()
    stack: list[tuple[Tensor, int]] = [(tensor, 0)]
    while stack:
        at, depth = stack.pop()
        op = at.op
        if (at.name, depth) in seen:
            continue
        seen.add((at.name, depth))
        if op.type == "Switch" and op.inputs[1].op.type != "LoopCond":
            if not depth:
                return op.inputs[1], int(at.name.rpartition(":")[2])
            stack.append((op.inputs[0], depth - 1))
            continue
        inside = depth + 1 if op.type == "Merge" and op.inputs[0].op.type != "Enter" else depth
        stack.extend((value, inside) for value in op.inputs)
        stack.extend((other.outputs[0], depth) for other in op.control_inputs if other.outputs)
    return None
