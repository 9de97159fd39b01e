"""`tf.contrib.crf`: conditional random fields over sequences of tags."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow.compat.v1 as tf

_Cell = tf.nn.rnn_cell.RNNCell


def _mask(lengths: Any, count: Any) -> Any:
    return tf.sequence_mask(lengths, count, dtype=tf.float32)


def _sizes(inputs: Any) -> tuple[Any, Any]:
    """The sizes of the batch and of time, as numbers if known."""
    static, dynamic = inputs.shape.as_list(), tf.shape(inputs)
    return static[0] or dynamic[0], static[1] or dynamic[1]


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sums of the scores of tags at their places: [batch]."""
    inputs = tf.convert_to_tensor(inputs)
    depth = inputs.shape.as_list()[2]
    chosen = tf.reduce_sum(inputs * tf.one_hot(tag_indices, depth, dtype=inputs.dtype), 2)
    return tf.reduce_sum(chosen * _mask(sequence_lengths, _sizes(inputs)[1]), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sums of the scores of transitions between tags: [batch]."""
    tags = tf.convert_to_tensor(tag_indices)
    parameters = tf.convert_to_tensor(transition_params)
    count = parameters.shape.as_list()[0]
    places = tags[:, :-1] * count + tags[:, 1:]
    scores = tf.gather(tf.reshape(parameters, [-1]), places)
    steps = _sizes(tags)[1]
    return tf.reduce_sum(scores * _mask(sequence_lengths, steps)[:, 1:], 1)


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The scores of sequences of tags that are not normalized: [batch]."""
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    if tf.convert_to_tensor(inputs).shape.as_list()[1] == 1:
        return tf.where(tf.less_equal(sequence_lengths, 0), tf.zeros_like(unary), unary)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The scores of all sequences whose tags a bitmap allows: [batch]."""
    inputs = tf.convert_to_tensor(inputs)
    allowed = tf.cast(tag_bitmap, tf.bool)
    return crf_log_norm(
        tf.where(allowed, inputs, tf.fill(tf.shape(inputs), -np.inf)), sequence_lengths, transition_params
    )


class CrfForwardRnnCell(_Cell):
    """A step of the sum over all sequences of tags.

    Args:
        transition_params: [tags, tags].
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transitions = tf.expand_dims(transition_params, 0)
        self._count = transition_params.shape.as_list()[0]

    @property
    def state_size(self) -> int:
        return int(self._count)

    @property
    def output_size(self) -> int:
        return int(self._count)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        scores = tf.expand_dims(state, 2) + self._transitions
        alphas = inputs + tf.reduce_logsumexp(scores, [1])
        return alphas, alphas


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of the sum over all sequences of tags: [batch]."""
    inputs = tf.convert_to_tensor(inputs)
    parameters = tf.convert_to_tensor(transition_params)
    first = inputs[:, 0, :]
    lengths = tf.convert_to_tensor(sequence_lengths)
    rest = tf.maximum(tf.constant(0, lengths.dtype), lengths - 1)
    if inputs.shape.as_list()[1] == 1:
        last = first
    else:
        cell = CrfForwardRnnCell(parameters)
        _, last = tf.nn.dynamic_rnn(cell, inputs[:, 1:, :], rest, initial_state=first, dtype=tf.float32)
    norm = tf.reduce_logsumexp(last, [1])
    return tf.where(tf.less_equal(lengths, 0), tf.zeros_like(norm), norm)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """The logarithms of the likelihoods of sequences of tags, and the transitions.

    Args:
        inputs: [batch, time, tags] of scores.
        tag_indices: [batch, time].
        sequence_lengths: [batch].
        transition_params: [tags, tags]; the variable `transitions` unless given.
    """
    inputs = tf.convert_to_tensor(inputs)
    count = inputs.shape.as_list()[2]
    if transition_params is None:
        transition_params = tf.get_variable("transitions", [count, count])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """The best sequence of tags of arrays, and its score.

    Args:
        score: [time, tags].
        transition_params: [tags, tags].
    """
    trellis = np.zeros_like(score)
    pointers = np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for step in range(1, len(score)):
        values = np.expand_dims(trellis[step - 1], 1) + transition_params
        trellis[step] = score[step] + values.max(0)
        pointers[step] = values.argmax(0)
    path = [int(np.argmax(trellis[-1]))]
    for pointer in reversed(pointers[1:]):
        path.append(int(pointer[path[-1]]))
    return path[::-1], np.max(trellis[-1])


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """The best sequences of tags [batch, time], and their scores [batch]; behind a sequence's end are zeros."""
    potentials = tf.convert_to_tensor(potentials)
    parameters = tf.convert_to_tensor(transition_params)
    lengths = tf.cast(sequence_length, tf.int32)
    _, steps = _sizes(potentials)
    first = potentials[:, 0, :]
    if potentials.shape.as_list()[1] == 1:
        return tf.cast(tf.argmax(first, 1), tf.int32)[:, None], tf.reduce_max(first, 1)
    count = potentials.shape.as_list()[2]
    by_time = tf.transpose(potentials[:, 1:, :], [1, 0, 2])
    inside = tf.transpose(tf.sequence_mask(lengths - 1, steps - 1), [1, 0])

    def forward(state: Any, now: Any) -> Any:
        scores, _ = state
        unary, runs = now
        whole = tf.expand_dims(scores, 2) + parameters[None]
        better = unary + tf.reduce_max(whole, 1)
        pointers = tf.cast(tf.argmax(whole, 1), tf.int32)
        kept = tf.broadcast_to(runs[:, None], tf.shape(better))
        stay = tf.broadcast_to(tf.range(count)[None], tf.shape(pointers))
        return tf.where(kept, better, scores), tf.where(kept, pointers, stay)

    begin = (first, tf.zeros_like(first, tf.int32))
    scores, pointers = tf.scan(forward, (by_time, inside), initializer=begin)
    last = tf.cast(tf.argmax(scores[-1], 1), tf.int32)

    def backward(tag: Any, pointer: Any) -> Any:
        return tf.reduce_sum(tf.one_hot(tag, count, dtype=tf.int32) * pointer, 1)

    earlier = tf.scan(backward, tf.reverse(pointers, [0]), initializer=last)
    path = tf.transpose(tf.concat([tf.reverse(earlier, [0]), last[None]], 0), [1, 0])
    path = path * tf.sequence_mask(tf.maximum(lengths, 1), steps, dtype=tf.int32)
    return path, tf.reduce_max(scores[-1], 1)
