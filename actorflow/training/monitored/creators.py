"""Session creators: by what a monitored session runs its steps (`tf.train.ChiefSessionCreator`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any

from actorflow.base.process import machine
from actorflow.cluster.processes.local import LocalCluster
from actorflow.engine.session import blocking
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError
from actorflow.graph.default_graph import get_default_graph
from actorflow.public import public
from actorflow.training.monitored.scaffold import Scaffold
from actorflow.training.monitored.session_manager import SessionManager
from actorflow.training.supervisor.model_state import ModelState, folder_path
from actorflow.training.supervisor.supervisor import Supervisor

Face = Callable[[Session], Any]


@public("af.train")
class SessionCreator:
    """Opens sessions for a `MonitoredSession`. Subclasses say how.

    Example:
        >>> class Prepared(af.train.SessionCreator):
        ...     async def create_session(self):
        ...         opened = af.Session()
        ...         await opened.run(v.initializer)
        ...         return opened
        >>> v = af.Variable(3.0)
        >>> async with af.train.MonitoredSession(Prepared()) as session:
        ...     print(await session.run(v))
        3.0
    """

    def create_session(self) -> Any:
        """A session whose variables have their values; or an awaitable of such a session."""
        raise NotImplementedError(f"{type(self).__name__} has no create_session.")


@public("af.train")
class ChiefSessionCreator(SessionCreator):
    """The session of a chief: it restores or initialises variables, and takes them back after a loss.

    Example:
        >>> v = af.Variable(3.0)
        >>> creator = af.train.ChiefSessionCreator(checkpoint_dir="run")
        >>> async with af.train.MonitoredSession(creator) as session:
        ...     print(await session.run(v))
        3.0

    Args:
        scaffold: the parts that it needs; found or made unless given.
        master: the target, or a `LocalCluster`; the environment's `ACTORFLOW_TARGET` unless given, or else this
            process.
        config: options of the session, by name.
        checkpoint_dir: a folder, whose latest checkpoint is restored.
        checkpoint_filename_with_path: a checkpoint to restore.

    Raises:
        ValueError: both a folder and a checkpoint are given.
    """

    _is_chief = True
    _wait: float | None = None

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str | LocalCluster | None = None,
        config: Mapping[str, Any] | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, dict(config or {})
        self._folder, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self) -> Any:
        """A session without a supervisor, to be awaited.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(3.0)
            ...     opened = await af.train.ChiefSessionCreator().create_session()
            ...     async with opened:
            ...         print(await opened.run(v))
            3.0
        """
        self._scaffold.finalize()
        scaffold = self._scaffold
        master = self._master.target if isinstance(self._master, LocalCluster) else self._master
        manager = SessionManager(
            scaffold.local_init_op,
            scaffold.ready_op,
            scaffold.ready_for_local_init_op,
            local_init_feed_dict=scaffold.local_init_feed_dict,
        )
        if not self._is_chief:
            return manager.wait_for_session(str(master or ""), self._config, self._wait)
        return manager.prepare_session(
            str(master or ""),
            scaffold.init_op,
            scaffold.saver,
            self._folder,
            self._path,
            config=self._config,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )

    def supervisor(self, face: Face, **options: Any) -> Supervisor:
        """A supervisor of the default graph, which is finalized.

        Args:
            face: gives the session as `init_fn` sees it.
            options: keywords of `Supervisor`.
        """
        graph, scaffold = get_default_graph(), self._scaffold
        scaffold.build()
        model = scaffold.model
        if model is not None and model.graph is not graph:
            raise ValueError("The scaffold belongs to another graph.")
        if model is None:
            model = scaffold.model = ModelState(
                graph,
                folder_path(self._folder),
                init_op=scaffold.init_op,
                init_feeds=scaffold.init_feed_dict,
                local_init_op=scaffold.local_init_op,
                local_init_feeds=scaffold.local_init_feed_dict,
                ready_op=scaffold.ready_op,
                ready_for_local_init_op=scaffold.ready_for_local_init_op,
                saver=scaffold.saver,
            )
        model.init_fn = None if scaffold.init_fn is None else on_session(scaffold.init_fn, face)
        model.folder, model.path = folder_path(self._folder), self._path
        scaffold.finalize()
        return Supervisor(
            self._master,
            graph,
            is_chief=self._is_chief,
            model=model,
            saves=False,
            session_options=self._config,
            wait_seconds=self._wait,
            **options,
        )


@public("af.train")
class WorkerSessionCreator(ChiefSessionCreator):
    """The session of a worker, which waits until the chief has given variables their values.

    Example:
        >>> creator = af.train.WorkerSessionCreator(master="tcp://worker1:7070", max_wait_secs=60)
        >>> isinstance(creator, af.train.SessionCreator)
        True

    Args:
        scaffold, master, config: see `ChiefSessionCreator`.
        max_wait_secs: how many seconds to wait.
    """

    _is_chief = False

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str | LocalCluster | None = None,
        config: Mapping[str, Any] | None = None,
        max_wait_secs: float | None = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._wait = max_wait_secs


def on_session(function: Callable[[Any], Any], face: Face) -> Callable[[Session], Any]:
    """An `init_fn` as a supervisor awaits it. A blocking `init_fn` is called on a thread: the caller's drives the session."""

    async def initialise(session: Session) -> None:
        seen = face(session)
        if isinstance(seen, blocking.Session):
            await machine.on_thread(function, seen)
            return
        result = function(seen)
        if isawaitable(result):
            await result

    return initialise


class PlainSession:
    """A session of the program's own that is not ours, or a blocking session, as a loop sees it: its runs are awaited."""

    def __init__(self, session: Any) -> None:
        self.session = session

    async def run(self, fetches: Any, feeds: Mapping[Any, Any] | None = None, **options: Any) -> Any:
        """Runs `fetches` in the session's own way.

        Args:
            fetches, feeds, options: see `Session.run`.
        """
        result = self.session.run(fetches, feeds, **options)
        return await result if isawaitable(result) else result

    async def close(self) -> None:
        """Closes it, if it can be closed."""
        result = self.session.close() if hasattr(self.session, "close") else None
        if isawaitable(result):
            await result


class SingleSession:
    """A host that knows no losses: a session that a creator of the program's has opened."""

    guard = None

    def __init__(self, creator: SessionCreator) -> None:
        self._creator = creator
        self._session: Any = None

    @property
    def session(self) -> Any:
        """The session, when it has been opened."""
        if self._session is None:
            raise FailedPreconditionError("The session has not been opened yet.")
        return self._session

    async def start(self) -> None:
        """Opens it."""
        creation = self._creator.create_session()
        session = await creation if isawaitable(creation) else creation
        self._session = session if isinstance(session, Session) else PlainSession(session)

    async def close(self, *, save: bool = True) -> None:
        """Closes it."""
        if self._session is not None:
            await self.session.close()
