"""`keeps`: the chief of workloads whose clients do not wait for each other. It judges their counters, saves and restores them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

import actorflow as af
from actorflow.errors import FailedPreconditionError, OpError
from simulation.checks import check_documented
from simulation.ledger import Ledger
from simulation.recovery import Recovery
from simulation.run import LOSSES, STEP_SECONDS, Run

_SAVE_ROUNDS = 4
_PAUSE = 0.08


@dataclass
class Book:
    """What is noted of the counters of a model, which has `values` (those of the counters, and at will their sum), `graph`,
    `init` and `saver`."""

    model: Any
    ledgers: list[Ledger]
    writers: int
    """How many programs count."""
    left: set[int] = field(default_factory=set)
    """Those that are done."""
    saves: int = 0

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
            await anyio.sleep(_PAUSE)
        return result


async def keeps(run: Run, book: Book) -> None:
    """The chief: looks at the counters, saves them, and restores them when their task has lost them."""

    def told(number: int) -> None:
        for ledger in book.ledgers:
            ledger.restored(number)

    async with Recovery(run, "w0", book.model, on_restored=told) as recovery:
        number = 0
        while True:
            over = len(book.left) == book.writers
            number += 1
            try:
                await _look(recovery, book)
                if (number % _SAVE_ROUNDS == 0 or over) and await _save(recovery, book) and over:
                    break
            except FailedPreconditionError:
                await recovery.recover()
            except LOSSES as error:
                check_documented(error)
                run.ended(error)
                await recovery.rejoin()
            await anyio.sleep(_PAUSE)
    run.done = True


async def _look(recovery: Recovery, book: Book) -> None:
    """Reads the counters and judges them."""
    lows = [ledger.now.low for ledger in book.ledgers]
    values = [int(value) for value in await recovery.run(book.model.values)]
    for k, (ledger, value, low) in enumerate(zip(book.ledgers, values, lows)):
        ledger.check(value, low, f"ledger {k}")
    for shared in values[len(lows) :]:
        assert sum(lows) <= shared <= sum(ledger.now.high for ledger in book.ledgers), values


async def _save(recovery: Recovery, book: Book) -> bool:
    """A checkpoint, with what it can hold."""
    book.saves += 1
    number = book.saves
    for ledger in book.ledgers:
        ledger.save_begins(number)
    try:
        made = await recovery.save(number)
    except OpError:
        return False
    if made:
        for ledger in book.ledgers:
            ledger.save_ends(number)
    return made
