"""Threads of queues around a block, as `slim.queues` has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import actorflow.compat.v1 as tf


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Inside, the threads of all queue runners of the graph run."""
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess=session, coord=coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
