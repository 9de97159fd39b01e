"""Queues of a graph: FIFO, shuffling, padding, by priority, and barriers (paper section 4.6; `tf.QueueBase`)."""

from __future__ import annotations

from actorflow.models.queues.barrier import Barrier
from actorflow.models.queues.base import QueueBase
from actorflow.models.queues.kinds import FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue

__all__ = ["Barrier", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]
