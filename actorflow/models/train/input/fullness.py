"""Summaries of how full the queues of input are: curves that say whether steps wait for their input."""

from __future__ import annotations

from actorflow.base.dtypes import float32
from actorflow.graph.ops.math.arithmetic import maximum
from actorflow.graph.ops.math.cast import cast
from actorflow.models.queues import QueueBase
from actorflow.models.summary.ops import scalar


def summarize_fullness(queue: QueueBase, name: str, capacity: int, reserve: int = 0) -> None:
    """Adds a summary of the part of a queue's room that is full, between 0 and 1.

    Args:
        queue: the queue.
        name: the summary's name.
        capacity: the maximum number of elements.
        reserve: the number of elements that stay in the queue, which don't count.
    """
    count = cast(queue.size() - reserve if reserve else queue.size(), float32)
    scalar(name, maximum(0.0, count) * (1.0 / (capacity - reserve)) if reserve else count * (1.0 / capacity))
