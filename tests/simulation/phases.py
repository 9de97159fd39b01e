"""The work of a cluster at a moment: the phases of its work that a fault can meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from actorflow.testing import World

if TYPE_CHECKING:
    from simulation.tasks import Tasks

PHASES = ("handshake", "RunStep", "mid-chunk", "commit", "restore", "drain")
"""Those of each workload, or of most."""
MOVE = "move"
ALL_PHASES = (*PHASES, MOVE)
_BULK = 1


class Phases:
    """Which phases are under way anywhere in the cluster. Programs mark what only they know (a save, a restore, a drain);
    the rest is seen from the outside."""

    def __init__(self, world: World, tasks: Tasks) -> None:
        self._world = world
        self._tasks = tasks
        self._marked: dict[str, int] = {}
        self.on_enter: Callable[[str], object] = lambda phase: None
        """Called when something begins that belongs to a phase."""
        self.is_restoring: Callable[[], bool] = lambda: False
        """Whether a supervisor begins an epoch, and restores values in it."""

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """A block that belongs to `phase`."""
        self._marked[phase] = self._marked.get(phase, 0) + 1
        self.on_enter(phase)
        try:
            yield
        finally:
            self._marked[phase] -= 1

    def now(self) -> list[str]:
        """The phases that are under way."""
        found = {phase for phase, count in self._marked.items() if count}
        if self.is_restoring():
            found.add("restore")
        for server in self._tasks.servers.values():
            if server.worker.steps.running:
                found.add("RunStep")
            if server.draining:
                found.add("drain")
        for station in self._world.network.stations.values():
            for end in station.ends:
                channel: Any = getattr(end.take, "__self__", None)
                if channel is None or channel.core.peer is None:
                    found.add("handshake")
                elif channel.core.outbox.tensors or end._lanes[_BULK].sent > end._lanes[_BULK].arrived:
                    found.add("mid-chunk")
        return [phase for phase in ALL_PHASES if phase in found]
