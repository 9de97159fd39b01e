"""Tasks join and leave a simulated cluster while machines crash and networks break: there is one view an epoch."""

from __future__ import annotations

import random
import sys
from collections import Counter

import anyio
import pytest

from actorflow.cluster.client.membership import leave, query_view, reserve
from actorflow.cluster.config.spec import parse_task
from actorflow.cluster.membership.service import Membership
from actorflow.cluster.membership.view import GUEST, View
from actorflow.cluster.server import Server
from actorflow.errors import OpError
from actorflow.testing import Faults, World, simulate

CLUSTER = {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}
FOUNDERS = {"ps0": ("ps", 0), "w0": ("worker", 0), "w1": ("worker", 1)}
JOINERS = ("j0", "j1", "j2")
SECONDS = 20.0
AGREED = 30.0
"""The seconds after the last fault in which the members come to one view."""
MORTAL = ("ps0", "w0", *JOINERS)
"""All machines but w1: where all tasks of the description have died, the cluster begins with its description again."""
FAULTS = Faults(crashes=0.03, freezes=0.03, partitions=0.03, resets=0.05, hosts=MORTAL, until=SECONDS)


class Book:
    """All views that any task has taken, and those of which a task was told that all members have them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.views: dict[int, View] = {}
        self.confirmed = 0
        self.ends: Counter[str] = Counter()

    def took(self, former: View, view: View) -> None:
        if view.epoch != GUEST:
            known = self.views.setdefault(view.epoch, view)
            assert known == view, f"seed {self.seed}: two views {view.epoch}: {known} and {view}"
            assert view.epoch >= former.epoch, f"seed {self.seed}: a task went back to view {view.epoch}"

    def confirm(self, view: View) -> None:
        self.confirmed = max(self.confirmed, view.epoch)


async def founder(job: str, index: int, servers: dict[str, Server]) -> None:
    """A task of the description. After a crash it begins with the first view again."""
    async with Server(CLUSTER, job, index) as server:
        servers[server.task] = server
        await server.join()


async def joiner(world: World, name: str, seed: int, book: Book) -> None:
    """Joins and leaves, again and again."""
    draw = random.Random(f"{seed} {name} {world.now}")
    while world.now < SECONDS:
        try:
            task, view = await reserve(f"tcp://{draw.choice(['ps0', 'w0'])}:1", None, "worker", None, f"{name}:1")
            async with Server(view, *parse_task(task)) as server:
                book.confirm(server.membership.view)
                book.ends["joined"] += 1
                await anyio.sleep(draw.uniform(0.1, 3.0))
                book.confirm(await server.membership.leave(task))
                book.ends["left"] += 1
                await server.drain(1.0)
        except OpError as error:
            book.ends[type(error).__name__] += 1
            await anyio.sleep(draw.uniform(0.1, 1.0))


async def main(world: World, seed: int, book: Book) -> None:
    """The founders, the joiners, and at the end a look at the views of all members."""
    servers: dict[str, Server] = {}
    for name, place in FOUNDERS.items():
        world.spawn(name, founder, *place, servers)
    for name in JOINERS:
        world.spawn(name, joiner, world, name, seed, book)
    await anyio.sleep(SECONDS + AGREED)
    view = servers["/job:ps/task:0"].membership.view
    assert view.epoch >= book.confirmed, f"seed {seed}: view {book.confirmed} was confirmed, the last is {view.epoch}"
    for task in FOUNDERS.values():
        own = servers[f"/job:{task[0]}/task:{task[1]}"].membership.view
        assert own.epoch <= view.epoch, f"seed {seed}: {task} has view {own.epoch}, the coordinator {view.epoch}"


def run(seed: int, faults: Faults | None = FAULTS) -> Book:
    """Runs a seed, and gives what was noted."""
    book = Book(seed)
    install = Membership.install

    async def noted(self: Membership, view: View) -> None:
        former = self.view
        await install(self, view)
        book.took(former, self.view)

    Membership.install = noted  # type: ignore[method-assign]
    try:
        simulate(
            lambda world: main(world, seed, book), seed=seed, hosts=[*FOUNDERS, *JOINERS], faults=faults, limit=1000
        )
    finally:
        Membership.install = install  # type: ignore[method-assign]
    return book


def test_tasks_join_and_leave() -> None:
    book = run(1, None)
    assert book.ends["joined"] == book.ends["left"] >= 10 and max(book.views) == book.confirmed, book.ends


@pytest.mark.parametrize("seed", range(6))
def test_there_is_one_view_an_epoch_and_none_that_was_confirmed_is_lost(seed: int) -> None:
    book = run(seed)
    assert book.ends["joined"] > 0 and book.confirmed > 1, f"seed {seed}: {book.ends}"


async def burst(world: World, seed: int, count: int) -> None:
    """Tasks that join within a second, and leave within a second."""
    servers: dict[str, Server] = {}
    for name, place in FOUNDERS.items():
        world.spawn(name, founder, *place, servers)
    await anyio.sleep(1.0)
    draw, epochs, ending = random.Random(seed), Counter[int](), [1000.0]

    async def join(name: str, wait: float) -> None:
        await anyio.sleep(wait)
        task, view = await reserve("tcp://ps0:1", None, "worker", None, f"{name}:1")
        async with Server(view, *parse_task(task)) as server:
            servers[task] = server
            while world.now < ending[0] + wait:  # noqa: ASYNC110  # each machine has a loop of its own
                await anyio.sleep(0.05)
            epochs[(await server.membership.leave(task)).epoch] += 1
            del servers[task]
            await server.drain(1.0)

    async def agreed(members: int) -> None:
        """Waits until that number of members have one view, of that number of tasks."""
        began = world.now
        while True:
            views = [
                server.membership.view for server in servers.values() if server.task in server.membership.view.members
            ]
            if len(views) == members and {len(view.tasks) for view in views} == {members} and len({*views}) == 1:
                break
            assert world.now < began + 5.0, f"seed {seed}: {members} tasks do not agree after 5 s"
            await anyio.sleep(0.05)

    for number in range(count):
        world.spawn(f"b{number}", join, f"b{number}", draw.random())
    await agreed(count + len(FOUNDERS))
    epoch = servers["/job:ps/task:0"].membership.view.epoch
    assert epoch <= 20, f"seed {seed}: {count} tasks joined in {epoch} views"
    ending[0] = world.now
    await agreed(len(FOUNDERS))
    assert sum(epochs.values()) == count and len(epochs) <= 20, f"seed {seed}: {count} tasks left in views {epochs}"


def test_64_tasks_that_join_in_a_second_agree_on_a_view_within_five_seconds() -> None:
    seed = 3
    hosts = [*FOUNDERS, *(f"b{number}" for number in range(64))]
    simulate(lambda world: burst(world, seed, 64), seed=seed, hosts=hosts, limit=300)


async def lost_amid_a_change(world: World, seed: int) -> None:
    """Members die for good while others join and leave, and are declared lost in any order."""
    draw, servers = random.Random(seed), {}
    for name, place in FOUNDERS.items():
        world.spawn(name, founder, *place, servers)
    for name in JOINERS:
        world.spawn(name, joiner, world, name, seed, Book(seed))
    await anyio.sleep(draw.uniform(1.0, 6.0))
    dead = {"tcp://w1:1"} | {f"tcp://{name}:1" for name in draw.sample(JOINERS, 2)}
    for address in sorted(dead):
        world.crash(address[6:8], silent=draw.random() < 0.5)
        await anyio.sleep(draw.choice([0.0, 0.0, 0.001, 0.1]))

    async def declare(task: str) -> None:
        while True:
            try:
                await leave("tcp://ps0:1", task, "lost")
            except OpError:
                if task not in (await query_view("tcp://ps0:1")).members:
                    return
                await anyio.sleep(draw.uniform(0.1, 1.0))

    declared: set[str] = set()
    present: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        while present or world.now < SECONDS + 5.0:  # who died while it joined may be a member later
            lost = dead if world.now < SECONDS else dead | {f"tcp://{name}:1" for name in JOINERS}
            tasks = (await query_view("tcp://ps0:1")).tasks
            present = {address: task for task, address in tasks if address in lost}
            for address in sorted(present.keys() - declared):
                await anyio.sleep(draw.choice([0.0, 1.0]))
                group.start_soon(declare, present[address])
                declared.add(address)
            await anyio.sleep(draw.uniform(0.1, 3.0))
    task, view = await reserve("tcp://w0:1", None, "worker", None, "late:1")
    assert task not in view.members or view.epoch == GUEST, f"seed {seed}"


@pytest.mark.parametrize("seed", range(12))
def test_no_change_waits_for_members_that_are_declared_lost(seed: int) -> None:
    hosts = [*FOUNDERS, *JOINERS]
    simulate(lambda world: lost_amid_a_change(world, seed), seed=seed, hosts=hosts, limit=300)


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        told = run(number)
        print(number, told.confirmed, dict(told.ends), flush=True)
