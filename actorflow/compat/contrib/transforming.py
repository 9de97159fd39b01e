"""Transformations of data sets that `tf.contrib.data` has beside those of `tf.data.experimental`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf

Transformation = Callable[[Any], Any]


def batch_and_drop_remainder(batch_size: int) -> Transformation:
    """Batches, without a smaller last batch."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: int, padded_shapes: Any, padding_values: Any = None) -> Transformation:
    """Padded batches, without a smaller last batch."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Says the shapes of elements, which are checked as far as they are known."""

    def check(*element: Any) -> Any:
        structure = element[0] if len(element) == 1 else element
        for tensor, shape in zip(tf.nest.flatten(structure), tf.nest.flatten(expected_shapes), strict=True):
            tensor.set_shape(shape)
        return structure

    return lambda dataset: dataset.map(check)


def sliding_window_batch(
    window_size: int, stride: int | None = None, window_shift: int | None = None, window_stride: int = 1
) -> Transformation:
    """Batches of neighbours, each `window_shift` elements behind the batch before."""
    shift = window_shift if window_shift is not None else stride if stride is not None else 1

    def apply(dataset: Any) -> Any:
        windows = dataset.window(window_size, shift=shift, stride=window_stride, drop_remainder=True)
        return windows.flat_map(lambda window: window.batch(window_size))

    return apply


def reduce_dataset(reducer: Any) -> Any:
    """Raises NotImplementedError: `dataset.reduce` does it."""
    raise NotImplementedError("Use dataset.reduce(initial_state, reduce_func).")


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = None,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """The features of batches of records of files."""
    dataset = tf.data.experimental.make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader or tf.data.TFRecordDataset,
        num_epochs=num_epochs,
        shuffle=randomize_input,
    )
    return dataset.make_one_shot_iterator().get_next()
