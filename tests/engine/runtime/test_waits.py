"""Reports of waiting steps: which resource, its state, who fills and who drains it, and whether these run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import probes
import pytest
from channels import until
from probes import probe as probe

import actorflow as af
from actorflow.engine.session.waiting.deadlock import DeadlockDetector, WaitingStep
from actorflow.errors import DeadlineExceededError
from actorflow.graph.ops.state.mutex import mutex_lock
from actorflow.kernels.io import files


@pytest.fixture
async def session(graph: af.Graph) -> AsyncIterator[af.Session]:
    async with af.Session(graph=graph) as made:
        yield made


def start(awaited: Any) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(awaited)


async def stopped(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_f83_a_deadline_names_the_empty_queue_and_who_fills_it(graph: af.Graph, session: af.Session) -> None:
    queue = af.FIFOQueue(10, [af.float32], [[]], name="input")
    put = queue.enqueue(1.0, name="put")
    take = queue.dequeue(name="take")
    await session.warmup(take)
    with pytest.raises(DeadlineExceededError) as caught:
        await session.run(take, timeout=0.3)
    text = str(caught.value)
    assert (
        f"take (QueueDequeueV2, {take.where}) waits for an element of queue 'input', "
        "which is empty (0 of 10 elements, open)"
    ) in text
    assert f"filled by: put ({put.where}), in no step that is under way" in text
    assert "drained by" not in text


async def test_f83_a_queue_that_nothing_fills_says_so(graph: af.Graph, session: af.Session) -> None:
    take = af.FIFOQueue(-1, [af.float32], [[]], name="input").dequeue(name="take")
    waiting = start(session.run(take))
    await until(lambda: "take" in session.pending())
    assert "which is empty (0 elements, open)" in session.pending()
    assert "filled by: nothing in this graph" in session.pending()
    await stopped(waiting)


async def test_f83_a_full_queue_and_the_line_before_it(graph: af.Graph, session: af.Session) -> None:
    queue = af.FIFOQueue(1, [af.float32], [[]], name="q")
    put, take, more = queue.enqueue(1.0, name="put"), queue.dequeue(name="take"), queue.enqueue(2.0, name="more")
    await session.run(put)
    waiting = [start(session.run(put)), start(session.run(more))]
    await until(lambda: session.pending().count("QueueEnqueueV2") == 2)
    report = session.pending()
    assert (
        f"put (QueueEnqueueV2, {put.where}) waits for room in queue 'q', which is full (1 of 1 elements, open)"
        in report
    )
    assert "(1 of 1 elements, open); 1 before it in line" in report
    assert f"drained by: take ({take.where}), in no step that is under way" in report
    assert f"filled by: more ({more.where}), waits in step 3" in report
    await stopped(*waiting)


async def test_f83_two_queues_that_wait_for_each_other(graph: af.Graph, session: af.Session) -> None:
    one, other = (af.FIFOQueue(1, [af.float32], [[]], name=name) for name in ("one", "other"))
    there = other.enqueue(one.dequeue(name="from_one"), name="to_other")
    back = one.enqueue(other.dequeue(name="from_other"), name="to_one")
    waiting = [start(session.run(there)), start(session.run(back))]
    await until(lambda: "from_one (" in session.pending() and "from_other (" in session.pending())
    report = session.pending()
    assert f"filled by: to_one ({back.where}), waits in step 2" in report
    assert f"filled by: to_other ({there.where}), waits in step 1" in report
    await stopped(*waiting)


async def test_f83_what_has_come_and_what_stays_behind(graph: af.Graph, session: af.Session) -> None:
    fifo = af.FIFOQueue(10, [af.float32], [[]], name="fifo")
    shuffled = af.RandomShuffleQueue(10, 3, [af.float32], [[]], name="shuffled")
    for queue in (fifo, shuffled):
        await session.run(queue.enqueue_many([[1.0, 2.0]]))
    waiting = [start(session.run(fifo.dequeue_many(5))), start(session.run(shuffled.dequeue()))]
    await until(lambda: "fifo" in session.pending() and "shuffled" in session.pending())
    report = session.pending()
    assert "waits for 5 elements of queue 'fifo', which is empty (0 of 10 elements, open); it has 2 of them" in report
    assert "of queue 'shuffled', which is not full (2 of 10 elements, 2 of them stay behind, open)" in report
    await stopped(*waiting)


async def test_f83_the_handle_of_a_queue_goes_by_other_nodes(graph: af.Graph, session: af.Session) -> None:
    queues = [af.FIFOQueue(2, [af.float32], [[]], shared_name=name) for name in ("left", "right")]
    chosen = af.QueueBase.from_list(1, queues)
    take, put = chosen.dequeue(name="take"), queues[1].enqueue(1.0, name="put")
    waiting = start(session.run(take))
    await until(lambda: "take" in session.pending())
    assert "queue 'right'" in session.pending() and f"filled by: put ({put.where})" in session.pending()
    await stopped(waiting)


async def test_f83_a_barrier_names_the_keys_that_lack_something(graph: af.Graph, session: af.Session) -> None:
    barrier = af.Barrier((af.float32, af.float32), ((), ()), name="pairs")
    insert, take = barrier.insert_many(0, ["a", "b"], [1.0, 2.0]), barrier.take_many(1)
    await session.run(insert)
    waiting = start(session.run(take[1]))
    await until(lambda: "BarrierTakeMany" in session.pending())
    report = session.pending()
    assert "waits for an element of barrier 'pairs', which is empty (0 complete elements, 2 incomplete, open)" in report
    assert f"completed by: {insert.name} ({insert.where}), in no step" in report
    await stopped(waiting)


async def test_an_accumulator_tells_how_many_gradients_it_has(graph: af.Graph, session: af.Session) -> None:
    accumulator = af.ConditionalAccumulator(af.float32, [], name="sum")
    apply, take = accumulator.apply_grad(1.0, name="apply"), accumulator.take_grad(3, name="take")
    await session.run(apply)
    waiting = start(session.run(take))
    await until(lambda: "take" in session.pending())
    report = session.pending()
    assert "waits for 3 gradients of the accumulator 'sum', which has 1 (global step 0, 0 dropped)" in report
    assert f"applied by: apply ({apply.where}), in no step that is under way" in report
    await stopped(waiting)


async def test_a_mutex_tells_which_step_holds_it(graph: af.Graph, session: af.Session) -> None:
    section, queue = af.CriticalSection(name="one"), af.FIFOQueue(1, [af.float32], [[]], name="q")
    inside = section.execute(lambda: queue.dequeue(name="take"))
    holding = start(session.run(inside))
    await until(lambda: "take (" in session.pending())
    waiting = start(session.run(inside))
    await until(lambda: "waits for the mutex" in session.pending())
    report = session.pending()
    assert "waits for the mutex 'one', which step 1 holds" in report
    assert "released by: critical_section_execute/ConsumeMutexLock (" in report and "due in step 1" in report
    await stopped(waiting, holding)


async def test_f82_a_reader_waits_for_the_name_of_a_file(graph: af.Graph, session: af.Session) -> None:
    names = af.FIFOQueue(3, [af.string], [[]], name="names")
    reader = af.TextLineReader(name="lines")
    key, _ = reader.read(names, name="read")
    again = reader.read(names, name="again")[0]
    waiting = [start(session.run(key)), start(session.run(again))]
    await until(lambda: "read (" in session.pending() and "again (" in session.pending())
    report = session.pending()
    assert (
        "waits for an element of queue 'names', which is empty" in report
        and "filled by: nothing in this graph" in report
    )
    assert "reads with 'lines', one read at a time: it is at a file's name" in report
    await stopped(*waiting)


@pytest.mark.parametrize("how", ["cancelled", "deadline"])
async def test_a_function_that_goes_on_after_its_step_is_counted_and_shown(
    graph: af.Graph, session: af.Session, how: str
) -> None:
    begun, release = threading.Event(), threading.Event()

    def blocks() -> np.float32:
        begun.set()
        release.wait()
        return np.float32(1.0)

    called = af.py_func(blocks, [], af.float32, name="called")
    running = start(session.run(called, timeout=0.2 if how == "deadline" else None))
    try:
        await until(begun.is_set)
        if how == "cancelled":
            assert f"called (PyFunc, {called.where}) calls the function " in session.pending()
            assert "blocks on a thread" in session.pending()
            running.cancel()
        with pytest.raises(asyncio.CancelledError if how == "cancelled" else DeadlineExceededError):
            await running
        assert session.statistics().abandoned == 1
        assert session.pending() == (
            "step 1 is over, but not all that it began:\n"
            f"called (PyFunc, {called.where}) goes on, and its result will be dropped"
        )
    finally:
        release.set()
    await until(lambda: session.pending() == "no step is in flight")
    assert session.statistics().abandoned == 1


async def test_a_function_that_goes_on_is_listed_once(graph: af.Graph, session: af.Session) -> None:
    begun, release = threading.Event(), threading.Event()

    def goes_on() -> np.float32:
        begun.set()
        return np.float32(release.wait())

    running = asyncio.create_task(session.run(af.py_func(goes_on, [], af.float32, name="called")))
    try:
        await until(begun.is_set)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        # at once: the task of its kernel ends with this turn of the loop
        assert session.pending().count("goes on") == 1
    finally:
        release.set()
    await until(lambda: session.pending() == "no step is in flight")


async def test_a_function_that_ends_with_its_step_is_not_left_behind(graph: af.Graph, session: af.Session) -> None:
    def fails() -> np.float32:
        raise ValueError("no")

    async def waits() -> np.float32:
        await asyncio.Event().wait()
        return np.float32(1.0)

    with pytest.raises(af.errors.InvalidArgumentError):
        await session.run(af.py_func(fails, [], af.float32))
    called = af.py_func(waits, [], af.float32)
    await session.warmup(called)
    with pytest.raises(DeadlineExceededError, match=r"awaits the function .*waits"):
        await session.run(called, timeout=0.3)
    assert session.statistics().abandoned == 0 and session.pending() == "no step is in flight"


async def test_f83_the_call_of_a_function_that_fills_a_queue_is_named(graph: af.Graph, session: af.Session) -> None:
    queue = af.FIFOQueue(10, [af.float32], [[]], name="input")

    @af.Defun(af.float32)
    def fill(x: af.Tensor) -> af.Tensor:
        with af.control_dependencies([queue.enqueue(x, name="put")]):
            return af.identity(x)

    filled = fill(1.0)
    take = queue.dequeue(name="take")
    await session.warmup(take)
    with pytest.raises(DeadlineExceededError, match=rf"filled by: {filled.op.name}/put .*, in no step"):
        await session.run(take, timeout=0.3)


async def test_f83_what_reads_a_file_names_it(
    graph: af.Graph, session: af.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "slow"
    release = threading.Event()
    monkeypatch.setattr(files, "read_all", lambda *_: release.wait())
    read = af.read_file(str(path), name="read")
    try:
        with pytest.raises(DeadlineExceededError) as caught:
            await session.run(read, timeout=0.1)
    finally:
        release.set()
    assert f"read (ReadFile, {read.where}) reads the file {str(path)!r}" in str(caught.value)


async def test_a_step_for_which_a_thread_works_does_not_stand_still(
    graph: af.Graph, session: af.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, release = threading.Event(), threading.Event()

    def slow(*_: Any) -> bytes:
        begun.set()
        release.wait()
        return b""

    monkeypatch.setattr(files, "read_all", slow)
    steps = session._engine.steps  # type: ignore[attr-defined]
    stands_still: list[int] = []
    read, take = af.read_file(str(tmp_path / "slow")), af.FIFOQueue(10, [af.float32], [[]]).dequeue()
    await session.run(af.constant(1.0))
    steps.deadlock = DeadlockDetector(lambda step: stands_still.append(step.step), after=0.0)
    running = start(session.run(read))
    try:
        await until(begun.is_set)
        assert session.statistics().waiting == 1, "others may have its turn"
        steps._look_for_deadlock()
        assert not stands_still
        running_too = start(session.run(take))
        await until(lambda: session.statistics().waiting == 2)
        release.set()
        await running
        steps._look_for_deadlock()
        steps._look_for_deadlock()
        assert len(stands_still) == 1, "the queue is told, when nothing else runs"
        await stopped(running_too)
    finally:
        release.set()


async def test_a_kernel_of_a_program_says_what_it_waits_for(
    graph: af.Graph, session: af.Session, probe: probes.Probe
) -> None:
    told = probes.wait_told(1.0, tag="told", name="told")
    with pytest.raises(DeadlineExceededError) as caught:
        await session.run(told, timeout=0.05)
    assert f"told (TestWaitTold, {told.where}) waits for the gate 'told'" in str(caught.value)


# ---- what is told without a deadline


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "a step waits" in record.getMessage()]


async def test_the_log_tells_of_a_wait_that_nothing_ends_and_tells_it_once(
    graph: af.Graph, session: af.Session, caplog: pytest.LogCaptureFixture
) -> None:
    queue = af.FIFOQueue(10, [af.float32], [[]], name="input")
    take, put = queue.dequeue(name="take"), queue.enqueue(1.0, name="put")
    waiting = [start(session.run(take)) for _ in range(3)]
    await until(lambda: warnings_in(caplog))
    await session.run(put)
    await until(lambda: any(task.done() for task in waiting))
    waiting.append(start(session.run(take)))
    await until(lambda: session.statistics().waiting == 3)
    session._engine.steps._look_for_deadlock()  # type: ignore[attr-defined]
    (told,) = warnings_in(caplog)
    assert f"take (QueueDequeueV2, {take.where}) waits for an element of queue 'input'" in told
    assert f"filled by: put ({put.where}), in no step that is under way" in told
    await stopped(*waiting)


def told(caplog: pytest.LogCaptureFixture) -> list[int]:
    found = [record.step for record in caplog.records]  # type: ignore[attr-defined]
    caplog.clear()
    return found


def test_a_step_that_runs_may_end_the_waits_of_others(caplog: pytest.LogCaptureFixture) -> None:
    deadlock = DeadlockDetector()
    filled, unfilled = (
        ("take (Op) waits", "  filled by: put (x)"),
        ("get (Op) waits", "  filled by: nothing in this graph"),
    )
    slow = ("slow (Op) waits",)
    assert deadlock.look([WaitingStep(1, 2.0, filled), WaitingStep(2, None, ())], 2) and not told(caplog)
    assert deadlock.look([WaitingStep(1, 2.0, filled), WaitingStep(2, 0.1, slow)], 2) and not told(caplog)
    for idle, steps in ((3.0, []), (4.0, [1, 2])):
        both = [WaitingStep(1, idle, filled), WaitingStep(2, idle - 1.9, slow)]
        assert deadlock.look(both, 2) == (not steps) and told(caplog) == steps
    assert not deadlock.look([WaitingStep(1, 5.0, filled), WaitingStep(3, 5.0, filled)], 3) and not told(caplog)
    for steps in ([], [4]):
        assert deadlock.look([WaitingStep(4, 2.0, unfilled), WaitingStep(2, None, ())], 4) == (not steps)
        assert told(caplog) == steps


def test_what_ran_between_two_looks_may_end_the_waits_of_others(caplog: pytest.LogCaptureFixture) -> None:
    deadlock, filled = DeadlockDetector(), ("take (Op) waits", "  filled by: put (x)")
    for begun in (1, 2, 5):  # steps that no look has met
        assert deadlock.look([WaitingStep(1, 1.0 + begun, filled)], begun) and not told(caplog)
    assert deadlock.look([WaitingStep(1, 1.5, filled)], 5) and not told(caplog), "it went on meanwhile"
    assert not deadlock.look([WaitingStep(1, 2.5, filled)], 5) and told(caplog) == [1]


async def test_a_loop_that_was_held_up_makes_no_step_stand_still(
    graph: af.Graph, session: af.Session, caplog: pytest.LogCaptureFixture
) -> None:
    queue = af.FIFOQueue(10, [af.float32], [[]], name="input")
    take, put = queue.dequeue(name="take"), queue.enqueue(1.0, name="put")
    steps = session._engine.steps  # type: ignore[attr-defined]
    waiting = start(session.run(take))
    await until(lambda: session.statistics().waiting == 1)
    (step,) = steps.running.values()
    step._idle_since -= 2.0  # as after seconds in which this process had no processor
    steps._look_for_deadlock()
    await session.run(put)
    await waiting
    assert not warnings_in(caplog)


async def test_steps_that_hold_each_others_mutex_are_a_certain_error(graph: af.Graph, session: af.Session) -> None:
    one, other = af.CriticalSection(name="one"), af.CriticalSection(name="other")
    gates = [af.FIFOQueue(2, [af.float32], [[]], name=name) for name in ("left", "right")]
    nested = []
    for outer, inner, gate in ((one, other, gates[0]), (other, one, gates[1])):

        def build(inner: Any = inner, gate: Any = gate) -> Any:
            with af.control_dependencies([gate.dequeue()]):
                return inner.execute(lambda: af.constant(1.0) + 1.0)

        nested.append(outer.execute(build))
    runs = [start(session.run(each)) for each in nested]
    await until(lambda: session.pending().count("QueueDequeueV2") == 2)
    for gate in gates:
        await session.run(gate.enqueue(1.0))
    failed, done = await asyncio.gather(*runs, return_exceptions=True)
    if not isinstance(failed, BaseException):
        failed, done = done, failed
    assert isinstance(failed, af.errors.StarvationError) and done == 2.0
    assert "waits for steps that wait for it" in str(failed)
    assert "waits for the mutex 'one', which step" in str(failed) and "waits for the mutex 'other'" in str(failed)


async def test_a_step_that_waits_for_its_own_mutex_is_a_certain_error(graph: af.Graph, session: af.Session) -> None:
    section = af.CriticalSection(name="one")
    handle = section._handle
    first = mutex_lock(handle)
    with af.control_dependencies([first]):
        second = mutex_lock(handle)
    with pytest.raises(af.errors.StarvationError, match="waits for itself"):
        await session.run(second)
    assert await session.run(first)
