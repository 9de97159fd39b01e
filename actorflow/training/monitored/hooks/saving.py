"""`CheckpointSaverHook` and `CheckpointSaverListener`: checkpoints of a training, and who is told of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from actorflow.base.paths import path_text
from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.session import blocking
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.export import write_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.saver import Saver
from actorflow.public import public
from actorflow.training.monitored.commands import Await, Program, act, call, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer, counted
from actorflow.training.supervisor.recovery.attempts import CURRENT

_LOG = get_logger("training")


@public("af.train")
class CheckpointSaverListener:
    """Told of the checkpoints of a training. Its methods may be `async def`, where the training is awaited.

    Example:
        >>> class Told(af.train.CheckpointSaverListener):
        ...     def after_save(self, session, global_step_value):
        ...         print("saved at", global_step_value)
        >>> step = af.train.create_global_step().assign_add(1)
        >>> hook = af.train.CheckpointSaverHook("run", save_steps=2, listeners=[Told()])
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     for _ in range(3):
        ...         _ = await session.run(step)
        saved at 0
        saved at 2
        saved at 3
    """

    def begin(self) -> Any:
        """Called before the session is there; the graph may still be added to.

        Example:
            >>> class Named(af.train.CheckpointSaverListener):
            ...     def begin(self):
            ...         print([v.name for v in af.trainable_variables()])
            >>> v, step = af.Variable(3.0, name="v"), af.train.create_global_step()
            >>> hook = af.train.CheckpointSaverHook("run", save_steps=2, listeners=[Named()])
            >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
            ...     pass
            ['v:0']
        """

    def before_save(self, session: Any, global_step_value: int) -> Any:
        """Called before a checkpoint is written.

        Example:
            >>> class Told(af.train.CheckpointSaverListener):
            ...     def before_save(self, session, global_step_value):
            ...         print("saves at", global_step_value)
            >>> step = af.train.create_global_step().assign_add(1)
            >>> hook = af.train.CheckpointSaverHook("run", save_steps=2, listeners=[Told()])
            >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
            ...     _ = await session.run(step)
            saves at 0
            saves at 1

        Args:
            session: the session.
            global_step_value: the global step.
        """

    def after_save(self, session: Any, global_step_value: int) -> Any:
        """Called when a checkpoint is there. True ends the training.

        Example:
            >>> class Enough(af.train.CheckpointSaverListener):
            ...     def after_save(self, session, global_step_value):
            ...         return global_step_value >= 2
            >>> step = af.train.create_global_step().assign_add(1)
            >>> hook = af.train.CheckpointSaverHook("run", save_steps=2, listeners=[Enough()])
            >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
            ...     while not session.should_stop():
            ...         print(await session.run(step))
            1
            2

        Args:
            session: the session.
            global_step_value: the global step.
        """

    def end(self, session: Any, global_step_value: int) -> Any:
        """Called at the end, when the last checkpoint is there.

        Example:
            >>> class Told(af.train.CheckpointSaverListener):
            ...     def end(self, session, global_step_value):
            ...         print("over at", global_step_value)
            >>> step = af.train.create_global_step().assign_add(1)
            >>> hook = af.train.CheckpointSaverHook("run", save_steps=100, listeners=[Told()])
            >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
            ...     _ = await session.run(step)
            over at 1

        Args:
            session: the session.
            global_step_value: the global step.
        """


@public("af.train")
class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints: at the begin, every few steps or seconds, and at the end.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> hook = af.train.CheckpointSaverHook("run", save_steps=2)
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     for _ in range(5):
        ...         _ = await session.run(step)
        >>> af.train.latest_checkpoint("run")
        'run/model.ckpt-5'

    Args:
        checkpoint_dir: the folder of the checkpoints.
        save_secs: after how many seconds the next checkpoint is made.
        save_steps: after how many steps it is. One of the two is given.
        saver: what saves; that of `scaffold`, or else of the graph's collection of savers.
        checkpoint_basename: the begin of the file names.
        scaffold: a `Scaffold`, whose saver is taken.
        listeners: those who are told.
        save_graph_def: whether to write the graph too, to `graph.pbtxt` and beside each checkpoint.

    Raises:
        ValueError: both a saver and a scaffold are given, or not one of the pauses.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[Any] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._folder = path_text(checkpoint_dir, "checkpoint_dir")
        self._path = f"{self._folder.rstrip('/')}/{checkpoint_basename}"
        self._saver, self._scaffold, self._save_graph = saver, scaffold, save_graph_def
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self.listeners = list(listeners or ())
        self.saved: str | None = None
        self._is_first = True

    def begin(self) -> Any:
        self._step = counted("CheckpointSaverHook")
        self._is_first = True
        return self._begin_listeners() if self.listeners else None

    def _begin_listeners(self) -> Any:
        pending = [result for listener in self.listeners if (result := listener.begin()) is not None]
        return _all(pending) if pending else None

    def after_create_session(self, session: Any, coord: Any) -> Any:
        return act(session, self._save_first(session))

    def _save_first(self, session: Any) -> Program[None]:
        step = int((yield from run(session, self._step)))
        if self._is_first and self._save_graph:
            graph = get_default_graph()
            yield Await(lambda: machine.on_thread(_write_graph, graph, self._folder))
        if self._is_first or step != self._timer.last_triggered_step():  # after a loss it is there already
            self._is_first = False
            yield from self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return act(run_context.session, self._save_later(run_context))
        return None

    def _save_later(self, context: SessionRunContext) -> Program[None]:
        step = int((yield from run(context.session, self._step)))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if (yield from self._save(context.session, step)):
                context.request_stop()

    def end(self, session: Any) -> Any:
        return act(session, self._save_last(session))

    def _save_last(self, session: Any) -> Program[None]:
        step = int((yield from run(session, self._step)))
        if step != self._timer.last_triggered_step():
            yield from self._save(session, step)
        for listener in self.listeners:
            yield from call(listener.end, session, step)

    def _save(self, session: Any, step: int) -> Program[bool]:
        """Saves; the result is whether a listener wants the training to end."""
        for listener in self.listeners:
            yield from call(listener.before_save, session, step)
        _LOG.info("saving a checkpoint", step=step, path=self._path)
        inner = session._inner if isinstance(session, blocking.Session) else session
        saver, attempt = self._found_saver(), CURRENT.get()

        async def save() -> str:
            async def start() -> str:
                path: str = await saver.save(
                    inner, self._path, global_step=step, write_meta_graph=self._save_graph, consistent=True
                )
                return path

            return await (start() if attempt is None else attempt.supervisor.guarded(start))

        self.saved = yield Await(save)
        ends = False
        for listener in self.listeners:
            if (yield from call(listener.after_save, session, step)):
                _LOG.info("a listener ends the training", listener=repr(listener), step=step)
                ends = True
        return ends

    def _found_saver(self) -> Saver:
        if self._saver is None and self._scaffold is not None:
            saver: Saver = self._scaffold.saver
            return saver
        if self._saver is None:
            savers = get_default_graph().get_collection(GraphKeys.SAVERS)
            if len(savers) != 1:
                found_text = "No items" if not savers else "More than one item"
                raise RuntimeError(
                    f"{found_text} in collection {GraphKeys.SAVERS}. Pass the saver or a scaffold to the constructor."
                )
            self._saver = savers[0]
        return self._saver


async def _all(pending: Sequence[Any]) -> None:
    for result in pending:
        await result


_WRITTEN: WeakKeyDictionary[Graph, dict[str, tuple[int, tuple[int, int] | None]]] = WeakKeyDictionary()
"""Of each graph: its version when it was written to a file, and the file's size and time then."""


def _write_graph(graph: Graph, folder: str) -> None:
    """Writes `graph.pbtxt`, unless the file is there with this graph as it is. A graph that has no GraphDef is left out, and the
    log says why."""
    if "://" in folder:
        return
    path = os.path.join(folder, "graph.pbtxt")
    written, version = _WRITTEN.setdefault(graph, {}), graph.version
    if path in written and written[path] == (version, _stamp(path)):
        return
    try:
        write_graph(graph.as_graph_def(add_shapes=True), folder, "graph.pbtxt")
    except (TypeError, ValueError) as error:
        _LOG.warning("the graph can't be written as text", reason=str(error))
    written[path] = version, _stamp(path)


def _stamp(path: str) -> tuple[int, int] | None:
    """The size and the time of a file; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
