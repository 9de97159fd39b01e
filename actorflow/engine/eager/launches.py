"""`LaunchQueue`: ops that were called and run on a thread, in the order of the program; `PendingTensor`: what they will give.

This is asynchronous dispatch, as GPUs have it. A call of an op that takes long gives tensors at once, whose types are known and
mostly their shapes. Ops that take such tensors follow on the thread. A question for a value waits for it.

A variable that an op on the thread touches has a `writer` until then, as with kernels of sessions: sessions and other eager code
wait for it.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.process import forks, machine
from actorflow.base.registry import opdef
from actorflow.base.reports.logs import get_logger
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, is_static
from actorflow.engine.eager.graph import GRAPH, PreparedOp
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.placement.cost_model import expected_cost
from actorflow.engine.runtime.diagnostics.costs import INLINE_LIMIT_NS, UNKNOWN_NS, Cost
from actorflow.engine.runtime.threads import WriteInProgress
from actorflow.errors import CancelledError, Where

_LOG = get_logger("eager")
_MOST = 1024
"""How many ops may wait for the thread: then a call waits, or their results would take all memory."""
_MOST_COSTS = 4096
_LONG = 0.01
"""Seconds for which a question for a value may hold the event loop before the log tells of it."""

_slot: Any = vars(EagerTensor)["_value"]
_shape: Any = vars(EagerTensor)["static_shape"].fget  # `super()` fails where the class changes meanwhile
_lock = forks.new_lock()


class Launch:
    """One op on its way: its kernel and inputs, and the tensors that it is to give."""

    __slots__ = (
        "_before", "_cost", "_inputs", "_name", "_origin", "_prepared", "_tensors", "_waiting", "_where", "_writing", "error",
        "over", "queue", "shapes",
    )  # fmt: skip

    def __init__(
        self,
        owner: LaunchQueue,
        prepared: PreparedOp,
        inputs: Sequence[EagerTensor],
        shapes: Sequence[Shape],
        cost: Cost,
        name: str,
        where: Where | None,
    ) -> None:
        self.queue, self.shapes = owner, tuple(shapes)
        self._origin = owner  # the queue of the op whose error it has
        self._prepared, self._inputs, self._cost, self._name, self._where = prepared, tuple(inputs), cost, name, where
        self._tensors: tuple[EagerTensor, ...] = ()
        self.error: BaseException | None = None
        self.over = False
        self._waiting: list[Callable[[], None]] = []
        touched = [value for tensor in inputs if hasattr(value := _slot.__get__(tensor), "writer")]
        self._before = [state.writer for state in touched if state.writer is not None]
        self._writing = WriteInProgress(touched) if touched else None

    def promised(self) -> tuple[EagerTensor, ...]:
        """The tensors that it is to give."""
        self._tensors = tuple(
            [_pending(ValuePlace(self, i), dtype) for i, dtype in enumerate(self._prepared.node.dtypes)]
        )
        return self._tensors

    def run(self) -> None:
        """Computes it, on the thread."""
        results: Sequence[Any] = ()
        try:
            results = self._computed()
        except BaseException as error:
            self.error = error
        tensors, self._inputs, self._tensors = self._tensors, (), ()
        for tensor, value in zip(tensors, results):
            _slot.__set__(tensor, value)
            tensor.__class__ = EagerTensor  # a tensor like any other from now on
        if self._writing is not None:
            self._writing.end()
        with _lock:
            self.over = True
        for callback in self._waiting:
            callback()

    def _computed(self) -> Sequence[Any]:
        if self.queue.stopped:
            raise CancelledError(
                "The operation was cancelled: its block `async with af.eager(...)` was left by an error."
            )
        for writing in self._before:
            wait_for(writing)
        values = []
        for tensor in self._inputs:
            launch = launch_of(tensor)
            if launch is not None and launch.error is not None:
                self._origin = launch._origin
                raise launch.error.with_traceback(None)
            values.append(tensor._value)
        begun = perf_counter_ns()
        try:
            with nullcontext() if self._writing is None else self.queue.writes:
                results = GRAPH.launch(self._prepared, values, self._name, self._where)
        except BaseException as error:
            self.queue.untold.append(error)
            raise
        self._cost.add(perf_counter_ns() - begun)
        count = len(self._prepared.node.dtypes)
        return (results,) if count == 1 else results if count else ()

    def fail(self, error: BaseException) -> None:
        """Ends it in a process that has neither its thread nor those who waited for it."""
        self.error = error
        self._inputs, self._tensors, self._waiting = (), (), []
        if self._writing is not None:
            self._writing.forked()
        self.over = True

    def when_over(self, callback: Callable[[], None]) -> None:
        """Calls `callback` at its end, on the thread, or now if that is past."""
        with _lock:
            if not self.over:
                self._waiting.append(callback)
                return
        callback()

    async def ended(self) -> None:
        """Returns at its end, and lets others have the event loop until then."""
        if self.over:
            return
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def tell() -> None:
            if not ended.done():
                ended.set_result(None)

        def tell_from_thread() -> None:
            with suppress(RuntimeError):  # the loop is closed: no one waits any more
                loop.call_soon_threadsafe(tell)

        self.when_over(tell_from_thread)
        await ended

    def raise_error(self) -> None:
        """Raises what the kernel raised, if it did."""
        if self.error is not None:
            with suppress(ValueError):
                self._origin.untold.remove(self.error)
            raise self.error.with_traceback(None)


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """It stands in a tensor for its value until that is there: the op, and which of its outputs."""

    launch: Launch
    index: int


class PendingTensor(EagerTensor):
    """A tensor that is still computed. With its value it becomes an `EagerTensor`."""

    __slots__ = ()

    @property
    def _value(self) -> Any:
        held = _slot.__get__(self)
        if type(held) is not ValuePlace:
            return held
        if not held.launch.over:
            _wait(held.launch)
        held.launch.raise_error()
        return _slot.__get__(self)

    @property
    def known_shape(self) -> Shape:
        held = _slot.__get__(self)
        return held.launch.shapes[held.index] if type(held) is ValuePlace else _shape(self)

    @property
    def static_shape(self) -> Shape:
        shape = self.known_shape
        return shape if is_static(shape) else _shape(self)

    def known_value(self) -> Any:
        return None if type(_slot.__get__(self)) is ValuePlace else EagerTensor.known_value(self)

    def __await__(self) -> Generator[Any, None, EagerTensor]:
        launch = launch_of(self)
        if launch is not None:
            yield from launch.ended().__await__()
            launch.raise_error()
        return self


def _pending(place: ValuePlace, dtype: DType) -> PendingTensor:
    tensor = PendingTensor.__new__(PendingTensor)
    tensor._dtype, tensor._operation = dtype, None
    _slot.__set__(tensor, place)
    return tensor


def launch_of(tensor: EagerTensor) -> Launch | None:
    """The op that is to give a tensor, or has failed to; None for a tensor with its value."""
    held = _slot.__get__(tensor)
    return held.launch if type(held) is ValuePlace else None


def wait_for(ending: Launch | WriteInProgress) -> None:
    """Returns at the end of an op on a thread. Blocks."""
    ended = threading.Event()
    ending.when_over(ended.set)
    ended.wait()


def _wait(launch: Launch) -> None:
    """Waits for an op, and tells the log where that holds an event loop up."""
    began = perf_counter()
    wait_for(launch)
    seconds = perf_counter() - began
    if seconds > _LONG and not launch.queue.told and asyncio._get_running_loop() is not None:
        launch.queue.told = True
        _LOG.warning(
            "a tensor's value was asked for before it was there, which held the event loop up: await the tensor",
            seconds=round(seconds, 3),
            where=str(user_line() or ""),
        )


class LaunchQueue:
    """The ops of a block that run in turn on a thread of its own."""

    def __init__(self) -> None:
        self.untold: list[BaseException] = []
        """Errors that no caller has seen yet."""
        self.stopped = False
        """Whether what has not begun is not to begin."""
        self.told = False
        self._closed = False
        self._costs: dict[Any, Cost] = {}
        self._process = os.getpid()
        self.writes = forks.new_library_lock()
        """Held while an op writes to variables: a fork waits, or the child would have values that are in part new."""
        self._last: Launch | None = None
        self._begin()
        forks.register(self)

    def _begin(self) -> None:
        self._work: queue.SimpleQueue[Launch | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()
        self._unfinished: deque[Launch] = deque()

    def forked(self) -> None:
        """In a child that was forked there is no thread yet, and what the parent's has not done will not be done."""
        unfinished = self._unfinished
        self._begin()
        for launch in unfinished:
            launch.fail(forks.refusal("The thread that computes this", self._process))

    @property
    def busy(self) -> bool:
        """Whether something waits for the thread or runs there."""
        return self._last is not None and not self._last.over

    def launch(
        self,
        prepared: PreparedOp,
        inputs: Sequence[Any],
        shapes: Sequence[Shape],
        name: str,
        where: Where | None,
    ) -> tuple[EagerTensor, ...] | None:
        """The tensors that an op will give; None if the op is to run at once: it is short, and needs nothing of the thread."""
        if self._closed or not prepared.may_launch or not machine.current().is_real:
            return None
        cost = self._cost(prepared, inputs, shapes)
        waits = any(type(tensor) is PendingTensor for tensor in inputs) or not prepared.pure and self.busy
        if not waits and cost.nanoseconds <= INLINE_LIMIT_NS:
            return None
        if self._work.qsize() >= _MOST and self._last is not None:
            wait_for(self._last)
        with self._turn:  # an op that waits for a variable's writer stands behind that
            launch = self._last = Launch(self, prepared, inputs, shapes, cost, name, where or user_line())
            tensors = launch.promised()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="actorflow eager ops", daemon=True)
                self._thread.start()
            self._unfinished.append(launch)
            self._work.put(launch)
        return tensors

    def _cost(self, prepared: PreparedOp, inputs: Sequence[EagerTensor], shapes: Sequence[Shape]) -> Cost:
        """The time that an op takes for inputs of these shapes: a guess, then what it took before."""
        known_shapes = tuple([tensor.known_shape for tensor in inputs])
        key = prepared, known_shapes
        cost = self._costs.get(key)
        if cost is None:
            if len(self._costs) >= _MOST_COSTS:
                self._costs.clear()
            node, types = prepared.node, [tensor._dtype for tensor in inputs]
            has_work = opdef.lookup(node.op).work is not None
            cost = self._costs[key] = Cost(expected_cost(node, types, known_shapes, shapes) if has_work else UNKNOWN_NS)
        return cost

    def _run(self) -> None:
        work, unfinished = self._work, self._unfinished
        while (launch := work.get()) is not None:
            launch.run()
            unfinished.popleft()
            del launch

    async def ended(self) -> None:
        """Returns when all that was called before has run."""
        if self._last is not None:
            await self._last.ended()

    def raise_untold(self) -> None:
        """Raises the first error that no caller has seen, if there is any."""
        if self.untold:
            error = self.untold[0]
            self.untold.clear()
            raise error.with_traceback(None)

    async def close(self) -> None:
        """Ends the thread, after what it has begun."""
        self._closed = True
        await self.ended()
        if self._thread is not None:
            self._work.put(None)
            await machine.on_thread(self._thread.join)
            self._thread = None


async def settled(tensors: Iterable[Any]) -> None:
    """Returns when all of these tensors have their values, and lets others have the event loop until then."""
    for tensor in tensors:
        if type(tensor) is PendingTensor:
            await tensor
