"""`Subject`: the type of device that is tried, devices of it, and sessions beside a CPU."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.registry import plugins
from actorflow.engine.device.base import Device, DeviceFactory
from actorflow.engine.session.session import Session
from actorflow.graph.graph import Graph
from actorflow.testing.contract import Broken, got

OPENED: ContextVar[list[Device]] = ContextVar("opened")
"""The devices to be closed after the rule that is tried."""
_NAME = "/job:localhost/replica:0/task:0/device:{}:{}"


@dataclass(frozen=True, slots=True)
class Subject:
    """A type of device.

    Args:
        factory: makes devices: it is called with a full name and `memory_budget`.
        kind: the type, such as "GPU".
    """

    factory: DeviceFactory
    kind: str

    @property
    def is_asynchronous(self) -> bool:
        """Whether its kernels are only launched."""
        return bool(self._says("asynchronous"))

    @property
    def swaps(self) -> bool:
        """Whether its tensors may wait in host memory."""
        return bool(self._says("swaps"))

    def _says(self, name: str) -> Any:
        return getattr(getattr(self.factory, "func", self.factory), name, False)

    def name(self, index: int = 0) -> str:
        """The full name of its device with that number."""
        return _NAME.format(self.kind, index)

    def open(self, index: int = 0, **options: Any) -> Any:
        """A device, which is closed when the rule has been tried."""
        device = self.factory(self.name(index), **options)
        OPENED.get().append(device)
        return device

    def session(self, graph: Graph, **options: Any) -> Session:
        """A session on one device of the type and, for what that has no kernels for, a CPU."""
        beside = [] if self.kind == "CPU" else [plugins.load("devices", "CPU")(_NAME.format("CPU", 0))]
        return Session(graph=graph, devices=[self.open(**options), *beside])

    def __str__(self) -> str:
        return self.kind


@contextmanager
def closing_devices() -> Iterator[None]:
    """A block at whose end the devices are closed that it has opened."""
    plugins.load_kernels()
    opened: list[Device] = []
    former = OPENED.set(opened)
    try:
        yield
    finally:
        OPENED.reset(former)
        for device in opened:
            device.close()


def large(memory: Any, times: int = 1) -> tuple[int, ...]:
    """A shape of bytes that an allocator counts."""
    return (times * max(memory.threshold, 4096),)


BYTE: np.dtype[Any] = np.dtype(np.uint8)


async def taken(device: Any, value: Any) -> Any:
    """A value of an asynchronous device in host memory. Raises what the device tells."""
    result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    turn = True

    def done(array: Any, error: BaseException | None) -> None:
        if turn:
            result.set_exception(Broken("`take` calls `done` before it returns"))
        elif error is not None:
            result.set_exception(error)
        else:
            result.set_result(array)

    device.take(value, done)
    turn = False
    return await got(result)


async def settled(device: Any) -> BaseException | None:
    """The error that ended what was launched so far, or None."""
    result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    device.settle(result.set_result)
    return await got(result)


def same_bits(actual: Any, expected: Any, what: str) -> None:
    """Raises Broken unless two tensors are bit-equal."""
    left, other = np.asarray(actual), np.asarray(expected)
    if (left.shape, left.dtype, left.tobytes()) != (other.shape, other.dtype, other.tobytes()):
        raise Broken(f"{what}: {left!r:.200} was found, but {other!r:.200} expected")


def near(actual: Any, expected: Any, what: str) -> None:
    """Raises Broken unless two tensors are equal but for the rounding of float32."""
    left, other = np.asarray(actual), np.asarray(expected)
    if left.shape != other.shape or left.dtype != other.dtype or not np.allclose(left, other, rtol=1e-4, atol=1e-6):
        raise Broken(f"{what}: {left!r:.200} was found, but {other!r:.200} expected")
