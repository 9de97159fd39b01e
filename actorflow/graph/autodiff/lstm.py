"""Second derivatives of the LSTM over all steps: its first gradients once more, as those of a loop, which has derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int32
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import or_zeros, small_constant
from actorflow.graph.ops.flow.control import identity, stop_gradient
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.clip import clip_by_value
from actorflow.graph.ops.math.elementwise import sigmoid, tanh
from actorflow.graph.ops.math.logic import less
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.tensor import Operation, Tensor


def second_gradients(node: Operation, second: Sequence[Any]) -> list[Any]:
    """The gradients of a `BlockLSTMGateGrad`'s inputs, from those of its outputs."""
    steps, *inputs = node.inputs[:9]
    of_c, of_h = node.inputs[15:]
    # Copies, because what an input depends on may be another input.
    copies = [identity(value) for value in inputs]
    count = cast(steps, int32)
    extra = zeros(shape(node.outputs[0]), of_c.dtype)
    cells, outputs = _by_loop(count, extra, copies, **node.attrs)
    slopes = [identity(of_c), identity(of_h)]
    first: Any = gradients([cells, outputs], [extra, copies[1], copies[2]], [slope[:count] for slope in slopes])
    grads = gradients(first, [*copies, *slopes], or_zeros(second, first))
    return [None, *grads[:8], *[None] * 6, *grads[8:]]


def _by_loop(
    count: Tensor,
    extra: Tensor,
    inputs_of_block: Sequence[Tensor],
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Sequence[Tensor]:
    """The cells and the outputs after each of `count` steps. `extra` is added to the gates before their activations."""
    x, c, h, w, of_i, of_f, of_o, b = inputs_of_block
    kind = x.dtype

    def number(value: float) -> Tensor:
        return small_constant(x.graph, value, kind, "number")

    def body(time: Tensor, outputs: Sequence[Any], c: Tensor, h: Tensor) -> Any:
        gates = matmul(concat([inputs.read(time), h], 1), w) + b + added.read(time)
        i, ci, f, o = split(gates, 4, axis=1)
        f = f + number(forget_bias)
        if use_peephole:
            i, f = i + c * of_i, f + c * of_f
        c = tanh(ci) * sigmoid(i) + c * sigmoid(f)
        if cell_clip > 0:
            c = c + stop_gradient(clip_by_value(c, number(-cell_clip), number(cell_clip)) - c)
        h = tanh(c) * sigmoid(o + c * of_o if use_peephole else o)
        return time + 1, [array.write(time, value) for array, value in zip(outputs, (c, h))], c, h

    inputs, added = (TensorArray(kind, size=shape(tensor)[0]).unstack(tensor) for tensor in (x, extra))
    arrays = [TensorArray(kind, size=count) for _ in range(2)]
    start = zeros([], int32)
    _, arrays_out, _, _ = while_loop(lambda time, *_: less(time, count), body, (start, arrays, c, h))
    return [array.stack() for array in arrays_out]
