"""Asynchronous updates: writers count in ledgers on a parameter server, as fast as each can, while a chief saves and restores.

Two workloads: workers that write by their own servers, and clients on machines of their own, each with another target, which
crash too and share one more counter.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

import actorflow as af
from simulation.keeping import Book, keeps
from simulation.ledger import Ledger
from simulation.phases import PHASES
from simulation.run import Run

WRITERS = 3


class Model:
    """A ledger for each writer, one that all share, and some weights that each update changes."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            with af.device("/job:ps/task:0"):
                weights = af.Variable(np.zeros(100, np.float32), name="weights")
                ledgers = [af.Variable(np.int64(0), name=f"ledger_{k}") for k in range(WRITERS)]
                shared = af.Variable(np.int64(0), name="shared")
                values = [*(ledger.read_value() for ledger in ledgers), shared.read_value()]
                self.look = [af.train.get_or_create_global_step().assign_add(1), *values]
            self.updates = []
            for k, ledger in enumerate(ledgers):
                with af.device(f"/job:worker/task:{k % 2}"):
                    change = af.sin(weights.read_value() + float(k))
                with af.device("/job:ps/task:0"):
                    applied = weights.assign_add(change * 0.1)
                    with af.control_dependencies([applied]):
                        self.updates.append(af.group(ledger.assign_add(np.int64(1)), shared.assign_add(np.int64(1))))


@functools.cache
def model() -> Model:
    return Model()


class Updates:
    """Workers on the machines of their servers."""

    name = "asynchronous updates"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ("chief",)
    aims: Sequence[str] = [phase for phase in PHASES if phase != "mid-chunk"]
    writers: Sequence[tuple[str, str]] = [("w0", "w0"), ("w1", "w1")]
    """The machine and the target of each writer."""

    def prepare(self) -> None:
        model()

    async def main(self, run: Run) -> None:
        book = Book([Ledger() for _ in range(WRITERS)], writers=len(self.writers))
        for k, (machine, target) in enumerate(self.writers):
            run.world.spawn(machine, writes, run, book, k, target)
        run.world.spawn("chief", keeps, run, book, Model)
        await run.until_done()


class SharedVariables(Updates):
    """Clients on machines of their own, each with another target."""

    name = "clients that share variables"
    clients: Sequence[str] = ("chief", "c0", "c1", "c2")
    writers: Sequence[tuple[str, str]] = [("c0", "ps0"), ("c1", "w0"), ("c2", "w1")]


async def writes(run: Run, book: Book, k: int, target: str) -> None:
    """Updates until there is enough."""
    async with run.session(target, model().graph) as session:
        while not run.is_enough:
            await book.counted(run, k, session, model().updates[k])
    book.left.add(k)
