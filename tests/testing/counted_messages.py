"""Two simulated processes that exchange counted messages while they crash, and what must hold whatever befalls them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import anyio
import numpy as np

from actorflow.base.process import machine
from actorflow.engine.transport.base import Channel
from actorflow.engine.transport.errors import PeerLost, ProtocolError
from actorflow.errors import OpError, UnavailableError
from actorflow.testing import Faults, Link, Trace, World, simulate
from actorflow.testing.host import Host
from actorflow.transports.simulated import SimulatedEndpoint

SECONDS = 8.0
FAULTS = Faults(crashes=0.3, freezes=0.15, partitions=0.2, resets=0.15, clock_jumps=0.1, until=SECONDS)
LINK = Link(delay=0.002, jitter=0.004, loss=0.01, bandwidth=1e8)
LARGE = 40_000


@dataclass
class Talk:
    """The life of one channel, as each side saw it. An end is the name of the error, "good", or None: the process
    died."""

    posted: int = 0
    answered: int = 0
    received: int = 0
    tokens: list[int] = field(default_factory=list)
    sender_end: str | None = None
    receiver_end: str | None = None


Book = dict[tuple[int, int], Talk]


async def sender(world: World, book: Book) -> None:
    """Opens one channel after the other, and posts numbers on each."""
    host = machine.current()
    assert isinstance(host, Host)
    chance = world.random
    async with SimulatedEndpoint(host.identity("/job:a/task:0"), listen=None) as endpoint:
        number = 0
        while world.now < SECONDS:
            number += 1
            try:
                channel = await endpoint.connect("sim://b:1", timeout=3)
            except (UnavailableError, ProtocolError):
                continue
            key = host.incarnation, number
            talk = book[key] = Talk()
            try:
                for count in range(1, chance.randint(1, 30)):
                    channel.send(1, count, b"", np.full(LARGE if count % 7 == 0 else 2, count, np.int32))
                    channel.post([*key, count])
                    talk.posted = count
                    if chance.random() < 0.3:
                        await anyio.sleep(chance.expovariate(10))
                while talk.answered < talk.posted:
                    answer = await channel.receive()
                    assert answer == talk.answered + 1, f"{answer} was answered after {talk.answered}"
                    talk.answered = answer
                await channel.aclose()
                talk.sender_end = "good"
            except (PeerLost, ProtocolError) as error:
                talk.sender_end = type(error).__name__
                channel.close()


async def receiver(world: World, book: Book) -> None:
    """Takes channels, checks the order of what comes, and answers each number."""
    host = machine.current()
    assert isinstance(host, Host)

    async def hear(channel: Channel) -> None:
        talk: Talk | None = None
        try:
            while True:
                incarnation, number, count = await channel.receive()
                talk = book[incarnation, number]
                assert count == talk.received + 1, f"{count} came after {talk.received}"
                talk.received = count
                channel.expect(1, count, b"", lambda token, error, talk=talk: note(talk, token, error))  # type: ignore[misc]
                channel.post(count)
        except (anyio.EndOfStream, PeerLost, ProtocolError) as error:
            if talk is not None:
                talk.receiver_end = "good" if isinstance(error, anyio.EndOfStream) else type(error).__name__
        finally:
            channel.close()

    def note(talk: Talk, token: Any, error: BaseException | None) -> None:
        if error is None:
            assert (token == token[0]).all()
            talk.tokens.append(int(token[0]))
        else:
            assert isinstance(error, OpError | anyio.ClosedResourceError | anyio.EndOfStream), error

    # A callback of the loop is in no task, where anyio may not know which library runs.
    accepted, channels = anyio.create_memory_object_stream[Channel](math.inf)
    async with accepted, channels, anyio.create_task_group() as group:
        async with SimulatedEndpoint(host.identity("/job:b/task:0"), listen="sim://b:1", accept=accepted.send_nowait):
            async for channel in channels:
                group.start_soon(hear, channel)


async def main(world: World) -> Book:
    """Lets both go on while there are faults and a while longer, and checks the book."""
    book: Book = {}
    world.spawn("b", receiver, world, book)
    world.spawn("a", sender, world, book)
    await anyio.sleep(SECONDS + 15)
    check(book, world.host("a").incarnation)
    return book


def check(book: Book, living: int) -> None:
    """The received messages are a beginning of the posted ones, in order and once; and of each other one, a side was
    told."""
    for key, talk in book.items():
        assert talk.answered <= talk.received <= talk.posted, (key, talk)
        assert len(set(talk.tokens)) == len(talk.tokens) and set(talk.tokens) <= set(range(1, talk.posted + 1)), key
        if talk.receiver_end == "good" or talk.sender_end == "good":
            assert talk.received == talk.posted, (key, talk)
        if talk.receiver_end == "good":
            assert sorted(talk.tokens) == list(range(1, talk.posted + 1)), (key, talk)
        lost = talk.posted - talk.answered
        if lost and key[0] == living:  # others could not be told: they have died
            assert talk.sender_end not in (None, "good"), (key, talk)


def digest(seed: int) -> str:
    """The digest of the trace of a seed."""
    trace = Trace()
    simulate(main, seed=seed, hosts=["a", "b"], faults=FAULTS, link=LINK, trace=trace)
    return trace.digest
