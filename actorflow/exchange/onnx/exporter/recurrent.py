"""The LSTM over all steps, as a Scan around the equations of a step: ONNX's LSTM gives the cell of the last step only."""

from __future__ import annotations

import numpy as np

from actorflow.exchange.onnx.exporter.block import ExportedBlock, rule, static
from actorflow.exchange.onnx.exporter.control import value_info
from actorflow.graph.tensor import Operation


@rule("BlockLSTM")
def block_lstm(block: ExportedBlock, op: Operation) -> list[str]:
    _, x, c, h, *_ = block.inputs(op)
    count, sizes = static(op.inputs[0]), op.inputs[1].static_shape
    whole = count is not None and sizes is not None and sizes[0] == int(count)
    first = block.constant(np.array([0], np.int64))
    end = "" if whole else block.node("Unsqueeze", block.get(op.inputs[0]), first)
    steps = x if whole else block.node("Slice", x, first, end, first)
    body = ExportedBlock(block.file, block)
    names = [block.file.fresh(f"{op.name}/{name}") for name in ("c", "h", "x")]
    outputs = _step(body, op, *names)
    ends = [body.node("Identity", value) for value in (outputs[1], outputs[6], *outputs)]
    kind = op.outputs[0]
    shapes = [None if tensor.static_shape is None else tensor.static_shape[-2:] for tensor in op.inputs[1:4]]
    inputs = [value_info(name, kind, shape) for name, shape in zip(names, (*shapes[1:], shapes[0]))]
    graph = body.graph(
        block.file.fresh(f"{op.name}_body"), inputs, [value_info(name, kind, shapes[1]) for name in ends]
    )
    states: list[str] = block.node("Scan", c, h, steps, count=9, body=graph, num_scan_inputs=1)[2:]
    if whole:
        return states
    time = block.node("Slice", block.node("Shape", x), first, block.constant(np.array([1], np.int64)))
    nothing = [block.constant(np.zeros(size, np.int64)) for size in (3, 2)]
    pads = block.node("Concat", nothing[0], block.node("Sub", time, end), nothing[1], axis=0)
    return [block.node("Pad", output, pads) for output in states]


def _step(body: ExportedBlock, op: Operation, c: str, h: str, x: str) -> list[str]:
    """The seven outputs of one step."""
    w, of_i, of_f, of_o, b = (body.get(tensor) for tensor in op.inputs[4:])
    kind = op.outputs[0].dtype

    def number(value: float) -> str:
        return body.constant(np.asarray(value, kind.numpy_dtype))

    def seen(gate: str, cell: str, weights: str) -> str:
        return body.node("Add", gate, body.node("Mul", cell, weights)) if op.attrs["use_peephole"] else gate

    sums = body.node("Add", body.node("MatMul", body.node("Concat", x, h, axis=1), w), b)
    i, candidate, f, o = body.node("Split", sums, axis=1, num_outputs=4, count=4)
    i = body.node("Sigmoid", seen(i, c, of_i))
    f = body.node("Sigmoid", seen(body.node("Add", f, number(op.attrs["forget_bias"])), c, of_f))
    candidate = body.node("Tanh", candidate)
    cell = body.node("Add", body.node("Mul", candidate, i), body.node("Mul", c, f))
    most = op.attrs["cell_clip"]
    if most > 0:
        cell = body.node("Clip", cell, number(-most), number(most))
    o = body.node("Sigmoid", seen(o, cell, of_o))
    tangent = body.node("Tanh", cell)
    return [i, cell, f, o, candidate, tangent, body.node("Mul", o, tangent)]
