"""How full the queues of input are: summaries that say whether steps wait for their input, and a check that there is room."""

from __future__ import annotations

from actorflow.base.dtypes import float32
from actorflow.graph.ops.math.arithmetic import maximum
from actorflow.graph.ops.math.cast import cast
from actorflow.models.queues import QueueBase
from actorflow.models.summary.ops import scalar


def check_capacity(capacity: int) -> None:
    """Refuses a queue of input that has no room.

    Args:
        capacity: the maximum number of elements; no limit if it is below 0.

    Raises:
        ValueError: it is 0.
    """
    if capacity == 0:
        raise ValueError(
            "capacity is 1 or more, or below 0 for a queue without a limit, but 0 was given: nothing would ever enter the queue."
        )


def summarize_fullness(queue: QueueBase, name: str, capacity: int, reserve: int = 0) -> None:
    """Adds a summary of the part of a queue's room that is full, between 0 and 1. A queue without a limit has no such part.

    Args:
        queue: the queue.
        name: the summary's name.
        capacity: the maximum number of elements; not 0, and no limit if it is below 0.
        reserve: the number of elements that stay in the queue, which don't count.
    """
    if capacity < 0:
        return
    count = cast(queue.size() - reserve if reserve else queue.size(), float32)
    scalar(name, maximum(0.0, count) * (1.0 / (capacity - reserve)) if reserve else count * (1.0 / capacity))
