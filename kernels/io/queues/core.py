"""A queue without waiting: its elements, the attempts that could not be finished yet, and whether it is closed.

Attempts form two lines, those that put and those that take, and only the head of each is tried (TensorFlow's
`queue_base.cc`): a large take at the head holds up smaller takes behind it. Nothing here does I/O, knows a clock, an event loop
or a thread; callers see to it that one call is made at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from actorflow.errors import CancelledError, OpError, OutOfRangeError, with_topic

from .stores import Element, QueueStore

END_OF_INPUT = with_topic("All elements were taken: this is how an input ends.", "end-of-input")


class QueueAttempt:
    """One operation on a queue: done, with an error or without, or waiting for its turn.

    `waiter` belongs to the caller, who leaves there whom to wake."""

    __slots__ = ("done", "error", "waiter")
    puts = True
    adds = False
    """Whether it needs room."""

    def __init__(self) -> None:
        self.done = False
        self.error: OpError | None = None
        self.waiter: Any = None

    def progress(self, queue: QueueCore) -> bool:
        """Does what can be done now, and says whether that was anything."""
        raise NotImplementedError

    def undo(self, queue: QueueCore) -> None:
        """Gives back what was taken and will not be delivered. Elements that were put stay."""

    def finish(self, error: OpError | None = None) -> bool:
        self.done = True
        self.error = error
        return True


class Put(QueueAttempt):
    """Adds elements singly, as room comes."""

    __slots__ = ("_left",)
    adds = True

    def __init__(self, elements: Iterable[Element]) -> None:
        super().__init__()
        self._left = deque(elements)
        self.done = not self._left

    def progress(self, queue: QueueCore) -> bool:
        if queue.closed:
            return self.finish(CancelledError(f"{queue} is closed."))
        before = len(self._left)
        while self._left and len(queue.store) < queue.capacity:
            queue.store.add(self._left.popleft())
        return self.finish() if not self._left else len(self._left) < before


class Close(QueueAttempt):
    """Closes the queue, when the puts before it are done."""

    __slots__ = ()

    def progress(self, queue: QueueCore) -> bool:
        if queue.closed:
            return self.finish(CancelledError(f"{queue} is already closed."))
        queue.closed = True
        return self.finish()


class QueueTake(QueueAttempt):
    """Takes `count` elements as they come; with `up_to`, a closed queue gives fewer, but at least one element."""

    __slots__ = ("_tickets", "count", "elements", "up_to")
    puts = False

    def __init__(self, count: int, up_to: bool = False) -> None:
        super().__init__()
        self.count = count
        self.up_to = up_to
        self._tickets: list[Any] = []
        self.elements: list[Element] = []
        self.done = not count

    @property
    def taken(self) -> int:
        """How many it has already."""
        return len(self._tickets)

    def progress(self, queue: QueueCore) -> bool:
        store = queue.store
        if queue.closed and len(self._tickets) + len(store) < self.count:
            self.undo(queue)
            if not self.up_to or not len(store):
                return self.finish(
                    OutOfRangeError(
                        f"{queue} is closed and has insufficient elements (requested {self.count}, current size "
                        f"{len(store)}).",
                        hint=END_OF_INPUT,
                    )
                )
            self.count = len(store)
        tickets = self._tickets
        before = len(tickets)
        for _ in range(min(self.count - before, store.available(queue.closed))):
            tickets.append(store.take())
        if len(tickets) == self.count:
            self.elements = [store.element(ticket) for ticket in tickets]
            return self.finish()
        return len(tickets) > before

    def undo(self, queue: QueueCore) -> None:
        tickets, self._tickets, self.elements = self._tickets, [], []
        queue.store.put_back(tickets)


class QueueCore:
    """The state of one queue. Each change returns the waiting attempts that it has finished."""

    def __init__(self, name: str, store: QueueStore, capacity: float = float("inf")) -> None:
        self.name = name
        self.store = store
        self.capacity = capacity
        self.closed = False
        self._puts: deque[QueueAttempt] = deque()
        self._takes: deque[QueueAttempt] = deque()

    def __len__(self) -> int:
        return len(self.store)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many attempts wait to put (or to close), and to take."""
        return len(self._puts), len(self._takes)

    def before(self, attempt: QueueAttempt) -> int:
        """How many stand before it in its line."""
        line = self._puts if attempt.puts else self._takes
        return line.index(attempt) if attempt in line else 0

    def submit(self, attempt: QueueAttempt) -> list[QueueAttempt]:
        """Tries `attempt` if it is its turn; it is done afterwards, or waits."""
        if attempt.done:
            return []
        (self._puts if attempt.puts else self._takes).append(attempt)
        finished = self._flush()
        if attempt.done:
            finished.remove(attempt)
        return finished

    def withdraw(self, attempt: QueueAttempt) -> list[QueueAttempt]:
        """Takes back an attempt that waits, or an attempt whose elements did not arrive: what it took is in its place again."""
        line = self._puts if attempt.puts else self._takes
        if not attempt.done:
            line.remove(attempt)
            attempt.finish(CancelledError("The operation was cancelled."))
        attempt.undo(self)
        return self._flush()

    def close_and_cancel(self) -> list[QueueAttempt]:
        """Closes at once, and fails all that wait to put."""
        self.closed = True
        cancelled, self._puts = list(self._puts), deque()
        for attempt in cancelled:
            attempt.finish(CancelledError(f"Enqueue operation was cancelled: {self} was closed."))
        return cancelled + self._flush()

    def abandon(self) -> list[QueueAttempt]:
        """Fails all that waits, because the queue itself goes away."""
        left = [*self._puts, *self._takes]
        self._puts.clear()
        self._takes.clear()
        self.closed = True
        for attempt in left:
            attempt.finish(
                CancelledError(
                    f"The operation was cancelled: {self} was dropped, since its container was reset, or its session was closed."
                )
            )
        return left

    def _flush(self) -> list[QueueAttempt]:
        """Tries the heads until neither can go on."""
        finished: list[QueueAttempt] = []
        moved = True
        while moved:
            moved = False
            for line in (self._puts, self._takes):
                while line and line[0].progress(self):
                    moved = True
                    if not line[0].done:
                        break
                    finished.append(line.popleft())
        return finished

    def __str__(self) -> str:
        return f"Queue {self.name!r}"
