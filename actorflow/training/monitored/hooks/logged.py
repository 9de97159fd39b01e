"""Tensors, and steps a second, in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.graph.default_graph import get_default_graph
from actorflow.public import public
from actorflow.training.monitored.commands import Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.timer import NeverTimer, SecondOrStepTimer, counted

_LOG = get_logger("training")
_WARNINGS = 5


@public("af.train")
class LoggingTensorHook(SessionRunHook):
    """Writes tensors to the log, every few steps or seconds, or at the end.

    Example:
        >>> loss = af.placeholder_with_default(0.25, [], name="loss")
        >>> hook = af.train.LoggingTensorHook({"loss": loss}, every_n_iter=10, formatter=lambda values: print(values) or "")
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     _ = await session.run(loss)
        {'loss': np.float32(0.25)}

    Args:
        tensors: a dict from tags to tensors or their names, or several tensors or names.
        every_n_iter: after how many steps of this training the values are written again.
        every_n_secs: after how many seconds they are. At most one of the two is given.
        at_end: whether to write them at the end too.
        formatter: a function from a dict of values by tag to the text of the record's field `values`.

    Raises:
        ValueError: the pauses are none of these.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tags: list[Any] = sorted(tensors)
            self._named: dict[Any, Any] = dict(tensors)
        else:
            self._tags = list(tensors)
            self._named = {tag: tag for tag in self._tags}
        self._formatter, self._at_end = formatter, at_end
        self._timer = NeverTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._count = 0
        self._tensors = {tag: element(tensor) for tag, tensor in self._named.items()}
        self._args = SessionRunArgs(self._tensors)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._is_due = self._timer.should_trigger_for_step(self._count)
        return self._args if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._is_due:
            self._write(run_values.results)
        self._count += 1

    def end(self, session: Any) -> Any:
        return act(session, self._write_last(session)) if self._at_end else None

    def _write_last(self, session: Any) -> Program[None]:
        self._write((yield from run(session, self._tensors)))

    def _write(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter is not None:
            shown = self._formatter(values)
        else:
            with np.printoptions(suppress=True):
                shown = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        self._log(shown, seconds)

    def _log(self, shown: str, seconds: float | None) -> None:
        """Writes a text of values, and the seconds since the last."""
        took = {} if seconds is None else {"seconds": round(seconds, 3)}
        _LOG.info("tensors", values=shown, **took)


@public("af.train")
class StepCounterHook(SessionRunHook):
    """Counts steps a second, in the log and in summaries.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> with af.summary.FileWriter("run") as writer:
        ...     hook = af.train.StepCounterHook(every_n_steps=2, summary_writer=writer)
        ...     async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...         for _ in range(5):
        ...             _ = await session.run(step)
        >>> [value.tag for event in af.summary.read_events("run") for value in event.summary.value]
        ['global_step/sec', 'global_step/sec']

    Args:
        every_n_steps: after how many steps they are counted again.
        every_n_secs: after how many seconds they are. One of the two is given.
        output_dir: a folder for summaries.
        summary_writer: what writes summaries; a writer for `output_dir` unless given.
        told: a function that is called with the global step and the steps a second.

    Raises:
        ValueError: none or both of the pauses are given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        *,
        told: Callable[[int, float], object] | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._folder, self._writer, self._told = output_dir, summary_writer, told
        self._last: int | None = None
        self._warned = 0

    def begin(self) -> None:
        self._step = counted("StepCounterHook")
        if self._writer is None and self._folder:
            from actorflow.training.monitored.hooks.summaries import writer_for

            self._writer = writer_for(self._folder)
        self._tag = f"{self._step.op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        stale = int(run_values.results)
        if stale == self._last and self._warned < _WARNINGS:
            self._warned += 1
            self._warn(stale)
        self._last = stale
        if self._timer.should_trigger_for_step(stale + 1):
            return act(run_context.session, self._count(run_context.session))
        return None

    def _count(self, session: Any) -> Program[None]:
        step = int((yield from run(session, self._step)))
        if not self._timer.should_trigger_for_step(step):
            return
        seconds, steps = self._timer.update_last_triggered_step(step)
        if seconds and steps is not None:
            self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            from actorflow.training.monitored.hooks.summaries import scalars

            self._writer.add_summary(scalars({self._tag: rate}), global_step)
        if self._told is not None:
            self._told(global_step, rate)
        self._log(rate)

    def _warn(self, step: int) -> None:
        """Says that the global step stands still."""
        _LOG.warning(
            "The global step has not been increased: pass it to minimize or apply_gradients.", global_step=step
        )

    def _log(self, rate: float) -> None:
        """Writes the steps a second."""
        _LOG.info("steps a second", tag=self._tag, rate=float(f"{rate:g}"))


def element(tensor: Any) -> Any:
    """A tensor of the default graph, by itself or by its name; the name of an operation with one output is enough.

    Raises:
        ValueError: it is of another graph, or the operation has several outputs.
    """
    graph = get_default_graph()
    if not isinstance(tensor, str):
        if getattr(tensor, "graph", None) is not graph:
            raise ValueError(f"Passed {tensor} should have graph attribute that is equal to current graph {graph!r}.")
        return tensor
    if ":" in tensor:
        return graph.as_graph_element(tensor)
    operation = graph.get_operation_by_name(tensor)
    if len(operation.outputs) > 1:
        raise ValueError(f"Name {tensor} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return graph.as_graph_element(f"{tensor}:0")
