# `make names` writes this file from the marks in the sources.

from actorflow.models.queues.base import QueueBase as QueueBase
from actorflow.models.queues.kinds import FIFOQueue as FIFOQueue
from actorflow.models.queues.kinds import PaddingFIFOQueue as PaddingFIFOQueue
from actorflow.models.queues.kinds import PriorityQueue as PriorityQueue
from actorflow.models.queues.kinds import RandomShuffleQueue as RandomShuffleQueue

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
]
