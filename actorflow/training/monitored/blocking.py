"""Monitored sessions for code without `await`. Hooks are called in the thread that calls `run`, with a blocking session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from actorflow.cluster.processes import blocking_local
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.session import blocking
from actorflow.engine.session.session import Session
from actorflow.public import public
from actorflow.training.monitored import monitored_session as asynchronous
from actorflow.training.monitored.commands import Program, SharedSession, perform_blocking
from actorflow.training.monitored.creators import ChiefSessionCreator, PlainSession, SessionCreator
from actorflow.training.monitored.monitored_session import Monitored, StepContext


@public("af.blocking")
class MonitoredSession(Monitored):
    """`actorflow.train.MonitoredSession` for code without `await`. It is open when it has been made.

    Example:
        >>> with af.Graph().as_default():
        ...     step = af.train.create_global_step().assign_add(1)
        ...     with af.blocking.MonitoredSession(hooks=[af.train.StopAtStepHook(last_step=3)]) as blocking:
        ...         while not blocking.should_stop():
        ...             print(blocking.run(step))
        1
        2
        3
    """

    _shared_session: Callable[[Session, LoopDriver], blocking.Session] = SharedSession

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        """
        Args:
            session_creator, hooks, stop_grace_period_secs: see `actorflow.train.MonitoredSession`.
        """
        master = getattr(session_creator, "_master", None)
        self._own = not isinstance(master, blocking_local.LocalCluster)
        self._driver = LoopDriver() if not isinstance(master, blocking_local.LocalCluster) else master._driver
        if isinstance(session_creator, ChiefSessionCreator) and isinstance(master, blocking_local.LocalCluster):
            session_creator._master = master._inner
        super().__init__(session_creator, hooks, stop_grace_period_secs, self._shared)
        try:
            perform_blocking(self._begin(), self._driver)
        except BaseException:
            self._close_driver()
            raise

    def _shared(self, session: Any) -> Any:
        """The session that hooks get: a blocking session over that of the loop; a session that the program has opened
        is its own."""
        return session.session if isinstance(session, PlainSession) else self._shared_session(session, self._driver)

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Makes a step; gives the value of `fetches`.

        Args:
            fetches, feed_dict: see `actorflow.train.MonitoredSession.run`.
        """
        return perform_blocking(self._open.step(fetches, feed_dict), self._driver)

    def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """See `actorflow.train.MonitoredSession.run_step_fn`. A stop that `step_fn` requests is a StopIteration, as in
        TensorFlow: it ends the session's block."""
        try:
            return perform_blocking(self._step_fn(step_fn), self._driver)
        except StopAsyncIteration as end:
            raise StopIteration(str(end)) from None

    def _perform(self, program: Program[Any]) -> Any:
        return perform_blocking(program, self._driver)

    def should_stop(self) -> bool:
        """Whether a hook or a thread of the coordinator wants the training to end, or it has ended. A session that a thread has
        lost is replaced."""
        if not self._closed and self._loop is not None:
            perform_blocking(self._loop.renew(), self._driver)
        return super().should_stop()

    def close(self) -> None:
        """Calls `end` of all hooks, and closes the session.

        Example:
            >>> with af.Graph().as_default():
            ...     step = af.train.create_global_step().assign_add(1)
            ...     blocking = af.blocking.MonitoredSession()
            ...     print(blocking.run(step))
            ...     blocking.close()
            1
        """
        self._finish(None)

    def _finish(self, error: BaseException | None) -> bool:
        try:
            return perform_blocking(self._end(error), self._driver)
        finally:
            self._close_driver()

    def _close_driver(self) -> None:
        if self._own:
            self._driver.close()

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return self._finish(error) and error is not None


@public("af.blocking")
class SingularMonitoredSession(MonitoredSession):
    """`actorflow.train.SingularMonitoredSession` for code without `await`.

    Example:
        >>> with af.Graph().as_default():
        ...     v = af.Variable(3.0)
        ...     with af.blocking.SingularMonitoredSession() as blocking:
        ...         print(blocking.raw_session().run(v))
        3.0
    """

    _recovers = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """
        Args:
            arguments, options: those of `actorflow.train.SingularMonitoredSession`.
        """
        session = asynchronous.SingularMonitoredSession(*arguments, **options)  # which opens nothing yet
        super().__init__(session._creator, session._hooks, session._grace)

    def raw_session(self) -> Any:
        """The blocking session, whose runs call no hooks; None once it is closed."""
        return None if self._closed else self._open.session


@public("af.blocking")
def MonitoredTrainingSession(*arguments: Any, **options: Any) -> MonitoredSession:
    """`actorflow.train.MonitoredTrainingSession` for code without `await`.

    Example:
        >>> with af.Graph().as_default():
        ...     step = af.train.create_global_step().assign_add(1)
        ...     with af.blocking.MonitoredTrainingSession(checkpoint_dir="run") as blocking:
        ...         print(blocking.run(step))
        1
        >>> af.train.latest_checkpoint("run")
        'run/model.ckpt-1'

    Args:
        arguments, options: those of `actorflow.train.MonitoredTrainingSession`.
    """
    session = asynchronous.MonitoredTrainingSession(*arguments, **options)  # which opens nothing yet
    return MonitoredSession(session._creator, session._hooks, session._grace)
