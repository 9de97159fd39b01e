"""`keeps`: the chief of workloads whose clients do not wait for each other. It judges their counters, saves and restores them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

import actorflow as af
from simulation.checks import check_documented
from simulation.ledger import Ledger
from simulation.recovery import Notes, Watched, supervised
from simulation.run import LOSSES, STEP_SECONDS, Run

_SAVE_STEPS = 4
_PAUSE = 0.08


@dataclass
class Book(Notes):
    """The notes of the counters of a model."""

    ledgers: list[Ledger]
    writers: int
    """How many programs count."""
    left: set[int] = field(default_factory=set)
    """Those that are done."""

    def save_begins(self, step: int) -> None:
        for ledger in self.ledgers:
            ledger.save_begins(step)

    def save_ends(self, step: int) -> None:
        for ledger in self.ledgers:
            ledger.save_ends(step)

    def restored(self, step: int) -> None:
        for ledger in self.ledgers:
            ledger.restored(step)

    async def counted(
        self, run: Run, k: int, session: af.Session, fetches: Any, feeds: Any = None, timeout: float = STEP_SECONDS
    ) -> Any:
        """Runs an update of ledger `k`, and gives what it fetches; None where it has failed as it may."""
        ledger, well, result = self.ledgers[k], False, None
        update = ledger.begin()
        try:
            with run.phases.during("RunStep"):
                result = await run.in_time(session.run(fetches, feeds, timeout=timeout))
            well = True
        except LOSSES as error:
            check_documented(error)
            run.ended(error)
        finally:
            ledger.end(update, well=well)
        if well:
            run.ended(None)
            await run.pause(self.writers)
        else:
            await run.pause_after_loss()
        return result


async def keeps(run: Run, book: Book, make: Callable[[], Any]) -> None:
    """The chief: looks at the counters again and again; its supervisor saves them, and restores them when their task has lost
    them. The loss of another task takes nothing back."""

    async def train(supervisor: Watched, model: Any) -> None:
        async for attempt in supervisor.steps():
            async with attempt:
                over = len(book.left) == book.writers
                await _look(supervisor, book, model)
                if over:
                    break
            await anyio.sleep(run.spread(_PAUSE))

    await supervised(run, make, train, book, recovery="task", save_steps=_SAVE_STEPS)
    run.done = True


async def _look(supervisor: Watched, book: Book, model: Any) -> None:
    """Reads the counters and judges them."""
    lows = [ledger.now.low for ledger in book.ledgers]
    _, *values = map(int, await supervisor.step(model.look))
    for k, (ledger, value, low) in enumerate(zip(book.ledgers, values, lows)):
        ledger.check(value, low, f"ledger {k}")
    for shared in values[len(lows) :]:
        assert sum(lows) <= shared <= sum(ledger.now.high for ledger in book.ledgers), values
