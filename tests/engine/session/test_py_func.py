"""`py_func`: functions of Python as nodes. Their arguments and results, on which thread they run, and what their errors
become."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.cluster.processes.local import LocalCluster

pytestmark = pytest.mark.timeout(60)
ONE = np.float32(1)


async def test_functions_get_arrays_numpy_scalars_and_bytes(graph: af.Graph) -> None:
    seen: list[Any] = []
    inputs = [af.constant([[1.0, 2.0]]), af.constant(3), af.constant("text"), af.constant(["a", "b"]), 2.5]
    node = af.py_func(lambda *given: seen.extend(given), inputs, [])
    assert isinstance(node, af.Operation)
    async with af.Session() as session:
        assert await session.run(node) is None
    matrix, number, text, texts, real = seen
    assert isinstance(matrix, np.ndarray) and matrix.tolist() == [[1.0, 2.0]]
    assert type(number) is np.int32 and number == 3
    assert text == b"text" and texts.tolist() == [b"a", b"b"]
    assert type(real) is np.float32


@pytest.mark.parametrize(
    ("given", "stated", "wanted"),
    [
        (np.float32(2), af.float32, np.float32(2)),
        (1, af.int64, np.int64(1)),
        (True, af.bool, np.True_),
        ("größe", af.string, "größe".encode()),
        (b"ends in zero\0", af.string, b"ends in zero\0"),
        (np.array(["a", "bc"]), af.string, [b"a", b"bc"]),
        ((["text", b"\xff\0"],), af.string, np.array([b"text", b"\xff\0"], object)),
        ((ONE,), af.float32, ONE),
        ([ONE, 2], [af.float32, af.int64], [ONE, 2]),
        (np.zeros((0, 3), "i2"), [af.int16], [np.zeros((0, 3), "i2")]),
        (np.arange(6.0).reshape(2, 3).T, af.float64, np.arange(6.0).reshape(2, 3).T),
    ],
)
async def test_what_functions_give(given: Any, stated: Any, wanted: Any, graph: af.Graph) -> None:
    made = af.py_func(lambda: given, [], stated)
    async with af.Session() as session:
        found = await session.run(made)
    for one, other in zip(
        found if isinstance(stated, list) else [found], wanted if isinstance(stated, list) else [wanted]
    ):
        np.testing.assert_array_equal(one, other)
        assert np.shape(one) == np.shape(other)


@pytest.mark.parametrize(
    ("given", "stated", "told"),
    [
        (1.0, af.float32, r"Value 0 of the function .* float64, but Tout states float32.*np\.float32"),
        ([ONE, 1], [af.float32, af.int32], r"Value 1 of the function .* int64, but Tout states int32"),
        ([ONE, ONE], af.float32, "returned 2 values, but Tout states 1 value"),
        (ONE, [], "returned 1 value, but Tout states 0 values"),
        (None, af.float32, "NoneType, which is no tensor"),
        ((["text", 3],), af.string, "Value 0 of the function .* holds a int, but Tout states string"),
        ("text", af.float32, "string, but Tout states float32"),
        ((([1, 2], [3]),), af.int64, r"Value 0 .* is no tensor"),
    ],
)
async def test_what_does_not_fit_is_told(given: Any, stated: Any, told: str, graph: af.Graph) -> None:
    made = af.py_func(lambda: given, [], stated)
    async with af.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match=f"(?s){told}"):
            await session.run(made)


def raising(error: BaseException, later: bool) -> Callable[..., Any]:
    def now() -> Any:
        raise error

    async def awaited() -> Any:
        await asyncio.sleep(0)
        raise error

    return awaited if later else now


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TypeError("why"), errors.InvalidArgumentError),
        (ValueError("why"), errors.InvalidArgumentError),
        (StopAsyncIteration("why"), errors.OutOfRangeError),
        (MemoryError("why"), errors.ResourceExhaustedError),
        (NotImplementedError("why"), errors.UnimplementedError),
        (KeyError("why"), errors.UnknownError),
        (ZeroDivisionError("why"), errors.UnknownError),
        (errors.AbortedError("why"), errors.AbortedError),
    ],
)
async def test_errors_have_tensorflows_classes(
    error: Exception, kind: type[errors.OpError], later: bool, graph: af.Graph
) -> None:
    made = af.py_func(raising(error, later), [], af.float32, name="mine")
    async with af.Session() as session:
        with pytest.raises(kind, match=r"(?s)why.*node mine") as caught:
            await session.run(made)
    if not isinstance(error, errors.OpError):
        assert caught.value.__cause__ is error
        assert f"raised at {__file__}" in str(caught.value)


async def test_stop_iteration_is_the_end_of_the_data(graph: af.Graph) -> None:
    rows = iter([1, 2])
    made = af.py_func(lambda: next(rows), [], af.int64)
    async with af.Session() as session:
        assert [await session.run(made), await session.run(made)] == [1, 2]
        with pytest.raises(errors.OutOfRangeError):
            await session.run(made)


async def test_stop_iteration_ends_an_async_function_too(graph: af.Graph) -> None:
    async def ends() -> Any:
        return next(iter(()))

    async with af.Session() as session:
        with pytest.raises(errors.OutOfRangeError, match="raised StopIteration"):
            await session.run(af.py_func(ends, [], af.int64))


async def test_an_error_without_a_line_of_the_functions_names_none(graph: af.Graph) -> None:
    async with af.Session() as session:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            await session.run(af.py_func(lambda x: x, [], af.int64))
    assert "raised at" not in str(caught.value)


async def test_long_and_short_strings_take_no_more_than_they_are(graph: af.Graph) -> None:
    texts = [b"x"] * 2000 + [b"y" * 50_000_000]  # in a row of equal width they would take 100 GB
    made = af.py_func(lambda: (texts,), [], af.string)
    async with af.Session() as session:
        assert (await session.run(made)).tolist() == texts


async def test_nothing_is_shared_with_a_function(graph: af.Graph) -> None:
    own = np.zeros(3, "f4")
    given: list[Any] = []

    def changes(x: Any) -> Any:
        x[0] = 7

    kept = af.Variable([1.0, 2.0])
    same = af.py_func(lambda x: given.append(x) or x, [kept], af.float32)
    mine = af.py_func(lambda: own, [], af.float32)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match=r"(?s)read-only.*copy it first"):
            await session.run(af.py_func(changes, [kept], af.float32))
        found = await session.run(mine)
        own[:] = 9
        assert found.tolist() == [0, 0, 0]
        found = await session.run(same)
        assert not np.shares_memory(found, given[0])
        await session.run(kept.assign([5.0, 6.0]))
        assert given[0].tolist() == found.tolist() == [1.0, 2.0]


async def test_a_function_with_effects_is_called_once_in_each_step_that_needs_it(graph: af.Graph) -> None:
    calls: list[str] = []

    def called(name: str) -> Callable[[Any], Any]:
        return lambda x: calls.append(name) or x

    x = af.constant(1.0)
    first = af.py_func(called("first"), [x], af.float32)
    with af.control_dependencies([first]):
        second = af.numpy_function(called("second"), [x], af.float32)
    af.py_func(called("unused"), [x], af.float32)
    async with af.Session() as session:
        for _ in range(3):
            await session.run([second + second, first])
    assert calls == ["first", "second"] * 3


class Waiting:
    """A function that waits on its thread until the test lets it go."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._go = threading.Event()
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    def __call__(self) -> Any:
        self._loop.call_soon_threadsafe(self.begun.set)
        assert self._go.wait(PATIENCE)
        self._loop.call_soon_threadsafe(self.ended.set)
        return ONE

    def go(self) -> None:
        self._go.set()


async def test_functions_wait_while_the_event_loop_goes_on(graph: af.Graph) -> None:
    functions = [Waiting(), Waiting()]
    made = [af.py_func(function, [], af.float32) for function in functions]
    async with af.Session() as session:
        for _ in range(3):  # however long it took before
            running = asyncio.create_task(session.run(made))
            for function in functions:
                await function.begun.wait()
            for function in functions:
                function.go()
            assert await running == [1, 1]


async def test_any_number_of_functions_may_wait_for_each_other(graph: af.Graph) -> None:
    count = 60
    meet = threading.Barrier(count)
    made = [af.py_func(lambda: np.int64(meet.wait(PATIENCE) >= 0), [], af.int64) for _ in range(count)]
    async with af.Session() as session:
        assert await session.run(made) == [1] * count


async def test_a_step_that_is_stopped_does_not_wait_for_a_function(graph: af.Graph) -> None:
    function = Waiting()
    made = af.py_func(function, [], af.float32)
    async with af.Session() as session:
        running = asyncio.create_task(session.run(made))
        await function.begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not function.ended.is_set()
        function.go()
        await function.ended.wait()


def test_blocking_sessions_call_functions_too(graph: af.Graph) -> None:
    async def later(x: Any) -> Any:
        await asyncio.sleep(0)
        return 2 * x

    x = af.placeholder(af.float32, [])
    made = [af.py_func(lambda x: x + ONE, [x], af.float32), af.py_func(later, [x], af.float32)]
    with af.blocking.Session(graph=graph) as session:
        for i in range(5):
            assert session.run(made, {x: i}) == [i + 1, 2 * i]


async def test_async_functions_wait_on_the_event_loop_together(graph: af.Graph) -> None:
    meet = asyncio.Barrier(3)

    async def meets(x: Any) -> Any:
        assert asyncio.get_running_loop() is loop
        await meet.wait()
        return x + ONE

    loop = asyncio.get_running_loop()
    made = [af.py_func(meets, [af.constant(float(i))], af.float32) for i in range(3)]
    async with af.Session() as session:
        assert await session.run(made) == [1, 2, 3]


async def test_what_a_function_gives_is_awaited(graph: af.Graph) -> None:
    async def later(x: Any) -> Any:
        await asyncio.sleep(0)
        return x

    class Callable:
        async def __call__(self, x: Any, y: Any) -> Any:
            return x + y

    x = af.constant(1.0)
    made = [
        af.py_func(lambda x: later(x), [x], af.float32),
        af.py_func(functools.partial(Callable(), ONE), [x], af.float32),
        af.py_func(Callable(), [x, x], af.float32),
    ]
    async with af.Session() as session:
        assert await session.run(made) == [1, 2, 2]


async def test_an_async_function_is_cancelled_with_its_step(graph: af.Graph) -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def waits() -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    made = af.py_func(waits, [], af.float32)
    async with af.Session() as session:
        running = asyncio.create_task(session.run(made))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await cancelled.wait()


async def test_a_graph_keeps_its_functions_alive_and_lets_them_go() -> None:
    def make() -> tuple[af.Graph, Any, Any]:
        def own() -> Any:
            return ONE

        with af.Graph().as_default() as graph:
            return graph, af.py_func(own, [], af.float32), weakref.ref(own)

    graph, made, alive = make()
    gc.collect()
    async with af.Session(graph=graph) as session:
        assert await session.run(made) == 1
    del graph, made, session
    await anyio.lowlevel.checkpoint()  # the loop lets go of the task that has ended
    gc.collect()
    assert alive() is None


async def test_a_copy_of_a_graph_has_its_functions_as_long_as_the_graph_lives() -> None:
    with af.Graph().as_default() as graph:
        made = af.py_func(lambda: ONE, [], af.float32).name
    copied = af.Graph.from_bytes(graph.to_bytes())
    async with af.Session(graph=copied) as session:
        assert await session.run(made) == 1
        del graph
        gc.collect()
        with pytest.raises(errors.FailedPreconditionError, match="and with that graph"):
            await session.run(made)


def test_there_is_no_gradient(graph: af.Graph) -> None:
    x = af.constant([1.0])
    assert af.gradients(af.py_func(np.sin, [x], af.float32), [x]) == [None]


def test_what_is_no_function_or_no_list_is_refused(graph: af.Graph) -> None:
    x = af.constant([1.0])
    with pytest.raises(ValueError, match="callable"):
        af.py_func(3, [x], af.float32)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of tensors"):
        af.py_func(np.sin, x, af.float32)  # type: ignore[arg-type]


async def test_another_process_says_that_it_has_not_the_function(graph: af.Graph) -> None:
    made = af.py_func(np.sin, [af.constant([1.0])], af.float32)
    async with LocalCluster({"worker": 1}) as cluster, af.Session(cluster.target) as session:
        with pytest.raises(
            errors.FailedPreconditionError, match=r"(?s)lives in the process that built its graph.*task:0"
        ):
            await session.run(made)
