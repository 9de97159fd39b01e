"""`TransportFactory`: all that the core knows of a transport. An entry point of `actorflow.transports` names a factory.

    [project.entry-points."actorflow.transports"]
    streams = "my_package:STREAMS"

A program asks for it by the entry point's name: `LocalCluster(transport="streams")`, `actorflow worker --transport streams`.
CONTRIBUTING.md tells how to make a transport, and `actorflow.testing.transport_contract` tries it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from actorflow.engine.device.base import BlockSource
from actorflow.engine.transport.base import Endpoint, Reach


class KeyPair(Protocol):
    """By which a process proves who it is: two keys of 32 bytes, each as 40 characters of Z85 text."""

    @property
    def public(self) -> str: ...

    @property
    def secret(self) -> str: ...


class Arena(BlockSource, Protocol):
    """Memory of this process that its peers read. Devices allocate in it, so that a tensor need not be copied to be sent."""

    def close(self) -> None:
        """The process needs it no more; peers may still read what they have."""


@dataclass(frozen=True, slots=True)
class TransportFactory:
    """One transport: its reach, and how its endpoints are opened.

    Args:
        name: as the entry point and each `Channel.transport` say it.
        scheme: what addresses begin with, such as "tcp" for `tcp://host:port`. Several transports may share a scheme.
        reach: which peers it brings together. A transport to ANY host carries all between two tasks, and listens at
            `scheme://host:port`. A transport within one HOST carries tensors beside it, at an address of its own choice. A
            transport within one PROCESS carries all between tasks on one event loop, and its addresses are names.
        open: `open(me, *, accept, epoch, listen, ...) -> Endpoint`, called on the event loop. `me` is the process's `Identity`;
            `accept` is called with each channel that a peer has opened; `epoch` is the cluster's. `listen` is the address to
            listen at, "" for an address of its own choice, or None. If `reach` is ANY it gets `advertise`, the address that
            peers are told or None; with `make_keys` it gets `keys` and `allowed` (further public keys), and with `make_arena`
            it gets `arena`. Each of `options` may come too. Without keys it listens on loopback addresses only: it raises
            PermissionDeniedError for others.
        cost: its rank for `transport="auto"`, which takes the cheapest of ANY reach, and beside it the cheapest of the same
            HOST if that is cheaper. Ours are 0 (in a process), 10 (shared memory) and 50 (TCP).
        make_keys: makes a new pair of keys. None where the transport can't tell friend from foe.
        make_arena: makes an arena of the given number of bytes, or of its usual size for None.
        options: names of further keywords of `open`. The core knows `heartbeat_seconds`, the pause of a
            `transport.heartbeat.Heartbeat`.
        versions: says which libraries it stands on, for the first lines of a task's log.
        unavailable: why it can't work on this machine; empty if it can.
    """

    name: str
    scheme: str
    reach: Reach
    open: Callable[..., Endpoint]
    cost: int = 100
    make_keys: Callable[[], KeyPair] | None = None
    make_arena: Callable[[int | None], Arena] | None = None
    options: frozenset[str] = frozenset()
    versions: Callable[[], str] | None = None
    unavailable: str = ""
