"""`tf.train.basic_train_loop`: steps of a function under a `tf.train.Supervisor`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.compat.training.supervisor import Supervisor
from actorflow.errors import AbortedError
from actorflow.public import public


@public("tf.train")
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., object],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function until the supervisor stops. A step that is aborted is made again, in a new session.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     step = tf.train.create_global_step().assign_add(1)
        ...     supervisor = tf.train.Supervisor(logdir="run")
        ...     def train_step(session):
        ...         if session.run(step) == 3:
        ...             supervisor.request_stop()
        ...     tf.train.basic_train_loop(supervisor, train_step)

    Args:
        supervisor: opens the sessions, and says when to stop.
        train_step_fn: called as `train_step_fn(session, *args, **kwargs)`.
        args, kwargs: its further arguments.
        master: the target of the sessions.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:
            continue
