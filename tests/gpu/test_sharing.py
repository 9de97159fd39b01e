"""Tokens from a GPU of one process to a GPU of another, by CUDA's handles. One GPU is enough: both may use it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.engine.device.sharing import PeerMemory

pytestmark = [pytest.mark.gpu, pytest.mark.real_memory, pytest.mark.timeout(300)]
NAME = "/job:worker/replica:0/task:{}/device:GPU:0"
SIZE = 1 << 20

RECEIVER = """
import sys
import msgpack
import numpy as np
from actorflow.engine.device.sharing import PeerMemory, PeerTensor
from actorflow.base.registry import plugins

gpu, border = plugins.load("devices", "GPU")("/job:worker/replica:0/task:1/device:GPU:0"), PeerMemory()
unpacker = msgpack.Unpacker()

def say(*words):
    sys.stdout.buffer.write(msgpack.packb(words))
    sys.stdout.buffer.flush()

while data := sys.stdin.buffer.read1(1 << 16):
    unpacker.feed(data)
    for kind, shape, description, offset in unpacker:
        if kind == "open":
            say("open", gpu.opens(description))
        elif kind == "copy":
            size = 4 * int(np.prod(shape))
            array = gpu.bring(PeerTensor(tuple(shape), np.dtype("f"), size, description, offset, border))
            value = gpu.fetch(array)
            say("copied", float(value.min()), float(value.max()), float(value.flat[0]))
        elif kind == "end":
            border.end()
            gpu.close()
            say("ended")
"""


class Receiver:
    """Another process with a device, which is told what to copy."""

    def __init__(self, process: Any) -> None:
        import msgpack

        self._process = process
        self._msgpack = msgpack
        self._unpacker = msgpack.Unpacker()

    async def ask(self, kind: str, shape: tuple[int, ...] = (), description: bytes = b"", offset: int = 0) -> Any:
        await self._process.stdin.send(self._msgpack.packb([kind, list(shape), description, offset]))
        with anyio.fail_after(120):
            while True:
                for answer in self._unpacker:
                    return answer
                self._unpacker.feed(await self._process.stdout.receive())


@asynccontextmanager
async def receiver() -> AsyncIterator[Receiver]:
    async with await anyio.open_process([sys.executable, "-c", RECEIVER], stderr=sys.stderr) as process:
        yield Receiver(process)
        process.kill()


def test_f37_f51_another_process_copies_what_a_kernel_is_still_computing() -> None:
    """Each value comes whole: the copy waits for the kernels before it, though neither host does, and memory that was given back
    is used again all the time."""
    gpu, peer_memory = plugins.load("devices", "GPU")(NAME.format(0)), PeerMemory()

    async def run() -> None:
        async with receiver() as other:
            offer = gpu.offer()
            if offer is None:
                pytest.skip(f"CUDA shows no memory here: {gpu.statistics().not_shared}")
            _, reason = await other.ask("open", (), offer)
            if reason:
                pytest.skip(f"CUDA opens no memory here: {reason}")
            for i in range(30):
                with gpu.launching("long"):
                    x = gpu.xp.full((SIZE,), i, np.float32)
                    for _ in range(200):
                        x = x + np.float32(1)
                shared = gpu.share(x[1000:], peer_memory)
                assert shared is not None
                answer = await other.ask("copy", shared.shape, shared.description, shared.offset)
                assert answer == ["copied", i + 200, i + 200, i + 200], i
                del shared, x  # the other process has fetched its copy, so it reads this no more
            assert gpu.statistics().shared_out == 30
            assert await other.ask("end") == ["ended"]

    asyncio.run(run())
    peer_memory.end()
    peer_memory.part()
    gpu.close()


@pytest.mark.parametrize("what", ["its own", "closed", "of nothing"])
def test_f51_what_cannot_be_opened_is_told(what: str) -> None:
    gpu = plugins.load("devices", "GPU")(NAME.format(0))
    offer = gpu.offer()
    if offer is None:
        pytest.skip(f"CUDA shows no memory here: {gpu.statistics().not_shared}")
    if what == "of nothing":
        offer = offer[:8] + bytes(128) + offer[136:]
    if what == "closed":
        gpu.close()
    assert gpu.opens(offer)
    if what != "closed":
        assert gpu.opens(offer), "and it is no error after which the GPU can't be used"
        with gpu.launching("a kernel"):
            x = gpu.xp.ones((10,), np.float32) + np.float32(1)
        assert gpu.fetch(x).sum() == 20
    gpu.close()


def test_f37_f51_a_cluster_of_two_processes_passes_tokens_between_gpus(tmp_path: Path) -> None:
    """As values see it; whether they went by the host, the other test tells."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 1024])
        y = x
        for i in range(8):
            with af.device(f"/job:worker/task:{i % 2}/gpu:0"):
                y = af.tanh(y) + 1.0
    value = np.random.default_rng(3).normal(size=(512, 1024)).astype("f")
    wanted = value
    for _ in range(8):
        wanted = np.tanh(wanted) + 1

    async def run() -> None:
        async with af.LocalCluster({"worker": 2}, transport="shm", devices={"CPU": 1, "GPU": 1}) as cluster:
            async with af.Session(cluster.target, graph=graph) as session:
                for _ in range(20):
                    np.testing.assert_allclose(await session.run(y, {x: value}), wanted, rtol=1e-4, atol=1e-5)

    asyncio.run(run())
