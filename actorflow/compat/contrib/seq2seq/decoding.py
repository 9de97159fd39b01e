"""`Decoder`, `BasicDecoder` and `dynamic_decode`."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import actorflow.compat.v1 as tf


class Decoder:
    """The object that `dynamic_decode` asks for each step: `initialize`, `step` and at the end `finalize`."""

    @property
    def batch_size(self) -> Any:
        """The size of the batch, a scalar tensor."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The structure of sizes of an output."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The structure of types of an output."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Which examples are finished at the beginning, the first inputs, and the first state."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """The outputs, the state, the next inputs, and which examples are finished."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The outputs and the state that are given in the end."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether the decoder itself keeps which examples are finished, as a decoder that reorders them does."""
        return False


class BasicDecoderOutput(NamedTuple):
    """An output of a cell, and what was sampled of it."""

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A decoder of a cell and a helper.

    Args:
        cell: the cell.
        helper: what samples and reads.
        initial_state: the first state.
        output_layer: a layer for the outputs, or None.
    """

    def __init__(self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None) -> None:
        self._cell, self._helper, self._initial_state, self._output_layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        size = self._cell.output_size
        if self._output_layer is not None:
            whole = tf.TensorShape([None]).concatenate(size)
            size = self._output_layer.compute_output_shape(whole)[1:]
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = tf.nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            tf.nest.map_structure(lambda _: dtype, self._cell.output_size), self._helper.sample_ids_dtype
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Those of the helper, and the state that was given."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, Any, Any, Any]:
        """A step of the cell, and what the helper samples and reads."""
        with tf.name_scope(name, "BasicDecoderStep", [time]):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(time=time, outputs=outputs, state=state, sample_ids=ids)
        return BasicDecoderOutput(outputs, ids), state, inputs, finished


def _zeros(batch: Any, size: Any, dtype: Any) -> Any:
    shape = size.as_list() if isinstance(size, tf.TensorShape) else [int(size)]
    return tf.zeros(tf.stack([batch, *shape]), dtype)


def _array(batch: Any, size: Any, dtype: Any) -> Any:
    """The array of an output, step by step."""
    static = size.as_list() if isinstance(size, tf.TensorShape) else [int(size)]
    size_of_batch = tf.get_static_value(tf.convert_to_tensor(batch))
    shape = tf.TensorShape([None if size_of_batch is None else int(size_of_batch), *static])
    return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)


def _kept(finished: Any, new: Any, old: Any) -> Any:
    """The state after a step, which stays as it is for examples that are finished."""
    if isinstance(old, tf.TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else tf.where(finished, old, new)


def dynamic_decode(
    decoder: Any,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:
    """Runs a decoder until all examples are finished: its outputs, the last state, and the lengths.

    Args:
        decoder: the decoder.
        output_time_major: whether outputs are [time, batch, ...]; [batch, time, ...] unless.
        impute_finished: whether outputs of finished examples are zeros, and their states stay.
        maximum_iterations: the greatest number of steps.
        parallel_iterations, swap_memory: see `tf.while_loop`.
        scope: a variable scope.

    Raises:
        TypeError: the decoder is none.
    """
    if not isinstance(decoder, Decoder) and not hasattr(decoder, "step"):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    nest = tf.nest
    with tf.variable_scope(scope, "decoder") as opened:
        if opened.caching_device is None:
            opened.set_caching_device(lambda op: op.device)
        limit = None if maximum_iterations is None else tf.convert_to_tensor(maximum_iterations, tf.int32)
        finished, inputs, state = decoder.initialize()
        batch = decoder.batch_size
        zeros = nest.map_structure(partial(_zeros, batch), decoder.output_size, decoder.output_dtype)
        if limit is not None:
            finished = tf.logical_or(finished, tf.greater_equal(0, limit))
        lengths = tf.zeros_like(finished, tf.int32)

        arrays = nest.map_structure(partial(_array, batch), decoder.output_size, decoder.output_dtype)

        def going(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            return tf.logical_not(tf.reduce_all(finished))

        def body(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
            outputs, new_state, next_inputs, done = decoder.step(time, inputs, state)
            if decoder.tracks_own_finished:
                next_finished = done
            else:
                next_finished = tf.logical_or(done, finished)
            new_lengths = tf.where(tf.logical_not(finished), tf.fill(tf.shape(lengths), time + 1), lengths)
            if limit is not None:
                next_finished = tf.logical_or(next_finished, tf.greater_equal(time + 1, limit))
            nest.assert_same_structure(state, new_state)
            if impute_finished:
                outputs = nest.map_structure(lambda new, zero: tf.where(finished, zero, new), outputs, zeros)
                new_state = nest.map_structure(lambda new, old: _kept(finished, new, old), new_state, state)
            arrays = nest.map_structure(lambda each, value: each.write(time, value), arrays, outputs)
            return time + 1, arrays, new_state, next_inputs, next_finished, new_lengths

        loop = (tf.constant(0), arrays, state, inputs, finished, lengths)
        _, arrays, state, _, _, lengths = tf.while_loop(
            going,
            body,
            loop,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            maximum_iterations=limit,
        )
        outputs = nest.map_structure(lambda each: each.stack(), arrays)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            from actorflow.compat.door.calculations import transpose_batch_time

            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths
