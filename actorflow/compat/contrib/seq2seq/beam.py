"""Beam search: the best sequences of a decoder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.seq2seq.decoding import Decoder


class BeamSearchDecoderState(NamedTuple):
    """The state of a search: that of the cells, the scores of beams, which are finished, and their lengths."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """A step of a search: the scores, the ids, and the beams from which they come."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The sequences of all beams, and the steps of the search."""

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each example of a structure of tensors several times, one behind the other."""

    def tiled(each: Any) -> Any:
        each = tf.convert_to_tensor(each)
        static = each.shape.as_list()
        whole = tf.tile(tf.expand_dims(each, 1), [1, multiplier, *[1] * (len(static) - 1)])
        whole = tf.reshape(whole, tf.concat([[tf.shape(each)[0] * multiplier], tf.shape(each)[1:]], 0))
        whole.set_shape([None if static[0] is None else static[0] * multiplier, *static[1:]])
        return whole

    with tf.name_scope(name, "tile_batch"):
        return tf.nest.map_structure(tiled, t)


def gather_tree(
    step_ids: Any, parent_ids: Any, max_sequence_lengths: Any, end_token: Any, name: str | None = None
) -> Any:
    """The sequences of beams from the ids and parents of steps; behind an end token are end tokens.

    Args:
        step_ids, parent_ids: [time, batch, beams].
        max_sequence_lengths: [batch].
        end_token: the id that ends a sequence.
        name: a scope.
    """

    def follow(ids: Any, parents: Any, lengths: Any, end: Any) -> Any:
        time, batch, width = ids.shape
        beams = np.full_like(ids, end)
        rows = np.arange(batch)[:, None]
        parent = np.tile(np.arange(width), (batch, 1))
        for level in range(time - 1, -1, -1):
            inside = level < lengths[:, None]
            beams[level] = np.where(inside, ids[level][rows, parent], end)
            parent = np.where(inside, parents[level][rows, parent], parent)
        ended = np.cumsum(beams == end, 0) > 0
        first = np.cumsum(np.cumsum(beams == end, 0), 0) == 1
        return np.where(ended & ~first, end, beams).astype(ids.dtype)

    with tf.name_scope(name, "GatherTree"):
        ids = tf.convert_to_tensor(step_ids)
        beams = tf.py_func(follow, [ids, parent_ids, max_sequence_lengths, tf.cast(end_token, ids.dtype)], ids.dtype)
        beams.set_shape(ids.shape)
        return beams


class BeamSearchDecoder(Decoder):
    """A decoder that keeps the best `beam_width` sequences of each example.

    Args:
        cell: the cell.
        embedding: a function of ids, or a table of vectors.
        start_tokens: [batch] of ids.
        end_token: the id that ends a sequence.
        initial_state: the first state, of [batch · beams] (see `tile_batch`).
        beam_width: the number of beams.
        output_layer: a layer for the outputs, or None.
        length_penalty_weight: by which power of the length scores are divided (Wu and others 2016).
        coverage_penalty_weight: has to be 0.
        reorder_tensor_arrays: without effect.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if coverage_penalty_weight:
            raise NotImplementedError("BeamSearchDecoder takes no coverage_penalty_weight here.")
        self._cell, self._output_layer = cell, output_layer
        self._embedding = embedding if callable(embedding) else lambda ids: tf.nn.embedding_lookup(embedding, ids)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32)
        self._end_token = tf.convert_to_tensor(end_token, tf.int32)
        self._batch = self._start_tokens.shape.as_list()[0] or tf.size(self._start_tokens)
        self._width, self._penalty = beam_width, length_penalty_weight
        self._initial = tf.nest.map_structure(self._split, initial_state)
        tokens = tf.tile(tf.expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding(tokens)

    # ---- the batch and its beams

    def _split(self, each: Any) -> Any:
        """[batch · beams, ...] as [batch, beams, ...]."""
        if isinstance(each, tf.TensorArray) or each.shape.ndims == 0:
            return each
        static = each.shape.as_list()[1:]
        whole = tf.reshape(each, tf.concat([[self._batch, self._width], tf.shape(each)[1:]], 0))
        whole.set_shape([self._batch if isinstance(self._batch, int) else None, self._width, *static])
        return whole

    def _merge(self, each: Any) -> Any:
        if isinstance(each, tf.TensorArray) or each.shape.ndims == 0:
            return each
        static = each.shape.as_list()
        whole = tf.reshape(each, tf.concat([[self._batch * self._width], tf.shape(each)[2:]], 0))
        whole.set_shape([self._batch * self._width if isinstance(self._batch, int) else None, *static[2:]])
        return whole

    def _gathered(self, each: Any, beams: Any) -> Any:
        if isinstance(each, tf.TensorArray) or each.shape.ndims == 0:
            return each
        rows = tf.expand_dims(tf.range(self._batch) * self._width, 1)
        flat = tf.reshape(each, tf.concat([[-1], tf.shape(each)[2:]], 0))
        whole = tf.gather(flat, rows + beams)
        whole.set_shape(each.shape)
        return whole

    # ---- the decoder

    @property
    def batch_size(self) -> Any:
        return self._batch

    @property
    def tracks_own_finished(self) -> bool:
        return True

    @property
    def output_size(self) -> Any:
        size = tf.TensorShape([self._width])
        return BeamSearchDecoderOutput(size, size, size)

    @property
    def output_dtype(self) -> Any:
        dtype = tf.nest.flatten(self._initial)[0].dtype
        return BeamSearchDecoderOutput(dtype, tf.int32, tf.int32)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """No beam is finished; the vectors of the first ids; only the first beam of an example counts."""
        dtype = tf.nest.flatten(self._initial)[0].dtype
        first = tf.one_hot(tf.zeros([self._batch], tf.int32), self._width, 0.0, float("-inf"), dtype=dtype)
        finished = tf.fill(tf.stack([self._batch, self._width]), False)
        lengths = tf.zeros(tf.stack([self._batch, self._width]), tf.int64)
        state = BeamSearchDecoderState(self._initial, first, finished, lengths, ())
        return finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """A step of the cell over all beams, and the best beams behind it."""
        with tf.name_scope(name, "BeamSearchDecoderStep"):
            flat = tf.nest.map_structure(self._merge, inputs)
            inner = tf.nest.map_structure(self._merge, state.cell_state)
            outputs, inner = self._cell(flat, inner)
            outputs = self._split(outputs)
            inner = tf.nest.map_structure(self._split, inner)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, after = self._best(outputs, state, inner)
            done = tf.reduce_all(after.finished)
            following = tf.cond(done, lambda: self._start_inputs, lambda: self._embedding(output.predicted_ids))
        return output, after, following, after.finished

    def _best(self, logits: Any, state: Any, inner: Any) -> tuple[Any, Any]:
        count = logits.shape.as_list()[-1]
        dtype = logits.dtype
        ends = tf.one_hot(tf.fill([self._batch, self._width], self._end_token), count, 0.0, dtype.min, dtype=dtype)
        finished = tf.tile(tf.expand_dims(state.finished, 2), [1, 1, count])
        step = tf.where(finished, ends, tf.nn.log_softmax(logits))
        totals = tf.expand_dims(state.log_probs, 2) + step
        grows = tf.one_hot(tf.fill([self._batch, self._width], self._end_token), count, 0, 1, dtype=tf.int64)
        longer = tf.expand_dims(state.lengths, 2) + tf.where(finished, tf.zeros_like(grows), grows)
        scores = totals
        if self._penalty:
            scores = totals / (((5.0 + tf.cast(longer, dtype)) ** self._penalty) / (6.0**self._penalty))
        flat = tf.reshape(scores, [self._batch, self._width * count])
        best, places = tf.nn.top_k(flat, self._width)
        beams, ids = places // count, places % count
        best.set_shape([self._batch if isinstance(self._batch, int) else None, self._width])
        rows = tf.expand_dims(tf.range(self._batch) * (self._width * count), 1)
        log_probs = tf.gather(tf.reshape(totals, [-1]), rows + places)
        before = self._gathered(state.finished, beams)
        done = tf.logical_or(before, tf.equal(ids, self._end_token))
        lengths = self._gathered(state.lengths, beams) + tf.cast(tf.logical_not(before), tf.int64)
        moved = tf.nest.map_structure(lambda each: self._gathered(each, beams), inner)
        after = BeamSearchDecoderState(moved, log_probs, done, lengths, ())
        return BeamSearchDecoderOutput(best, ids, beams), after

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The sequences of all beams, [time, batch, beams]."""
        longest = tf.cast(tf.reduce_max(final_state.lengths, 1), tf.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state
