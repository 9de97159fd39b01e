"""Kernels of mutexes: a lock that steps take turns to hold, across sessions and threads where its container is shared."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import numpy as np

from actorflow.base.process import forks
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import Users, Wait, behind
from actorflow.errors import CancelledError, InvalidArgumentError

from ..shared.waiter import Waiter

_USERS: Users = (("released by", ("ConsumeMutexLock",)),)


class Mutex:
    """A lock with a queue: who asks first holds it first. Holders are told apart by their tickets.

    A step that ends, in whatever way, gives up the ticket that it holds or waits for.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._guard = forks.new_lock()  # held for a few instructions only
        self._tickets = itertools.count(1)
        self._holder = 0
        self._steps: dict[int, StepHandle] = {}
        """Whose the tickets are that hold the lock or wait for it."""
        self._queue: deque[tuple[int, Waiter]] = deque()
        self._closed = False

    async def acquire(self, step: StepHandle) -> int:
        """Waits for the lock; gives the ticket that releases it. Raises CancelledError where the wait ended without."""
        ticket, waiter = next(self._tickets), Waiter()
        with self._guard:
            self._steps[ticket] = step
            if not self._holder:
                self._holder = ticket
            else:
                self._queue.append((ticket, waiter))
            held = self._holder == ticket
        step.on_end(lambda: self.give_up(ticket))
        if not held and not self._closed:
            await waiter.wait(step, lambda: self._wait_of(ticket))
        if self._holder != ticket:
            self.give_up(ticket)
            raise CancelledError(f"The wait for the mutex {self.name!r} has been cancelled.")
        return ticket

    def release(self, ticket: int) -> None:
        """Hands the lock to the next in the queue. Raises InvalidArgumentError where the ticket does not hold it."""
        if not self.give_up(ticket):
            raise InvalidArgumentError(f"The mutex {self.name!r} is not held by the lock that should be released.")

    def give_up(self, ticket: int) -> bool:
        """Releases the lock if `ticket` holds it, and leaves the queue if it waits there. Gives whether it held it."""
        with self._guard:
            self._steps.pop(ticket, None)
            if self._holder != ticket:
                self._queue = deque(entry for entry in self._queue if entry[0] != ticket)
                return False
            self._holder, following = self._queue.popleft() if self._queue else (0, None)
        if following is not None:
            following.wake()
        return True

    def _wait_of(self, ticket: int) -> Wait:
        with self._guard:
            holder = self._steps.get(self._holder)
            before = next((place for place, (number, _) in enumerate(self._queue) if number == ticket), 0)
        held = "which nothing holds" if holder is None else f"which step {holder.id} holds"
        what = f"waits for the mutex {self.name!r}, {held}{behind(before)}"
        return Wait(what, self.name, _USERS, () if holder is None else (holder,))

    def statistics(self) -> dict[str, int]:
        """How many hold the lock, and how many wait for it."""
        with self._guard:
            return {"held": int(self._holder != 0), "waiting": len(self._queue)}

    def close(self) -> None:
        """Ends all waits: the container has been reset."""
        with self._guard:
            self._closed = True
            queue, self._queue = self._queue, deque()
        for _, waiter in queue:
            waiter.wake()


@kernel("MutexV2")
def mutex(xp: Any, *, container: str, shared_name: str, ctx: KernelContext) -> Mutex:
    name = shared_name or ctx.node.name
    return ctx.resources.lookup_or_create(container, name, Mutex, lambda: Mutex(name))


@kernel("MutexLock", aborts_itself=True)
async def lock(xp: Any, mutex: Mutex, *, step: StepHandle) -> Any:
    return np.int64(await mutex.acquire(step))


@kernel("ConsumeMutexLock")
def unlock(xp: Any, mutex: Mutex, mutex_lock: Any) -> None:
    mutex.release(int(mutex_lock))
