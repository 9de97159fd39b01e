"""Pairs of endpoints for the tests of transports, and a peer in a process of its own that can be killed."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import zmq.utils.garbage
from patience import PATIENCE

from actorflow.engine.transport.base import Channel, PeerLimits, ProcessIdentity
from actorflow.testing.events import LoopScheduler
from actorflow.testing.network import Link, Network
from actorflow.transports.endpoint import BaseEndpoint, clocks
from actorflow.transports.local_endpoint import LocalEndpoint
from actorflow.transports.shm.arena import SharedArena
from actorflow.transports.shm.endpoint import ShmEndpoint
from actorflow.transports.simulated import SimulatedEndpoint
from actorflow.transports.zmq.auth import Keys
from actorflow.transports.zmq.endpoint import ZmqEndpoint

KINDS = ("local", "zmq", "curve", "shm", "shm-without-arena", "simulated")
KEYS = Keys.make()
SERVER = ProcessIdentity("cluster", "/job:ps/task:0", 0x51)
CLIENT = ProcessIdentity("cluster", "/job:worker/task:0", 0x52)
_NETWORKS: dict[asyncio.AbstractEventLoop, Network] = {}
SMALL = PeerLimits(data_window=256 << 10, control_window=128 << 10)


def start_zmq_collector() -> None:
    """pyzmq keeps one thread and one context in each process that sends without copying; starts them before a test counts."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    pair = [context.socket(zmq.PAIR), context.socket(zmq.PAIR)]
    pair[0].bind("inproc://first")
    pair[1].connect("inproc://first")
    pair[0].send(bytearray(1 << 17), copy=False)
    pair[1].recv()
    context.destroy(0)


def endpoint(
    kind: str, me: ProcessIdentity, *, listen: bool, arena: SharedArena | None = None, **options: Any
) -> BaseEndpoint:
    if kind in ("zmq", "curve"):
        keys = KEYS if kind == "curve" else None
        return ZmqEndpoint(me, listen="tcp://127.0.0.1:0" if listen else None, keys=keys, **options)
    if kind == "shm":
        return ShmEndpoint(me, listen=listen, arena=arena, **options)
    if kind == "shm-without-arena":
        return ShmEndpoint(me, listen=listen, **options)
    if kind == "simulated":
        return simulated(me, listen=listen, **options)
    return LocalEndpoint(me, **options)


def simulated(me: ProcessIdentity, *, listen: bool, **options: Any) -> SimulatedEndpoint:
    """An endpoint on a machine of its own, in a network that all machines of the running event loop share."""
    loop = asyncio.get_running_loop()
    network = _NETWORKS.get(loop)
    if network is None:
        _NETWORKS.clear()  # of loops of former tests
        link = Link(delay=5e-5, jitter=5e-5)
        network = _NETWORKS[loop] = Network(LoopScheduler(loop), random.Random(1), link=link)
    if me.task not in network.stations:
        network.add(me.task, loop.call_soon, clocks, random.Random(me.task).randbytes)
    address = f"sim://{me.task}:0" if listen else None
    return SimulatedEndpoint(me, listen=address, network=network, host=me.task, **options)


class Pair:
    """Two endpoints and a channel between them: `client` has connected to `server`."""

    client: Channel
    server: Channel
    arenas: list[SharedArena]

    def __init__(self, here: BaseEndpoint, there: BaseEndpoint) -> None:
        self.here, self.there = here, there


@asynccontextmanager
async def pair(
    kind: str,
    *,
    limits: PeerLimits | None = None,
    arena: int = 64 << 20,
    server_options: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Pair]:
    """A connected pair; all is closed at the end, whatever the test did."""
    accepted: asyncio.Queue[Channel] = asyncio.Queue()
    arenas = [SharedArena(arena), SharedArena(arena)] if kind == "shm" else []
    of = arenas or [None, None]
    extra = {"limits": limits, **options, **(server_options or {})}
    there = endpoint(kind, SERVER, listen=True, arena=of[0], accept=accepted.put_nowait, **extra)
    here = endpoint(kind, CLIENT, listen=False, arena=of[1], limits=limits, **options)
    found = Pair(here, there)
    found.arenas = arenas
    try:
        found.client = await here.connect(there.address, SERVER.incarnation, timeout=PATIENCE)
        with anyio.fail_after(PATIENCE):
            found.server = await accepted.get()
        yield found
    finally:
        here.close()
        there.close()
        for one in arenas:
            one.close()


@asynccontextmanager
async def child(
    kind: str, *, then: str = "await channel.wait_closed()"
) -> AsyncIterator[tuple[subprocess.Popen[str], str]]:
    """A process with an endpoint that listens; it runs `then` with each `channel`. Gives the process and its address."""
    script = f"""
import asyncio, sys
import numpy as np
sys.path.insert(0, {str(Path(__file__).parent)!r})
import channels
from channels import SERVER, Keys, SharedArena, endpoint
channels.KEYS = Keys({KEYS.public!r}, {KEYS.secret!r})
async def main():
    accepted = asyncio.Queue()
    there = endpoint({kind!r}, SERVER, listen=True, arena=SharedArena(1 << 30), accept=accepted.put_nowait)
    print(there.address, flush=True)
    while True:
        channel = await accepted.get()
        {then}
asyncio.run(main())
"""
    process = subprocess.Popen(  # noqa: ASYNC220
        [
            sys.executable,
            "-c",
            script,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = (await asyncio.get_running_loop().run_in_executor(None, process.stdout.readline)).strip()
        assert address, "the child did not start"
        yield process, address
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


async def until(condition: Callable[[], object]) -> None:
    """Lets the loop turn until `condition` is true."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.001)


def bits(token: Any) -> Any:
    """The bytes, dtype and shape that make two tensors bit-equal."""
    array = np.asarray(token)
    if array.dtype == object:
        return array.shape, array.ravel().tolist()
    return array.shape, array.dtype, array.tobytes()
