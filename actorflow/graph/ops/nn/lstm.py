"""The LSTM over all steps as one op, with TensorFlow's name and outputs (`tf.raw_ops.BlockLSTM`).

Only the recurrence needs one step after the other. Its gradient is an op too, `BlockLSTMGateGrad`: it goes back through the
steps and gives the gradients of the gates before their activations. Those of the inputs, the weights and the bias are products
and sums of them over all steps, by ops of their own, so that what has no use is not computed. Second derivatives are those
of the same recurrence as a loop.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32, float64, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.errors import describe
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.nn.losses import is_zero
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_REAL = frozenset((float32, float64))


def _units(c: Inference, weights: int, *vectors: int) -> int | None:
    """The number of units, from the shapes of the weights and of vectors. Raises ValueError if they don't fit."""
    columns = (require_rank(c, weights, 2) or (None, None))[1]
    if columns is not None and columns % 4:
        raise ValueError(f"The weights have four columns a unit, but they have {columns}.")
    units: Shape = (None if columns is None else columns // 4,)
    for vector in vectors:
        units = merge(units, require_rank(c, vector, 1))
    return None if units is None else units[0]


def _forward(c: Inference) -> list[Shape]:
    require_rank(c, 0, 0)
    x = require_rank(c, 1, 3) or (None,) * 3
    units = _units(c, 4, *((5, 6, 7) if c.attrs["use_peephole"] else ()))
    state = merge(merge((x[1], units), require_rank(c, 2, 2)), require_rank(c, 3, 2)) or (None, None)
    weights = require_rank(c, 4, 2)
    if state[1] is not None:
        merge(require_rank(c, 8, 1), (4 * state[1],))
        merge(weights, (None if x[2] is None else x[2] + state[1], 4 * state[1]))
    return [(x[0], *state)] * 7


def _work(steps: int, weights: int) -> Any:
    def rule(c: Inference) -> float:
        rows, products = c.shapes[steps], c.shapes[weights]
        if rows is None or products is None or None in rows[:2] or None in products:
            return 1e6
        return 2.0 * rows[0] * rows[1] * products[0] * products[1]  # type: ignore[operator]

    return rule


@op(
    "BlockLSTM",
    shape=_forward,
    dtypes=_REAL,
    types={"seq_len_max": int64},
    result=lambda c: (c.dtypes[1],) * 7,
    work=_work(1, 4),
)
def block_lstm(
    seq_len_max: TensorLike,
    x: TensorLike,
    cs_prev: TensorLike,
    h_prev: TensorLike,
    w: TensorLike,
    wci: TensorLike,
    wcf: TensorLike,
    wco: TensorLike,
    b: TensorLike,
    *,
    forget_bias: float = 1.0,
    cell_clip: float = 3.0,
    use_peephole: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """An LSTM over the first `seq_len_max` steps of `x`; behind them the outputs are zeros.

    Args:
        seq_len_max: int64, the number of steps.
        x: `[time, batch, inputs]`.
        cs_prev, h_prev: `[batch, units]`: the cell and the output before the first step.
        w: `[inputs + units, 4 units]`: the weights of the input gate, the candidate, the forget gate and the output gate.
        wci, wcf, wco: `[units]`: the peepholes' weights; not looked at without `use_peephole`.
        b: `[4 units]`: the bias.
        forget_bias: is added to the forget gate.
        cell_clip: the cell's values are cut to [-cell_clip, cell_clip]; 0 or less for no limit. The gradient does not see it.
        use_peephole: whether the gates see the cell.

    Returns:
        For each step, `[time, batch, units]`: the input gate, the cell, the forget gate, the output gate, the candidate, the
        cell's tangent, and the output.
    """


def _backward(c: Inference) -> list[Shape]:
    steps, batch, units = _forward(c)[0] or (None,) * 3
    for index in range(9, 17):
        merge((steps, batch, units), require_rank(c, index, 3))
    return [(steps, batch, None if units is None else 4 * units), (batch, units), (batch, units)]


@op(
    "BlockLSTMGateGrad",
    shape=_backward,
    dtypes=_REAL,
    types={"seq_len_max": int64},
    result=lambda c: (c.dtypes[1],) * 3,
    work=_work(1, 4),
)
def block_lstm_gate_grad(
    seq_len_max: TensorLike,
    x: TensorLike,
    cs_prev: TensorLike,
    h_prev: TensorLike,
    w: TensorLike,
    wci: TensorLike,
    wcf: TensorLike,
    wco: TensorLike,
    b: TensorLike,
    i: TensorLike,
    cs: TensorLike,
    f: TensorLike,
    o: TensorLike,
    ci: TensorLike,
    co: TensorLike,
    cs_grad: TensorLike,
    h_grad: TensorLike,
    *,
    forget_bias: float = 1.0,
    cell_clip: float = 3.0,
    use_peephole: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the four gates before their activations, `[time, batch, 4 units]`, of `cs_prev` and of `h_prev`: from the
    inputs and outputs of `BlockLSTM` and the gradients of the cell and of the output after each step."""


@block_lstm.gradient
def _(node: Operation, *dys: Tensor) -> list[Any]:
    """Only the cell and the output have a gradient, as in TensorFlow."""
    if not all(is_zero(dys[index]) for index in (0, 2, 3, 4, 5)):
        raise LookupError(
            describe("The gates of BlockLSTM have no gradient.", node=node.name, op=node.type, where=node.where)
        )
    _, x, c_before, h_before, w, *_ = node.inputs
    i, cs, f, o, ci, co, h = node.outputs
    operands: list[Any] = [*node.inputs, i, cs, f, o, ci, co, dys[1], dys[6]]
    slopes, to_c, to_h = block_lstm_gate_grad(*operands, **node.attrs)
    before = concat([expand_dims(h_before, 0), h], 0)[:-1]
    flat = reshape(slopes, [-1, shape(w)[1]])
    seen = reshape(concat([x, before], 2), [-1, shape(w)[0]])
    inputs = shape(x)[2]
    to_x = reshape(matmul(flat, w[:inputs], transpose_b=True), shape(x))
    looks: list[Any] = [None] * 3
    if node.attrs["use_peephole"]:
        of_i, _, of_f, of_o = split(slopes, 4, axis=2)
        cells = concat([expand_dims(c_before, 0), cs], 0)[:-1]
        looks = [reduce_sum(slope * cell, [0, 1]) for slope, cell in ((of_i, cells), (of_f, cells), (of_o, cs))]
    return [None, to_x, to_c, to_h, matmul(seen, flat, transpose_a=True), *looks, reduce_sum(flat, [0])]


@block_lstm_gate_grad.gradient
def _(node: Operation, *second: Any) -> list[Any]:
    from actorflow.graph.autodiff.lstm import second_gradients

    return second_gradients(node, second)
