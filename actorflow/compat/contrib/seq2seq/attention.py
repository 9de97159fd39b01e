"""Mechanisms of attention, and the cell that has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import actorflow.compat.v1 as tf

_Cell = tf.nn.rnn_cell.RNNCell


def _prepared(memory: Any, lengths: Any) -> Any:
    """The memory with zeros behind the end of each sequence."""

    def masked(each: Any) -> Any:
        each = tf.convert_to_tensor(each)
        if lengths is None:
            return each
        mask = tf.sequence_mask(lengths, tf.shape(each)[1], dtype=each.dtype)
        ones = [1] * (each.shape.ndims - 2)
        return each * tf.reshape(mask, tf.concat([tf.shape(mask), tf.constant(ones, tf.int32)], 0))

    return tf.nest.map_structure(masked, memory)


class AttentionMechanism:
    """Scores of the steps of a memory for a query."""

    @property
    def alignments_size(self) -> Any:
        """The number of steps."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        """The size of the mechanism's state."""
        raise NotImplementedError


class _Base(AttentionMechanism):
    def __init__(
        self,
        query_layer: Any,
        memory: Any,
        probability_fn: Callable[..., Any],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        name: str | None = None,
    ) -> None:
        self.query_layer, self.memory_layer = query_layer, memory_layer
        self.dtype = memory_layer.dtype if memory_layer is not None and memory_layer.dtype else tf.float32
        self._lengths = memory_sequence_length
        with tf.name_scope(name, "BaseAttentionMechanismInit"):
            self.values = _prepared(memory, memory_sequence_length)
            self.keys = memory_layer(self.values) if memory_layer is not None else self.values
            self._score_mask_value = (
                self.dtype.as_numpy_dtype(-float("inf")) if score_mask_value is None else score_mask_value
            )
            self._probability_fn = probability_fn
            static = self.keys.shape.as_list()
            self.batch_size = static[0] or tf.shape(self.keys)[0]
            self._alignments_size = static[1] or tf.shape(self.keys)[1]

    def _probabilities(self, score: Any, state: Any) -> Any:
        if self._lengths is not None:
            mask = tf.sequence_mask(self._lengths, tf.shape(score)[1])
            score = tf.where(mask, score, self._score_mask_value * tf.ones_like(score))
        return self._probability_fn(score, state)

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros: [batch, steps]."""
        return tf.zeros(tf.stack([batch_size, self._alignments_size]), dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> Any:
        """The first state: that of the alignments."""
        return self.initial_alignments(batch_size, dtype)


def _probability(function: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    chosen = tf.nn.softmax if function is None else function
    return lambda score, _: chosen(score)


class LuongAttention(_Base):
    """Attention by products of queries and keys (Luong and others 2015).

    Args:
        num_units: the size of keys.
        memory: [batch, steps, size].
        memory_sequence_length: [batch].
        scale: whether to multiply scores with the variable `attention_g`.
        probability_fn: softmax unless given.
        score_mask_value: of steps behind the end.
        dtype: of the layer of keys.
        custom_key_value_fn: not offered.
        name: a scope.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        layer = tf.layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype or tf.float32)
        super().__init__(
            None,
            memory,
            _probability(probability_fn),
            memory_sequence_length,
            layer,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._scale = num_units, scale

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "luong_attention", [query]):
            score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), self.keys, transpose_b=True), [1])
            if self._scale:
                score *= tf.get_variable("attention_g", dtype=query.dtype, initializer=tf.ones_initializer(), shape=[])
        alignments = self._probabilities(score, state)
        return alignments, alignments


class BahdanauAttention(_Base):
    """Attention by a layer over queries and keys (Bahdanau and others 2015).

    Args:
        num_units: the size of keys and queries.
        memory: [batch, steps, size].
        memory_sequence_length: [batch].
        normalize: whether the weights are normalized.
        probability_fn: softmax unless given.
        score_mask_value: of steps behind the end.
        dtype: of the layers.
        custom_key_value_fn: not offered.
        name: a scope.
    """

    def __init__(
        self,
        num_units: int,
        memory: Any,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        kind = dtype or tf.float32
        super().__init__(
            tf.layers.Dense(num_units, name="query_layer", use_bias=False, dtype=kind),
            memory,
            _probability(probability_fn),
            memory_sequence_length,
            tf.layers.Dense(num_units, name="memory_layer", use_bias=False, dtype=kind),
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units, self._normalize = num_units, normalize

    def __call__(self, query: Any, state: Any) -> tuple[Any, Any]:
        with tf.variable_scope(None, "bahdanau_attention", [query]):
            mapped = tf.expand_dims(self.query_layer(query), 1)
            units, dtype = self._num_units, query.dtype
            v = tf.get_variable("attention_v", [units], dtype)
            if self._normalize:
                initializer = tf.constant_initializer((1.0 / units) ** 0.5)
                g = tf.get_variable("attention_g", [], dtype, initializer)
                b = tf.get_variable("attention_b", [units], dtype, tf.zeros_initializer())
                score = tf.reduce_sum(
                    g * v * tf.rsqrt(tf.reduce_sum(tf.square(v))) * tf.tanh(self.keys + mapped + b), [2]
                )
            else:
                score = tf.reduce_sum(v * tf.tanh(self.keys + mapped), [2])
        alignments = self._probabilities(score, state)
        return alignments, alignments


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`: that of the cell, and what it attends to."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """A copy with some parts replaced."""
        return self._replace(**kwargs)


class AttentionWrapper(_Cell):
    """A cell that attends to memories.

    Args:
        cell: the cell.
        attention_mechanism: a mechanism, or a list.
        attention_layer_size: the size of a layer over outputs and contexts, or a list; None for the contexts themselves.
        alignment_history: whether the state keeps all alignments.
        cell_input_fn: a function of inputs and attention; their concatenation unless given.
        output_attention: whether the attention is the output, or the cell's output is.
        initial_cell_state: the cell's first state, for `zero_state`.
        name: of the scope.
        attention_layer: a layer, or a list, in the place of that of `attention_layer_size`.
        attention_fn: not offered.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Any = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
        attention_fn: Any = None,
    ) -> None:
        super().__init__(name=name or "attention_wrapper")
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._is_multi else [attention_mechanism]
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        self._layers: list[Any] | None = None
        if attention_layer_size is not None:
            sizes = attention_layer_size if isinstance(attention_layer_size, (list, tuple)) else [attention_layer_size]
            self._layers = [
                tf.layers.Dense(size, name="attention_layer", use_bias=False, dtype=each.dtype)
                for size, each in zip(sizes, self._mechanisms, strict=True)
            ]
            self._attention_size = sum(sizes)
        elif attention_layer is not None:
            self._layers = list(attention_layer) if isinstance(attention_layer, (list, tuple)) else [attention_layer]
            self._attention_size = sum(each.units for each in self._layers)
        else:
            self._attention_size = sum(each.values.shape.as_list()[-1] for each in self._mechanisms)
        self._cell, self._history, self._output_attention = cell, alignment_history, output_attention
        self._input_fn = cell_input_fn or (lambda inputs, attention: tf.concat([inputs, attention], -1))
        self._initial = initial_cell_state

    def _packed(self, values: Any) -> Any:
        return tuple(values) if self._is_multi else next(iter(values))

    @property
    def output_size(self) -> Any:
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> Any:
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=tf.TensorShape([]),
            attention=self._attention_size,
            alignments=self._packed([each.alignments_size for each in self._mechanisms]),
            attention_state=self._packed([each.state_size for each in self._mechanisms]),
            alignment_history=self._packed(
                [each.alignments_size if self._history else () for each in self._mechanisms]
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The first state: that of the cell or `initial_cell_state`, and zeros."""
        with tf.name_scope(f"{type(self).__name__}ZeroState"):
            inner = self._initial if self._initial is not None else self._cell.zero_state(batch_size, dtype)
            inner = tf.nest.map_structure(lambda each: tf.identity(each, name="checked_cell_state"), inner)
            alignments = [each.initial_alignments(batch_size, dtype) for each in self._mechanisms]
            return AttentionWrapperState(
                cell_state=inner,
                time=tf.zeros([], tf.int32),
                attention=tf.zeros(tf.stack([batch_size, self._attention_size]), dtype),
                alignments=self._packed(alignments),
                attention_state=self._packed([each.initial_state(batch_size, dtype) for each in self._mechanisms]),
                alignment_history=self._packed(
                    [
                        tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=each.shape)
                        if self._history
                        else ()
                        for each in alignments
                    ]
                ),
            )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """A step of the cell, and the attention of its output. Raises TypeError for another state."""
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead."
            )
        mixed = self._input_fn(inputs, state.attention)
        cell_output, next_state = self._cell(mixed, state.cell_state)
        previous = state.attention_state if self._is_multi else [state.attention_state]
        histories = state.alignment_history if self._is_multi else [state.alignment_history]
        read, alignments, states, kept = [], [], [], []
        for index, mechanism in enumerate(self._mechanisms):
            weights, new = mechanism(cell_output, previous[index])
            context = tf.squeeze(tf.matmul(tf.expand_dims(weights, 1), mechanism.values), [1])
            if self._layers is not None:
                context = self._layers[index](tf.concat([cell_output, context], 1))
            read.append(context)
            alignments.append(weights)
            states.append(new)
            kept.append(histories[index].write(state.time, weights) if self._history else ())
        attention = tf.concat(read, 1)
        after = AttentionWrapperState(
            time=state.time + 1,
            cell_state=next_state,
            attention=attention,
            attention_state=self._packed(states),
            alignments=self._packed(alignments),
            alignment_history=self._packed(kept),
        )
        return (attention if self._output_attention else cell_output), after
