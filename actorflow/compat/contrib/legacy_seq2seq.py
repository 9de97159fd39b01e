"""`tf.contrib.legacy_seq2seq`: decoders of networks that are unrolled over lists of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from actorflow.compat.door.cells import Linear

Loop = Callable[[Any, int], Any]


def _previous(embedding: Any, projection: Any = None, update: bool = True) -> Loop:
    """The vector of the most likely word of the output before."""

    def loop(output: Any, _: int) -> Any:
        if projection is not None:
            output = tf.nn.xw_plus_b(output, projection[0], projection[1])
        vectors = tf.nn.embedding_lookup(embedding, tf.argmax(output, 1))
        return vectors if update else tf.stop_gradient(vectors)

    return loop


def rnn_decoder(
    decoder_inputs: Sequence[Any], initial_state: Any, cell: Any, loop_function: Loop | None = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """The outputs of a cell over a list of inputs, and its last state.

    Args:
        decoder_inputs: tensors [batch, size].
        initial_state: the state before.
        cell: the cell.
        loop_function: what gives the next input from the output before; the list is read unless given.
        scope: a variable scope.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for index, each in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    each = loop_function(previous, index)
            if index > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(each, state)
            outputs.append(output)
            if loop_function is not None:
                previous = output
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any], decoder_inputs: Sequence[Any], cell: Any, dtype: Any = tf.float32, scope: Any = None
) -> tuple[list[Any], Any]:
    """A network over one list, whose last state begins another one over a second list."""
    import copy

    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Loop | None = None,
    dtype: Any = tf.float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`basic_rnn_seq2seq` with the same variables on both sides."""
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = tf.nn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` over ids, whose vectors are in the variable `embedding`.

    Args:
        decoder_inputs: tensors [batch] of ids.
        initial_state, cell, scope: see `rnn_decoder`.
        num_symbols, embedding_size: the shape of the variable.
        output_projection: weights and biases, for `feed_previous`.
        feed_previous: whether the most likely word of the output before is the input; of the list only the first is read.
        update_embedding_for_previous: whether gradients go through such words.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder") as opened:
        if output_projection is not None:
            opened.set_dtype(getattr(output_projection[0], "dtype", tf.float32))
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = _previous(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        vectors = [tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs]
        return rnn_decoder(vectors, initial_state, cell, loop_function=loop)


def _either(feed_previous: Any, decode: Callable[[bool], tuple[list[Any], Any]]) -> tuple[Any, Any]:
    """The decoder for a flag, or for a tensor that says which."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)
    structure: list[Any] = []

    def branch(flag: bool) -> list[Any]:
        with tf.variable_scope(tf.get_variable_scope(), reuse=None if flag else True):
            outputs, state = decode(flag)
        structure[:] = [len(outputs), state]
        return [*outputs, *tf.nest.flatten(state)]

    values = tf.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    count, state = structure
    return values[:count], tf.nest.pack_sequence_as(state, values[count:])


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[Any, Any]:
    """`basic_rnn_seq2seq` over ids: see `embedding_rnn_decoder`.

    Args:
        encoder_inputs, decoder_inputs: lists of tensors [batch] of ids.
        num_encoder_symbols, num_decoder_symbols: the numbers of ids.
        feed_previous: a flag, or a tensor that holds a flag.
        cell, embedding_size, output_projection, dtype, scope: see there.
    """
    import copy

    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is not None:
            opened.set_dtype(dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=dtype or tf.float32)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(flag: bool) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection, flag
            )

        return _either(feed_previous, decode)


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[Any, Any]:
    """`embedding_rnn_seq2seq` with one table of vectors and one cell for both sides. See there."""
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        encoded = [tf.nn.embedding_lookup(embedding, each) for each in encoder_inputs]
        decoded = [tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(flag: bool) -> tuple[list[Any], Any]:
            loop = _previous(embedding, output_projection) if flag else None
            return tied_rnn_seq2seq(encoded, decoded, cell, loop_function=loop, dtype=dtype or tf.float32)

        return _either(feed_previous, decode)


class _Heads:
    """The attentions of a decoder to the same states, with their variables, and its linear maps by name."""

    def __init__(self, states: Any, count: int, dtype: Any) -> None:
        states = tf.convert_to_tensor(states)
        self.width: Any = states.shape.as_list()[2]
        self._length = states.shape.as_list()[1] or tf.shape(states)[1]
        self._hidden = tf.reshape(states, [-1, self._length, 1, self.width])
        self._features, self._vectors = [], []
        self._maps: dict[Any, Linear] = {}
        for head in range(count):
            kernel = tf.get_variable(f"AttnW_{head}", [1, 1, self.width, self.width], dtype=dtype)
            self._features.append(tf.nn.conv2d(self._hidden, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(tf.get_variable(f"AttnV_{head}", [self.width], dtype=dtype))

    def linear(self, key: Any, arguments: Any, units: int) -> Any:
        """The linear map of that name, which is made at its first use."""
        if key not in self._maps:
            self._maps[key] = Linear(arguments, units, True)
        return self._maps[key](arguments)

    def attend(self, query: Any) -> list[Any]:
        """The weighted sum of the states for each head."""
        joined = tf.concat(tf.nest.flatten(query), 1)
        sums = []
        for head, (vector, features) in enumerate(zip(self._vectors, self._features)):
            with tf.variable_scope(f"Attention_{head}"):
                mapped = tf.reshape(self.linear(("query", head), joined, self.width), [-1, 1, 1, self.width])
                scores = tf.reduce_sum(vector * tf.tanh(features + mapped), [2, 3])
                weights = tf.nn.softmax(scores)
                total = tf.reduce_sum(tf.reshape(weights, [-1, self._length, 1, 1]) * self._hidden, [1, 2])
                sums.append(tf.reshape(total, [-1, self.width]))
        return sums


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Loop | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` that attends to states (Vinyals and others 2014).

    Args:
        decoder_inputs, initial_state, cell, loop_function, scope: see `rnn_decoder`.
        attention_states: [batch, length, size].
        output_size: the size of the outputs; that of the cell unless given.
        num_heads: the number of attentions.
        dtype: of the first attention.
        initial_state_attention: whether the first attention is of the initial state; zeros unless.

    Raises:
        ValueError: there are no inputs, or no heads.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size: Any = output_size or cell.output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        dtype = opened.dtype
        batch = tf.shape(decoder_inputs[0])[0]
        heads = _Heads(attention_states, num_heads, dtype)
        state, outputs, previous = initial_state, [], None
        attention = [tf.zeros(tf.stack([batch, heads.width]), dtype) for _ in range(num_heads)]
        for each in attention:
            each.set_shape([None, heads.width])
        if initial_state_attention:
            attention = heads.attend(initial_state)
        for index, each in enumerate(decoder_inputs):
            if index > 0:
                tf.get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with tf.variable_scope("loop_function", reuse=True):
                    each = loop_function(previous, index)
            mixed = heads.linear("input", [each, *attention], each.shape.as_list()[1])
            cell_output, state = cell(mixed, state)
            if index == 0 and initial_state_attention:
                with tf.variable_scope(tf.get_variable_scope(), reuse=True):
                    attention = heads.attend(state)
            else:
                attention = heads.attend(state)
            with tf.variable_scope("AttnOutputProjection"):
                output = heads.linear("output", [cell_output, *attention], size)
            outputs.append(output)
            if loop_function is not None:
                previous = output
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`attention_decoder` over ids: see there and `embedding_rnn_decoder`."""
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        loop = _previous(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        vectors = [tf.nn.embedding_lookup(embedding, each) for each in decoder_inputs]
        return attention_decoder(
            vectors,
            initial_state,
            attention_states,
            cell,
            output_size=output_size or cell.output_size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[Any, Any]:
    """`embedding_rnn_seq2seq` whose decoder attends to the encoder's outputs. See there and `attention_decoder`."""
    import copy

    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = tf.nn.static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        states = tf.concat([tf.reshape(each, [-1, 1, cell.output_size]) for each in outputs], 1)
        size = None
        if output_projection is None:
            cell, size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols

        def decode(flag: bool) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs,
                state,
                states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=size,
                output_projection=output_projection,
                feed_previous=flag,
                initial_state_attention=initial_state_attention,
            )

        return _either(feed_previous, decode)


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The weighted cross entropies of lists over time, for each example.

    Args:
        logits, targets, weights: lists of one length.
        average_across_timesteps: whether to divide by the sums of weights.
        softmax_loss_function: a function of `labels` and `logits` in the place of the cross entropy.
        name: a scope.

    Raises:
        ValueError: lists of other lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with tf.name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        parts = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                target = tf.reshape(target, [-1])
                entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
            else:
                entropy = softmax_loss_function(labels=target, logits=logit)
            parts.append(entropy * weight)
        total = tf.add_n(parts)
        return total / (tf.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The sum, or the mean over the batch, of `sequence_loss_by_example`. See there."""
    with tf.name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = tf.reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function=softmax_loss_function
            )
        )
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype) if average_across_batch else cost


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Any = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """A network for each pair of lengths, all with the same variables: their outputs and losses.

    Args:
        encoder_inputs, decoder_inputs, targets, weights: lists as long as the greatest bucket.
        buckets: pairs of lengths.
        seq2seq: a function of both lists of inputs.
        softmax_loss_function, name: see `sequence_loss`.
        per_example_loss: whether a loss is one number for each example.

    Raises:
        ValueError: a list is shorter than the last bucket.
    """
    for values, index, label in (
        (encoder_inputs, 0, "encoder_inputs"),
        (targets, 1, "targets"),
        (weights, 1, "weights"),
    ):
        if len(values) < buckets[-1][index]:
            raise ValueError(
                f"Length of {label} ({len(values)}) must be at least that of last bucket ({buckets[-1][index]})."
            )
    losses, outputs = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for index, (source, target) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if index > 0 else None):
                result, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(result)
                losses.append(
                    loss(result, targets[:target], weights[:target], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
