"""The ready queue of an event loop, and the pump that runs node tasks from it.

Every node that fires is an `asyncio.Task`. A task asks its loop for one thing only, `call_soon`, to be stepped. Node tasks
get the dispatcher as their loop. So being ready and being queued are the same act, and a chain of nodes needs no turn of
the event loop between its links. That is what makes a task cost 1 µs here instead of 3. A node that waits for something of
the real loop (an asynchronous kernel) is a task of that loop instead.

The pump works for at most `SLICE` seconds in one turn of the event loop, over all sessions, steps and devices; then timers,
sockets and other tasks have theirs.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import Context
from functools import partial
from itertools import islice
from typing import Any, Protocol

from actorflow.base.process import machine

SLICE = 0.001
_WOKEN = 16
"""The most of those that wait for their start that may try it in one turn; more would only find the slice used up."""


class ReadyQueue(Protocol):
    """The queue in which steps of tasks wait for the pump. Its order is free: a firing rule cares only for what is
    present."""

    def append(self, item: tuple[Context, Callable[[], Any]], /) -> None: ...

    def popleft(self) -> tuple[Context, Callable[[], Any]]: ...

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
        self.pumping = True
        try:
            while queue and clock() < deadline:
                context, step = popleft()
                context.run(step)
        finally:
            self.pumping = False

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
