"""Names of training, losses of replicas and networks that TensorFlow 1.15 has beside those of actorflow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import actorflow as af
from actorflow.public import public


@public("tf.train")
def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The paths of checkpoints as they come (`tf.train.checkpoints_iterator`).

    Args:
        checkpoint_dir: the folder.
        min_interval_secs: the least time between two.
        timeout: the seconds to wait for a checkpoint.
        timeout_fn: whether to stop after that time; yes unless given.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> list(tf.train.checkpoints_iterator("/nowhere", timeout=0))
        []
    """
    from actorflow.compat.contrib.training.evaluation import checkpoints_iterator as iterate

    return iterate(checkpoint_dir, min_interval_secs, timeout, timeout_fn)


@public("tf.nn")
def scale_regularization_loss(regularization_loss: Any) -> Any:
    """The loss itself: there is one replica (`tf.nn.scale_regularization_loss`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.nn.scale_regularization_loss(tf.constant(2.0))
        2.0
    """
    return af.identity(regularization_loss)


@public("tf.nn")
def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Any:
    """The sum of losses divided by the size of the batch (`tf.nn.compute_average_loss`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.nn.compute_average_loss([1.0, 2.0])
        1.5

    Args:
        per_example_loss: losses of examples.
        sample_weight: weights of the examples; 1 unless given.
        global_batch_size: the divisor; the number of losses unless given.
    """
    losses = af.convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        losses = losses * af.cast(sample_weight, losses.dtype)
    size = af.size(losses) if global_batch_size is None else global_batch_size
    return af.reduce_sum(losses) / af.cast(size, losses.dtype)


def _pool(
    kind: str, input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None, name: str | None
) -> Any:
    input = af.convert_to_tensor(input)
    rank = len(input.static_shape) - 2
    first = data_format is not None and data_format.startswith("NC")

    def sizes(value: Any) -> list[int]:
        listed = list(value) if isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0 else [value]
        listed = listed * rank if len(listed) == 1 else listed
        return listed if len(listed) == rank else listed[2:] if first else listed[1:-1]

    return af.nn.pool(input, sizes(ksize), kind, padding, strides=sizes(strides), data_format=data_format, name=name)


@public("tf.nn")
def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
) -> Any:
    """The mean of each window over 1, 2 or 3 dimensions (`tf.nn.avg_pool_v2`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.nn.avg_pool_v2([[[1.0], [3.0]]], 2, 2, "VALID")
        [[[2.]]]

    Args:
        input: `[batch, ..., channels]`.
        ksize, strides: sizes of windows and steps: a number, or a number for each dimension.
        padding: `VALID` or `SAME`.
        data_format: such as `NHWC`; a form with `NC` in front has the channels first.
    """
    return _pool("AVG", input, ksize, strides, padding, data_format, name)


@public("tf.nn")
def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: str, data_format: str | None = None, name: str | None = None
) -> Any:
    """The greatest of each window over 1, 2 or 3 dimensions (`tf.nn.max_pool_v2`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.nn.max_pool_v2([[[1.0], [3.0]]], 2, 2, "VALID")
        [[[3.]]]

    Args:
        input: `[batch, ..., channels]`.
        ksize, strides: sizes of windows and steps: a number, or a number for each dimension.
        padding: `VALID` or `SAME`.
        data_format: such as `NHWC`; a form with `NC` in front has the channels first.
    """
    return _pool("MAX", input, ksize, strides, padding, data_format, name)


@public("tf.train")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: Any = None,
    last_preserved_timestamp: Any = None,
) -> Any:
    """The state of a folder of checkpoints (`tf.train.generate_checkpoint_state_proto`).

    In a folder that is named from the working folder on, paths of checkpoints become paths from the folder on.

    Args:
        save_dir: the folder.
        model_checkpoint_path: the latest checkpoint.
        all_model_checkpoint_paths: all that are kept, oldest first; the latest is added if it is not the last.
        all_model_checkpoint_timestamps: when each was saved, in seconds since 1970.
        last_preserved_timestamp: when the last checkpoint was kept for good.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.train.generate_checkpoint_state_proto("models", "models/run-2", ["models/run-1"]).all_model_checkpoint_paths
        ['run-1', 'run-2']
    """
    times = list(all_model_checkpoint_timestamps or []), last_preserved_timestamp or 0.0
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if os.path.isabs(save_dir):
        return af.train.CheckpointState(model_checkpoint_path, paths, *times)
    names = [each if os.path.isabs(each) else os.path.relpath(each, save_dir) for each in paths]
    return af.train.CheckpointState(names[-1], names, *times)
