"""Ops whose kernels a test looks into: they log, fail, wait for the test, or hold a thread."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from patience import PATIENCE

import actorflow as af
from actorflow.base.registry.opdef import Inference
from actorflow.engine.runtime.context import StepHandle
from actorflow.graph.ops.shape_rules import no_output, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike

HEAVY = 1e12  # so much work that a kernel's first run is on the device's thread


class Probe:
    """The state that the kernels of one test share, by the tag of their node."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.order: list[str] = []
        self.does: dict[str, Callable[[Any], Any]] = {}
        """The function that a node applies to its input instead of giving it back."""
        self.gates: dict[str, asyncio.Event] = {}
        self.reached: dict[str, asyncio.Event] = {}
        self.held = threading.Event()
        """Set when a kernel holds the thread."""
        self.release = threading.Event()

    def gate(self, tag: str) -> asyncio.Event:
        """The event for which the nodes `wait(x, tag=tag)` wait."""
        return self.gates.setdefault(tag, asyncio.Event())

    def arrived(self, tag: str) -> asyncio.Event:
        """Set when such a node waits."""
        return self.reached.setdefault(tag, asyncio.Event())

    def note(self, tag: str) -> None:
        self.ran[tag] += 1
        self.order.append(tag)


current = Probe()


@pytest.fixture
def probe() -> Iterator[Probe]:
    """A fresh `Probe`; what still holds a thread is released at the end."""
    global current
    current = Probe()
    yield current
    current.release.set()


@af.op("TestLog", shape=unchanged, gradient=None, stateful=True, work=1)
def log(x: TensorLike, *, tag: str, name: str | None = None) -> Tensor:
    """`x` itself; its kernel notes `tag`, and does what the test put there."""


@af.kernel("TestLog")
def _log(xp: Any, x: Any, *, tag: str) -> Any:
    current.note(tag)
    action = current.does.get(tag)
    return x if action is None else action(x)


@af.op("TestTarget", shape=no_output, result=None, gradient=None, stateful=True, work=1)
def target(*, tag: str, name: str | None = None) -> Operation:
    """Notes `tag`."""


@af.kernel("TestTarget")
def _target(xp: Any, *, tag: str) -> None:
    current.note(tag)


@af.op("TestWait", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def wait(x: TensorLike, *, tag: str, name: str | None = None) -> Tensor:
    """`x` itself, when the test opens the gate `tag`."""


@af.kernel("TestWait")
async def _wait(xp: Any, x: Any, *, tag: str) -> Any:
    current.note(tag)
    current.arrived(tag).set()
    await current.gate(tag).wait()
    return x


@af.op("TestWaitTold", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def wait_told(x: TensorLike, *, tag: str, name: str | None = None) -> Tensor:
    """`wait`, which tells what it waits for."""


@af.kernel("TestWaitTold")
async def _wait_told(xp: Any, x: Any, *, tag: str, step: StepHandle) -> Any:
    with step.waits_for(f"waits for the gate {tag!r}"):
        await current.gate(tag).wait()
    return x


@af.op("TestHold", shape=unchanged, gradient=None, stateful=True, work=HEAVY)
def hold(x: TensorLike, *, tag: str = "hold", name: str | None = None) -> Tensor:
    """`x` itself; its kernel holds the device's thread until the test releases it."""


@af.kernel("TestHold")
def _hold(xp: Any, x: Any, *, tag: str) -> Any:
    current.note(tag)
    current.held.set()
    current.release.wait(PATIENCE)
    return x


def _halves(c: Inference) -> list[Any]:
    return [c.shapes[0], c.shapes[0]]


@af.op("TestTwo", shape=_halves, result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]), gradient=None, stateful=True)
def two(x: TensorLike, *, tag: str, name: str | None = None) -> list[Tensor]:
    """`x` and `-x`; notes `tag`."""


@af.kernel("TestTwo")
def _two(xp: Any, x: Any, *, tag: str) -> Any:
    current.note(tag)
    return x, -x


@af.op("TestFar", shape=unchanged, gradient=None)
def far(x: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` itself, on a device that no test has."""


@af.kernel("TestFar", device="FAR")
def _far(xp: Any, x: Any) -> Any:
    return x


@af.op("TestKernelless", shape=unchanged, gradient=None)
def kernelless(x: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` itself, which nothing computes."""


@af.op("TestNap", shape=unchanged, gradient=None, stateful=True, asynchronous=True)
def nap(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:
    """`x` itself after some (virtual) seconds."""


@af.kernel("TestNap")
async def _nap(xp: Any, x: Any, *, seconds: float) -> Any:
    await anyio.sleep(seconds)
    return x
