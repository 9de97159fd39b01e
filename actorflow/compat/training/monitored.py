"""`tf.train`'s monitored sessions: blocking sessions, with TensorFlow's targets and `ConfigProto`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.compat.v1.options import SESSION, ConfigProto, session_options
from actorflow.compat.v1.sessions import Session
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.public import public
from actorflow.training.monitored import blocking as _blocking
from actorflow.training.monitored import creators as _creators
from actorflow.training.monitored import monitored_session as _asynchronous
from actorflow.training.monitored import session_manager as _session_manager
from actorflow.training.monitored.commands import act
from actorflow.training.monitored.scaffold import Scaffold


def _target(master: Any) -> Any:
    """A target as ours are written; an empty one leaves the choice to the environment."""
    if isinstance(master, str) and master.startswith("grpc://"):
        return "tcp://" + master.removeprefix("grpc://")
    return master or None


def _options(config: ConfigProto | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Options of a session."""
    options = dict(config) if isinstance(config, Mapping) else session_options(config)[0]
    return {**SESSION, **options}


@public("tf.train")
class ChiefSessionCreator(_creators.ChiefSessionCreator):
    """`tf.train.ChiefSessionCreator`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.Variable(3.0)
        ...     with tf.train.MonitoredSession(tf.train.ChiefSessionCreator()) as blocking:
        ...         print(blocking.run(v))
        3.0
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        """
        Args:
            scaffold, master: see `actorflow.train.ChiefSessionCreator`.
            config: a `ConfigProto`.
            checkpoint_dir, checkpoint_filename_with_path: see `actorflow.train.ChiefSessionCreator`.
        """
        super().__init__(scaffold, _target(master), _options(config), checkpoint_dir, checkpoint_filename_with_path)


@public("tf.train")
class WorkerSessionCreator(_creators.WorkerSessionCreator):
    """`tf.train.WorkerSessionCreator`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> creator = tf.train.WorkerSessionCreator(master="grpc://worker1:2222", max_wait_secs=60)
        >>> isinstance(creator, af.train.SessionCreator)
        True
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        """
        Args:
            scaffold, master: see `actorflow.train.ChiefSessionCreator`.
            config: a `ConfigProto`.
            max_wait_secs: how many seconds to wait for the chief.
        """
        super().__init__(scaffold, _target(master), _options(config), max_wait_secs)


class _SharedSession(Session):
    """The `tf.Session` of a monitored session, which closes it."""

    def __init__(self, session: Any, driver: LoopDriver) -> None:
        self._inner, self._driver, self._closed = session, driver, False
        self._timeout: float | None = None
        self._entered: list[Any] = []

    def close(self) -> None:
        """It is closed by what has opened it."""

    def __del__(self) -> None:
        pass


class _Monitored(_blocking.MonitoredSession):
    """The base of `tf.train`'s monitored sessions: hooks get a `tf.Session`, and a closed session isn't closed again."""

    _shared_session = _SharedSession

    def _finish(self, error: BaseException | None) -> bool:
        if self._closed and error is None:
            raise RuntimeError("Session is already closed.")
        return super()._finish(error)


@public("tf.train")
class MonitoredSession(_Monitored):
    """`tf.train.MonitoredSession`: steps of a training with hooks and recovery, without `await`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     step = tf.train.create_global_step().assign_add(1)
        ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=2)]) as blocking:
        ...         while not blocking.should_stop():
        ...             print(blocking.run(step))
        1
        2
    """

    def __init__(
        self,
        session_creator: _creators.SessionCreator | None = None,
        hooks: Any = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        """
        Args:
            session_creator: a `ChiefSessionCreator` unless given.
            hooks, stop_grace_period_secs: see `actorflow.train.MonitoredSession`.
        """
        super().__init__(session_creator or ChiefSessionCreator(), hooks, stop_grace_period_secs)


@public("tf.train")
class SingularMonitoredSession(_Monitored, _blocking.SingularMonitoredSession):
    """`tf.train.SingularMonitoredSession`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.Variable(3.0)
        ...     with tf.train.SingularMonitoredSession() as blocking:
        ...         print(blocking.raw_session().run(v))
        3.0
    """

    def __init__(
        self,
        hooks: Any = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        *arguments: Any,
        **options: Any,
    ) -> None:
        """
        Args:
            hooks, scaffold, master: see `actorflow.train.SingularMonitoredSession`.
            config: a `ConfigProto`.
            arguments, options: the other arguments of `actorflow.train.SingularMonitoredSession`.
        """
        super().__init__(hooks, scaffold, _target(master), _options(config), *arguments, **options)


@public("tf.train")
def MonitoredTrainingSession(
    master: str = "", *arguments: Any, config: ConfigProto | None = None, **options: Any
) -> MonitoredSession:
    """`tf.train.MonitoredTrainingSession`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     step = tf.train.create_global_step().assign_add(1)
        ...     with tf.train.MonitoredTrainingSession(checkpoint_dir="run") as blocking:
        ...         print(blocking.run(step))
        1

    Args:
        master: a target; `grpc://` is taken for `tcp://`.
        config: a `ConfigProto`.
        arguments, options: the other arguments of `actorflow.train.MonitoredTrainingSession`.
    """
    options["config"] = _options(config)
    parts = _asynchronous.MonitoredTrainingSession(_target(master), *arguments, **options)
    return MonitoredSession(parts._creator, parts._hooks, parts._grace)


@public("tf.train")
class SessionManager(_session_manager.SessionManager):
    """`tf.train.SessionManager`: its sessions are those of `tf`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.Variable(3.0)
        ...     with tf.train.SessionManager().prepare_session("", init_op=v.initializer) as blocking:
        ...         print(blocking.run(v))
        3.0
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """
        Args:
            arguments, options: those of `actorflow.train.SessionManager`.
        """
        super().__init__(*arguments, blocking=True, **options)

    def _opened(self, master: Any, config: Any, work: Any, longest: float | None = None) -> Any:
        options = config if isinstance(config, Mapping) else {}
        session = Session(_target(master), self._graph, None if options else config, **options)
        try:
            return act(session, work(session))
        except BaseException:
            session.close()
            raise
