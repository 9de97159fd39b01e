"""Stacks of networks in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as tf


def _checked(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    if not cells_fw or not isinstance(cells_fw, list):
        raise ValueError("cells_fw must be a list of RNNCells (one per layer).")
    if not cells_bw or not isinstance(cells_bw, list):
        raise ValueError("cells_bw must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, name in ((states_fw, "initial_states_fw"), (states_bw, "initial_states_bw")):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(f"{name} must be a list of state tensors (one per layer).")


def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Sequence[Any],
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of unrolled networks in both directions, each over both outputs of the layer below.

    Args:
        cells_fw, cells_bw: lists of cells, a cell for each layer.
        inputs: a list of tensors [batch, size], a tensor for each step.
        initial_states_fw, initial_states_bw: lists of states; zeros unless given.
        dtype, sequence_length, scope: see `tf.nn.static_bidirectional_rnn`.

    Raises:
        ValueError: lists of other lengths.
    """
    _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    forward, backward, layer = [], [], inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{index}"):
                layer, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_states_fw[index] if initial_states_fw else None,
                    initial_states_bw[index] if initial_states_bw else None,
                    dtype=dtype,
                    sequence_length=sequence_length,
                )
            forward.append(state_fw)
            backward.append(state_bw)
    return layer, tuple(forward), tuple(backward)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of networks in both directions over a tensor [batch, time, size]. See `stack_bidirectional_rnn`."""
    _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    forward, backward, layer = [], [], inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{index}"):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_state_fw=initial_states_fw[index] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[index] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                layer = tf.concat(outputs, 2)
            forward.append(state_fw)
            backward.append(state_bw)
    return layer, tuple(forward), tuple(backward)
