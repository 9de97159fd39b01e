"""`FailureClassifier`: whether an error of a run is a loss, which is no concern of the program's, or the program's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import anyio

from actorflow.base.reports.logs import get_logger
from actorflow.cluster.client.engine import RemoteEngine
from actorflow.engine.session.session import Session
from actorflow.engine.transport.heartbeat import Heartbeat
from actorflow.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, OpError, UnavailableError
from actorflow.training.supervisor.events import Events, StepAborted
from actorflow.training.supervisor.model_state import ModelState
from actorflow.training.supervisor.recovery.attempts import Attempt
from actorflow.training.supervisor.recovery.chief_failure import ChiefWait
from actorflow.training.supervisor.recovery.manager import STEPS, RecoveryManager
from actorflow.training.supervisor.recovery.restarts import Restarts
from actorflow.training.supervisor.recovery.run_gate import RunGate, first_line

_LOG = get_logger("supervisor")
_LOSSES = (UnavailableError, AbortedError, DeadlineExceededError)
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 1.0


@dataclass(slots=True)
class FailureClassifier:
    """Judges the errors of one supervisor's runs. See `Supervisor` for what the fields are."""

    gate: RunGate
    model: ModelState
    session: Session
    restarts: Restarts
    events: Events
    is_chief: bool
    recovery: str
    heartbeat: Heartbeat
    wait_seconds: float | None
    manager: RecoveryManager | None = None

    async def is_loss(self, error: BaseException, attempt: Attempt) -> bool:
        """Whether an error of a run is a loss, for which there has to be evidence soon, or else not many of them in a row."""
        leaves = _leaves(error)
        if self._is_quiet(attempt):
            if not isinstance(self.session._engine, RemoteEngine):
                return False
            if not all(isinstance(leaf, (*_LOSSES, FailedPreconditionError)) for leaf in leaves):
                return False
            if _has(leaves, FailedPreconditionError) and not await self._lacks_values():
                return False
            await self._gather_evidence(attempt)
        if self._is_quiet(attempt):
            pause = self.restarts.next_pause(STEPS, anyio.current_time())
            if pause is None or _has(leaves, DeadlineExceededError):
                return False
            _LOG.warning("a step failed, and nothing was lost; it is tried again", error=str(error), pause=pause)
            await anyio.sleep(pause)
            if self.manager is not None and self.recovery == "all" and self._is_quiet(attempt):
                self.manager.take_back(AbortedError(f"A step failed: {first_line(leaves[0])}"))
        if attempt.step >= 0:
            taken_back = attempt.generation != self.gate.generation
            self.events.tell(
                StepAborted, attempt.step, first_line(self.gate.loss or error if taken_back else leaves[0])
            )
        if not self.is_chief:
            await self.wait_for_chief()
        elif self.manager is not None and self.recovery == "task":
            await self.gate.until_turned_back(self.manager.monitor.all_up)
        return True

    def _is_quiet(self, attempt: Attempt) -> bool:
        """Whether nothing is known to be lost since the attempt began. Raises the failure that ends all."""
        if self.gate.failure is not None:
            raise self.gate.failure
        missing = () if self.manager is None else self.manager.monitor.missing
        return attempt.generation == self.gate.generation and not missing

    async def _gather_evidence(self, attempt: Attempt) -> None:
        """Waits for the monitor to see what a run has felt, for some heartbeats at most. The first time it waits only until all
        tasks have answered; where a step fails again, two that both answer may not reach each other, which may pass."""
        if self.manager is None:
            return
        monitor = self.manager.monitor
        with anyio.move_on_after(self.heartbeat.evidence_seconds):
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    await monitor.all_answer()
                    group.cancel_scope.cancel()

                if not self.restarts.in_row(STEPS):
                    group.start_soon(ask)
                while self._is_quiet(attempt):
                    await monitor.next_change()
                group.cancel_scope.cancel()

    async def wait_for_chief(self, start_seconds: float = math.inf) -> None:
        """Waits until the chief has given variables their values, and gives this task's local variables their values.

        Raises:
            DeadlineExceededError: that takes more than `wait_seconds`.
            UnavailableError: tasks are absent for more than `start_seconds`; names them.
        """
        pause, begin = _SHORTEST_WAIT, anyio.current_time()
        wait = ChiefWait(self.session)
        with anyio.move_on_after(self.wait_seconds):
            while True:
                absent: OpError | None = None
                try:
                    if await self.model.follow(self.session):
                        self.gate.open()
                        return
                except _LOSSES as error:
                    absent = error
                if absent is not None and anyio.current_time() - begin > start_seconds:
                    raise absent
                await wait.look(absent)
                await anyio.sleep(pause * (0.5 + self.restarts.draw() / 2))
                pause = min(pause * 2, _LONGEST_WAIT)
        raise DeadlineExceededError(
            f"The chief has not given all variables their values within {self.wait_seconds:g} s.",
            details=[f"The chief has failed: {line}" for line in wait.failure.splitlines()[:1]],
            hint="Does the chief run (is_chief=True), with a graph that has the same variables?",
        )

    async def _lacks_values(self) -> bool:
        """Whether variables have lost their values, or that can't be asked."""
        try:
            return bool(await self.model.missing(self.session))
        except _LOSSES:
            return True


def _has(errors: list[BaseException], kind: type[BaseException]) -> bool:
    return any(isinstance(error, kind) for error in errors)


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]
