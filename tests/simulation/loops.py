"""Loops across tasks: two clients run `while_loop`s whose bodies lie on both workers, and count their results on a server."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import actorflow as af
from simulation.keeping import Book, keeps
from simulation.ledger import Ledger
from simulation.phases import PHASES
from simulation.run import Run

_MOST = 8


class Model:
    """`limit` iterations: one worker doubles, the other one adds; a counter for each client."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            self.limit = af.placeholder(af.int64, [])
            with af.device("/job:worker/task:0"):

                def body(i: Any, x: Any) -> list[Any]:
                    with af.device("/job:worker/task:1"):
                        doubled = x * 2
                    return [i + 1, doubled + i]

                zero, one = af.constant(np.int64(0)), af.constant(np.int64(1))
                _, result = af.while_loop(lambda i, x: i < self.limit, body, [zero, one])
            with af.device("/job:ps/task:0"):
                ledgers = [af.Variable(np.int64(0), name=f"ledger_{k}") for k in range(2)]
                values = [ledger.read_value() for ledger in ledgers]
                self.look = [af.train.get_or_create_global_step().assign_add(1), *values]
                self.runs = []
                for ledger in ledgers:
                    with af.control_dependencies([result]):
                        counted = ledger.assign_add(np.int64(1))
                    with af.control_dependencies([counted]):
                        self.runs.append(af.identity(result))


@functools.cache
def model() -> Model:
    return Model()


class Loops:
    """See the module."""

    name = "loops across tasks"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ("chief", "c0", "c1")
    aims: Sequence[str] = [phase for phase in PHASES if phase != "mid-chunk"]

    def prepare(self) -> None:
        model()

    async def main(self, run: Run) -> None:
        book = Book([Ledger(), Ledger()], writers=2)
        run.world.spawn("c0", goes_round, run, book, 0, "w1")
        run.world.spawn("c1", goes_round, run, book, 1, "ps0")
        run.world.spawn("chief", keeps, run, book, Model)
        await run.until_done()


async def goes_round(run: Run, book: Book, k: int, target: str) -> None:
    """Runs loops of several lengths."""
    async with run.session(target, model().graph) as session:
        number = 0
        while not run.is_enough:
            number += 1
            limit = number % _MOST
            found = await book.counted(run, k, session, model().runs[k], {model().limit: limit})
            assert found is None or int(found) == expected(limit), (limit, found)
    book.left.add(k)


def expected(limit: int) -> int:
    """The result of a loop."""
    x = 1
    for i in range(limit):
        x = 2 * x + i
    return x
