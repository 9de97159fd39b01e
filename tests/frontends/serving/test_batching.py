"""Batches: requests that wait together go through one step, and each has its own answer."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import anyio
import numpy as np
import pytest
from patience import PATIENCE

from actorflow.engine.batching.batcher import Batcher
from actorflow.engine.batching.rows import Batching
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    Overloaded,
    ResourceExhaustedError,
    UnavailableError,
)

KEY = ("f", ("y",))


class Steps:
    """Runs steps that double their input, and wait while the gate is closed. A row of -1 fails its step."""

    def __init__(self, **options: Any) -> None:
        self.ran: list[list[float]] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.batcher = Batcher(self.run, Batching(**options))

    def run(self, key: Any, arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        return StepResult.later(lambda: self.doubled(arrays))

    async def doubled(self, arrays: list[Any]) -> list[Any]:
        self.ran.append(arrays[0].ravel().tolist())
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if (arrays[0] == -1).any():
            raise InvalidArgumentError("a row is -1")
        return [arrays[0] * 2]

    async def ask(self, *rows: float, deadline: float | None = None) -> list[float]:
        array = np.array(rows, np.float64).reshape(-1, 1)
        (found,) = await self.batcher.submit(KEY, [array], len(rows), deadline)
        return found.ravel().tolist()  # type: ignore[no-any-return]


@pytest.fixture
async def steps() -> Any:
    made = Steps(max_size=4, max_delay=60.0)
    yield made
    await made.batcher.close()


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_request_to_an_idle_model_runs_at_once_and_those_that_come_meanwhile_together(steps: Steps) -> None:
    steps.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(steps.ask, 1)
        await turns()
        for number in range(2, 8):
            group.start_soon(steps.ask, number)
        await turns()
        assert steps.ran == [[1]] and steps.batcher.waiting == 6
        steps.gate.set()
    assert steps.ran == [[1], [2, 3, 4, 5], [6, 7]]


async def test_those_that_come_in_one_turn_go_together(steps: Steps) -> None:
    assert await asyncio.gather(*(steps.ask(n) for n in range(3))) == [[0], [2], [4]]
    assert steps.ran == [[0, 1, 2]]


async def test_a_request_that_is_given_up_in_the_queue_is_never_run(steps: Steps) -> None:
    steps.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(steps.ask, 1)
        await turns()
        async with anyio.create_task_group() as second:
            second.start_soon(steps.ask, 2)
            await turns()
            second.cancel_scope.cancel()
        group.start_soon(steps.ask, 3)
        await turns()
        assert steps.batcher.waiting == 1
        steps.gate.set()
    assert steps.ran == [[1], [3]]


async def test_one_that_is_given_up_in_a_batch_that_runs_disturbs_no_other(steps: Steps) -> None:
    steps.gate.clear()
    found: list[Any] = []

    async def ask(number: float) -> None:
        found.append(await steps.ask(number))

    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as second:
            group.start_soon(ask, 1)
            second.start_soon(ask, 2)
            await turns()
            assert steps.ran == [[1, 2]]
            second.cancel_scope.cancel()
        steps.gate.set()
    assert found == [[2]] and not steps.cancelled


async def test_a_step_is_stopped_when_all_of_its_requests_are_given_up(steps: Steps) -> None:
    steps.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(steps.ask, 1)
        group.start_soon(steps.ask, 2)
        await turns()
        group.cancel_scope.cancel()
    await steps.batcher.drain()
    assert steps.cancelled == 1
    steps.gate.set()
    assert await steps.ask(5) == [10]


async def test_a_bad_request_fails_alone(steps: Steps) -> None:
    found = await asyncio.gather(*(steps.ask(n) for n in (1, -1, 3)), return_exceptions=True)
    assert found[0] == [2] and found[2] == [6]
    assert isinstance(found[1], InvalidArgumentError)
    assert steps.ran == [[1, -1, 3], [1], [-1], [3]]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UnavailableError("a worker is lost"), UnavailableError),
        (ResourceExhaustedError("no memory"), ResourceExhaustedError),
        (TimeoutError(), DeadlineExceededError),
    ],
)
async def test_a_batch_that_lacks_time_memory_or_a_machine_is_not_run_again(error: Exception, told: Any) -> None:
    runs = 0

    def run(key: Any, arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        nonlocal runs
        runs += 1
        raise error

    batcher = Batcher(run, Batching(max_size=4))

    async def ask() -> None:
        with pytest.raises(told):
            await batcher.submit(KEY, [np.ones((1, 1))], 1, None)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(ask)
    assert runs == 1
    await batcher.close()


async def test_a_step_that_can_not_be_padded_is_told() -> None:
    def run(key: Any, arrays: list[Any], timeout: float | None) -> StepResult[list[Any]]:
        return StepResult([arrays[0].sum()])

    batcher = Batcher(run, Batching(max_size=4, sizes=(4,)))
    with pytest.raises(InvalidArgumentError, match="no row for each row"):
        await batcher.submit(KEY, [np.ones((1, 1))], 1, None)
    await batcher.close()


async def test_too_many_are_refused_with_the_time_after_which_to_try_again() -> None:
    steps = Steps(max_queued=2)
    steps.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(steps.ask, 1)
        await turns()
        for number in (2, 3):
            group.start_soon(steps.ask, number)
        await turns()
        with pytest.raises(Overloaded, match="2 requests wait already") as raised:
            await steps.ask(4)
        assert raised.value.retry_after > 0
        steps.gate.set()
    await steps.batcher.close()


async def test_deadlines(steps: Steps) -> None:
    now = asyncio.get_running_loop().time()
    with pytest.raises(DeadlineExceededError, match="had passed before it could run"):
        await steps.ask(1, deadline=now - 1)
    steps.gate.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(steps.ask, 1)
        await turns()
        with pytest.raises(DeadlineExceededError):
            await steps.ask(2, deadline=asyncio.get_running_loop().time() + 0.001)
        steps.gate.set()
    assert steps.ran == [[1]]


async def test_sizes_are_filled_up_with_rows_that_no_one_sees() -> None:
    steps = Steps(max_size=8, sizes=(2, 8))
    assert await steps.ask(1, 2, 3) == [2, 4, 6]
    assert steps.ran == [[1, 2, 3, 3, 3, 3, 3, 3]]
    assert await steps.ask(*range(9)) == [2 * n for n in range(9)], "larger than a batch: alone"
    await steps.batcher.close()


async def test_keys_never_mix(steps: Steps) -> None:
    rows = np.ones((1, 1)), np.ones((1, 2))
    found = await asyncio.gather(*(steps.batcher.submit((*KEY, row.shape[1:]), [row], 1, None) for row in rows))
    assert [one[0].shape for one in found] == [(1, 1), (1, 2)] and len(steps.ran) == 2


async def test_ten_thousand_shuffled_requests_are_answered_to_whom_they_belong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = Steps(max_size=32, max_queued=10000, max_steps=3, max_delay=0.0)

    async def ask(first: int, rows: int, turn: int) -> None:
        await turns(turn)
        assert await steps.ask(*range(first, first + rows)) == [2 * n for n in range(first, first + rows)]

    async with anyio.create_task_group() as group:
        for rows, turn in zip(rng.integers(1, 40, 10000).tolist(), rng.integers(0, 5, 10000).tolist(), strict=True):
            group.start_soon(ask, int(rng.integers(1 << 30)), rows, turn)
    assert max(map(len, steps.ran)) <= 39 and len(steps.ran) < 10000
    await steps.batcher.close()


async def test_a_storm_of_cancellations_leaves_a_queue_that_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = Steps(max_size=4, max_delay=0.0)
    for _ in range(300):
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(steps.ask, number)
            await turns(int(rng.integers(0, 8)))
            group.cancel_scope.cancel()
    await steps.batcher.drain()
    assert steps.batcher.waiting == 0 and await steps.ask(4) == [8]
    await steps.batcher.close()


async def test_scopes_are_made_within_tasks(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    """AnyIO asks for the running task where sniffio is installed, and callbacks of the loop have none."""
    scope, makers = anyio.CancelScope, list[Any]()

    def made(**options: Any) -> anyio.CancelScope:
        makers.append(asyncio.current_task())
        return scope(**options)

    monkeypatch.setattr(anyio, "CancelScope", made)
    assert await steps.ask(1.0) == [2.0]
    assert makers and None not in makers


async def test_requests_leave_nothing_to_the_garbage_collector() -> None:
    batcher = Batcher(lambda key, arrays, timeout: StepResult([arrays[0] * 2]), Batching())
    array = np.ones((1, 4))
    await batcher.submit(KEY, [array], 1, None)
    gc.collect()
    gc.disable()
    try:
        for _ in range(40):
            await batcher.submit(KEY, [array], 1, None)
        assert gc.collect() < 40
    finally:
        gc.enable()
    await batcher.close()


async def test_what_waits_at_the_end_is_told(steps: Steps) -> None:
    steps.gate.clear()

    async def ask(number: float) -> None:
        with pytest.raises(UnavailableError, match="The model was closed"):
            await steps.ask(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(ask, number)
            await turns()
        await steps.batcher.close()
    with pytest.raises(UnavailableError):
        await steps.ask(1)


@pytest.mark.parametrize("turn", range(4))
async def test_a_request_that_comes_just_before_the_end_is_told(turn: int, steps: Steps) -> None:
    steps.gate.clear()
    answer = asyncio.ensure_future(steps.ask(1))
    await turns(turn)  # it has not come, waits, has a step that has not begun, or runs
    await steps.batcher.close()
    with anyio.fail_after(PATIENCE), pytest.raises(UnavailableError, match="The model was closed"):
        await answer
    await steps.batcher.drain()


@pytest.mark.parametrize("options", [{"max_size": 0}, {"max_delay": -1}, {"sizes": (4, 2)}, {"sizes": (1, 2)}])
def test_options_that_can_not_be(options: Any) -> None:
    with pytest.raises(ValueError):
        Batching(**options)
