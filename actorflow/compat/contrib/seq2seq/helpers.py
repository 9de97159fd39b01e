"""The inputs of a decoder: from data, or from its own outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf


class Helper:
    """Samples outputs of a decoder, and says what it reads next."""

    @property
    def batch_size(self) -> Any:
        """The size of the batch, a scalar tensor."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample behind the batch."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of a sample."""
        return tf.int32

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Which examples are finished at the beginning, and the first inputs."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """A sample of each example's outputs."""
        raise NotImplementedError

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Which examples are finished, the next inputs, and the state."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper of three functions: `initialize`, `sample` and `next_inputs`."""

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        """
        Args:
            initialize_fn, sample_fn, next_inputs_fn: see `Helper`.
            sample_ids_shape, sample_ids_dtype: of a sample; a scalar int unless given.
        """
        self._functions = initialize_fn, sample_fn, next_inputs_fn
        self._shape, self._dtype = tf.TensorShape(sample_ids_shape or []), sample_ids_dtype or tf.int32
        self._batch: Any = None

    @property
    def batch_size(self) -> Any:
        if self._batch is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """That of the function."""
        finished, inputs = self._functions[0]()
        self._batch = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """That of the function."""
        return self._functions[1](time=time, outputs=outputs, state=state)

    def next_inputs(self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None) -> Any:
        """That of the function."""
        return self._functions[2](time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """Reads inputs from data.

    Args:
        inputs: tensors [batch, time, ...], or [time, batch, ...] with `time_major`.
        sequence_length: [batch].
        time_major: the order of dimensions.
        name: without effect.

    Raises:
        ValueError: lengths that are no vector.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None) -> None:
        self._inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
        self.sequence_length = tf.convert_to_tensor(sequence_length)
        if self.sequence_length.shape.ndims not in (1, None):
            raise ValueError(
                f"Expected sequence_length to be a vector, but received shape: {self.sequence_length.shape}"
            )
        if not time_major:
            from actorflow.compat.door.calculations import transpose_batch_time

            self._inputs = tf.nest.map_structure(transpose_batch_time, self._inputs)
        self._zeros = tf.nest.map_structure(lambda each: tf.zeros_like(each[0]), self._inputs)
        self._batch = tf.size(self.sequence_length)

    @property
    def inputs(self) -> Any:
        return self._inputs

    @property
    def batch_size(self) -> Any:
        return self._batch

    def _at(self, time: Any, finished: Any) -> Any:
        def read(each: Any, zeros: Any) -> Any:
            last = tf.maximum(tf.shape(each)[0] - 1, 0)
            return tf.cond(tf.reduce_all(finished), lambda: zeros, lambda: each[tf.minimum(time, last)])

        return tf.nest.map_structure(read, self._inputs, self._zeros)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Empty sequences are finished; the first inputs."""
        finished = tf.equal(0, self.sequence_length)
        return finished, self._at(0, finished)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The most likely ids."""
        return tf.cast(tf.argmax(outputs, -1), tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None, **named: Any
    ) -> Any:
        """The next inputs of data."""
        finished = tf.greater_equal(time + 1, self.sequence_length)
        return finished, self._at(time + 1, finished), state


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads inputs from data, or by chance the vectors of sampled ids.

    Args:
        inputs, sequence_length, time_major, name: see `TrainingHelper`.
        embedding: a function of ids, or a table of vectors.
        sampling_probability: of a sampled id.
        seed, scheduling_seed: of the draws.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(inputs, sequence_length, time_major, name)
        self._embedding = _lookup(embedding)
        self._probability = tf.convert_to_tensor(sampling_probability)
        self._seeds = seed, scheduling_seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Drawn ids; -1 where data are read."""
        drawn = tf.cast(tf.multinomial(outputs, 1, seed=self._seeds[0])[:, 0], tf.int32)
        chosen = tf.random_uniform([self.batch_size], seed=self._seeds[1]) < self._probability
        return tf.where(chosen, drawn, tf.fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None, **named: Any
    ) -> Any:
        """The next inputs."""
        finished, inputs, state = super().next_inputs(time, outputs, state)
        vectors = self._embedding(tf.maximum(sample_ids, 0))
        return finished, tf.where(sample_ids >= 0, vectors, inputs), state


def _lookup(embedding: Any) -> Callable[[Any], Any]:
    if callable(embedding):
        return embedding  # type: ignore[no-any-return]
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


class GreedyEmbeddingHelper(Helper):
    """Reads the vectors of the most likely ids of the outputs before.

    Args:
        embedding: a function of ids, or a table of vectors.
        start_tokens: [batch] of ids.
        end_token: the id that ends a sequence.

    Raises:
        ValueError: tokens of another shape.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding = _lookup(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32)
        self._end_token = tf.convert_to_tensor(end_token, tf.int32)
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch = tf.size(self._start_tokens)
        self._start_inputs = self._embedding(self._start_tokens)

    @property
    def batch_size(self) -> Any:
        return self._batch

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """None is finished; the vectors of the first ids."""
        return tf.fill([self._batch], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """The most likely ids. Raises TypeError for outputs that are no tensor."""
        if not isinstance(outputs, tf.Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return tf.argmax(outputs, -1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """The vectors of the ids."""
        finished = tf.equal(sample_ids, self._end_token)
        inputs = tf.cond(tf.reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding(sample_ids))
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads the vectors of ids that are drawn from the outputs before.

    Args:
        embedding, start_tokens, end_token: see `GreedyEmbeddingHelper`.
        softmax_temperature: by which the logits are divided.
        seed: of the draws.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Drawn ids."""
        logits = outputs if self._temperature is None else outputs / self._temperature
        return tf.cast(tf.multinomial(logits, 1, seed=self._seed)[:, 0], tf.int32)


class InferenceHelper(Helper):
    """Reads what a function samples.

    Args:
        sample_fn: a function of outputs.
        sample_shape, sample_dtype: of a sample.
        start_inputs: the first inputs.
        end_fn: a function of samples that says which examples are finished.
        next_inputs_fn: a function of samples; the samples themselves unless given.
    """

    def __init__(
        self,
        sample_fn: Any,
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Any,
        next_inputs_fn: Any = None,
    ) -> None:
        self._sample_fn, self._end_fn, self._next = sample_fn, end_fn, next_inputs_fn
        self._shape, self._dtype = tf.TensorShape(sample_shape), sample_dtype
        self._start_inputs = tf.convert_to_tensor(start_inputs)
        self._batch = tf.shape(self._start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch

    @property
    def sample_ids_shape(self) -> Any:
        return self._shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """None is finished; the first inputs."""
        return tf.fill([self._batch], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """That of the function."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Those of the function."""
        inputs = sample_ids if self._next is None else self._next(sample_ids)
        return self._end_fn(sample_ids), inputs, state
