"""Summaries and profiles of a training, in files of events."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from actorflow.base.process import machine
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.models.summary.file_writer import FileWriter, FileWriterCache
from actorflow.models.summary.protos import Summary
from actorflow.public import public
from actorflow.training.monitored.commands import Await, Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer, counted


@public("af.train")
class SummarySaverHook(SessionRunHook):
    """Writes summaries every few steps or seconds.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> loss = af.summary.scalar("loss", 1.0 / af.cast(step, af.float32))
        >>> hook = af.train.SummarySaverHook(save_steps=2, output_dir="run", summary_op=loss)
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     for _ in range(4):
        ...         _ = await session.run(step)
        >>> [event.step for event in af.summary.read_events("run") for value in event.summary.value if value.tag == "loss"]
        [1, 3]

    Args:
        save_steps: after how many steps they are written again.
        save_secs: after how many seconds they are. One of the two is given.
        output_dir: a folder for the files of events.
        summary_writer: what writes them; a writer for `output_dir` unless given.
        scaffold: a `Scaffold`, whose `summary_op` is run.
        summary_op: the summary to run, or a list of these. Either `scaffold` or `summary_op` is given.

    Raises:
        ValueError: not exactly one of the pauses, or not exactly one of the arguments `scaffold` and `summary_op`, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold = summary_op, scaffold
        self._writer, self._folder = summary_writer, output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._next: int | None = None
        self._step = counted("SummarySaverHook")
        if self._writer is None and self._folder:
            self._writer = writer_for(self._folder)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._is_due = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches: dict[str, Any] = {"global_step": self._step}
        if self._is_due and (summaries := self._summaries()):
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        if self._is_due:
            return act(run_context.session, self._write(run_context.session, run_values.results))
        self._next = int(run_values.results["global_step"]) + 2
        return None

    def _write(self, session: Any, results: Mapping[str, Any]) -> Program[None]:
        step = int((yield from run(session, self._step)))
        self._timer.update_last_triggered_step(step)
        self._next = step + 1
        if self._writer is not None:
            for summary in results.get("summary", ()):
                self._writer.add_summary(summary, step)

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        summary = self._scaffold.summary_op if self._op is None else self._op
        return [] if summary is None else summary if isinstance(summary, list) else [summary]


@public("af.train")
class ProfilerHook(SessionRunHook):
    """Writes what ran when in a step, every few steps or seconds: `timeline-<step>.json`, for Chrome's trace viewer.

    Example:
        >>> import glob
        >>> step = af.train.create_global_step().assign_add(1)
        >>> async with af.train.MonitoredSession(hooks=[af.train.ProfilerHook(save_steps=1, output_dir="run")]) as session:
        ...     for _ in range(2):
        ...         _ = await session.run(step)
        >>> sorted(glob.glob("run/timeline-*"))[:1]
        ['run/timeline-2.json']

    Args:
        save_steps: after how many steps the next step is traced.
        save_secs: after how many seconds it is. One of the two is given.
        output_dir: the folder of the files.
        show_dataflow: accepted for compatibility, without effect.
        show_memory: accepted for compatibility, without effect.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._folder = output_dir
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._next: int | None = None
        self._step = counted("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._is_due = self._next is not None and self._timer.should_trigger_for_step(self._next)
        return SessionRunArgs(self._step, None, Trace() if self._is_due else None)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        stale = int(run_values.results)
        if self._next is None:
            self._timer.update_last_triggered_step(stale)
        self._next = stale + 2
        return act(run_context.session, self._write(run_context.session, run_values)) if self._is_due else None

    def _write(self, session: Any, values: SessionRunValues) -> Program[None]:
        step = int((yield from run(session, self._step)))
        self._timer.update_last_triggered_step(step)
        self._next = step + 1
        path = os.path.join(self._folder, f"timeline-{step}.json")
        yield Await(lambda: machine.on_thread(_write_timeline, path, values.run_metadata))


def _write_timeline(path: str, trace: Trace) -> None:
    """The events of a trace in Chrome's format: a process a device, times in microseconds."""
    import json

    devices = sorted({event.device for event in trace.events})
    rows: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": devices.index(device), "args": {"name": device}}
        for device in devices
    ]
    for event in trace.events:
        rows.append(
            {
                "name": event.node,
                "cat": "Op",
                "ph": "X",
                "pid": devices.index(event.device),
                "tid": 0,
                "ts": event.begun / 1e3,
                "dur": event.running / 1e3,
            }
        )
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": rows}, file)


def writer_for(folder: str) -> FileWriter:
    """The writer of summaries that all of this process share for a folder."""
    return FileWriterCache.get(folder)


def scalars(values: Mapping[str, float]) -> Summary:
    """A summary of numbers by tag."""
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(value)) for tag, value in values.items()])
