"""Wrappers of cells: projections, embeddings, attention over former states; networks that take whole sequences."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.door.cells import linear

_Cell = tf.nn.rnn_cell.RNNCell


class OutputProjectionWrapper(_Cell):
    """A cell whose outputs are projected.

    Args:
        cell: the cell.
        output_size: the size of the projection.
        activation: of the projection, or None.
        reuse: whether its variables exist already.
    """

    def __init__(self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._cell, self._output_size, self._activation = cell, output_size, activation

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        return self._output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        output, new_state = self._cell(inputs, state)
        projected = linear(output, self._output_size, True)
        return projected if self._activation is None else self._activation(projected), new_state


class InputProjectionWrapper(_Cell):
    """A cell whose inputs are projected. Its arguments are those of `OutputProjectionWrapper`; `input_size` has no effect."""

    def __init__(
        self, cell: Any, num_proj: int, activation: Any = None, input_size: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(_reuse=reuse)
        self._cell, self._num_proj, self._activation = cell, num_proj, activation

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        projected = linear(inputs, self._num_proj, True)
        return self._cell(projected if self._activation is None else self._activation(projected), state)  # type: ignore[no-any-return]


class EmbeddingWrapper(_Cell):
    """A cell that takes ids, of which it looks up vectors.

    Args:
        cell: the cell.
        embedding_classes, embedding_size: the shape of the variable `embedding`.
        initializer: of the variable; uniform draws of variance 1 unless given.
        reuse: whether its variables exist already.
    """

    def __init__(
        self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(_reuse=reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._cell, self._shape, self._initializer = cell, [embedding_classes, embedding_size], initializer

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        width = 3**0.5
        initializer = (
            self._initializer or tf.get_variable_scope().initializer or tf.random_uniform_initializer(-width, width)
        )
        dtype = (state[0] if isinstance(state, tuple) else state).dtype
        with tf.device("/cpu:0"):
            table = tf.get_variable("embedding", self._shape, dtype, initializer)
            vectors = tf.nn.embedding_lookup(table, tf.reshape(inputs, [-1]))
        return self._cell(vectors, state)  # type: ignore[no-any-return]


class HighwayWrapper(_Cell):
    """A cell whose outputs a gate mixes with its inputs (Srivastava and others 2015).

    Args:
        cell: the cell; its outputs have the size of the inputs.
        couple_carry_transform_gates: whether the carry gate is what the transform gate leaves.
        carry_bias_init: the initial value of the carry gate's bias.
    """

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__()
        self._cell, self._couple, self._bias = cell, couple_carry_transform_gates, carry_bias_init

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The state of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        size = inputs.shape.as_list()[-1]
        weight = tf.get_variable(f"{name}_w", [size, size])
        offset = tf.get_variable(f"{name}_b", [size], initializer=tf.constant_initializer(bias))
        return tf.sigmoid(tf.nn.xw_plus_b(inputs, weight, offset))

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        outputs, new_state = self._cell(inputs, state)
        carry = self._gate("carry", inputs, self._bias)
        transform = 1 - carry if self._couple else self._gate("transform", inputs, -self._bias)
        return inputs * carry + outputs * transform, new_state


class AttentionCellWrapper(_Cell):
    """A cell that attends to its last outputs (Cheng and others 2016).

    Args:
        cell: the cell.
        attn_length: the number of former outputs.
        attn_size: the size of the attention; that of the output unless given.
        attn_vec_size: the size of what is compared; `attn_size` unless given.
        input_size: the size of the inputs behind a first map; theirs unless given.
        state_is_tuple: has to be True.
        reuse: whether its variables exist already.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise NotImplementedError("AttentionCellWrapper takes states that are tuples only.")
        self._cell, self._length = cell, attn_length
        self._size = attn_size or cell.output_size
        self._vector = attn_vec_size or self._size
        self._input_size = input_size

    @property
    def state_size(self) -> Any:
        return (self._cell.state_size, self._size, self._size * self._length)

    @property
    def output_size(self) -> int:
        return int(self._size)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        inner, attention, states = state
        states = tf.reshape(states, [-1, self._length, self._size])
        size = self._input_size or inputs.shape.as_list()[1]
        mapped = linear([inputs, attention], size, True)
        cell_output, new_state = self._cell(mapped, inner)
        joined = tf.concat(tf.nest.flatten(new_state), 1)
        new_attention, rest = self._attend(joined, states)
        with tf.variable_scope("attn_output_projection"):
            output = linear([cell_output, new_attention], self._size, True)
        kept = tf.concat([rest, tf.expand_dims(output, 1)], 1)
        return output, (new_state, new_attention, tf.reshape(kept, [-1, self._size * self._length]))

    def _attend(self, query: Any, states: Any) -> tuple[Any, Any]:
        with tf.variable_scope("attention"):
            kernel = tf.get_variable("attn_w", [1, 1, self._size, self._vector])
            v = tf.get_variable("attn_v", [self._vector])
            hidden = tf.reshape(states, [-1, self._length, 1, self._size])
            features = tf.nn.conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            mapped = tf.reshape(linear(query, self._vector, True), [-1, 1, 1, self._vector])
            weights = tf.nn.softmax(tf.reduce_sum(v * tf.tanh(features + mapped), [2, 3]))
            total = tf.reduce_sum(tf.reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return tf.reshape(total, [-1, self._size]), tf.slice(states, [0, 1, 0], [-1, -1, -1])


def CompiledWrapper(cell: Any, compile_stateful: bool = False) -> Any:
    """The cell itself: there is no XLA."""
    return cell


class FusedRNNCellAdaptor:
    """A cell that takes whole sequences [time, batch, size].

    Args:
        cell: the cell.
        use_dynamic_rnn: without effect.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        listed = isinstance(inputs, list)
        outputs, state = tf.nn.dynamic_rnn(
            self._cell,
            tf.stack(inputs) if listed else inputs,
            sequence_length,
            initial_state,
            dtype,
            time_major=True,
            scope=scope,
        )
        return tf.unstack(outputs) if listed else outputs, state


class LSTMBlockFusedCell(FusedRNNCellAdaptor):
    """An LSTM that takes whole sequences [time, batch, size].

    Args:
        num_units: the size of the output and of both parts of the state.
        forget_bias, cell_clip, use_peephole, reuse, name, dtype: see `tf.nn.rnn_cell.LSTMCell`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(
            tf.nn.rnn_cell.LSTMCell(
                num_units,
                use_peepholes=use_peephole,
                cell_clip=cell_clip if cell_clip and cell_clip > 0 else None,
                forget_bias=forget_bias,
                reuse=reuse,
                name=name,
                dtype=dtype,
            )
        )


class TimeReversedFusedRNN:
    """A network for whole sequences that goes from the last step to the first.

    Args:
        cell: a network that takes whole sequences.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def _reverse(self, tensor: Any, lengths: Any) -> Any:
        if isinstance(tensor, list):
            return list(reversed(tensor))
        return (
            tf.reverse(tensor, [0])
            if lengths is None
            else tf.reverse_sequence(tensor, lengths, seq_axis=0, batch_axis=1)
        )

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        backward = self._reverse(inputs, sequence_length)
        outputs, state = self._cell(
            backward, initial_state=initial_state, dtype=dtype, sequence_length=sequence_length, scope=scope
        )
        return self._reverse(outputs, sequence_length), state
