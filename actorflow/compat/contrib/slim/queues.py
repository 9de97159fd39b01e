"""Threads of queues around a block, as `slim.queues` has them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.base.process import forks

_lock = forks.new_lock()
_running: list[tf.train.Coordinator] = []
"""The coordinator of the block that runs, if there is any."""


class NestedQueueRunnerError(Exception):
    """A block `with QueueRunners(session)` is inside another."""


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Inside, the threads of all queue runners of the graph run.

    Raises:
        NestedQueueRunnerError: such a block runs already.
    """
    coordinator = tf.train.Coordinator()
    with _lock:
        if _running:
            raise NestedQueueRunnerError("QueueRunners cannot be nested: end the other block of slim.queues first.")
        _running.append(coordinator)
    threads: list[threading.Thread] = []
    try:
        for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
            threads.extend(runner.create_threads(session, coord=coordinator, daemon=True, start=True))
        yield
    finally:
        try:
            coordinator.request_stop()
            try:
                coordinator.join(threads, stop_grace_period_secs=120)
            except RuntimeError:
                session.close()
        finally:  # a runner's error is raised here, and another block may run after it
            _running.clear()
