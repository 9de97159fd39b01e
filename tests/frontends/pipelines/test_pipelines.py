"""Pipelines: requests get their own rows, stages batch, wait, fail and restart by themselves, and the page tells of them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from clusters import make_spec
from frontends.serving.served import Client, application, write_line

import actorflow as af
from actorflow.cluster.server import Server
from actorflow.errors import (
    AlreadyExistsError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    Overloaded,
    UnavailableError,
    UnknownError,
)
from actorflow.frontends.serving.pipelines import consumers as consumers_module
from actorflow.frontends.serving.pipelines import stage as stage_module
from actorflow.frontends.serving.pipelines.consumers import Consumer
from actorflow.frontends.serving.pipelines.loading import load, stem_of
from actorflow.frontends.serving.pipelines.running import RunningPipeline

Policy = af.serving.StagePolicy


@pytest.fixture(scope="module")
def triple(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a version of a model of y = 3 · x."""
    folder = tmp_path_factory.mktemp("models") / "triple"
    write_line(folder / "1", 3)
    return str(folder)


def of_function(function: Callable[..., Any], policy: Policy | None = None, **options: Any) -> af.serving.Pipeline:
    """A pipeline of one stage: a function of rows."""
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        result = pipeline.function("work", function, [rows], af.float32, policy=policy, **options)
    pipeline.serves({"rows": rows}, {"result": result})
    return pipeline


def running(model: af.serving.Model) -> RunningPipeline:
    (part,) = model.parts
    assert isinstance(part, RunningPipeline)
    return part


def rows_of(value: float, count: int = 1) -> Any:
    return np.full((count, 3), value, np.float32)


class Gate:
    """A function of a stage that waits while it is closed, and tells which calls were stopped."""

    def __init__(self) -> None:
        self.event, self.began, self.stopped, self.calls = anyio.Event(), anyio.Event(), 0, 0

    async def same(self, rows: Any) -> Any:
        self.calls += 1
        self.began.set()
        try:
            await self.event.wait()
        except BaseException:
            self.stopped += 1
            raise
        return rows


# ---- rows


async def test_each_request_has_its_own_rows_and_each_stage_its_own_batches(triple: str) -> None:
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        first = pipeline.model("first", triple, rows)["y"]
        parts = pipeline.function("parts", lambda x: np.repeat(x, 2, 0), [first - 1.0], af.float32, shapes=[[None, 3]])
        second = pipeline.model("second", triple, {"x": parts}, policy=Policy(batching=af.Batching(max_size=256)))
    pipeline.serves({"rows": rows}, {"y": second["y"], "total": second["total"]})
    async with af.serving.Model(pipeline) as model, anyio.create_task_group() as group:

        async def ask(number: int) -> None:
            count = number % 4  # none, for a detector that finds nothing
            answer = await model.predict(rows_of(number, count))
            np.testing.assert_array_equal(answer["y"], rows_of(9 * number - 3, 2 * count))
            assert answer["total"].shape == (2 * count,)

        for number in range(64):
            group.start_soon(ask, number)
    stages = running(model).stages
    assert stages["parts"].steps == 64
    assert stages["first"].steps < 64 and stages["second"].steps < 64, (
        "rows of requests went through the models together"
    )
    assert stages["second"].rows >= 2 * 96


async def test_a_function_with_batching_gets_the_rows_of_several_requests() -> None:
    sizes: list[int] = []
    gate = Gate()

    async def double(rows: Any) -> Any:
        sizes.append(len(rows))
        await gate.same(rows)
        return rows * 2

    pipeline = of_function(double, Policy(batching=af.Batching(max_size=8)))
    async with af.serving.Model(pipeline) as model, anyio.create_task_group() as group:

        async def ask(number: int) -> None:
            np.testing.assert_array_equal(await model.predict(rows_of(number)), rows_of(2 * number))

        group.start_soon(ask, 0)
        await gate.began.wait()
        for number in range(1, 9):
            group.start_soon(ask, number)
        stage = running(model).stages["work"]
        while stage.waiting < 8:
            await anyio.lowlevel.checkpoint()
        assert stage.running == 1
        gate.event.set()
    assert sizes == [1, 8]


async def test_a_request_that_fails_in_a_batch_fails_alone() -> None:
    def checked(rows: Any) -> Any:
        if (rows < 0).any():
            raise ValueError("a row is negative")
        return rows

    async with af.serving.Model(of_function(checked, Policy(batching=af.Batching()))) as model:
        outcomes: dict[int, Any] = {}

        async def ask(number: int) -> None:
            try:
                outcomes[number] = await model.predict(rows_of(number))
            except OpError as error:
                outcomes[number] = error

        async with anyio.create_task_group() as group:
            for number in range(-1, 4):
                group.start_soon(ask, number)
        assert isinstance(outcomes.pop(-1), InvalidArgumentError)
        assert sorted(int(value[0, 0]) for value in outcomes.values()) == [0, 1, 2, 3]
        assert running(model).stages["work"].failed == 1


# ---- time


async def test_a_stage_that_takes_longer_than_its_timeout_is_stopped_and_named() -> None:
    gate = Gate()
    async with af.serving.Model(of_function(gate.same, Policy(timeout=0.05))) as model:
        with pytest.raises(DeadlineExceededError, match=r"The stage 'work' had no result after 0\.05 seconds"):
            await model.predict(rows_of(1))
        assert gate.stopped == 1
        gate.event.set()
        np.testing.assert_array_equal(await model.predict(rows_of(2)), rows_of(2))


@pytest.mark.parametrize("leaves", ["cancelled", "late"])
async def test_a_request_that_is_left_stops_its_stage(leaves: str) -> None:
    gate = Gate()
    async with af.serving.Model(of_function(gate.same)) as model:
        if leaves == "late":
            with pytest.raises(DeadlineExceededError):
                await model.predict(rows_of(1), timeout=0.05)
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(model.predict, rows_of(1))
                await gate.began.wait()
                group.cancel_scope.cancel()
        await model.drain()
        assert gate.stopped == 1 and running(model).stages["work"].running == 0


async def test_a_stage_takes_no_more_requests_than_its_queue_has_places() -> None:
    gate = Gate()
    batching = af.Batching(max_size=1, max_queued=1)
    async with af.serving.Model(of_function(gate.same, Policy(batching=batching))) as model:
        refused = 0

        async def ask() -> None:
            nonlocal refused
            try:
                await model.predict(rows_of(1))
            except Overloaded:
                refused += 1
                gate.event.set()

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask)
        assert refused == 1 and gate.calls == 2


# ---- restarts


class Connection:
    """A resource that counts how often it is opened, and fails as often as it is told to."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures, self.error, self.opened, self.calls, self.closed = failures, error, 0, 0, 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Connection]:
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1

    @contextlib.contextmanager
    def blocking(self) -> Any:
        self.opened += 1
        try:
            yield self
        finally:
            self.closed += 1

    def call(self, rows: Any) -> Any:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return rows


RESTARTS = [
    # failures, error, policy, what the request raises, times opened
    (1, ConnectionResetError("gone"), Policy(delay=0), None, 2),
    (3, UnavailableError("away"), Policy(delay=0), None, 4),
    (4, ConnectionResetError("gone"), Policy(delay=0), UnknownError, 4),
    (1, ConnectionResetError("gone"), Policy(restarts=0), UnknownError, 1),
    (1, ValueError("wrong"), Policy(delay=0), InvalidArgumentError, 1),
    (1, KeyError("wrong"), Policy(delay=0, restart_on=(KeyError,)), None, 2),
    (1, DeadlineExceededError("late"), Policy(delay=0, restart_on=(OSError,)), DeadlineExceededError, 1),
    (1, DeadlineExceededError("late"), Policy(delay=0, restart_on=(DeadlineExceededError,)), None, 2),
]


@pytest.mark.parametrize("kind", ["open", "blocking"])
@pytest.mark.parametrize(
    ("failures", "error", "policy", "raises", "opened"),
    RESTARTS,
    ids=[f"{type(row[1]).__name__}-{row[0]}-{row[4]}" for row in RESTARTS],
)
async def test_a_stage_restarts_as_its_policy_says(
    failures: int, error: Exception, policy: Policy, raises: type[OpError] | None, opened: int, kind: str
) -> None:
    connection = Connection(failures, error)
    pipeline = of_function(Connection.call, policy, resource=getattr(connection, kind))
    async with af.serving.Model(pipeline) as model:
        if raises is None:
            np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(1))
        else:
            with pytest.raises(raises):
                await model.predict(rows_of(1))
            connection.failures = 0
        assert connection.opened == opened and running(model).stages["work"].restarts == opened - 1
        np.testing.assert_array_equal(await model.predict(rows_of(2)), rows_of(2))
    assert connection.closed == connection.opened


async def test_requests_that_fail_together_restart_their_stage_once() -> None:
    connection, all_are_here, here = Connection(0, ValueError()), anyio.Event(), 0

    async def call(held: Connection, rows: Any) -> Any:
        nonlocal here
        here += 1
        if here == 8:
            all_are_here.set()
        if here <= 8:
            await all_are_here.wait()
            raise ConnectionResetError("gone")
        return rows

    async with af.serving.Model(of_function(call, Policy(delay=0), resource=connection.open)) as model:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(model.predict, rows_of(1))
        assert here == 16 and connection.opened == 2


async def test_a_model_restarts_too(triple: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        answer = pipeline.model("line", triple, rows, policy=Policy(delay=0))["y"]
    pipeline.serves({"rows": rows}, {"y": answer})
    async with af.serving.Model(pipeline) as model:
        stage = running(model).stages["line"]
        inner = stage._restarts._worker.model  # type: ignore[attr-defined]
        await inner.close()  # as a lost cluster does, it answers UnavailableError
        np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(3))
        assert stage.restarts == 1


class Clock:
    """The time by which restarts are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(stage_module, "time", self)

    def monotonic(self) -> float:
        return self.now

    perf_counter = staticmethod(time.perf_counter)


OPENINGS = {
    # the restarts, those that fail to open, what restarts are for, and what the first request raises
    "the second opens": (3, 1, (ConnectionError,), None),
    "none opens": (2, 2, (ConnectionError,), UnavailableError),
    "none opens, as usual": (2, 2, Policy().restart_on, UnavailableError),
}


@pytest.mark.parametrize(("restarts", "failures", "restart_on", "raises"), OPENINGS.values(), ids=OPENINGS)
async def test_a_stage_that_could_not_be_opened_again_is_opened_by_a_later_request(
    restarts: int,
    failures: int,
    restart_on: tuple[type[Exception], ...],
    raises: type[OpError] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, connection, left = Clock(monkeypatch), Connection(1, ConnectionResetError("gone")), [0]

    @contextlib.asynccontextmanager
    async def resource() -> AsyncIterator[Connection]:
        if connection.opened and left[0] < failures:
            left[0] += 1
            raise TimeoutError("no database")
        async with connection.open() as held:
            yield held

    policy = Policy(delay=0, restarts=restarts, within=60, restart_on=restart_on)
    async with af.serving.Model(of_function(Connection.call, policy, resource=resource)) as model:
        if raises is None:
            np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(1))
        else:
            for _ in range(2):
                with pytest.raises(raises, match=r"The stage 'work' is not open: TimeoutError: no database\."):
                    await model.predict(rows_of(1))
            clock.now += 61
        np.testing.assert_array_equal(await model.predict(rows_of(2)), rows_of(2))
        assert running(model).stages["work"].restarts == failures + 1
    assert connection.closed == connection.opened == 2


async def test_a_request_that_is_given_up_does_not_stop_the_restart_of_its_stage() -> None:
    connection, begun, go_on = Connection(1, ConnectionResetError("gone")), anyio.Event(), anyio.Event()

    @contextlib.asynccontextmanager
    async def resource() -> AsyncIterator[Connection]:
        if connection.opened:
            begun.set()
            await go_on.wait()
        async with connection.open() as held:
            yield held

    async with af.serving.Model(of_function(Connection.call, Policy(delay=0, restarts=1), resource=resource)) as model:
        async with anyio.create_task_group() as group:
            group.start_soon(model.predict, rows_of(1))
            await begun.wait()
            group.cancel_scope.cancel()
        await model.drain()
        go_on.set()
        np.testing.assert_array_equal(await model.predict(rows_of(2)), rows_of(2))
    assert connection.closed == connection.opened == 2


async def test_a_pipeline_closes_while_a_stage_restarts() -> None:
    connection, begun, left = Connection(1, ConnectionResetError("gone")), anyio.Event(), 0

    @contextlib.asynccontextmanager
    async def resource() -> AsyncIterator[Connection]:
        nonlocal left
        if connection.opened:
            begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                left += 1
        async with connection.open() as held:
            yield held

    async with anyio.create_task_group() as group:
        async with af.serving.Model(of_function(Connection.call, Policy(delay=0), resource=resource)) as model:

            async def ask() -> None:
                with pytest.raises(UnavailableError):
                    await model.predict(rows_of(1))

            group.start_soon(ask)
            await begun.wait()
    assert left == 1 and connection.closed == connection.opened == 1


@pytest.mark.parametrize("asks_meanwhile", [False, True])
async def test_a_stage_on_a_task_that_was_killed_answers_when_the_task_is_back(
    triple: str, asks_meanwhile: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, spec = Clock(monkeypatch), make_spec({"worker": 1}, "local")

    def task() -> Server:
        return Server(spec, "worker", 0, transport="local", file_roots=[triple])

    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        policy = Policy(delay=0, restarts=1, within=60)
        target = spec.address_of("/job:worker/replica:0/task:0")
        y = pipeline.model("line", triple, rows, policy=policy, target=target)["y"]
    pipeline.serves({"rows": rows}, {"y": y})
    async with contextlib.AsyncExitStack() as opened:
        async with task():
            model = await opened.enter_async_context(af.serving.Model(pipeline))
            np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(3))
        if asks_meanwhile:
            with pytest.raises(UnavailableError):
                await model.predict(rows_of(1))
            clock.now += 61
        async with task():
            np.testing.assert_array_equal(await model.predict(rows_of(2)), rows_of(6))
            await opened.aclose()


class Doubling:
    """A function of a stage that is an object."""

    async def __call__(self, rows: Any) -> Any:
        return rows * 2


async def cancelled(rows: Any) -> Any:
    waiting = asyncio.get_running_loop().create_future()
    waiting.cancel()
    return await waiting


async def test_an_object_whose_call_is_awaited_is_a_function() -> None:
    async with af.serving.Model(of_function(Doubling())) as model:
        np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(2))


async def test_a_function_that_waits_for_what_was_cancelled_fails_its_request() -> None:
    async with af.serving.Model(of_function(cancelled)) as model:
        with pytest.raises(CancelledError, match="What the function of a stage waited for was cancelled"):
            await model.predict(rows_of(1))


async def test_an_ordinary_resource_is_entered_and_left_on_threads() -> None:
    threads: list[threading.Thread] = []

    @contextlib.contextmanager
    def resource() -> Any:
        threads.append(threading.current_thread())
        yield "resource"
        threads.append(threading.current_thread())

    async with af.serving.Model(of_function(lambda held, rows: rows, resource=resource)):
        pass
    assert len(threads) == 2 and threading.current_thread() not in threads


async def test_a_resource_that_a_thread_enters_while_its_pipeline_is_cancelled_is_left_again() -> None:
    begun, go_on, left = asyncio.Event(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @contextlib.contextmanager
    def resource() -> Any:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait()
        yield "resource"
        loop.call_soon_threadsafe(left.set)

    opening = asyncio.create_task(
        af.serving.Model(of_function(lambda held, rows: rows, resource=resource)).__aenter__()
    )
    await begun.wait()
    opening.cancel()  # unlike a cancel scope, this waits for no thread
    with pytest.raises(asyncio.CancelledError):
        await opening
    go_on.set()
    await left.wait()


# ---- queues


def with_queue(store: Callable[..., Any], policy: Policy | None = None, capacity: int = 100, **options: Any) -> Any:
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        queue = af.FIFOQueue(capacity, [af.float32], [[3]])
        with af.control_dependencies([queue.enqueue_many(rows)]):
            same = af.identity(rows)
        pipeline.consumer("store", queue, store, policy=policy, **options)
    pipeline.serves({"rows": rows}, {"same": same})
    return pipeline


async def test_answers_do_not_wait_for_a_consumer_and_its_elements_are_taken_at_the_end() -> None:
    gate, stored = Gate(), []

    async def store(rows: Any) -> None:
        await gate.same(rows)
        stored.extend(rows[:, 0].tolist())

    async with af.serving.Model(with_queue(store)) as model:
        for number in range(20):
            await model.predict(rows_of(number))
        assert not stored
        gate.event.set()
    assert stored == list(range(20)) and running(model).consumers[0].steps < 20


async def test_a_full_queue_holds_up_its_requests() -> None:
    gate = Gate()
    async with af.serving.Model(with_queue(gate.same, capacity=1)) as model:
        await model.predict(rows_of(1))
        await gate.began.wait()
        await model.predict(rows_of(2))
        with pytest.raises(DeadlineExceededError):
            await model.predict(rows_of(3), timeout=0.05)
        gate.event.set()


async def test_a_consumer_leaves_out_an_element_that_fails_alone_and_restarts() -> None:
    connection, stored = Connection(2, ConnectionResetError("gone")), []

    def store(held: Connection, rows: Any) -> None:
        held.call(rows)
        if (rows == 5).any():
            raise ValueError("no place for 5")
        stored.extend(rows[:, 0].tolist())

    async with af.serving.Model(with_queue(store, Policy(delay=0.001, restarts=1), resource=connection.open)) as model:
        await model.predict(np.concatenate([rows_of(number) for number in range(10)]))
        await model.drain()
        consumer = running(model).consumers[0]
        assert sorted(stored) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
        assert (consumer.failed, consumer.restarts) == (1, 1)


class Interrupted:
    """A session that does `before` a run of a certain tensor.

    Args:
        consumer: the consumer that has the session.
        tensor: the field of its ends.
        before: is awaited before the run.
    """

    def __init__(self, consumer: Consumer, tensor: str, before: Callable[[], Awaitable[None]]) -> None:
        self._session, self._fetches, self._before = consumer._session, getattr(consumer._ends, tensor), before
        self.others = 0
        """Runs of other tensors."""
        consumer._session = self  # type: ignore[assignment]

    async def run(self, fetches: Any, feeds: Any = None) -> Any:
        if fetches is self._fetches or fetches == self._fetches:
            await self._before()
        else:
            self.others += 1
        return await self._session.run(fetches, feeds)


async def test_a_consumer_goes_on_after_takes_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    take, takes, stored = Consumer._take, 0, list[float]()

    async def failing(self: Consumer) -> list[Any]:
        nonlocal takes
        takes += 1
        if takes < 3:
            raise UnavailableError("The queue is away.")
        return await take(self)

    monkeypatch.setattr(Consumer, "_take", failing)
    monkeypatch.setattr(consumers_module, "_PAUSE", 0.0)
    async with af.serving.Model(with_queue(lambda rows: stored.extend(rows[:, 0].tolist()))) as model:
        await model.predict(rows_of(1))
        await model.drain()
    assert stored == [1] and takes > 2


async def test_an_element_is_given_although_the_elements_behind_it_can_not_be_read() -> None:
    gate, stored, failures = Gate(), list[float](), 0

    async def store(rows: Any) -> None:
        await gate.same(rows)
        stored.extend(rows[:, 0].tolist())

    async def fail_once() -> None:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise UnavailableError("The queue is away.")

    async with af.serving.Model(with_queue(store)) as model:
        await model.predict(rows_of(0))
        await gate.began.wait()
        Interrupted(running(model).consumers[0], "more", fail_once)
        await model.predict(np.concatenate([rows_of(number) for number in range(1, 6)]))
        gate.event.set()
    assert stored == list(range(6)) and failures == 2


async def test_a_close_waits_for_an_element_that_was_taken_and_is_not_with_the_function_yet() -> None:
    gate, taken, go_on, stored = Gate(), anyio.Event(), anyio.Event(), list[float]()

    async def store(rows: Any) -> None:
        await gate.same(rows)
        stored.extend(rows[:, 0].tolist())

    async def wait_once() -> None:
        if not taken.is_set():
            taken.set()
            await go_on.wait()

    async with anyio.create_task_group() as group:
        async with af.serving.Model(with_queue(store)) as model:
            await model.predict(rows_of(0))
            await gate.began.wait()
            session = Interrupted(running(model).consumers[0], "size", wait_once)
            gate.event.set()
            await model.predict(rows_of(1))
            await taken.wait()
            others = session.others

            async def let_it_go_on() -> None:
                for _ in range(200):  # the close is under way then
                    await anyio.lowlevel.checkpoint()
                go_on.set()

            group.start_soon(let_it_go_on)
    assert stored == [0, 1] and session.others > others


async def test_a_drain_and_a_close_end_although_a_function_does_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(consumers_module, "_FLUSH", 0.05)
    gate = Gate()
    async with af.serving.Model(with_queue(gate.same)) as model:
        await model.predict(rows_of(0))
        await gate.began.wait()
        await model.predict(np.concatenate([rows_of(number) for number in range(1, 4)]))
        async with anyio.create_task_group() as group:
            for _ in range(2):  # drains wake each other
                group.start_soon(running(model).drain)
    assert gate.stopped == 1
    assert "elements of a queue are lost consumer=store elements=4" in caplog.text


async def test_two_drains_and_two_closes_end_with_the_last_element() -> None:
    gate, stored = Gate(), list[float]()

    async def store(rows: Any) -> None:
        await gate.same(rows)
        stored.extend(rows[:, 0].tolist())

    async with af.serving.Model(with_queue(store)) as model:
        await model.predict(rows_of(0))
        await gate.began.wait()
        for work in (running(model).drain, running(model).close):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(work)
                await anyio.wait_all_tasks_blocked()
                gate.event.set()
    assert stored == [0]


async def test_a_consumer_ends_with_its_queue() -> None:
    stored: list[float] = []
    async with af.serving.Model(with_queue(lambda rows: stored.extend(rows[:, 0].tolist()))) as model:
        await model.predict(rows_of(1))
        (consumer,) = running(model).consumers
        await consumer._session.run(consumer._ends.close)
        assert consumer._work_task is not None
        await consumer._work_task
        assert stored == [1]
        await model.drain()


async def test_a_pipeline_with_a_queue_is_opened_again() -> None:
    stored: list[float] = []
    pipeline = with_queue(lambda rows: stored.extend(rows[:, 0].tolist()))
    for number in range(2):
        async with af.serving.Model(pipeline) as model:
            await model.predict(rows_of(number))
    assert stored == [0, 1]


async def test_all_stages_close_although_one_does_not_close_well() -> None:
    closed: list[str] = []

    @contextlib.asynccontextmanager
    async def resource(name: str) -> AsyncIterator[str]:
        yield name
        closed.append(name)
        if name != "second":
            raise OSError(f"{name} was gone")

    def plain(held: str, rows: Any) -> Any:
        return rows

    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        first = pipeline.function("first", plain, [rows], af.float32, resource=lambda: resource("first"))
        second = pipeline.function("second", plain, [first], af.float32, resource=lambda: resource("second"))
        queue = af.FIFOQueue(9, [af.float32], [[3]])
        pipeline.consumer("store", queue, plain, resource=lambda: resource("store"))
    pipeline.serves({"rows": rows}, {"rows": second})
    for _ in range(2):  # it can be opened again
        model = await af.serving.Model(pipeline).__aenter__()
        np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(1))
        session = model._session
        with pytest.raises(OSError, match="first was gone"):
            await model.close()
        assert session is not None
        with pytest.raises(FailedPreconditionError, match="closed"):
            await session.run([])
        await model.close()
    assert sorted(closed) == ["first", "first", "second", "second", "store", "store"]


async def test_a_request_that_comes_while_the_stages_close_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    close, begun, go_on = RunningPipeline.close, anyio.Event(), anyio.Event()

    async def slow(part: RunningPipeline) -> None:
        begun.set()
        await go_on.wait()
        await close(part)

    monkeypatch.setattr(RunningPipeline, "close", slow)
    model = await af.serving.Model(of_function(lambda rows: rows)).__aenter__()
    batcher = model._batcher
    assert batcher is not None
    async with anyio.create_task_group() as group:
        group.start_soon(model.close)
        await begun.wait()
        with pytest.raises(UnavailableError, match="The model was closed"):  # as if it had come just before
            await batcher.submit(("serving_default", ("result",)), [rows_of(1)], None, None)
        go_on.set()


def test_a_pipeline_whose_event_loop_has_ended_is_opened_on_another() -> None:
    pipeline = of_function(lambda rows: rows)
    first = asyncio.new_event_loop()
    model = af.serving.Model(pipeline)
    first.run_until_complete(model.__aenter__())
    first.close()

    async def use() -> None:
        async with af.serving.Model(pipeline) as model:
            np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(1))

    asyncio.run(use())
    with pytest.warns(ResourceWarning, match="never closed"):
        del model
        gc.collect()


# ---- a server


async def test_a_server_tells_of_the_stages(triple: str) -> None:
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        y = pipeline.model("line", triple, rows)["y"]
    pipeline.serves({"rows": rows}, {"y": y})
    async with application({"flow": pipeline, "line": triple}) as app:
        client = Client(app)
        assert await client.post("/v1/models/flow:predict", {"instances": [[1, 2, 3]]}) == (
            200,
            {"predictions": [[3, 6, 9]]},
        )
        body = {"inputs": [{"name": "rows", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}]}
        status, answer = await client.post("/v2/models/flow/infer", body)
        assert status == 200 and answer["outputs"][0]["data"] == [3, 6, 9]
        _, _, page = await client.call("GET", "/")
        assert b"stages: line" in page and b"<th>restarts" in page and b"http-equiv=refresh" in page
        assert b"<td>line<td>0<td>0<td>2<td>2<td>1.0" in page
        _, _, metrics = await client.call("GET", "/metrics")
        assert b'actorflow_pipeline_stage_rows{model="flow",stage="line"} 2' in metrics
    async with application({"line": triple}) as app:
        assert b"http-equiv=refresh" not in (await Client(app).call("GET", "/"))[2], "nothing there changes"


async def test_a_pipeline_that_can_not_be_opened_is_tried_again() -> None:
    is_there = False

    @contextlib.contextmanager
    def database() -> Any:
        if not is_there:
            raise ConnectionRefusedError("no database")
        yield "database"

    async with application({"flow": of_function(lambda held, rows: rows, resource=database)}) as app:
        body = {"instances": [[1, 2, 3]]}
        assert (await Client(app).post("/v1/models/flow:predict", body))[0] == 404
        is_there = True
        await app.refresh()
        assert (await Client(app).post("/v1/models/flow:predict", body))[0] == 200


async def test_a_pipeline_is_open_once_at_a_time() -> None:
    pipeline = of_function(lambda rows: rows)
    async with af.serving.Model(pipeline):
        with pytest.raises(FailedPreconditionError, match="open in another model"):
            async with af.serving.Model(pipeline):
                raise AssertionError
    async with af.serving.Model(pipeline) as model:
        np.testing.assert_array_equal(await model.predict(rows_of(1)), rows_of(1))


# ---- declarations


def test_what_does_not_fit_is_said_when_it_is_declared(triple: str) -> None:
    with af.serving.Pipeline() as pipeline:
        rows = af.placeholder(af.float32, [None, 3], name="rows")
        pipeline.model("line", triple, rows)
        cases: list[tuple[type[Exception], str, Callable[[], Any]]] = [
            (AlreadyExistsError, "a stage 'line'", lambda: pipeline.function("line", abs, [rows], af.float32)),
            (NotFoundError, "no signature 'other'", lambda: pipeline.model("a", triple, rows, signature="other")),
            (NotFoundError, "no model at", lambda: pipeline.model("b", "nowhere", rows)),
            (
                InvalidArgumentError,
                "takes the inputs \\['x'\\], not \\['z'\\]",
                lambda: pipeline.model("c", triple, {"z": rows}),
            ),
            (TypeError, "float32 is needed", lambda: pipeline.model("d", triple, af.constant("text"))),
            (TypeError, "can't be called", lambda: pipeline.function("e", 3, [rows], af.float32)),  # type: ignore[arg-type]
            (ValueError, "have to be positive", lambda: Policy(timeout=0)),
            (ValueError, "max_requests", lambda: af.serving.Pipeline(0)),
            (FailedPreconditionError, "states them", pipeline.source),
        ]
        for kind, words, declare in cases:
            with pytest.raises(kind, match=words):
                declare()
    pipeline.serves({"rows": rows}, {"rows": rows + 1.0})
    with pytest.raises(FailedPreconditionError, match="comes after `serves`"):
        pipeline.function("late", abs, [rows], af.float32)


FILE = """
import actorflow as af
with af.serving.Pipeline() as flow:
    rows = af.placeholder(af.float32, [None], name="rows")
flow.serves({"rows": rows}, {"rows": rows + 1.0})
other = 3
"""


def test_a_pipeline_is_loaded_by_its_file_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "good_flow", sys)  # so the module of that name leaves with the test
    del sys.modules["good_flow"]
    (tmp_path / "good_flow.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "bad_flow.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "json.py").write_text(FILE, encoding="utf-8")
    assert isinstance(load(f"{tmp_path}/good_flow.py:flow"), af.serving.Pipeline)
    for word, kind, words in [
        ("good_flow.py:other", InvalidArgumentError, "is a int, not an af.serving.Pipeline"),
        ("good_flow.py:none", InvalidArgumentError, "is nothing"),
        ("bad_flow.py:flow", InvalidArgumentError, "can't be imported: ZeroDivisionError"),
        ("json.py:flow", InvalidArgumentError, "Another module has the name"),
        ("nowhere.py:flow", NotFoundError, "no file of Python"),
        ("gone/good_flow.py:flow", InvalidArgumentError, "Another module has the name"),
    ]:
        if word.startswith("gone/"):  # the file of that module is not there any more
            (tmp_path / "gone").mkdir()
            (tmp_path / "good_flow.py").rename(tmp_path / word.partition(":")[0])
        with pytest.raises(kind, match=words):
            load(f"{tmp_path}/{word}")
    assert [stem_of(word) for word in ("models", "a/flow.py:x", "models/line.onnx", "C:\\x")] == [
        None,
        "flow",
        None,
        None,
    ]
