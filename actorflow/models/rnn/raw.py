"""`raw_rnn`: a cell in a loop whose inputs, state and end a function decides step by step (`tf.nn.raw_rnn`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.base import nest
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import is_static
from actorflow.errors import describe
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.math.logic import logical_not, logical_or
from actorflow.graph.ops.math.reduction import reduce_all
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.scope import variable_scope
from actorflow.models.rnn.base import check_cell, dimensions
from actorflow.models.rnn.steps import batch_of, chosen
from actorflow.models.rnn.unroll import Scope
from actorflow.public import public

LoopFunction = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


@public("af.nn")
def raw_rnn(
    cell: Any,
    loop_fn: LoopFunction,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Scope = None,
) -> tuple[Any, Any, Any]:
    """Runs `cell` in a loop until all rows of the batch are finished (`tf.nn.raw_rnn`).

    Example:
        >>> steps = af.constant([[[1.0]], [[2.0]], [[4.0]]])
        >>> cell = af.nn.rnn_cell.GRUCell(2)
        >>> def loop_fn(time, output, state, loop_state):
        ...     next_state = cell.zero_state(1, af.float32) if output is None else state
        ...     finished = time >= 3
        ...     return af.reshape(finished, [1]), steps[af.minimum(time, 2)], next_state, output, None
        >>> emitted, last, _ = af.nn.raw_rnn(cell, loop_fn)
        >>> await session.run(af.global_variables_initializer())
        >>> (await session.run(emitted.stack())).shape
        (3, 1, 2)

    Args:
        cell: a cell.
        loop_fn: `loop_fn(time, cell_output, cell_state, loop_state)` gives `(finished, next_input, next_cell_state,
            emit_output, next_loop_state)`. It is called once before the loop, with time 0 and None for the rest. That call
            gives the first input and state, and the first loop state or None. Its `emit_output` is tensors of the shape
            (without batch) and type of what is emitted, or None for the cell's output. `finished` is a bool vector; a row
            that is finished emits zeros and keeps its state.
        parallel_iterations: the maximum number of steps that run concurrently; 32 unless given.
        swap_memory: whether values that the gradient needs may be kept on the host.
        scope: the variable scope, `rnn` unless given.

    Returns:
        A `TensorArray` (or a structure of them) of what was emitted, the last state, and the last loop state.

    Raises:
        TypeError: `cell` is not a cell, or `loop_fn` is not a function.
        ValueError: structures differ.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(
            describe(f"Argument `loop_fn` must be a callable. Received: {loop_fn!r:.60}.", where=user_line())
        )
    graph = get_default_graph()
    with variable_scope(scope or "rnn"):
        begin = convert_to_tensor(0, name="time", graph=graph)
        finished, first_input, first_state, emitted, given_loop_state = loop_fn(begin, None, None, None)
        first_input, first_state = (nest.map_structure(convert_to_tensor, part) for part in (first_input, first_state))
        nest.assert_same_structure(cell.state_size, first_state, check_types=False)
        batch, static_batch = batch_of(nest.flatten(first_input)[0], 0)
        loop_state = begin if given_loop_state is None else given_loop_state
        form, kinds = _emissions(cell, emitted, first_state)
        blanks = nest.pack_sequence_as(form, [_blank(batch, static_batch, *kind) for kind in kinds])
        arrays = [
            TensorArray(d, size=0, dynamic_size=True, element_shape=None if s is None else (static_batch, *s))
            for s, d, _ in kinds
        ]

        def body(time: Tensor, ended: Tensor, now: Any, emits: list[TensorArray], state: Any, looping: Any) -> Any:
            output, after = cell(now, state)
            following = time + 1
            ends, next_input, next_state, emit, next_loop = loop_fn(
                following, output, after, None if given_loop_state is None else looping
            )
            nest.assert_same_structure(state, next_state, check_types=False)
            nest.assert_same_structure(now, next_input, check_types=False)
            nest.assert_same_structure(form, emit, check_types=False)
            emit, next_state = (nest.map_structure(convert_to_tensor, part) for part in (emit, next_state))
            kept = nest.flatten(chosen(ended, blanks, emit))
            return (
                following,
                logical_or(convert_to_tensor(ends), ended),
                next_input,
                [array.write(time, value) for array, value in zip(emits, kept)],
                nest.pack_sequence_as(state, nest.flatten(chosen(ended, state, next_state))),
                looping if given_loop_state is None or next_loop is None else next_loop,
            )

        _, _, _, done, state, last_loop = while_loop(
            lambda time, ended, *_: logical_not(reduce_all(ended)),
            body,
            (begin, convert_to_tensor(finished), first_input, arrays, first_state, loop_state),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        leaves, rebuild = nest.parse(form)
        assert len(leaves) == len(done)
        return rebuild(list(done)), state, None if given_loop_state is None else last_loop


def _emissions(cell: Any, emitted: Any, state: Any) -> tuple[Any, list[tuple[Any, Any, Tensor | None]]]:
    """The structure of what each step emits; for each of its leaves the shape without batch, the type, and a tensor like it."""
    if emitted is None:
        dtype = nest.flatten(state)[0].dtype
        return cell.output_size, [(dimensions(size), dtype, None) for size in nest.flatten(cell.output_size)]
    form = nest.map_structure(convert_to_tensor, emitted)
    return form, [(t.static_shape, t.dtype, t) for t in nest.flatten(form)]


def _blank(batch: Any, static_batch: int | None, inner: Any, dtype: Any, like: Tensor | None) -> Tensor:
    """Zeros of one step's output."""
    if is_static(inner) and static_batch is not None:
        return zeros([static_batch, *inner], dtype)
    sizes = list(inner) if is_static(inner) else shape(like)
    blank = zeros(concat([[batch], sizes], 0) if sizes != [] else [batch], dtype)
    if inner is not None:
        blank.set_shape((static_batch, *inner))
    return blank
