"""Cells through time: `dynamic_rnn` in a loop, `static_rnn` step by step, and both directions (`tf.nn.dynamic_rnn`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import DTypeLike
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import compatible
from actorflow.errors import describe
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.array.join import concat, stack, unstack
from actorflow.graph.ops.array.reverse import reverse_sequence
from actorflow.graph.ops.array.shape import reverse
from actorflow.graph.ops.math.arithmetic import maximum, minimum
from actorflow.graph.ops.math.logic import greater_equal, less
from actorflow.graph.ops.math.reduction import reduce_max
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.graph.variables.scope import variable_scope
from actorflow.graph.variables.store import VariableScope
from actorflow.models.rnn.base import check_cell, dimensions, zeros_of
from actorflow.models.rnn.sequence import in_one_op, over_steps
from actorflow.models.rnn.steps import Steps, batch_of, checked_lengths, chosen, start, swapped, time_first
from actorflow.public import public

Scope = str | VariableScope | None


@public("af.nn")
def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Scope = None,
) -> tuple[Any, Any]:
    """Runs `cell` over the steps of `inputs`, in a loop (`tf.nn.dynamic_rnn`), or by one op for all steps.

    The one op is `BlockLSTM`. It takes the place of the loop for an `LSTMCell` or `BasicLSTMCell` without projection and with
    its usual activation, or a stack of such, without `sequence_length` and `swap_memory`.

    Example:
        >>> x = af.placeholder(af.float32, [2, None, 3])
        >>> outputs, last = af.nn.dynamic_rnn(af.nn.rnn_cell.GRUCell(4), x, sequence_length=[5, 2], dtype=af.float32)
        >>> await session.run(af.global_variables_initializer())
        >>> (await session.run(outputs, {x: np.ones([2, 5, 3])}))[1, 2:]
        [[0. 0. 0. 0.]
         [0. 0. 0. 0.]
         [0. 0. 0. 0.]]

    Args:
        cell: a cell, such as `af.nn.rnn_cell.LSTMCell(128)`.
        inputs: [batch, time, ...], or [time, batch, ...] with `time_major`, which saves two transpositions; or a
            structure of such. Batch and time may be unknown, the rest is known.
        sequence_length: [batch], integers: the number of steps of each row. After its last step a row's outputs are
            zeros, and its state stays.
        initial_state: the state before the first step, in the structure of `cell.state_size`; zeros of type `dtype`
            unless given.
        dtype: the type of the initial state and of the outputs; needed without `initial_state`.
        parallel_iterations: the maximum number of steps of the loop that run concurrently; 32 unless given.
        swap_memory: whether values that the gradient needs may be kept on the host; then there is always a loop.
        time_major: whether inputs and outputs have the time in dimension 0 and the batch in dimension 1.
        scope: the variable scope, `rnn` unless given.

    Returns:
        The outputs, [batch, time, ...] of `cell.output_size` (time first with `time_major`), and the state after the
        last step.

    Raises:
        TypeError: `cell` is not a cell.
        ValueError: neither a state nor a type is given, a shape does not fit, or the size of the inputs is unknown.
    """
    check_cell("cell", cell)
    graph = graph_of(nest.flatten(inputs))
    with graph.as_default(), variable_scope(scope or "rnn"):
        rows = nest.map_structure(lambda x: time_first(x, time_major), inputs)
        steps = Steps(nest.flatten(rows))
        state, kind = start(cell, initial_state, steps.batch, dtype)
        lengths = None if sequence_length is None else checked_lengths(sequence_length, steps.batch)
        if lengths is None and not swap_memory and in_one_op(cell, steps, state):
            outputs, last = over_steps(cell, steps.flat[0], steps.count, state)
            return (outputs if time_major else swapped(outputs)), last
        zero_output = None if lengths is None else zeros_of(cell.output_size, steps.batch, kind)
        sizes = nest.flatten(cell.output_size)
        arrays = [TensorArray(t.dtype, size=steps.count, element_shape=t.shape[1:]).unstack(t) for t in steps.flat]
        written = [TensorArray(kind, size=steps.count, element_shape=_element(steps.static_batch, s)) for s in sizes]

        def body(time: Tensor, outputs: list[TensorArray], before: Any) -> Any:
            now = nest.pack_sequence_as(rows, [array.read(time) for array in arrays])
            output, after = cell(now, before)
            nest.assert_same_structure(cell.output_size, output, check_types=False)
            nest.assert_same_structure(before, after, check_types=False)
            if lengths is not None:
                ended = greater_equal(time, lengths)
                output, after = chosen(ended, zero_output, output), chosen(ended, before, after)
            after = _in_form(before, after)
            return time + 1, [a.write(time, v) for a, v in zip(outputs, nest.flatten(output))], after

        bound = steps.count
        if lengths is not None:  # one step at least, as the shapes of outputs may be known by then only
            bound = minimum(steps.count, maximum(1, reduce_max(lengths)))
        _, done, last = while_loop(
            lambda time, *_: less(time, bound),
            body,
            (convert_to_tensor(0, name="time", graph=graph), written, state),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        stacked = [_stacked(array, steps, size) for array, size in zip(done, sizes)]
        outputs = nest.pack_sequence_as(cell.output_size, stacked)
        return (outputs if time_major else nest.map_structure(swapped, outputs)), last


@public("af.nn")
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Scope = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """One cell over the steps of `inputs` and another over them from the last to the first
    (`tf.nn.bidirectional_dynamic_rnn`).

    Example:
        >>> forward, backward = af.nn.rnn_cell.GRUCell(4), af.nn.rnn_cell.GRUCell(4)
        >>> x = af.placeholder(af.float32, [2, 5, 3])
        >>> outputs, states = af.nn.bidirectional_dynamic_rnn(forward, backward, x, dtype=af.float32)
        >>> af.concat(outputs, 2).shape
        TensorShape([2, 5, 8])

    Args:
        cell_fw, cell_bw: the cell that runs forward, and the cell that runs backward.
        inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major: see `dynamic_rnn`.
        initial_state_fw, initial_state_bw: the state of each cell before its first step; zeros of type `dtype` unless
            given.
        scope: the variable scope, `bidirectional_rnn` unless given; inside are `fw` and `bw`.

    Returns:
        ((outputs forward, outputs backward), (state forward, state backward)); outputs are in the order of the inputs.

    Raises:
        TypeError, ValueError: see `dynamic_rnn`.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    rest: dict[str, Any] = {
        "dtype": dtype,
        "parallel_iterations": parallel_iterations,
        "swap_memory": swap_memory,
        "time_major": time_major,
    }
    time_axis = 0 if time_major else 1

    def turned(tensor: Any) -> Tensor:
        if sequence_length is None:
            return reverse(convert_to_tensor(tensor), [time_axis])
        return reverse_sequence(tensor, sequence_length, seq_axis=time_axis, batch_axis=1 - time_axis)

    graph = graph_of(nest.flatten(inputs))
    with graph.as_default(), variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            out_fw, state_fw = dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, scope=forward, **rest)
        with variable_scope("bw") as backward:
            reversed_inputs = nest.map_structure(turned, inputs)
            out_bw, state_bw = dynamic_rnn(
                cell_bw, reversed_inputs, sequence_length, initial_state_bw, scope=backward, **rest
            )
            out_bw = nest.map_structure(turned, out_bw)
    return (out_fw, out_bw), (state_fw, state_bw)


@public("af.nn")
def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Scope = None,
) -> tuple[list[Any], Any]:
    """Calls `cell` once for each step; the graph grows with their number (`tf.nn.static_rnn`).

    Example:
        >>> steps = [af.placeholder(af.float32, [2, 3]) for _ in range(5)]
        >>> outputs, last = af.nn.static_rnn(af.nn.rnn_cell.GRUCell(4), steps, dtype=af.float32)
        >>> len(outputs), last.shape
        (5, TensorShape([2, 4]))

    Args:
        cell: a cell.
        inputs: a list with one tensor of shape [batch, ...] for each step, or a structure of such.
        initial_state, dtype, sequence_length, scope: see `dynamic_rnn`.

    Returns:
        The list of outputs, and the last state.

    Raises:
        TypeError: `cell` is not a cell, or `inputs` is not a list or a tuple.
        ValueError: `inputs` is empty, or neither a state nor a type is given.
    """
    check_cell("cell", cell)
    graph = graph_of(_sequence(inputs))
    with graph.as_default(), variable_scope(scope or "rnn") as opened:
        steps = [nest.map_structure(convert_to_tensor, step) for step in inputs]
        batch, _ = batch_of(nest.flatten(steps[0])[0], 0)
        state, kind = start(cell, initial_state, batch, dtype)
        lengths = None if sequence_length is None else checked_lengths(sequence_length, batch)
        zero_output = None if lengths is None else zeros_of(cell.output_size, batch, kind)
        outputs = []
        for time, step in enumerate(steps):
            if time > 0:
                opened.reuse_variables()
            output, after = cell(step, state)
            if lengths is not None:
                ended = greater_equal(time, lengths)
                output, after = chosen(ended, zero_output, output), chosen(ended, state, after)
            outputs.append(output)
            state = after
        return outputs, state


@public("af.nn")
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: Scope = None,
) -> tuple[list[Any], Any, Any]:
    """`static_rnn` of one cell forward and of another backward (`tf.nn.static_bidirectional_rnn`).

    Example:
        >>> forward, backward = af.nn.rnn_cell.GRUCell(4), af.nn.rnn_cell.GRUCell(4)
        >>> steps = [af.placeholder(af.float32, [2, 3]) for _ in range(5)]
        >>> outputs, *_ = af.nn.static_bidirectional_rnn(forward, backward, steps, dtype=af.float32)
        >>> len(outputs), outputs[0].shape
        (5, TensorShape([2, 8]))

    Args:
        cell_fw, cell_bw: the cell that runs forward, and the cell that runs backward.
        inputs: a list with one tensor of shape [batch, ...] for each step.
        initial_state_fw, initial_state_bw: the state of each cell before its first step; zeros of type `dtype` unless
            given.
        dtype, sequence_length: see `dynamic_rnn`.
        scope: the variable scope, `bidirectional_rnn` unless given; inside are `fw` and `bw`.

    Returns:
        The outputs of both, concatenated in their last dimension, step by step; and the last state of each.

    Raises:
        TypeError, ValueError: see `static_rnn`.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    graph = graph_of(_sequence(inputs))
    with graph.as_default(), variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=forward)
        with variable_scope("bw") as backward:
            turned, state_bw = static_rnn(
                cell_bw, _turned(inputs, sequence_length), initial_state_bw, dtype, sequence_length, scope=backward
            )
        both = [
            nest.map_structure(lambda left, other: concat([left, other], -1), fw, bw)
            for fw, bw in zip(out_fw, _turned(turned, sequence_length))
        ]
    return both, state_fw, state_bw


def _turned(steps: Sequence[Any], lengths: TensorLike | None) -> list[Any]:
    """The steps from the last to the first; those behind a row's length keep their places."""
    if lengths is None:
        return list(reversed(steps))
    leaves = [nest.flatten(step) for step in steps]
    columns = [
        unstack(reverse_sequence(stack(column), lengths, seq_axis=0, batch_axis=1), len(steps))
        for column in zip(*leaves)
    ]
    return [nest.pack_sequence_as(step, list(flat)) for step, flat in zip(steps, zip(*columns))]


def _sequence(inputs: Any) -> list[Any]:
    """The leaves of a sequence of inputs. Raises TypeError, ValueError."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(describe(f"Argument `inputs` must be a sequence. Received: {inputs!r:.80}", where=user_line()))
    if not inputs:
        raise ValueError(describe("Argument `inputs` must not be empty.", where=user_line()))
    return nest.flatten(inputs)


def _in_form(before: Any, after: Any) -> Any:
    """The state after a step in the structure of that before, with its static shapes."""
    leaves = nest.flatten(after)
    for left, other in zip(nest.flatten(before), leaves):
        if isinstance(other, Tensor) and compatible(left.static_shape, other.static_shape):
            other.set_shape(left.static_shape)
    return nest.pack_sequence_as(before, leaves)


def _element(batch: int | None, size: Any) -> Any:
    inner = dimensions(size)
    return None if inner is None else (batch, *inner)


def _stacked(array: TensorArray, steps: Steps, size: Any) -> Tensor:
    stacked = array.stack()
    inner = dimensions(size)
    if inner is not None:
        stacked.set_shape((steps.static_count, steps.static_batch, *inner))
    return stacked
