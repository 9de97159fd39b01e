"""LSTM cells over all steps by one op, `BlockLSTM`, which takes less time and memory than a loop around the cell.

That is for `BasicLSTMCell`, `LSTMCell` and stacks of them, as they are: without peepholes, projections and limits, with tanh, and
for inputs and states of one type, float32 or float64. All others are run in a loop.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32, float64, int64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import tanh
from actorflow.graph.ops.nn.lstm import block_lstm
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.scope import variable_scope
from actorflow.models.rnn.base import LSTMStateTuple
from actorflow.models.rnn.cells import BasicLSTMCell, LSTMCell, MultiRNNCell
from actorflow.models.rnn.steps import Steps


def in_one_op(cell: Any, steps: Steps, state: Any) -> bool:
    """Whether `over_steps` runs this cell from this state."""
    if "call" in vars(cell):
        return False
    if type(cell) is MultiRNNCell:
        return cell._state_is_tuple and all(
            in_one_op(layer, steps, part) for layer, part in zip(cell._cells, state, strict=True)
        )
    return _is_plain(cell) and _are_alike(cell, steps, state)


def _is_plain(cell: Any) -> bool:
    if type(cell) is LSTMCell:
        if cell._use_peepholes or cell._cell_clip is not None or cell._num_proj is not None:
            return False
    elif type(cell) is not BasicLSTMCell:
        return False
    return cell._state_is_tuple and cell._activation is tanh and isinstance(cell._forget_bias, (int, float))


def _are_alike(cell: BasicLSTMCell | LSTMCell, steps: Steps, state: LSTMStateTuple) -> bool:
    """Whether inputs, state and weights are of one type, and the inputs one tensor of vectors."""
    kinds = {steps.flat[0].dtype, *(part.dtype for part in state), cell._dtype or steps.flat[0].dtype}
    vectors = len(steps.flat) == 1 and steps.flat[0].shape.ndims == 3
    return vectors and len(kinds) == 1 and kinds <= {float32, float64}


def over_steps(cell: Any, x: Tensor, count: Any, state: Any) -> tuple[Tensor, Any]:
    """The outputs of all steps, and the state after the last step.

    Args:
        cell: a cell for which `in_one_op` is true.
        x: [time, batch, inputs].
        count: the time, a number or a scalar tensor.
        state: the state before the first step.
    """
    with cell._entered([x], state):
        if type(cell) is not MultiRNNCell:
            return _lstm(cell, x, count, *state)
        last = []
        for number, inner in enumerate(cell._cells):
            with variable_scope(f"cell_{number}"):
                x, after = over_steps(inner, x, count, state[number])
                last.append(after)
        return x, tuple(last)


def _lstm(cell: BasicLSTMCell | LSTMCell, x: Tensor, count: Any, c: Tensor, h: Tensor) -> tuple[Tensor, LSTMStateTuple]:
    unseen = zeros([cell.output_size], x.dtype)  # the peepholes' weights
    outputs_of_op = block_lstm(
        convert_to_tensor(count, int64) if isinstance(count, int) else cast(count, int64),
        x,
        c,
        h,
        cell._kernel,
        unseen,
        unseen,
        unseen,
        cell._bias,
        forget_bias=float(cell._forget_bias),
        cell_clip=-1.0,
    )
    cells, outputs = outputs_of_op[1], outputs_of_op[6]
    return outputs, LSTMStateTuple(_last(c, cells, count), _last(h, outputs, count))


def _last(before: Tensor, after: Tensor, count: Any) -> Tensor:
    """The state after the last step; `before` if there are no steps."""
    if isinstance(count, int) and count > 0:
        return after[-1]
    return concat([expand_dims(before, 0), after[-1:]], 0)[-1]
