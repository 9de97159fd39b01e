# `make names` writes this file from the marks in the sources.

from actorflow.queues.base import QueueBase as QueueBase
from actorflow.queues.kinds import FIFOQueue as FIFOQueue
from actorflow.queues.kinds import PaddingFIFOQueue as PaddingFIFOQueue
from actorflow.queues.kinds import PriorityQueue as PriorityQueue
from actorflow.queues.kinds import RandomShuffleQueue as RandomShuffleQueue

__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
]
