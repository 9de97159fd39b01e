"""`prefetch_queue`: a queue of batches that are ready."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf
from actorflow.models.train.input.fullness import check_capacity, summarize_fullness


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """A queue that a queue runner fills with the values of some tensors, so that a step need not wait for them.

    Args:
        tensors: a list of tensors, or a dict; `dequeue` gives the same structure.
        capacity: the most elements that wait; no limit if it is below 0.
        num_threads: the number of threads that fill it.
        dynamic_pad: whether sizes may be unknown.
        shared_name: the name by which sessions share it.
        name: the scope of names.

    Raises:
        ValueError: `capacity` is 0.
    """
    check_capacity(capacity)
    names = sorted(tensors) if isinstance(tensors, dict) else None
    parts = [tensors[each] for each in names] if names is not None else list(tensors)
    kind: Any = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
    with tf.name_scope(name, "prefetch_queue", parts):
        queue = kind(
            capacity=capacity,
            dtypes=[each.dtype for each in parts],
            shapes=[each.get_shape() for each in parts],
            names=names,
            shared_name=shared_name,
        )
        put = queue.enqueue(tensors)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [put] * num_threads))
        summarize_fullness(queue, f"fraction_of_{capacity}_full", capacity)
    return queue
