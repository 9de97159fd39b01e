"""The checks after every run: errors are documented ones, and the processes that live keep nothing of what is over."""

from __future__ import annotations

from collections import Counter
from typing import Any

from conserved import disagreements

from actorflow.cluster.server import Server
from actorflow.errors import OpError
from actorflow.testing import World
from actorflow.transports.protocol.events import ConnectionState


def check_documented(error: BaseException) -> None:
    """An error of ours has a class that says what it is, and a sentence. Raises AssertionError."""
    assert isinstance(error, OpError), f"{type(error).__name__} is none of actorflow.errors: {error}"
    assert type(error) is not OpError, f"an error without a class of its own: {error}"
    message = error.message.strip()
    if len(message.split()) < 3 or message[-1] not in ".?!)":
        raise AssertionError(f"{type(error).__name__} has no sentence: {message!r}") from error


def leaks(server: Server) -> list[str]:
    """The state that a server that has been left alone still keeps of its clients; none if all is well."""
    worker, links = server.worker, server.links
    alive = [*links.inbound.values(), *(link for link in links.outbound.values() if link.alive)]
    strangers = [link.task for link in links.inbound.values() if not link.alive or link.task.startswith("/client")]
    kept: dict[str, Any] = {
        "steps in flight": worker.steps.running,
        "rendezvous of steps": worker._rendezvous,
        "sessions of masters": worker._sessions,
        "registered parts": worker._parts,
        "sessions of clients": server.master.sessions,
        "links to nobody": strangers,
        "unattached channels": links._unattached,
        "links that open": links._opening,
    }
    for link in alive:
        where = f" over the link with {link.task}"
        core: Any = link.tokens.core  # type: ignore[attr-defined]
        kept["calls" + where] = link.rpc._waiting
        kept["answers" + where] = link.rpc._serving
        kept["requests that were taken back" + where] = link.rpc._unwanted
        kept["tokens" + where] = core.inbox._boxes
        kept["tensors to send" + where] = core.outbox.tensors
    endpoint: Any = links.endpoints.control
    kept["channels beside links"] = [
        f"{channel.peer.identity.task} {channel.peer.address or 'accepted'} {getattr(channel, '_end', '')}"
        for channel in endpoint.channels
        if all(channel is not link.control for link in alive)
    ]
    kept["handshakes"] = endpoint.starting
    return [f"{server.task} keeps {what}: {value!r:.300}" for what, value in kept.items() if value]


def lost_on_the_way(world: World) -> list[str]:
    """The losses that the ends of live connections have between them, after a rest; none if all is well."""
    found: list[str] = []
    for station in world.network.stations.values():
        for end in station.ends:
            mine, theirs = (getattr(one.take, "__self__", None) for one in (end, end.peer))
            if mine is not None and theirs is not None and mine.core.state is theirs.core.state is ConnectionState.OPEN:
                found += disagreements(mine.core, theirs.core)
    return sorted(set(found))


def tasks_by_coroutine(world: World, name: str) -> Counter[str]:
    """How many tasks a machine's process has, by what they run."""
    found = (task.get_coro() for task in world.host(name).loop.tasks())
    return Counter(getattr(coroutine, "__qualname__", str(coroutine)) for coroutine in found)
