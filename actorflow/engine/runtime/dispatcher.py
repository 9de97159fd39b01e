"""The ready queue of an event loop, and the pump that runs node tasks from it.

Every node that fires is an `asyncio.Task`, whose steps wait in this queue. So being ready and being queued are the same act,
and a chain of nodes needs no turn of the event loop between its links. That is what makes a task cost 1 µs here instead of 3.
The task of a node starts eagerly at its turn, and the futures that it awaits queue its next step here. Tasks of CPython 3.11
can't start eagerly. There the dispatcher stands in the place of the task's loop, which a task asks for one thing only:
`call_soon`, to be stepped. A node that waits for something of the event loop (an asynchronous kernel) is a task of that loop.

The pump works for at most `SLICE` seconds in one turn of the event loop, over all sessions, steps and devices; then timers,
sockets and other tasks have theirs.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from itertools import islice
from typing import Any, Protocol

from actorflow.base.process import machine
from actorflow.base.process.interpreter import TASKS_START_EAGERLY, exchange_task

SLICE = 0.001
_WOKEN = 16
"""The most of those that wait for their start that may try it in one turn; more would only find the slice used up."""


class ReadyQueue(Protocol):
    """The queue in which steps of tasks wait for the pump. Its order is free: a firing rule cares only for what is
    present."""

    def append(self, item: tuple[Context | None, Callable[[], Any]], /) -> None: ...

    def popleft(self) -> tuple[Context | None, Callable[[], Any]]: ...

    def __len__(self) -> int: ...


_dispatchers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Dispatcher] = weakref.WeakKeyDictionary()


class Dispatcher:
    """The ready queue of one event loop (paper section 3.1). `Dispatcher.of(loop)` gives it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self.queue: ReadyQueue = deque()
        self.pumping = False
        self.turn_is_open = False
        self._deadline = 0.0
        self._clock = machine.current().work_clock
        self._has_started = False
        self._waiting: OrderedDict[object, asyncio.Future[None]] = OrderedDict()

    @staticmethod
    def of(loop: asyncio.AbstractEventLoop) -> Dispatcher:
        """The dispatcher of `loop`; all sessions on it share the dispatcher."""
        dispatcher = _dispatchers.get(loop)
        if dispatcher is None:
            dispatcher = _dispatchers[loop] = Dispatcher(loop)
        return dispatcher

    def begin_soon(self, turn: Callable[[], Any]) -> None:
        """Queues a turn that enters a context by itself, as a task does that starts eagerly."""
        self.queue.append((None, turn))
        if not self.pumping and not self.turn_is_open:
            self.open_turn()

    def future(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        """A future of an event loop, whose end queues the next step of the node's task that awaits it."""
        if TASKS_START_EAGERLY:
            return NodeFuture(self, loop)
        return asyncio.Future(loop=self)  # type: ignore[arg-type]

    # The part of a loop's interface that a task uses

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> None:
        """Queues a step of a node's task."""
        assert context is not None
        self.queue.append((context, callback if not args else partial(callback, *args)))
        if not self.pumping and not self.turn_is_open:
            self.open_turn()

    def get_debug(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        loop = self._loop()
        if loop is not None:
            loop.call_exception_handler(context)

    # The pump

    def pump(self) -> None:
        """Runs what is ready, for what is left of this turn's slice. Nodes that become ready meanwhile run too."""
        if self.pumping:
            return
        if not self.turn_is_open:
            self.open_turn()
        queue = self.queue
        popleft = queue.popleft
        deadline, clock = self._deadline, self._clock
        loop = self._loop() if TASKS_START_EAGERLY else None
        outer = None if loop is None else exchange_task(loop, None)  # a task is stepped where no other is current
        self.pumping = True
        try:
            while queue and clock() < deadline:
                context, step = popleft()
                if context is None:
                    step()
                else:
                    context.run(step)
        finally:
            self.pumping = False
            if loop is not None:
                exchange_task(loop, outer)

    def may_start(self) -> bool:
        """Whether a new step may start in this turn: while there is time left of its slice, and the first step in any
        case. If others wait, it is their turn first: see `wait_for_start`."""
        return not self._waiting and self._has_time()

    def _has_time(self) -> bool:
        if not self.turn_is_open or self._clock() < self._deadline:
            return True
        first, self._has_started = not self._has_started, True
        return first

    async def wait_for_start(self) -> None:
        """Returns when a new step may start, in the order of the calls. Thousands may wait: a turn wakes a few of them."""
        loop = asyncio.get_running_loop()
        place = object()
        try:
            while True:
                self._waiting[place] = loop.create_future()  # which keeps the place of a future that was there before
                if not self.turn_is_open:
                    self.open_turn()
                await self._waiting[place]
                if self._has_time():
                    return
        finally:
            del self._waiting[place]

    def open_turn(self) -> None:
        """Starts the slice of this turn, and asks the loop for the next turn."""
        loop = self._loop()
        if loop is None or loop.is_closed():
            return
        self.turn_is_open = True
        self._has_started = False
        self._deadline = self._clock() + SLICE
        loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self.turn_is_open = False
        if self.queue:
            self.pump()
        if self._waiting:
            if not self.turn_is_open:
                self.open_turn()
            for place in islice(self._waiting.values(), _WOKEN):
                if not place.done():
                    place.set_result(None)


class NodeFuture(asyncio.Future[Any]):
    """A future of a node's task, whose end takes no turn of the event loop.

    Args:
        dispatcher: queues the steps of the tasks that await the future.
        loop: the event loop of these tasks.
    """

    def __init__(self, dispatcher: Dispatcher, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._dispatcher = dispatcher
        self._steps: list[tuple[Callable[..., object], Context]] = []

    def add_done_callback(self, step: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        """Keeps a callback, such as the next step of a task that awaits this future, for the ready queue."""
        context = copy_context() if context is None else context
        if self.done():
            self._dispatcher.call_soon(step, self, context=context)
        else:
            self._steps.append((step, context))

    def set_result(self, result: Any, /) -> None:
        """Ends the future, and queues the callbacks."""
        super().set_result(result)
        steps, self._steps = self._steps, []
        for step, context in steps:
            self._dispatcher.call_soon(step, self, context=context)
