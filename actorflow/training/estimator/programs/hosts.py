"""`KeptHost`: runs the steps of one call by a supervisor, whose session may be kept for the next call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from typing import Any

from actorflow.engine.session.session import Session
from actorflow.training.estimator.programs.graphs import Built
from actorflow.training.monitored.creators import on_session
from actorflow.training.supervisor.events import Event
from actorflow.training.supervisor.supervisor import Supervisor


class KeptHost:
    """A host of a `Loop`. Its start restores a checkpoint into a kept session, or opens a session.

    Args:
        built: the graph.
        target: the target of the session, or a `LocalCluster`.
        options: options of the session, by name.
        path: the checkpoint to restore; the latest of `folder` unless given.
        folder: the folder of checkpoints.
        keeps: whether the session is kept when the call ends well, if the graph is.
        is_chief, wait_seconds, recovery, replicas: see `Supervisor`.
        fresh: whether a session is opened in any case.
        face: gives the session as an `init_fn` of the model sees it.
        init_fn: awaited with the session where no checkpoint is restored, if the model has none.
    """

    def __init__(
        self,
        built: Built,
        target: Any,
        options: Mapping[str, Any],
        *,
        path: str | None = None,
        folder: str | None = None,
        keeps: bool,
        face: Callable[[Session], Any],
        is_chief: bool = True,
        wait_seconds: float | None = None,
        recovery: str = "all",
        replicas: int | None = None,
        fresh: bool = False,
        init_fn: Callable[[Session], Awaitable[object]] | None = None,
    ) -> None:
        self._built = built
        self._keeps = keeps and built.fed is not None  # a graph with an input of its own serves one call
        self._is_new = fresh or not built.idle
        self.ended_well = False
        init_fn_given = built.scaffold.init_fn
        model = copy(built.model)  # the same nodes, with this call's checkpoint
        model.path, model.folder = path, folder
        model.init_fn = init_fn if init_fn_given is None else on_session(init_fn_given, face)
        if not self._is_new:
            self.supervisor = built.idle.pop()
            self.supervisor.model = model
        else:
            self.supervisor = Supervisor(
                target,
                built.graph,
                model=model,
                saves=False,
                is_chief=is_chief,
                wait_seconds=wait_seconds,
                recovery=recovery,
                replicas=replicas,
                session_options=options,
            )

    @property
    def session(self) -> Session:
        """The session."""
        return self.supervisor.session

    @property
    def guard(self) -> Supervisor | None:
        """The supervisor, where tasks may be lost."""
        return self.supervisor.guard

    @property
    def history(self) -> list[Event]:
        """The supervisor's events."""
        return self.supervisor.history

    async def start(self) -> None:
        """Gives variables the values of the checkpoint, or initial values."""
        if self._is_new:
            await self.supervisor.start()
        else:
            await self.supervisor.model.prepare(self.supervisor.session)

    async def close(self, *, save: bool = True) -> None:
        """Keeps the session for the next call, or closes it."""
        if self._keeps and self.ended_well:
            self._built.idle.append(self.supervisor)
        else:
            await self.supervisor.close(save=False)
