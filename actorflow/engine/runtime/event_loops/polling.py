"""An event loop that looks again for a moment before it sleeps, where answers lately came within that moment.

To wake a thread that sleeps takes as long as a small request. The sender's core has to interrupt another core, which
comes out of its idle state; on a virtual machine the interrupt goes by way of the host. A thread that is still looking
needs no waking.
"""

from __future__ import annotations

import asyncio
import os
import select
import selectors
from collections.abc import Callable
from threading import active_count
from time import perf_counter
from typing import Any

from actorflow.base.process import forks, machine
from actorflow.public import public

POLL_SECONDS = 400e-6
"""How long is looked before sleeping: as long as a request takes whose answer is a tensor of a megabyte. Wakes, of event loops
and of ZeroMQ's threads between them, are half of that."""
_WAKE_SECONDS = 150e-6
"""The time that a wait may take longer than that, if the thread slept through it and the other side had to be woken
too."""
_MOST_TRUST, _LOSS = 8, 2

at_work: set[int] = set()
"""Kernels that run on threads of this process, by their numbers. They want the core, and at their end the interpreter: while
there are any, the loop sleeps."""


class PollingSelector(selectors.DefaultSelector):
    """The system's selector, which polls before it sleeps while at least two of three waits are short. After each look it gives
    its core to whoever wants it. A selector that is to be `alone` sleeps while the program has other threads of Python: whoever
    looks all the time hardly lets them have the interpreter."""

    _look = selectors.DefaultSelector.select
    _selector: Any

    def __init__(self, seconds: float = POLL_SECONDS, *, alone: bool = False) -> None:
        super().__init__()
        self._seconds = seconds if machine.cores() > 1 else 0.0
        self._alone = alone
        self._trust = 0
        forks.register(self)

    def forked(self) -> None:
        """A child shares an epoll with its parent, which would not be woken any more for what the child takes out of it."""
        if (
            hasattr(selectors, "EpollSelector")
            and isinstance(self, selectors.EpollSelector)
            and self.get_map() is not None
        ):
            self._selector.close()
            self._selector = select.epoll()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        seconds = self._seconds
        if timeout is not None and timeout <= seconds:
            return self._look(timeout)
        begun = perf_counter()
        if self._trust > 0 and not at_work and not (self._alone and active_count() > 1):
            end = begun + seconds
            while perf_counter() < end:
                events = self._look(0)
                if events:
                    self._trust = min(_MOST_TRUST, self._trust + 1)
                    return events
                _give_way()
            self._trust -= _LOSS
            return self._look(timeout)
        events = self._look(timeout)
        if events and perf_counter() - begun < seconds + _WAKE_SECONDS:
            self._trust = min(_MOST_TRUST, max(0, self._trust) + 1)
        return events


@public("af")
def new_event_loop(*, alone: bool = False) -> asyncio.AbstractEventLoop:
    """asyncio's event loop for programs that talk to a cluster on the same host and want the answer soon; a cluster's own
    processes have it. A small request takes half to three quarters of its time; while such requests follow each other closely,
    the process keeps a core busy for up to 0.4 ms after each. Not for programs with other threads that compute in Python, unless
    it is to be `alone`: then it does without while there are any.

    For example `asyncio.Runner(loop_factory=actorflow.new_event_loop)`.

    Example:
        >>> loop = af.new_event_loop()  # asyncio.Runner(loop_factory=af.new_event_loop), in a program
        >>> loop.close()
    """
    return asyncio.SelectorEventLoop(PollingSelector(alone=alone))


_give_way: Callable[[], object] = getattr(os, "sched_yield", lambda: None)
