"""`supervised`: the chief of a workload: the real `Supervisor`, and whoever starts it again when it has ended with an error.

It saves checkpoints, begins an epoch after each loss, and restores the last checkpoint in it, under all faults. Its
actions are told to the run, and to the book of the workload's counters, at the moment of each.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar
from unittest import mock

import anyio

import actorflow as af
from actorflow.errors import AbortedError, OpError
from actorflow.supervisor import RestartPolicy, Restored
from actorflow.training.supervisor import supervisor as supervisor_module
from actorflow.training.supervisor.model_state import ModelState
from actorflow.training.supervisor.saves import Checkpoints
from simulation.checks import check_documented
from simulation.run import CONNECT_SECONDS, STEP_SECONDS, Run

_PAUSE = 0.1
_OFTEN = RestartPolicy(most=1000, longest_seconds=0.5)
"""Faults come by the dozen here, within seconds."""
M = TypeVar("M", bound="Made")


class Made(Protocol):
    """The graph that a workload's chief has made, with a global step."""

    graph: af.Graph


class Notes:
    """The listener that wants to know of checkpoints, by the global step that they are of; 0 stands for initial values
    too."""

    def save_begins(self, step: int) -> None:
        """A checkpoint may come to be from now on."""

    def save_ends(self, step: int) -> None:
        """It is there."""

    def restored(self, step: int) -> None:
        """Variables have its values, and no other client's step has come yet."""


class Watched(af.Supervisor):
    """A supervisor whose work is seen: phases are marked, and checkpoints noted."""

    def __init__(self, run: Run, model: ModelState, notes: Notes, **options: Any) -> None:
        with mock.patch.object(supervisor_module, "ModelState", lambda *arguments, **options: model):
            super().__init__(
                run.supervised,
                model.graph,
                checkpoint_dir=run.folder,
                restarts=_OFTEN,
                session_options={"connect_timeout": CONNECT_SECONDS},
                seed=run.world.seed,
                **options,
            )
        self._run, self._notes = run, notes
        run.phases.is_restoring = self._is_restoring
        run.begins(self)

    async def step(self, fetches: Any, feeds: Any = None) -> Any:
        """A step of the workload, with a deadline."""
        try:
            with self._run.phases.during("RunStep"):
                found = await self._run.in_time(self.run(fetches, feeds, timeout=STEP_SECONDS))
        except OpError as error:
            check_documented(error)
            self._run.ended(error)
            raise
        self._run.ended(None)
        return found

    def take_back(self) -> None:
        """Lets all go back to the last checkpoint, though nothing is lost."""
        assert self._manager is not None
        self._manager.take_back(AbortedError("The workload goes back to its last checkpoint."))

    def _is_restoring(self) -> bool:
        """Whether all tasks are there, and an epoch is begun on them."""
        manager = self._manager
        return manager is not None and manager._phase is not None and all(life.is_up for life in self.lives.values())

    async def _prepare(self) -> tuple[str | None, int, bool]:
        with self._run.phases.during("restore"):
            found = await super()._prepare()
        restored = self.history[-1]
        assert isinstance(restored, Restored)
        self._run.restored(restored.step)
        self._notes.restored(restored.step)
        return found

    def _checkpoints(self, *arguments: Any) -> Checkpoints:
        checkpoints = super()._checkpoints(*arguments)
        write = checkpoints.write

        async def noted(step: int, taken: Callable[[], object] = lambda: None) -> str:
            self._notes.save_begins(step)
            with self._run.phases.during("commit"):
                path = await write(step, taken)
            self._run.committed(step, path)
            self._notes.save_ends(step)
            return path

        checkpoints.write = noted  # type: ignore[method-assign]
        return checkpoints


@functools.cache
def graph_of(make: Callable[[], M], folder: str) -> tuple[M, ModelState]:
    """The result of `make()`, and the supervisor's nodes beside. It is the same in each process of each seed, so it is
    made once."""
    made = make()
    return made, ModelState(made.graph, folder, max_to_keep=3)


async def supervised(
    run: Run,
    make: Callable[[], M],
    train: Callable[[Watched, M], Awaitable[None]],
    notes: Notes | None = None,
    *,
    fresh: bool = False,
    **options: Any,
) -> None:
    """Runs `train` under a supervisor, in a graph as a program makes it whenever its process is started. If that ends
    with a documented error, such as that of a disk that does not take the number of an epoch, there is another one; so
    also if it has ended in the middle of a loss before anything was saved. With `fresh` each has a graph of its own, for
    supervisors that add nodes."""
    graph = graph_of.__wrapped__ if fresh else graph_of
    while True:
        made, model = graph(make, run.folder)
        assert model.saver is not None
        model.saver.set_last_checkpoints([])
        try:
            async with Watched(run, model, notes or Notes(), **options) as supervisor:
                await train(supervisor, made)
            if run.saves:
                return
        except OpError as error:
            check_documented(error)
            run.ended(error)
            await anyio.sleep(_PAUSE)
