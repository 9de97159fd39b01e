"""Threads: sessions of several threads that share a container, and kernels on a device's thread."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import Probe, probe

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime import actors
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.engine.runtime.threads import WriteInProgress, unlocked
from actorflow.engine.session import step_runner as steps_module
from actorflow.graph.ops.declare import RefLike

__all__ = ["probe"]

SIZE = 50_000  # The number of elements from which numpy lets go of the interpreter while it adds


@af.op("TestHalves", shape=lambda c: [], result=None, gradient=None, stateful=True, writes=True, work=probes.HEAVY)
def add_halves(ref: RefLike, *, name: str | None = None) -> af.Operation:
    """Adds 1 to the first half of a variable on the device's thread and, when the test lets it, to the second."""


@af.kernel("TestHalves")
def _add_halves(xp: Any, ref: VariableState) -> None:
    buffer = ref.writable()
    buffer[: SIZE // 2] += 1
    probes.current.held.set()
    probes.current.release.wait(PATIENCE)
    buffer[SIZE // 2 :] += 1


class Shared:
    """A graph of its own over the variable `name` of the container `threads`."""

    def __init__(self, name: str) -> None:
        self.graph = af.Graph()
        with self.graph.as_default(), af.container("threads"):
            self.variable = af.Variable(np.zeros(SIZE, np.float32), name=name)
            self.add = self.variable.assign_add(np.ones(SIZE, np.float32), read_value=False)
            self.halves = add_halves(self.variable)

    def session(self, **options: Any) -> af.blocking.Session:
        return af.blocking.Session(graph=self.graph, **options)


@pytest.fixture
def shared(request: pytest.FixtureRequest) -> Iterator[Callable[[], Shared]]:
    """Graphs over one variable, which has its initial value."""
    name = request.node.name.partition("[")[0]
    first = Shared(name)
    with first.session() as session:
        session.run(first.variable.initializer)
    yield lambda: Shared(name)
    af.Session.reset(containers=["threads"])


def on_threads(*work: Callable[[], Any]) -> list[Any]:
    """The results of functions that run at once, each on a thread; raises the first error."""
    results: list[Any] = [None] * len(work)
    failures: list[BaseException] = []

    def run(index: int) -> None:
        try:
            results[index] = work[index]()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]
    return results


@pytest.mark.parametrize("limit", [0.0, 1e15])
@pytest.mark.parametrize("coalesce", [True, False])
def test_f31_f35_sessions_on_threads_lose_no_update(
    shared: Callable[[], Shared], monkeypatch: pytest.MonkeyPatch, limit: float, coalesce: bool
) -> None:
    monkeypatch.setattr(actors, "INLINE_LIMIT_NS", limit)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work() -> None:
        mine = shared()
        with mine.session(options=af.PlanOptions(coalesce=coalesce)) as session:
            for i in range(100):
                session.run(mine.add)
                if i % 5 == 0:  # a snapshot that is held while others write
                    value = session.run(mine.variable)
                    assert (value == value[0]).all(), "the variable is torn"

    try:
        on_threads(work, work, work)
    finally:
        sys.setswitchinterval(interval)
    last = shared()
    with last.session() as session:
        assert (session.run(last.variable) == 300).all()


def test_f31_another_loop_waits_for_a_kernel_on_a_thread(shared: Callable[[], Shared], probe: Probe) -> None:
    """Neither sees half of an update, nor hangs for want of a wake-up."""

    def write() -> None:
        mine = shared()
        with mine.session() as session:
            session.run(mine.halves)

    def read() -> Any:
        mine = shared()
        with mine.session() as session:
            session.warmup([mine.variable, mine.add])
            assert probe.held.wait(PATIENCE)
            with pytest.raises(errors.DeadlineExceededError):
                session.run(mine.variable, timeout=0.02)
            threading.Timer(0.05, probe.release.set).start()
            return session.run([mine.variable, mine.add], timeout=PATIENCE)[0]

    value = on_threads(write, read)[1]
    assert (value == value[0]).all() and value[0] in (1, 2)


def test_f31_a_table_is_looked_up_while_a_variable_is_written() -> None:
    """Its handle is a member of a compiled run of nodes, which looks for writers of variables."""
    graph = af.Graph()
    with graph.as_default():
        words = af.placeholder(af.string, [3])
        ids = af.lookup.index_table_from_tensor(["a", "b"]).lookup(words) * 2 + 1
        init = af.tables_initializer()
    with af.blocking.Session(graph=graph) as session:
        session.run(init)
        write = WriteInProgress([SimpleNamespace(writer=None)])
        try:
            assert session.run(ids, {words: ["a", "b", "c"]}, timeout=PATIENCE).tolist() == [1, 3, -1]
        finally:
            write.end()


def test_f35_what_a_dead_session_left_behind_ends_by_itself(
    shared: Callable[[], Shared], probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session and its loop are gone before their kernel is; the variable is whole, and free, when it ends."""
    monkeypatch.setattr(steps_module, "GRACE", 0.01)
    first, second = shared(), shared()

    async def leave_behind() -> None:
        async with af.Session(graph=first.graph) as session:
            running = asyncio.create_task(session.run(first.halves))
            async with asyncio.timeout(PATIENCE):
                for _ in iter(probe.held.is_set, True):
                    await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert session.statistics().abandoned == 1

    asyncio.run(leave_behind())
    assert unlocked.writing
    with second.session() as session:
        threading.Timer(0.05, probe.release.set).start()
        value = session.run(second.variable, timeout=PATIENCE)
        assert (value == 1).all()
        assert (session.run(second.variable) == 1).all()
    assert not unlocked.writing


def test_f31_states_are_made_once(probe: Probe) -> None:
    """Sessions of many threads that come first find one variable."""
    graphs = [Shared("made_once") for _ in range(8)]
    start = threading.Barrier(8)

    def begin(mine: Shared) -> None:
        with mine.session() as session:
            session.warmup(mine.variable.initializer)
            start.wait(PATIENCE)
            session.run(mine.variable.initializer)

    try:
        on_threads(*[lambda mine=mine: begin(mine) for mine in graphs])  # type: ignore[misc]
        with graphs[0].session() as one, graphs[1].session() as two:
            one.run(graphs[0].add)
            assert (two.run(graphs[1].variable) == 1).all()
    finally:
        af.Session.reset(containers=["threads"])
