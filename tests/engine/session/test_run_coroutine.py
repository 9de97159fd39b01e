"""`session.run(...)` is a coroutine to all that take coroutines, and says what is missing to those who take it for a value."""

from __future__ import annotations

import asyncio
import inspect
import io
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import ModuleType, SimpleNamespace
from typing import Any

import anyio
import pytest

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.event_loops.running import running_loop

Run = Callable[[], Coroutine[Any, Any, Any]]


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    """Starts a run that gives 3."""
    with af.Graph().as_default() as graph:
        y = af.constant(1) + 2
        async with af.Session(graph=graph) as session:
            yield lambda: session.run(y)


async def in_a_task_group(coroutine: Coroutine[Any, Any, Any]) -> Any:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(coroutine)
    return task.result()


async def gathered(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return (await asyncio.gather(coroutine))[0]


async def from_a_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    future = asyncio.run_coroutine_threadsafe(coroutine, asyncio.get_running_loop())
    return await asyncio.wrap_future(future)


async def itself(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


@pytest.mark.parametrize(
    "take",
    [itself, asyncio.create_task, asyncio.ensure_future, asyncio.shield, gathered, in_a_task_group, from_a_thread],
    ids=lambda take: take.__name__,
)
async def test_all_that_take_coroutines_take_it(run: Run, take: Callable[[Any], Awaitable[Any]]) -> None:
    assert await take(run()) == 3


async def test_a_task_group_of_anyios_starts_it(run: Run) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(run)


def test_an_event_loop_runs_it() -> None:
    with af.Graph().as_default() as graph:
        y = af.constant(1) + 2

        async def main(session: af.Session) -> Any:
            return await session.run(y)

        async def whole() -> Any:
            async with af.Session(graph=graph) as session:
                return await main(session)

        assert asyncio.run(whole()) == 3


async def test_it_is_known_as_a_coroutine(run: Run) -> None:
    made = run()
    assert asyncio.iscoroutine(made) and inspect.isawaitable(made) and isinstance(made, Coroutine)
    assert made.__qualname__ == "Session.run"
    task = asyncio.create_task(made)
    assert "Session.run" in repr(task) and await task == 3


async def test_a_task_that_waits_in_it_is_cancelled() -> None:
    with af.Graph().as_default() as graph:
        value = af.FIFOQueue(1, [af.float32], [[]]).dequeue()
        async with af.Session(graph=graph) as session:
            task = asyncio.create_task(session.run(value))
            while not session.statistics().steps:
                await anyio.lowlevel.checkpoint()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert session.statistics().cancelled == 1


async def test_it_can_be_compared_and_kept_in_sets(run: Run) -> None:
    first, second = run(), run()
    assert first == first and first != second and len({first, second}) == 2
    assert await first + await second == 6


async def test_python_warns_of_one_that_is_dropped(run: Run) -> None:
    with pytest.warns(RuntimeWarning, match=r"'Session\.run' was never awaited"):
        run()


async def test_a_run_that_is_shown_says_that_it_was_not_awaited(run: Run) -> None:
    made = run()
    assert "was not awaited" in repr(made) and "was not awaited" in f"{made}"
    assert await made == 3, "showing it does nothing to it"


async def test_a_run_that_was_refused_as_a_value_is_over(run: Run) -> None:
    """Python need not warn of it as well."""
    with pytest.raises(TypeError, match="was not awaited"):
        run() + 1  # type: ignore[operator]


def a_task(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(coroutine)


def a_task_in_python(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A task whose class is asyncio's own in Python, such as debuggers put in the place of that in C."""
    task: asyncio.Task[Any] = asyncio.tasks._PyTask(coroutine)  # type: ignore[attr-defined]
    return task


def log_line(task: asyncio.Task[Any]) -> object:
    return f"{task} {task!r} {[task]}"


def truth_of_its_coroutine(task: asyncio.Task[Any]) -> object:
    assert task.get_coro()
    return bool(task.get_coro())


def sum_with_its_coroutine(task: asyncio.Task[Any]) -> object:
    with pytest.raises(TypeError):
        task.get_coro() + 1  # type: ignore[operator]
    return None


def stack(task: asyncio.Task[Any]) -> object:
    return task.get_stack(), task.print_stack(file=io.StringIO())


def asyncios_repr(task: asyncio.Task[Any]) -> object:
    """As of Python 3.12 `Task.__repr__` asks for the truth of the coroutine, in this way."""
    return asyncio.base_tasks._task_repr_info(task) if task.get_coro() else None  # type: ignore[attr-defined]


MAKERS = [a_task]
if sys.version_info < (3, 14):  # then asyncio.current_task(), which anyio asks, stops to see tasks of that class
    MAKERS.append(a_task_in_python)

SHOWN = [log_line, truth_of_its_coroutine, sum_with_its_coroutine, stack, asyncios_repr]


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
async def test_a_task_is_shown_before_amid_and_after_its_run(
    make: Callable[[Any], asyncio.Task[Any]], show: Callable[[Any], object]
) -> None:
    with af.Graph().as_default() as graph:
        queue = af.FIFOQueue(1, [af.float32], [[]])
        value, fill = queue.dequeue(), queue.enqueue(3.0)
        async with af.Session(graph=graph) as session:
            task = make(session.run(value))
            show(task)
            while not session.statistics().steps:
                await anyio.lowlevel.checkpoint()
            show(task)
            await session.run(fill)
            assert await task == 3.0
            show(task)


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
def test_a_task_is_shown_outside_of_its_loop(show: Callable[[Any], object]) -> None:
    with af.Graph().as_default() as graph:
        y = af.constant(1) + 2
        session = af.Session(graph=graph)
        loop = asyncio.new_event_loop()
        try:
            task = loop.create_task(session.run(y))
            show(task)
            assert loop.run_until_complete(task) == 3
            loop.run_until_complete(session.close())
        finally:
            loop.close()


async def test_asyncios_debug_mode_shows_runs(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.slow_callback_duration = 0.0  # each callback is shown in a line of the log
    with af.Graph().as_default() as graph:
        y = af.constant(1) + 2
        async with af.Session(graph=graph) as session:
            assert await asyncio.gather(*[session.run(y) for _ in range(3)]) == [3, 3, 3]
    assert "Session.run" in caplog.text


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "thread"])
async def test_a_run_of_a_function_is_cancelled_while_tasks_are_shown(asynchronous: bool) -> None:
    """A cancel scope of anyio names the task that cancels it, in its reason."""
    begun, over = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    def waits_on_a_thread() -> None:
        loop.call_soon_threadsafe(begun.set)
        over.wait()

    with af.Graph().as_default() as graph:
        call = af.py_func(waits if asynchronous else waits_on_a_thread, [], [])
        async with af.Session(graph=graph) as session:
            task = asyncio.create_task(session.run(call))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            over.set()


async def test_a_run_that_has_begun_says_so(run: Run) -> None:
    made = run()
    assert await made == 3
    assert repr(made) == "<Session.run(...), which has begun>" and made


async def test_the_truth_of_a_run_that_no_one_awaits_is_refused(run: Run) -> None:
    with pytest.raises(TypeError, match="was not awaited"):
        bool(run())


@pytest.mark.parametrize("name", ["shape", "item", "tolist", "dtype"])
async def test_it_has_no_attributes_of_values(run: Run, name: str) -> None:
    made = run()
    with pytest.raises(AttributeError, match=rf"was not awaited.*it has no '{name}'"):
        getattr(made, name)
    assert not hasattr(made, "__len_hint__")
    await made


# ---- event loops


def test_without_an_event_loop_the_remedy_is_named() -> None:
    with pytest.raises(errors.FailedPreconditionError, match=r"No event loop of asyncio.*\n.*af\.blocking\.Session"):
        running_loop()


def test_in_trio_it_says_that_asyncio_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for trio, of which one function is asked; `test_a_session_in_trio` has trio itself."""
    trio = ModuleType("trio")
    trio.lowlevel = SimpleNamespace(current_task=object)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "trio", trio)
    with pytest.raises(errors.FailedPreconditionError, match="runs on asyncio only, and this is trio"):
        running_loop()


@pytest.mark.extras("trio")
@pytest.mark.parametrize("open_first", [True, False], ids=["opened", "run_at_once"])
def test_a_session_in_trio(open_first: bool) -> None:
    pytest.importorskip("trio", reason="trio is not installed (make test-extras)")

    async def main() -> None:
        with af.Graph().as_default() as graph:
            session = af.Session(graph=graph)
            if open_first:
                async with session:
                    raise AssertionError("it was opened")
            await session.run(af.constant(1.0))

    with pytest.raises(errors.FailedPreconditionError, match="runs on asyncio only, and this is trio"):
        anyio.run(main, backend="trio")


# ---- blocking sessions


async def test_a_blocking_run_in_a_coroutine_is_refused_where_it_is_awaited() -> None:
    with af.Graph().as_default() as graph, af.blocking.Session(graph=graph) as session:
        y = af.constant(1) + 2
        assert session.run(y) == 3
        with pytest.raises(TypeError, match="leave `await` out"):
            await session.run(y)
        with pytest.raises(TypeError, match="leave `await` out"):
            print(1, await session.run([y, y]), "more")
        awaited = asyncio.get_running_loop().run_in_executor(None, session.run, y)
        assert await awaited == 3 and threading.active_count() >= 1
