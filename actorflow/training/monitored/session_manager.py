"""`SessionManager`: sessions whose variables have their values (`tf.train.SessionManager`).

It knows no losses: a `Supervisor` does, and monitored sessions use that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.wire.links import START_SECONDS
from actorflow.engine.session import blocking
from actorflow.engine.session.session import Session
from actorflow.errors import DeadlineExceededError, FailedPreconditionError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.models.train.saving.checkpoints import get_checkpoint_state
from actorflow.public import public
from actorflow.training.monitored.commands import Await, Program, act, call, perform, run
from actorflow.training.supervisor.recovery.chief_failure import ChiefWait, tell_failure, tell_ready

_LOG = get_logger("training")


@public("af.train")
class SessionManager:
    """Opens sessions, and restores or initialises their variables. With `blocking=True` the sessions are blocking, and
    the methods give their results at once; otherwise these are awaited.

    Example:
        >>> v = af.Variable(3.0)
        >>> manager = af.train.SessionManager(ready_op=af.report_uninitialized_variables())
        >>> async with await manager.prepare_session("", init_op=v.initializer) as session:
        ...     print(await session.run(v))
        3.0

    Args:
        local_init_op: run on each session that is opened.
        ready_op: gives the names of variables that have no value, or nothing, and fails if a variable has none; nothing
            is looked at unless given.
        ready_for_local_init_op: the same, before `local_init_op`.
        graph: the graph; the default one unless given.
        recovery_wait_secs: the pause between two looks at something that others do.
        local_init_run_options: accepted for compatibility, without effect.
        local_init_feed_dict: values that are fed to `local_init_op`.
        blocking: whether sessions are blocking.

    Raises:
        ValueError: `ready_for_local_init_op` is given without `local_init_op`.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
        *,
        blocking: bool = False,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}]"
            )
        self._local_init_op, self._local_feeds = local_init_op, local_init_feed_dict
        self._ready_op, self._ready_for_local = ready_op, ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._pause, self._blocking = recovery_wait_secs, blocking

    def prepare_session(
        self,
        master: str | None = "",
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Mapping[str, Any] | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        """A session whose variables have the values of a checkpoint, or without a checkpoint initial values.

        Args:
            master: the target of the session.
            init_op: gives initial values.
            saver: restores.
            checkpoint_dir: a folder, whose latest checkpoint is restored.
            checkpoint_filename_with_path: a checkpoint to restore.
            wait_for_checkpoint: whether to wait until there is a checkpoint.
            max_wait_secs: for how many seconds.
            config: options of the session, by name.
            init_feed_dict: values that are fed to `init_op`.
            init_fn: called with the session after `init_op`.

        Raises:
            RuntimeError: variables have no values then; or there is nothing that gives any.
            ValueError: both a folder and a checkpoint are given.
        """

        def prepare(session: Any) -> Program[None]:
            restored = yield from self._restore(
                session, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs
            )
            if not restored:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
                if init_op is not None:
                    yield from run(session, init_op, init_feed_dict)
                if init_fn is not None:
                    yield from call(init_fn, session)
            initialization = f"Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}"
            if missing := (yield from self._init_local(session)):
                raise RuntimeError(
                    f"Init operations did not make model ready for local_init.  {initialization}, error: {missing}"
                )
            if missing := (yield from self._missing(session, self._ready_op)):
                raise RuntimeError(
                    f"Init operations did not make model ready.  {initialization}, local_init_op: {self._local_init_op}, error: "
                    f"Variables not initialized: {missing}"
                )

        def work(session: Any) -> Program[Any]:
            try:
                yield from prepare(session)
            except Exception as error:
                yield from tell_of_failure(session, error)
                raise
            yield Await(lambda: tell_ready(_asynchronous(session)))
            return session

        _refuse_both(checkpoint_dir, checkpoint_filename_with_path)
        return self._opened(master, config, work)

    def recover_session(
        self,
        master: str | None = "",
        saver: Any = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Mapping[str, Any] | None = None,
    ) -> Any:
        """A session, and whether its variables have the values of a checkpoint.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(3.0)
            ...     manager = af.train.SessionManager(ready_op=af.report_uninitialized_variables())
            ...     opened, restored = await manager.recover_session(saver=af.train.Saver(), checkpoint_dir="run")
            ...     await opened.close()
            >>> restored  # there is no checkpoint
            False

        Args:
            master, saver, checkpoint_dir, checkpoint_filename_with_path: see `prepare_session`.
            wait_for_checkpoint, max_wait_secs, config: see `prepare_session`.

        Raises:
            ValueError: both a folder and a checkpoint are given.
        """

        def work(session: Any) -> Program[Any]:
            restored = yield from self._restore(
                session, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs
            )
            missing = yield from self._init_local(session)
            if restored and not missing:
                missing = yield from self._missing(session, self._ready_op)
            if restored and missing:
                _LOG.info("a checkpoint did not make the model ready", missing=missing)
            is_ready = restored and not missing
            if is_ready:
                yield Await(lambda: tell_ready(_asynchronous(session)))
            return session, is_ready

        _refuse_both(checkpoint_dir, checkpoint_filename_with_path)
        return self._opened(master, config, work)

    def wait_for_session(
        self, master: str | None = "", config: Mapping[str, Any] | None = None, max_wait_secs: float | None = None
    ) -> Any:
        """A session, when another process has given the variables their values.

        Example:
            >>> with af.Graph().as_default():
            ...     manager = af.train.SessionManager()
            ...     opened = await manager.wait_for_session(max_wait_secs=1.0)
            ...     await opened.close()

        Args:
            master: the target of the session.
            config: options of the session, by name.
            max_wait_secs: how long to wait; forever unless given.

        Raises:
            DeadlineExceededError: that took longer.
        """

        def work(session: Any) -> Program[Any]:
            waited = 0.0
            wait: ChiefWait = yield Await(lambda: _waiting(session))
            while (yield from self._init_local(session)) or (yield from self._missing(session, self._ready_op)):
                yield Await(wait.look)
                if max_wait_secs is not None and waited + self._pause > max_wait_secs:
                    raise DeadlineExceededError(
                        f"Session was not ready after waiting {max_wait_secs:g} secs.",
                        details=[f"The chief has failed: {line}" for line in wait.failure.splitlines()[:1]],
                    )
                _LOG.info("Waiting for model to be ready.")
                yield Await(lambda: wait.sleep(self._pause))
                waited += self._pause
            return session

        return self._opened(master, config, work, max_wait_secs)

    def _opened(
        self,
        master: str | None,
        config: Mapping[str, Any] | None,
        work: Callable[[Any], Program[Any]],
        longest: float | None = None,
    ) -> Any:
        seconds = START_SECONDS if longest is None else min(START_SECONDS, longest)
        options = {"connect_timeout": seconds, **(config or {})}
        if not self._blocking:
            return _awaited(Session(master, self._graph, **options), work)
        session = blocking.Session(master, self._graph, **options)
        try:
            return act(session, work(session))
        except BaseException:
            session.close()
            raise

    def _restore(
        self, session: Any, saver: Any, folder: Any, path: str | None, waits: bool, longest: float
    ) -> Program[bool]:
        """Restores a checkpoint, if there is any."""
        inner = _asynchronous(session)
        if saver is None or not (folder or path):
            return False
        waited = 0.0
        while path is None:
            state = yield Await(lambda: machine.on_thread(get_checkpoint_state, folder))
            if state is not None and state.model_checkpoint_path:
                path = state.model_checkpoint_path
                yield Await(
                    lambda: machine.on_thread(saver.recover_last_checkpoints, state.all_model_checkpoint_paths)  # noqa: B023
                )
            elif waits and waited < longest:
                _LOG.info("Waiting for checkpoint to be available.")
                yield Await(lambda: anyio.sleep(self._pause))
                waited += self._pause
            else:
                return False
        yield Await(lambda: saver.restore(inner, path))
        return True

    def _init_local(self, session: Any) -> Program[str]:
        """Gives local variables their values; the result says which variables that had to wait for."""
        if self._local_init_op is None:
            return ""
        missing: str = yield from self._missing(session, self._ready_for_local)
        if not missing:
            yield from run(session, self._local_init_op, self._local_feeds)
        return missing

    def _missing(self, session: Any, op: Any) -> Program[str]:
        if op is None:
            return ""
        try:
            names = yield from run(session, op)
        except FailedPreconditionError as error:
            if "uninitialized" not in str(error):
                raise
            return error.message
        return "" if names is None else ", ".join(os.fsdecode(name) for name in names)


def _asynchronous(session: Any) -> Session:
    """The session behind a blocking session."""
    inner: Session = session._inner if isinstance(session, blocking.Session) else session
    return inner


def tell_of_failure(session: Any, error: Exception) -> Program[None]:
    """A part of a chief's program: lets all tasks know why it gives up."""
    try:
        yield Await(lambda: tell_failure(_asynchronous(session), error))
    except Exception as failure:  # the session may be closed already; the chief's error counts
        _LOG.info("the tasks have not heard why the chief failed", error=repr(failure))


async def _waiting(session: Any) -> ChiefWait:
    return ChiefWait(_asynchronous(session))


async def _awaited(session: Session, work: Callable[[Any], Program[Any]]) -> Any:
    try:
        return await perform(work(session))
    except BaseException:
        await session.close()
        raise


def _refuse_both(folder: Any, path: str | None) -> None:
    if folder and path:
        raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
