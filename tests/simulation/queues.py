"""A queue between tasks: one client enqueues numbers, another dequeues and counts them. None comes twice, none is lost."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import actorflow as af
from simulation.keeping import Book, keeps
from simulation.ledger import Ledger
from simulation.phases import PHASES
from simulation.run import Run

_CAPACITY = 10
_WITHIN = 1.0


class Model:
    """The queue and the counter of what was taken from it."""

    def __init__(self) -> None:
        with af.Graph().as_default() as self.graph:
            self.number = af.placeholder(af.int64, [])
            with af.device("/job:worker/task:0"):
                doubled = self.number * 2
            with af.device("/job:ps/task:0"):
                queue = af.FIFOQueue(_CAPACITY, [af.int64], [[]], shared_name="numbers")
                count = af.Variable(np.int64(0), name="count")
                self.enqueue = queue.enqueue([doubled])
                item = queue.dequeue()
                with af.control_dependencies([item]):
                    counted = count.assign_add(np.int64(1))
                self.size = queue.size()
                values = [count.read_value()]
                self.look = [af.train.get_or_create_global_step().assign_add(1), *values]
            with af.device("/job:worker/task:1"), af.control_dependencies([counted]):
                self.dequeue = af.floordiv(item, np.int64(2))


@functools.cache
def model() -> Model:
    return Model()


@dataclass
class Traffic:
    """The elements that have gone into the queue and come out of it. A life is the server that the queue was in."""

    asked: int = 0
    enqueued: dict[int, object] = field(default_factory=dict)
    """The numbers that were enqueued for sure, with the life if that was one from begin to end."""
    received: dict[int, None] = field(default_factory=dict)
    lost_replies: dict[object, int] = field(default_factory=dict)
    """How many dequeues have failed in each life, each of which may have taken a number."""

    def check(self, life: object) -> None:
        """At the end, when the queue of this life is empty."""
        known = [number for number in self.received if number in self.enqueued]
        assert known == sorted(known), f"what was enqueued in order came out of it: {known}"
        missing = [n for n, where in self.enqueued.items() if where is life and n not in self.received]
        assert len(missing) <= self.lost_replies.get(life, 0), f"{missing} were enqueued and did not come"


class Queues:
    """See the module."""

    name = "queues"
    cluster: Mapping[str, Sequence[str]] = {"ps": ["ps0"], "worker": ["w0", "w1"]}
    clients: Sequence[str] = ("chief", "c0", "c1")
    aims: Sequence[str] = [phase for phase in PHASES if phase != "mid-chunk"]

    def prepare(self) -> None:
        model()

    async def main(self, run: Run) -> None:
        book, traffic = Book([Ledger()], writers=1), Traffic()
        run.world.spawn("c0", fills, run, traffic)
        run.world.spawn("c1", takes, run, book, traffic)
        run.world.spawn("chief", keeps, run, book, Model)
        await run.until_done()
        traffic.check(run.tasks.servers.get("ps0"))


async def fills(run: Run, traffic: Traffic) -> None:
    """Enqueues one number after the other; one whose run failed is not tried again."""
    async with run.session("w0", model().graph) as session:
        while not run.is_enough:
            traffic.asked += 1
            number, life = traffic.asked, run.tasks.servers.get("ps0")
            if await run.attempt(session, model().enqueue, {model().number: number}) is not None:
                traffic.enqueued[number] = life if run.tasks.servers.get("ps0") is life else None
    run.book["filled"] = True


async def takes(run: Run, book: Book, traffic: Traffic) -> None:
    """Dequeues until nothing comes any more."""
    async with run.session("w1", model().graph) as session:
        while not run.book.get("filled") or await run.attempt(session, model().size) != 0:
            life = run.tasks.servers.get("ps0")
            found: Any = None
            try:
                found = await book.counted(run, 0, session, model().dequeue, timeout=_WITHIN)
            finally:
                if found is None:
                    for one in {life, run.tasks.servers.get("ps0")}:
                        traffic.lost_replies[one] = traffic.lost_replies.get(one, 0) + 1
            if found is not None:
                assert int(found) not in traffic.received, f"{found} came twice"
                assert 0 < int(found) <= traffic.asked, f"{found} was never enqueued"
                traffic.received[int(found)] = None
    book.left.add(0)
