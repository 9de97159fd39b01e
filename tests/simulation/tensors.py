"""Large tensors, in chunks and under credits: fed, sent from worker to worker to server, and fetched; each byte is checked."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

import actorflow as af
from simulation.keeping import Book, keeps
from simulation.ledger import Ledger
from simulation.phases import PHASES
from simulation.run import Run

_SIZES = (4_500, 7_000, 16_000)


class Model:
    """`x` goes by way of both workers to the server, and back; a counter for each client."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            self.x = af.placeholder(af.int32, [None])
            with af.device("/job:worker/task:0"):
                doubled = self.x * 2
            with af.device("/job:worker/task:1"):
                more = doubled + 1
            with af.device("/job:ps/task:0"):
                ledgers = [af.Variable(np.int64(0), name=f"ledger_{k}") for k in range(2)]
                values = [ledger.read_value() for ledger in ledgers]
                self.look = [af.train.get_or_create_global_step().assign_add(1), *values]
                self.runs = []
                for ledger in ledgers:
                    with af.control_dependencies([more]):
                        counted = ledger.assign_add(np.int64(1))
                    with af.control_dependencies([counted]):
                        self.runs.append(more - self.x)


@functools.cache
def model() -> Model:
    return Model()


class Tensors:
    """See the module."""

    name = "large tensors"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ("chief", "c0", "c1")
    aims: Sequence[str] = ["mid-chunk", *PHASES]

    def prepare(self) -> None:
        model()

    async def main(self, run: Run) -> None:
        book = Book([Ledger(), Ledger()], writers=2)
        run.world.spawn("c0", sends, run, book, 0, "w0")
        run.world.spawn("c1", sends, run, book, 1, "w1")
        run.world.spawn("chief", keeps, run, book, Model)
        await run.until_done()


async def sends(run: Run, book: Book, k: int, target: str) -> None:
    """Sends tensors of several sizes on their way."""
    async with run.session(target, model().graph) as session:
        number = 0
        while not run.is_enough:
            number += 1
            x = np.arange(number, number + _SIZES[number % len(_SIZES)], dtype=np.int32)
            found = await book.counted(run, k, session, model().runs[k], {model().x: x})
            assert found is None or np.array_equal(found, x + 1), "another tensor came back"
    book.left.add(k)
