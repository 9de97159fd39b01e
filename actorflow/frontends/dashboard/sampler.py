"""`Sampler`: asks a cluster or a session, and makes rates of counters."""

from __future__ import annotations

import heapq
import os
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio

from actorflow.cluster.client.inquiries import connect, query_status
from actorflow.cluster.config.credentials import Credentials, Target
from actorflow.cluster.wire.recorded import of_the_last, recorded_by
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.session.session import Session
from actorflow.errors import OpError
from actorflow.models.data.resource import pullings
from actorflow.models.data.statistics import SLOW

HISTORY = 120
"""Points of each curve."""
MOST_EVENTS = 200
LATE = 0.5
"""Seconds of an event loop's delay that somebody should look at."""
MOST_LINKS = 64


class TaskSource(Protocol):
    """The tasks that are asked."""

    async def ask(self) -> dict[str, dict[str, Any]]:
        """The status of each task, by its name, in JSON's types (`Server.status`); of a lost one its state and error."""

    async def recent(self, seconds: float, step: int | None = None) -> Trace:
        """The steps of the last seconds that the tasks remember, or a single step."""


class ClusterSource:
    """All tasks of a cluster.

    Args:
        target: the address of any of them.
        credentials: the cluster's keys; None for a cluster of this machine that has none.
        timeout: seconds after which a task counts as lost.
    """

    def __init__(self, target: str, credentials: Credentials | None = None, timeout: float = 2.0) -> None:
        self._first = Target(target, credentials)
        self._timeout = timeout
        self._known: dict[str, Target] = {}

    async def ask(self) -> dict[str, dict[str, Any]]:
        """See `TaskSource`. Tasks that were known stay, and are lost if they don't answer."""
        states: dict[str, dict[str, Any]] = {}

        async def ask_task(name: str, target: Target) -> None:
            begun = time.perf_counter()
            try:
                answer = await query_status(target, timeout=self._timeout)
            except OpError as error:
                states[name] = {"task": name, "state": "lost", "error": error.message}
                return
            states[answer["task"]] = {**answer, "answer_seconds": time.perf_counter() - begun}
            keys = self._first.credentials
            self._known.update({task: Target(where, keys) for task, where in answer["tasks"].items()})

        if not self._known:
            await ask_task(self._first.address, self._first)
            if self._first.address in states:
                return states
        async with anyio.create_task_group() as group:
            for name, target in self._known.items():
                if name not in states:
                    group.start_soon(ask_task, name, target)
        return dict(sorted(states.items()))

    async def recent(self, seconds: float, step: int | None = None) -> Trace:
        """See `TaskSource`. Tasks that don't answer are left out."""
        if not self._known:
            await self.ask()
        recording = await recorded_by(self._known, connect, of_the_last(seconds, self._timeout), self._timeout, step)
        return recording.trace


class SessionSource:
    """A session in this process, as one task.

    Args:
        session: the session; it is asked on its own event loop.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._begun = time.monotonic()

    async def ask(self) -> dict[str, dict[str, Any]]:
        """See `TaskSource`."""
        statistics = self._session.statistics()
        lines = [line for line in self._session.pending().splitlines() if line.strip()]
        devices = [
            {
                "name": name,
                "type": name.rpartition(":")[0].rpartition(":")[2],
                "live_bytes": figures.memory.live_bytes,
                "peak_bytes": figures.memory.peak_bytes,
                "budget_bytes": figures.memory.budget,
                "kernels_inline": figures.inline,
                "kernels_threaded": figures.threaded,
                "swapped_out_bytes": figures.swapped_out,
                "swapped_in_bytes": figures.swapped_in,
            }
            for name, figures in statistics.devices.items()
        ]
        task = {
            "task": "session",
            "state": "live",
            "pid": os.getpid(),
            "python": sys.version.split()[0],
            "uptime": time.monotonic() - self._begun,
            "devices": devices,
            "steps": statistics.steps,
            "steps_failed": statistics.failed,
            "steps_cancelled": statistics.cancelled,
            "steps_abandoned": statistics.abandoned,
            "steps_in_flight": statistics.inflight,
            "nodes": statistics.nodes,
            "actors": dict(Counter(report.state for report in self._session.tasks())),
            "queues": [],
            "datasets": [{"name": str(pulling.node), **pulling.statistics().told()} for pulling in pullings()],
            "links": [],
            "waiting": [{"step": "", "idle": None, "lines": lines[:50]}] if lines else [],
        }
        return {"session": task}

    async def recent(self, seconds: float, step: int | None = None) -> Trace:
        """See `TaskSource`. Raises FailedPreconditionError where the session does not record its steps."""
        return self._session.recent(seconds, step)


class Sampler:
    """Asks a source every `period` seconds while somebody looks, however many they are.

    Args:
        source: who is asked.
        period: seconds from one snapshot to the next.
    """

    def __init__(self, source: TaskSource, period: float = 1.0) -> None:
        self.source = source
        self._period = period
        self._watchers = 0
        self._events: deque[dict[str, Any]] = deque(maxlen=MOST_EVENTS)
        self._before: dict[str, dict[str, Any]] | None = None
        self._history: deque[tuple[float, float]] = deque(maxlen=HISTORY)
        self._counts: dict[str, tuple[float, int]] = {}
        self._number = 0

    async def snapshot(self) -> dict[str, Any]:
        """The tasks as they are now, with steps a second since the last snapshot."""
        tasks = await self.source.ask()
        now = time.monotonic()
        whole = 0.0
        for name, state in tasks.items():
            steps = state.get("steps")
            before = self._counts.get(name)
            if steps is not None:
                rate = 0.0
                if before is not None and now > before[0] and steps >= before[1]:
                    rate = (steps - before[1]) / (now - before[0])
                self._counts[name] = now, steps
                state["steps_per_second"] = rate
                # Numbers of steps have 64 bits, and those of JavaScript 53.
                state["waiting"] = [{**report, "step": str(report["step"])} for report in state.get("waiting", ())]
                whole = max(whole, rate)
        said = changes(self._before, tasks) if self._before is not None else []
        self._events.extend({"time": time.time(), "task": task, "text": text} for task, text in said)
        self._before = tasks
        self._history.append((time.time(), whole))
        self._number += 1
        return {
            "number": self._number,
            "time": time.time(),
            "tasks": tasks,
            "steps_per_second": whole,
            "history": [[round(at, 3), round(rate, 3)] for at, rate in self._history],
            "problems": problems(tasks),
            "events": list(self._events),
        }

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """A block in which snapshots come; each who looks gets the newest, and misses those that it is too slow for."""
        self._watchers += 1
        try:
            yield self._snapshots()
        finally:
            self._watchers -= 1

    @property
    def watchers(self) -> int:
        """How many look."""
        return self._watchers

    async def _snapshots(self) -> AsyncIterator[dict[str, Any]]:
        seen = 0
        while True:
            if self._latest is None or self._latest["number"] <= seen:
                await self._renew(seen)
            assert self._latest is not None
            seen = self._latest["number"]
            yield self._latest
            await anyio.sleep(self._period)

    _latest: dict[str, Any] | None = None
    _asking: anyio.Event | None = None

    async def _renew(self, seen: int) -> None:
        """Makes a snapshot that is newer than `seen`, unless another watcher is about to."""
        if self._asking is not None:
            await self._asking.wait()
            if self._latest is not None and self._latest["number"] > seen:
                return
        asking = self._asking = anyio.Event()
        try:
            self._latest = await self.snapshot()
        finally:
            self._asking = None
            asking.set()


def brief(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot as pages show it: with `MOST_LINKS` links of all tasks, those that waited longest, and how many there are.

    A cluster of 64 workers has 4,000 links, and a page gets a snapshot each second.
    """
    tasks = snapshot["tasks"]
    links = [
        (link["wait_seconds"], name, at)
        for name, state in tasks.items()
        for at, link in enumerate(state.get("links", ()))
    ]
    kept: dict[str, list[int]] = {name: [] for name in tasks}
    for _, name, at in heapq.nlargest(MOST_LINKS, links):
        kept[name].append(at)
    shown = {
        name: {**state, "links": [state["links"][at] for at in kept[name]]} if "links" in state else state
        for name, state in tasks.items()
    }
    return {**snapshot, "tasks": shown, "links": len(links)}


def changes(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The events between two snapshots, each [task, what happened to it]: losses, returns, epochs, views,
    moves of variables, failed steps."""
    events = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            events.append((name, "is not listed any more" if new is None else f"is there, {new['state']}"))
            continue
        if old["state"] != new["state"]:
            why = f": {new['error']}" if new.get("error") else ""
            events.append((name, f"was {old['state']} and is {new['state']}{why}"))
        if "incarnation" in old and new.get("incarnation", old["incarnation"]) != old["incarnation"]:
            events.append((name, "was started again"))
        elif (failed := new.get("steps_failed", 0) - old.get("steps_failed", 0)) > 0 and "steps_failed" in old:
            events.append((name, "a step failed" if failed == 1 else f"{failed} steps failed"))
        if new.get("epoch", 0) > old.get("epoch", new.get("epoch", 0)):
            events.append((name, f"is in epoch {new['epoch']} now"))
        if new.get("view", 0) > old.get("view", new.get("view", 0)):
            events.append((name, f"has view {new['view']} of the cluster now, {len(new['tasks'])} members"))
        if new.get("leaving") and not old.get("leaving"):
            events.append((name, "is about to leave"))
        if (moved := new.get("moved_variables", 0) - old.get("moved_variables", new.get("moved_variables", 0))) > 0:
            events.append((name, f"{moved} variables have moved to other tasks"))
    return events


def problems(tasks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The problems that somebody should look at, in words: lost tasks, queues that hold steps up, memory that is nearly full."""
    lines = []
    for name, state in tasks.items():
        if state.get("state") != "live":
            lines.append(f"{name} is {state.get('state')}. {state.get('error', '')}".strip())
        for queue in state.get("queues", ()):
            if queue.get("waiting_to_take") and not queue.get("size"):
                lines.append(
                    f"Queue {queue['name']!r} on {name} is empty, and {queue['waiting_to_take']} operations wait for it."
                )
            if queue.get("waiting_to_put"):
                lines.append(
                    f"Queue {queue['name']!r} on {name} is full, and {queue['waiting_to_put']} operations wait for room."
                )
        for dataset in state.get("datasets", ()):
            if (dataset["waited"] or 0.0) >= SLOW and dataset["slowest"] is not None:
                slowest = dataset["stages"][dataset["slowest"]]
                lines.append(
                    f"Steps wait for the dataset {dataset['name']!r} on {name} {dataset['waited']:.0%} of the time; its slowest "
                    f"stage is {slowest['kind']}, made at {slowest['where']}."
                )
        if state.get("loop_delay", 0.0) > LATE:
            lines.append(f"The event loop of {name} came {state['loop_delay']:.1f} s late: something blocks it.")
        for device in state.get("devices", ()):
            budget = device.get("budget_bytes")
            if budget and device["live_bytes"] > 0.95 * budget:
                lines.append(f"{device['name']} holds {device['live_bytes']:,} of {budget:,} bytes.")
    for versions in ({status["python"] for status in tasks.values() if "python" in status},):
        if len(versions) > 1:
            lines.append(f"The tasks run several versions of Python: {', '.join(sorted(versions))}.")
    return lines
