"""The steps that a client has in flight at its master: which of them only wait, and so lend their places to others; and reports
of what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from actorflow.cluster.wire.rpc import interrupt
from actorflow.engine.passes.compile import RunSignature
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.session.waiting.admission import Admission
from actorflow.engine.session.waiting.deadlock import STANDSTILL_SECONDS
from actorflow.errors import OpError, Overloaded
from actorflow.graph.node import Node

_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.25
_ASK_SECONDS = 1.0
_MOST_WANTED = 3


@dataclass(slots=True, eq=False)
class InFlightStep:
    """A step in flight, or a part of a partial run. It is for the `signature`, and began at `since`. A step waits for the `reply`
    to its request, and a part ends with its `scope`. `refused` is the error of a step that waits if too many steps do."""

    step: int
    signature: RunSignature
    loop: asyncio.AbstractEventLoop
    since: float
    scope: anyio.CancelScope | None
    reply: asyncio.Future[Any] | None = None
    waits: bool = False
    doubted: bool = False
    refused: Overloaded | None = None

    def age(self) -> float:
        """How many seconds ago it began."""
        return self.loop.time() - self.since

    def refuse(self, error: Overloaded) -> None:
        """Ends it with `error`."""
        self.refused = error
        if self.scope is not None:
            self.scope.cancel()
        elif self.reply is not None and not self.reply.done():
            interrupt(self.reply, error)


class InFlightSteps:
    """The steps of one session.

    A step here can't see whether its nodes on the tasks only wait. As long as others wait for their turn, and only then, the
    master is asked: steps that nothing holds up cost nothing more, and those that wait for each other find their turn.

    Args:
        admission: counts the steps.
        ask: gives the numbers of those steps that only wait now. Raises OpError where the master is gone.
    """

    def __init__(self, admission: Admission, ask: Callable[[], Awaitable[Iterable[int]]]) -> None:
        self._admission = admission
        self._ask = ask
        self._flights: dict[InFlightStep, None] = {}
        self._root: BackgroundTasks | None = None
        self._asking = False
        self.on_begun: Callable[[], object] | None = None
        """Called when a step begins."""
        admission.on_queued = self._begin_looking

    def __iter__(self) -> Iterator[InFlightStep]:
        """In the order in which they began."""
        return iter(self._flights)

    def begin(self, step: int, signature: RunSignature, scope: anyio.CancelScope | None = None) -> InFlightStep:
        """A step that has a place, or a part of a step, which `scope` ends, is about to be asked for."""
        loop = asyncio.get_running_loop()
        flight = InFlightStep(step, signature, loop, loop.time(), scope)
        self._flights[flight] = None
        if self.on_begun is not None:
            self.on_begun()
        return flight

    def end(self, entry: InFlightStep) -> None:
        """It is over; its place has to be given back yet."""
        del self._flights[entry]
        if entry.waits:
            self._admission.end_waiting()

    def _begin_looking(self) -> None:
        if not self._asking:
            self._asking = True
            if self._root is None:
                self._root = BackgroundTasks()
            self._root.start(self._look())

    async def close(self) -> None:
        """Asks no more."""
        if self._root is not None:
            await self._root.close()

    async def _look(self) -> None:
        """Asks while others wait for their turn, less often where that changes nothing."""
        pause = _FIRST_PAUSE
        try:
            while self._admission.queued:
                steps: Iterable[int] = ()
                with anyio.move_on_after(_ASK_SECONDS):
                    try:
                        steps = await self._ask()
                    except OpError:
                        pass  # its steps end by the same, and give their places back
                pause = _FIRST_PAUSE if self._note(set(steps)) else min(2 * pause, _LONGEST_PAUSE)
                await anyio.sleep(pause)
        finally:
            self._asking = False

    def _note(self, waiting: set[int]) -> bool:
        """Gives up the places of steps that wait, and takes places for steps that wait no more. Whether there were any."""
        changed = False
        for entry in list(self._flights):
            if entry.waits == (entry.step in waiting):
                continue
            changed = True
            if entry.waits:
                entry.waits = False
                self._admission.end_waiting()
                continue
            refused = self._admission.begin_waiting()
            if refused is None:
                entry.waits = True
            elif entry.doubted:
                entry.refuse(refused)
            entry.doubted = refused is not None  # it may have waited for that moment only
        return changed


class WaitReports:
    """Reports of what the steps of one session wait for. While one takes longer than a second, the tasks are asked each second.

    Args:
        steps: those in flight.
        ask: gives the lines of each step that the tasks know, by its number.
        nodes: of the graph.
    """

    def __init__(
        self,
        steps: InFlightSteps,
        ask: Callable[[], Awaitable[Mapping[int, Sequence[str]]]],
        nodes: Mapping[str, Node],
    ) -> None:
        self._steps = steps
        self._ask = ask
        self._nodes = nodes
        self._told: Mapping[int, Sequence[str]] = {}
        """The latest answers of the tasks."""
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._root: BackgroundTasks | None = None
        steps.on_begun = self._look_later

    def pending(self) -> str:
        """A report of all steps."""
        lines: list[str] = []
        for step, entry in {entry.step: entry for entry in self._steps}.items():
            lines.append(f"step {step}:")
            lines += self._told.get(step) or self._wanted(entry)
        return "\n".join(lines) or "no step is in flight"

    async def inquire(self) -> None:
        """Asks the tasks now."""
        if next(iter(self._steps), None) is not None:
            self._told = await self._ask()

    def _wanted(self, entry: InFlightStep) -> list[str]:
        """A report of a step about which the tasks have not answered yet."""
        signature = entry.signature
        names = dict.fromkeys([*(tensor_id.node for tensor_id in signature.fetches), *signature.targets])
        nodes = [self._nodes[name] for name in names]
        listed = ", ".join(f"{node.name} ({node.op}, {node.where})" for node in nodes[:_MOST_WANTED])
        more = f" and {len(nodes) - _MOST_WANTED} more" if len(nodes) > _MOST_WANTED else ""
        return [f"{listed}{more} wanted for {entry.age():.1f} s; its tasks have not been asked yet"]

    def _look_later(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(STANDSTILL_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        first = next(iter(self._steps), None)
        if first is None or self._closed:
            return
        if first.age() < STANDSTILL_SECONDS:
            self._look_later()
            return
        if self._root is None:
            self._root = BackgroundTasks()
        self._root.start(self._look_now())

    async def _look_now(self) -> None:
        self._told = await self._ask()
        self._look_later()

    async def close(self) -> None:
        """Asks no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._root is not None:
            await self._root.close()
