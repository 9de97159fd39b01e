"""Chains: what a device's thread goes on with after a heavy kernel, and what it leaves to the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow import errors
from actorflow.devices.cpu import CpuDevice
from actorflow.engine.runtime.diagnostics.costs import Cost
from actorflow.engine.runtime.diagnostics.trace import Trace
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

__all__ = ["probe"]

ON_THREAD, ON_LOOP = "compute", "MainThread"
MEDIUM = 200_000  # operations on an element: 80 µs for four


@af.op("TestHeavy", shape=unchanged, gradient=None, work=probes.HEAVY)
def heavy(x: TensorLike, *, tag: str, name: str | None = None) -> Tensor:
    """`x` + 1, so costly that it is run on the device's thread; does what the test has put at `tag`."""


@af.op("TestMedium", shape=unchanged, gradient=None, work=MEDIUM)
def medium(x: TensorLike, *, tag: str, name: str | None = None) -> Tensor:
    """`x` + 1, for which alone there would be no hop."""


@af.op(
    "TestPair", shape=probes._halves, result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]), gradient=None, work=MEDIUM
)
def pair(x: TensorLike, *, tag: str, name: str | None = None) -> list[Tensor]:
    """`x` + 1 and `x` - 1."""


def _note(tag: str, x: Any) -> None:
    where = threading.current_thread().name.split()[0]
    probes.current.note(f"{tag}@{where}")
    action = probes.current.does.get(tag)
    if action is not None:
        action(x)


@af.kernel("TestHeavy")
def _heavy(xp: Any, x: Any, *, tag: str) -> Any:
    _note(tag, x)
    return x + 1


@af.kernel("TestMedium")
def _medium(xp: Any, x: Any, *, tag: str) -> Any:
    _note(tag, x)
    return x + 1


@af.kernel("TestPair")
def _pair(xp: Any, x: Any, *, tag: str) -> Any:
    _note(tag, x)
    return x + 1, x - 1


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The work that was given to the device's thread."""
    found: list[Any] = []
    submit = CpuDevice.submit

    def noted(self: CpuDevice, work: Callable[[], None], done: Callable[[], None]) -> None:
        found.append(work)
        submit(self, work, done)

    monkeypatch.setattr(CpuDevice, "submit", noted)
    return found


@pytest.fixture(autouse=True)
def costs_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The costs stay as declared, whatever is measured."""
    monkeypatch.setattr(Cost, "add", lambda self, nanoseconds, busy=None: None)


@pytest.fixture
def graph() -> Any:
    made = af.Graph()
    with made.as_default():
        yield made


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        for _ in iter(true, True):
            await asyncio.sleep(0)


def session_of(graph: af.Graph) -> af.Session:
    """A session in which each node stays itself."""
    return af.Session(graph=graph, options=af.PlanOptions(coalesce=False))


async def test_a_line_of_kernels_is_one_hop(graph: af.Graph, probe: Probe, hops: list[Any]) -> None:
    x = af.placeholder(af.float32, [4])
    value = heavy(x, tag="a")
    for tag in "bcd":
        value = medium(value, tag=tag)
    value = heavy(value, tag="e")
    async with session_of(graph) as session:
        for _ in range(3):
            assert (await session.run(value, {x: np.zeros(4)})).tolist() == [5.0] * 4
        assert len(hops) == 3
        assert probe.order == [f"{tag}@{ON_THREAD}" for tag in "abcde"] * 3
        assert session.statistics().nodes == 15


async def test_branches_that_hang_on_one_kernel_go_on_too(graph: af.Graph, probe: Probe, hops: list[Any]) -> None:
    """All outputs and control edges count, and a node runs when the last of them is there."""
    x = af.placeholder(af.float32, [4])
    up, down = pair(heavy(x, tag="a"), tag="pair")
    left, right = medium(up, tag="left"), medium(down, tag="right")
    with af.control_dependencies([left]):
        after = medium(down, tag="after")
    total = af.add_n([left, right, after, up])
    async with session_of(graph) as session:
        assert (await session.run(total, {x: np.zeros(4)})).tolist() == [3.0 + 1.0 + 1.0 + 2.0] * 4
    assert len(hops) == 1
    assert {name.partition("@")[2] for name in probe.ran} == {ON_THREAD}
    assert probe.order.index(f"left@{ON_THREAD}") < probe.order.index(f"after@{ON_THREAD}")


async def test_what_waits_for_others_too_is_left_to_the_loop(graph: af.Graph, probe: Probe, hops: list[Any]) -> None:
    x = af.placeholder(af.float32, [4])
    late = probes.wait(x, tag="gate")
    value = medium(af.add(heavy(x, tag="a"), late), tag="b")
    async with session_of(graph) as session:
        running = asyncio.create_task(session.run(value, {x: np.ones(4)}))
        await probe.arrived("gate").wait()
        await until(lambda: len(probe.order) == 2)
        probe.gate("gate").set()
        assert (await running).tolist() == [4.0] * 4
    assert set(probe.order[:2]) == {"gate", f"a@{ON_THREAD}"}, "these two wait for nothing"
    assert probe.order[2:] == [f"b@{ON_LOOP}"]


async def test_small_nodes_and_those_with_state_stay_on_the_loop(
    graph: af.Graph, probe: Probe, hops: list[Any]
) -> None:
    x = af.placeholder(af.float32, [4])
    v = af.Variable(np.zeros(4, np.float32))
    seen = probes.log(heavy(x, tag="a"), tag="stateful")

    def look(x: Any) -> Any:
        probe.note(threading.current_thread().name)
        return x

    probe.does["stateful"] = look
    add = v.assign_add(medium(seen, tag="b"), read_value=False)
    async with session_of(graph) as session:
        await session.run(v.initializer)
        await session.run(add, {x: np.zeros(4)})
        assert (await session.run(v)).tolist() == [2.0] * 4
    assert probe.order == [f"a@{ON_THREAD}", "stateful", ON_LOOP, f"b@{ON_LOOP}"]
    assert len(hops) == 1


@pytest.mark.parametrize("between", ["nothing", "a short kernel", "one that could follow"])
async def test_what_others_wait_for_is_not_held_up_by_a_chain(
    graph: af.Graph, probe: Probe, hops: list[Any], between: str
) -> None:
    """A kernel that could follow waits until an asynchronous one has begun, which depends on the same result."""
    x = af.placeholder(af.float32, [4])
    first = heavy(x, tag="a")
    value = heavy(first, tag="b")
    behind = {"nothing": lambda: first, "a short kernel": lambda: -first}.get(between, lambda: medium(first, tag="c"))
    sent = probes.wait(behind(), tag="gate")
    probe.does["b"] = lambda x: probe.release.wait(PATIENCE) or pytest.fail("the asynchronous kernel was not begun")
    async with session_of(graph) as session:
        running = asyncio.create_task(session.run([value, sent], {x: np.zeros(4)}))
        async with asyncio.timeout(PATIENCE):
            await probe.arrived("gate").wait()
        probe.release.set()
        probe.gate("gate").set()
        assert (await running)[0].tolist() == [2.0] * 4
    assert len(hops) == 2


async def test_an_update_after_a_chain_is_in_place(
    graph: af.Graph, probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain keeps no snapshot of a variable that it has read."""
    v = af.Variable(np.zeros(50_000, np.float32))
    step = v.assign_sub(medium(heavy(v.value(), tag="a"), tag="b"), read_value=False)
    states: list[VariableState] = []
    writable = VariableState.writable

    def noted(self: VariableState) -> Any:
        states.append(self)
        return writable(self)

    monkeypatch.setattr(VariableState, "writable", noted)
    async with session_of(graph) as session:
        await session.run(v.initializer)
        for _ in range(5):
            await session.run(step)
        value = await session.run(v)
    assert probe.ran == {f"a@{ON_THREAD}": 5, f"b@{ON_THREAD}": 5}
    assert states[-1].copies == 0
    assert (value == -2).all()  # v - (v + 2)


async def test_an_error_in_a_chain_names_its_node(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [4])
    value = heavy(medium(heavy(x, tag="a"), tag="b", name="culprit"), tag="c")

    def fail(x: Any) -> None:
        raise ValueError("no such luck")

    probe.does["b"] = fail
    async with session_of(graph) as session:
        with pytest.raises(errors.OpError, match="no such luck") as caught:
            await session.run(value, {x: np.zeros(4)})
        assert caught.value.node == "culprit"
        assert probe.order == [f"a@{ON_THREAD}", f"b@{ON_THREAD}"]
        del probe.does["b"]
        assert (await session.run(value, {x: np.zeros(4)})).tolist() == [3.0] * 4


async def test_a_stopped_chain_goes_no_further(graph: af.Graph, probe: Probe) -> None:
    x = af.placeholder(af.float32, [4])
    value = medium(heavy(x, tag="a"), tag="b")
    probe.does["a"] = lambda x: (probe.held.set(), probe.release.wait(PATIENCE))
    async with session_of(graph) as session:
        running = asyncio.create_task(session.run(value, {x: np.zeros(4)}))
        await until(probe.held.is_set)
        running.cancel()
        await asyncio.sleep(0)
        probe.release.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert probe.order == [f"a@{ON_THREAD}"]
        assert session.statistics().inflight == 0
        assert (await session.run(value, {x: np.zeros(4)})).tolist() == [2.0] * 4


async def test_others_get_the_thread_between_two_kernels(graph: af.Graph, probe: Probe, hops: list[Any]) -> None:
    x = af.placeholder(af.float32, [4])
    first = medium(heavy(x, tag="a"), tag="b")
    second = heavy(x, tag="other")
    probe.does["a"] = lambda x: (probe.held.set(), probe.release.wait(PATIENCE))
    async with session_of(graph) as session:
        runs = [asyncio.create_task(session.run(first, {x: np.zeros(4)}))]
        await until(probe.held.is_set)
        runs.append(asyncio.create_task(session.run(second, {x: np.zeros(4)})))
        await until(lambda: len(hops) == 2)
        probe.release.set()
        assert [value.tolist() for value in await asyncio.gather(*runs)] == [[2.0] * 4, [1.0] * 4]
    before = probe.order[: probe.order.index(f"other@{ON_THREAD}")]
    assert f"b@{ON_THREAD}" not in before, "on the event loop it may run beside the other"


async def test_a_traced_step_hops_for_each_kernel(graph: af.Graph, probe: Probe, hops: list[Any]) -> None:
    """Its events say when each node was ready, which only the loop knows."""
    x = af.placeholder(af.float32, [4])
    value = heavy(heavy(x, tag="a"), tag="b")
    trace = Trace()
    async with session_of(graph) as session:
        assert (await session.run(value, {x: np.zeros(4)}, trace=trace)).tolist() == [2.0] * 4
    assert len(hops) == 2
    assert [event.thread for event in trace.events if event.op == "TestHeavy"] == [True, True]
