"""`tf.train.Supervisor`: a session, and threads that save, write summaries and fill queues.

`actorflow.Supervisor` is another class: it keeps a training going where tasks are lost. This one serves ported programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.compat.training.monitored import SessionManager
from actorflow.compat.training.saver import Saver
from actorflow.compat.v1.sessions import Session
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.export import write_graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.variables.collections import (
    GraphKeys,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from actorflow.models.lookup.tables import tables_initializer
from actorflow.models.summary.file_writer import FileWriter
from actorflow.models.summary.ops import merge_all
from actorflow.models.summary.protos import SessionLog, Summary
from actorflow.models.train.global_steps import get_global_step
from actorflow.models.train.input.coordinator import Coordinator
from actorflow.models.train.input.looper import LooperThread
from actorflow.public import public
from actorflow.training.monitored.commands import act
from actorflow.training.monitored.session_manager import tell_of_failure

_LOG = get_logger("training")


@public("tf.train")
class Supervisor:
    """A session whose variables have their values, and threads around it (`tf.train.Supervisor`).

    The chief restores the latest checkpoint of `logdir` or runs `init_op`, and saves and writes summaries on threads; other
    workers wait for it. Every part that is not given is taken from its collection, or made. None leaves a part out.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     step = tf.train.create_global_step().assign_add(1)
        ...     supervisor = tf.train.Supervisor(logdir="run")
        ...     with supervisor.managed_session() as blocking:
        ...         while not supervisor.should_stop() and blocking.run(step) < 3:
        ...             pass
        >>> tf.train.latest_checkpoint("run") is not None
        True

    Raises:
        ValueError: a worker's variables have no device.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | os.PathLike[str] | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        """
        Args:
            graph: the graph; the default one unless given.
            ready_op, ready_for_local_init_op: give the names of variables that have no value; see `SessionManager`.
            is_chief: whether this process initialises, saves and writes summaries.
            init_op, init_feed_dict, init_fn: give initial values; see `SessionManager.prepare_session`.
            local_init_op: run on each session that is opened.
            logdir: the folder of checkpoints and events; without it there are none.
            summary_op: gives the summaries that are written.
            saver: saves and restores.
            global_step: the number of the step, a variable or a tensor.
            save_summaries_secs, save_model_secs: the pauses between summaries and between checkpoints; 0 for none.
            recovery_wait_secs: the pause between two looks at what others do.
            stop_grace_secs: how long threads have to end.
            checkpoint_basename: the name of checkpoints.
            session_manager: opens sessions.
            summary_writer: writes events.
            local_init_run_options: accepted for compatibility, without effect.
        """
        self._graph = get_default_graph() if graph is None else graph
        self._is_chief, self._init_fn, self._init_feeds = is_chief, init_fn, init_feed_dict
        self._summary_secs, self._model_secs, self._grace = save_summaries_secs, save_model_secs, stop_grace_secs
        self._coord = Coordinator()
        self._graph_written = False
        keys = GraphKeys
        with self._graph.as_default():
            self._ready_op = self._part(ready_op, keys.READY_OP, report_uninitialized_variables)
            self._ready_local = self._part(ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, None)
            self._init_op = self._part(init_op, keys.INIT_OP, global_variables_initializer)
            self._local_init_op = self._part(local_init_op, keys.LOCAL_INIT_OP, _local_initializer)
            self._saver = self._part(saver, keys.SAVERS, Saver if global_variables() else None)
            self._summary_op = self._part(summary_op, keys.SUMMARY_OP, merge_all)
            self._global_step = get_global_step(self._graph) if _is_default(global_step) else global_step
        self._logdir = os.fspath(logdir) if logdir and is_chief else None
        self._save_path = None if self._logdir is None else os.path.join(self._logdir, checkpoint_basename)
        if _is_default(summary_writer):
            summary_writer = None if self._logdir is None else FileWriter(self._logdir)
        self._writer: Any = summary_writer if is_chief else None
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_local,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
        )
        if not is_chief:
            self._check_devices()

    def _part(self, argument: Any, key: str, make: Callable[[], Any] | None) -> Any:
        """A part of the graph: what was given, else the first of its collection, else a new part that is put there."""
        if not _is_default(argument):
            return argument
        collected = self._graph.get_collection(key)
        if collected:
            return collected[0]
        part = None if make is None else make()
        if part is not None:
            self._graph.add_to_collection(key, part)
        return part

    def _check_devices(self) -> None:
        for node in self._graph.get_operations():
            if node.type in ("Variable", "VariableV2") and not node.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {node.name} has none."
                )

    # ---- the parts

    @property
    def is_chief(self) -> bool:
        """Whether this process initialises and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> Any:
        """The manager that opens sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """The coordinator that stops all threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The node that gives initial values."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        """The feeds of `init_op`."""
        return self._init_feeds

    @property
    def ready_op(self) -> Any:
        """The op that gives the names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The same, before local variables get their values."""
        return self._ready_local

    @property
    def summary_writer(self) -> Any:
        """The writer of events, or None."""
        return self._writer

    @property
    def summary_op(self) -> Any:
        """The op that gives the summaries, or None."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float:
        """The pause between summaries."""
        return self._summary_secs

    @property
    def save_model_secs(self) -> float:
        """The pause between checkpoints."""
        return self._model_secs

    @property
    def global_step(self) -> Any:
        """The number of the step, or None."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The object that saves and restores, or None."""
        return self._saver

    @property
    def save_path(self) -> str | None:
        """The path of checkpoints, without the step."""
        return self._save_path

    # ---- sessions

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """A session whose variables have their values. The chief gives them; others wait for it.

        Args:
            master: the target of the session.
            config: a `ConfigProto`.
            wait_for_checkpoint: whether the chief waits until there is a checkpoint.
            max_wait_secs: for how many seconds.
            start_standard_services: whether to start the threads that save, write summaries and fill queues.

        Raises:
            RuntimeError: variables have no values then.
            DeadlineExceededError: a worker waited too long.
        """
        self._coord.clear_stop()
        if self._writer is not None:
            self._writer.reopen()
        if self._is_chief:
            session: Session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feeds,
                init_fn=self._init_fn,
            )
            try:
                self._write_graph()
                if start_standard_services:
                    self.start_standard_services(session)
            except Exception as error:
                act(session, tell_of_failure(session, error))
                raise
        else:
            session = self._session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """A block with a session as `prepare_or_wait_for_session` gives it. Its end stops all threads and closes the session.

        An error of the block, or of a thread, is raised at the end. `OutOfRangeError`, the end of the input, is none.

        Args:
            master, config, start_standard_services: see `prepare_or_wait_for_session`.
            close_summary_writer: whether to close the writer too.
        """
        session: Session | None = None
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    session.close()

    def _write_graph(self) -> None:
        if self._logdir is None:
            return
        write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._writer is not None and not self._graph_written:
            self._writer.add_graph(self._graph)
            self._graph_written = True

    # ---- threads

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Starts the threads that save, write summaries and count steps.

        Raises:
            RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if self._logdir is None:
            _LOG.warning("Standard services need a 'logdir' passed to the Supervisor.")
            return []
        if self._writer is not None and self._global_step is not None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), self._step(sess))
        started = []
        if self._writer is not None and self._summary_secs:
            if self._summary_op is not None:
                started.append(self.loop(self._summary_secs, self._write_summaries, (sess,)))
            if self._global_step is not None:
                started.append(self.loop(self._summary_secs, _StepCounter(self, sess)))
        if self._saver is not None and self._model_secs:
            started.append(self.loop(self._model_secs, self._save, (sess,)))
        return started

    def start_queue_runners(self, sess: Session, queue_runners: Sequence[Any] | None = None) -> list[Any]:
        """Starts the threads that fill queues: of all runners in the graph, unless they are given."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [
            thread
            for runner in runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A thread that calls `target` until all stop.

        Args:
            timer_interval_secs, target, args, kwargs: see `tf.train.LooperThread`.
        """
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(self, threads: Any = None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stops all threads, and raises the first error that there was.

        Args:
            threads: further threads to wait for.
            close_summary_writer: whether to close the writer.
            ignore_live_threads: whether to return, instead of raising, when threads are left.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, self._grace, ignore_live_threads)
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._writer.close()
                self._graph_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Asks all threads to stop; `ex` is raised when they are joined."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Whether a stop was asked for."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """A block whose error asks all threads to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is asked for."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: bytes | Summary, global_step: Any = None) -> None:
        """Writes a summary that the program has fetched.

        Args:
            sess: the session, for the number of the step.
            summary: the summary.
            global_step: the number of the step, if known.

        Raises:
            TypeError: `summary` is none.
            RuntimeError: there is no writer.
        """
        if not isinstance(summary, (bytes, Summary)):
            raise TypeError(f"A summary is bytes or a Summary, not a {type(summary).__name__}.")
        if self._writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        step = self._step(sess) if global_step is None and self._global_step is not None else global_step
        self._writer.add_summary(summary, step)

    def _step(self, session: Session) -> int:
        return int(session.run(self._global_step))

    def _write_summaries(self, session: Session) -> None:
        self._writer.add_summary(
            session.run(self._summary_op), self._step(session) if self._global_step is not None else None
        )

    def _save(self, session: Session) -> None:
        self._saver.save(session, self._save_path, global_step=self._global_step)
        if self._writer is not None and self._global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
            self._writer.add_session_log(log, self._step(session))

    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _StepCounter:
    """Writes how many steps there are in a second."""

    def __init__(self, supervisor: Supervisor, session: Session) -> None:
        self._supervisor, self._session = supervisor, session
        self._tag = f"{supervisor.global_step.op.name}/sec"
        self._last: tuple[float, int] | None = None

    def __call__(self) -> None:
        now, step = monotonic(), self._supervisor._step(self._session)
        if self._last is not None and now > self._last[0]:
            rate = (step - self._last[1]) / (now - self._last[0])
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._supervisor.summary_writer.add_summary(Summary(value=[value]), step)
        self._last = now, step


def _is_default(argument: Any) -> bool:
    return type(argument) is int and argument == Supervisor.USE_DEFAULT


def _local_initializer() -> Any:
    return group(local_variables_initializer(), tables_initializer(), name="local_init")
