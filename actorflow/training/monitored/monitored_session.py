"""`MonitoredTrainingSession` and the like: sessions whose runs are steps of a training, with hooks, saves and recovery."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from actorflow.base.unpicklable import unpicklable
from actorflow.cluster.processes.local import LocalCluster
from actorflow.engine.session.session import Session
from actorflow.errors import FailedPreconditionError, OutOfRangeError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.public import public
from actorflow.training.monitored.commands import Program, perform
from actorflow.training.monitored.creators import (
    ChiefSessionCreator,
    SessionCreator,
    SingleSession,
    WorkerSessionCreator,
)
from actorflow.training.monitored.hooks.logged import StepCounterHook
from actorflow.training.monitored.hooks.saving import CheckpointSaverHook
from actorflow.training.monitored.hooks.summaries import SummarySaverHook
from actorflow.training.monitored.loop import STOPPED, LoopHost, MonitoredLoop, StepGuard
from actorflow.training.monitored.scaffold import Scaffold

_UNSET = object()
_ENDS = (OutOfRangeError, StopIteration, StopAsyncIteration)


class StepContext:
    """The argument of a `step_fn`: `session` for runs without hooks, `run_with_hooks` for the step itself."""

    def __init__(self, loop: MonitoredLoop, perform: Callable[[Program[Any]], Any]) -> None:
        self._loop, self._perform = loop, perform

    @property
    def session(self) -> Any:
        """The session, whose runs call no hooks; None once it is closed."""
        return self._loop.session

    def run_with_hooks(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Makes a step; to be awaited where the session is.

        Args:
            fetches, feed_dict: see `MonitoredSession.run`.
        """
        loop = self._loop
        if loop.should_stop:
            raise RuntimeError(STOPPED)
        make = loop.attempt if loop.guard is None else loop.step
        return self._perform(make(fetches, feed_dict))

    def request_stop(self) -> None:
        """Ends the training: what comes after this call in the `step_fn` is left out.

        Raises:
            StopAsyncIteration: always.
        """
        raise StopAsyncIteration("step_fn has requested the iterations to stop.")


class Monitored:
    """The base of both kinds of monitored sessions: a loop over the session of a creator."""

    __reduce_ex__ = unpicklable("A monitored session is not pickled: hand over its folder of checkpoints.")

    _recovers = True

    def __init__(
        self,
        creator: SessionCreator | None,
        hooks: Sequence[Any] | None,
        grace: float,
        face: Callable[[Session], Any],
    ) -> None:
        self._creator = creator or ChiefSessionCreator()
        self._hooks, self._grace = list(hooks or ()), grace
        self._face = face
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._loop: MonitoredLoop | None = None
        self._closed = False

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @property
    def _monitored(self) -> Any:
        """The session within, for a Saver."""
        return self._open.session

    def should_stop(self) -> bool:
        """Whether a hook wants the training to end, or it has ended."""
        return self._closed or (self._loop is not None and self._loop.is_over())

    @property
    def _open(self) -> MonitoredLoop:
        if self._closed:
            raise RuntimeError("Run called even after the session was closed.")
        if self._loop is None:
            raise FailedPreconditionError(
                "The monitored session has not been opened.",
                hint="async with af.train.MonitoredTrainingSession(...) as session: ...",
            )
        return self._loop

    def _begin(self) -> Program[None]:
        loop = MonitoredLoop(
            self._graph, _Later(self._host), self._hooks, face=self._face, grace=self._grace, recovers=self._recovers
        )
        yield from loop.begin()
        try:
            yield from loop.create()
        except BaseException:
            yield from loop.close()
            self._release()
            raise
        self._loop = loop

    def _release(self) -> None:
        """Lets the graph be changed again, and be used by another session, unless it was finalized before this session."""
        if not self._was_finalized:
            self._graph._unsafe_unfinalize()

    def _perform(self, program: Program[Any]) -> Any:
        """Runs a program within a step; the result is to be awaited unless the session is blocking."""
        return perform(program)

    def _host(self) -> LoopHost:
        with self._graph.as_default():
            if isinstance(self._creator, ChiefSessionCreator):
                return self._creator.supervisor(self._face)
            return SingleSession(self._creator)

    def _step_fn(self, step_fn: Callable[[StepContext], Any]) -> Program[Any]:
        """Calls `step_fn` with a context."""
        loop = self._open
        _check_step_fn(step_fn)
        if loop.is_over():
            return None
        return (yield from loop.call_step(step_fn, StepContext(loop, self._perform)))

    def _end(self, error: BaseException | None) -> Program[bool]:
        """Ends the training; the result is whether `error` was nothing but the end of the input."""
        loop, self._closed = self._loop, True
        ends = error is None or isinstance(error, _ENDS)
        if loop is None:
            return ends
        try:
            if ends:
                yield from loop.finish()
        finally:
            self._loop = None
            try:
                yield from loop.close()
            finally:
                self._release()
        return ends


class _Later:
    """A host that is made when it is started: hooks may add to the graph before."""

    def __init__(self, make: Callable[[], LoopHost]) -> None:
        self._make = make
        self._host: LoopHost | None = None

    @property
    def session(self) -> Session:
        assert self._host is not None
        return self._host.session

    @property
    def guard(self) -> StepGuard | None:
        assert self._host is not None
        return self._host.guard

    async def start(self) -> None:
        self._host = self._make()
        await self._host.start()

    async def close(self, *, save: bool = True) -> None:
        if self._host is not None:
            await self._host.close(save=save)


@public("af.train")
class MonitoredSession(Monitored):
    """A session whose runs are steps of a training: hooks take part in each, and after a loss a step is done again.

    The end of the input, an `OutOfRangeError`, ends the block without an error. The graph is finalized until its end. A step is
    made again on a new session, ten times at most, if the session, a hook or a thread of the coordinator raises an
    `AbortedError` or `UnavailableError`.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> async with af.train.MonitoredSession(hooks=[af.train.StopAtStepHook(last_step=3)]) as session:
        ...     while not session.should_stop():
        ...         print(await session.run(step))
        1
        2
        3

    Args:
        session_creator: opens the session; a `ChiefSessionCreator` unless given.
        hooks: take part in the steps.
        stop_grace_period_secs: how many seconds queue runners have to end.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[Any] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, stop_grace_period_secs, lambda session: session)

    async def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Makes a step; gives the value of `fetches`.

        Args:
            fetches: see `Session.run`.
            feed_dict: values for tensors.

        Raises:
            RuntimeError: a stop was requested before.
        """
        return await perform(self._open.step(fetches, feed_dict))

    async def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """Calls a function, or awaits an `async def`, that makes a step, and gives what it gives.

        Example:
            >>> async def step_fn(step_context):
            ...     before = await step_context.session.run(v)
            ...     return before, await step_context.run_with_hooks(add)
            >>> v = af.Variable(3.0)
            >>> add = v.assign_add(1.0)
            >>> async with af.train.MonitoredSession() as session:
            ...     print(await session.run_step_fn(step_fn))
            (np.float32(3.0), np.float32(4.0))

        Args:
            step_fn: gets a `StepContext`, with a session without hooks, and `run_with_hooks`.

        Raises:
            ValueError: `step_fn` doesn't take one argument.
        """
        try:
            return await perform(self._step_fn(step_fn))
        except StopAsyncIteration:
            self._open.request_stop()
            return None

    async def close(self) -> None:
        """Calls `end` of all hooks, and closes the session.

        Example:
            >>> step = af.train.create_global_step().assign_add(1)
            >>> session = await af.train.MonitoredSession().__aenter__()
            >>> await session.run(step)
            1
            >>> await session.close()
        """
        await perform(self._end(None))

    async def __aenter__(self) -> MonitoredSession:
        await perform(self._begin())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return await perform(self._end(error)) and error is not None


@public("af.train")
class SingularMonitoredSession(MonitoredSession):
    """A `MonitoredSession` whose session can be had, and used by a `Saver` for example: `raw_session()`. A lost session is an
    error, for it is not replaced.

    Example:
        >>> v = af.Variable(3.0)
        >>> async with af.train.SingularMonitoredSession() as session:
        ...     print(await session.raw_session().run(v))
        3.0

    Args:
        hooks: take part in the steps.
        scaffold: the parts of the graph that it needs; found or made unless given.
        master: the target.
        config: options of the session, by name.
        checkpoint_dir: a folder, whose latest checkpoint is restored.
        stop_grace_period_secs: how many seconds queue runners have to end.
        checkpoint_filename_with_path: a checkpoint to restore.
    """

    _recovers = False

    def __init__(
        self,
        hooks: Sequence[Any] | None = None,
        scaffold: Scaffold | None = None,
        master: str | LocalCluster | None = None,
        config: Mapping[str, Any] | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session, whose runs call no hooks; None once it is closed."""
        return None if self._closed else self._open.session


@public("af.train")
def MonitoredTrainingSession(
    master: str | LocalCluster | None = None,
    is_chief: bool = True,
    checkpoint_dir: str | os.PathLike[str] | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Sequence[Any] | None = None,
    save_checkpoint_secs: Any = _UNSET,
    save_summaries_steps: Any = _UNSET,
    save_summaries_secs: Any = _UNSET,
    config: Mapping[str, Any] | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float | None = 7200,
    save_checkpoint_steps: Any = _UNSET,
    summary_dir: str | os.PathLike[str] | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A `MonitoredSession` with the hooks of a usual training: checkpoints, summaries, and a count of steps.

    Example:
        >>> v = af.Variable(3.0)
        >>> train = af.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=af.train.create_global_step())
        >>> stop = af.train.StopAtStepHook(last_step=10)
        >>> async with af.train.MonitoredTrainingSession(checkpoint_dir="run", hooks=[stop]) as session:
        ...     while not session.should_stop():
        ...         await session.run(train)
        >>> af.train.latest_checkpoint("run")
        'run/model.ckpt-10'

    Args:
        master: the target, or a `LocalCluster`; the environment's `ACTORFLOW_TARGET` unless given, or else this
            process.
        is_chief: whether it gives variables their values and saves them; others wait for the chief.
        checkpoint_dir: a folder to restore from and save to.
        scaffold: the parts of the graph that it needs; found or made unless given.
        hooks: take part in the steps.
        chief_only_hooks: take part in them where this is the chief.
        save_checkpoint_secs: after how many seconds a checkpoint is made: 600 unless it or the steps are given.
        save_summaries_steps: after how many steps summaries are written: 100 unless it or the seconds are given.
        save_summaries_secs: after how many seconds they are.
        config: options of the session, by name.
        stop_grace_period_secs: how many seconds queue runners have to end.
        log_step_count_steps: after how many steps the log tells of the steps a second.
        max_wait_secs: how many seconds a worker waits for the chief.
        save_checkpoint_steps: after how many steps a checkpoint is made.
        summary_dir: a folder for summaries; `checkpoint_dir` unless given.
        save_graph_def: whether to write the graph beside checkpoints.
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(
            WorkerSessionCreator(scaffold, master, config, max_wait_secs), hooks, stop_grace_period_secs
        )
    if save_summaries_steps is _UNSET and save_summaries_secs is _UNSET:
        save_summaries_steps = 100
    if save_checkpoint_secs is _UNSET and save_checkpoint_steps is _UNSET:
        save_checkpoint_secs = 600
    summary_steps, summary_secs = _positive(save_summaries_steps), _positive(save_summaries_secs)
    save_steps, save_secs = _positive(save_checkpoint_steps), _positive(save_checkpoint_secs)
    hook_list = list(chief_only_hooks or ())
    folder = os.fspath(summary_dir or checkpoint_dir or "")
    if folder and (steps := _positive(log_step_count_steps)):
        hook_list.append(StepCounterHook(steps, output_dir=folder))
    if folder and (summary_steps or summary_secs):
        hook_list.append(SummarySaverHook(summary_steps, summary_secs, folder, scaffold=scaffold))
    if checkpoint_dir and (save_steps or save_secs):
        hook_list.append(
            CheckpointSaverHook(checkpoint_dir, save_secs, save_steps, scaffold=scaffold, save_graph_def=save_graph_def)
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*hook_list, *(hooks or ())], stop_grace_period_secs)


def _check_step_fn(step_fn: Callable[..., Any]) -> None:
    try:
        inspect.signature(step_fn).bind(None)
    except TypeError:
        raise ValueError(
            "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an instance "
            f"method; it is {getattr(step_fn, '__qualname__', step_fn)}{inspect.signature(step_fn)}."
        ) from None


def _positive(value: Any) -> Any:
    """A pause, or None for a pause that was not given, or says never."""
    return None if value is _UNSET or value is None or value <= 0 else value


MonitoredSession.StepContext = StepContext  # type: ignore[attr-defined]  # where TensorFlow's programs look for it
