"""Streams of one GPU, events between them, and how the host learns that a stream has come to a point.

Work in one stream runs in order. Between streams, the stream that needs something waits for an event that the other stream
records; the host never waits for the whole device. If the host has to know, a thread sleeps in the driver until an event has
come. Each stream has a thread of its own for that, begun at the first need, because what one stream finishes early must not
stand behind what another finishes late. A callback from the driver (`launch_host_func`) would need no thread, but is not called
when the work before it failed; the thread gets the error.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

Come: TypeAlias = Callable[[BaseException | None], None]


class CudaStream:
    """A stream of the GPU `place` (a `cupy.cuda.Device`). `raw` is CuPy's."""

    def __init__(self, cupy: Any, place: Any, name: str) -> None:
        self._cupy = cupy
        self._place = place
        self._name = name
        self._events: queue.SimpleQueue[tuple[Any, Come] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        with place:
            # The null stream waits for all others and they for it, unless they are non-blocking.
            self.raw = cupy.cuda.Stream(non_blocking=True)

    def mark(self, *, blocking: bool = False) -> Any:
        """An event behind all that is in the stream now. A `blocking` event lets a thread that waits for it sleep."""
        with self._place:
            event = self._cupy.cuda.Event(block=blocking, disable_timing=True)
            event.record(self.raw)
        return event

    def wait_for(self, other: CudaStream) -> None:
        """Work that is put into this stream from now on runs after all that is in `other` now."""
        self.wait_event(other.mark())

    def wait_event(self, event: Any) -> None:
        """Work that is put into this stream from now on runs after the event."""
        with self._place:
            self.raw.wait_event(event)

    def when_done(self, come: Come) -> None:
        """Calls `come` when all that is in the stream now has run, with the error of a failure: on another thread, or here if
        no wait is needed."""
        try:
            event = self.mark(blocking=True)
        except BaseException as error:
            come(error)
            return
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._wait, name=self._name, daemon=True)
                self._thread.start()
            if self._thread is not None:
                self._events.put((event, come))
                return
        come(_reached(event))  # the device is closed: no caller is waiting for the loop

    def _wait(self) -> None:
        while (item := self._events.get()) is not None:
            event, come = item
            come(_reached(event))
            del item, event, come  # they hold the arrays that were copied

    def close(self) -> None:
        """Lets the thread end when what is in the stream has run. Does not wait for it."""
        with self._lock:
            self._closed = True
            if self._thread is not None:
                self._events.put(None)
                self._thread = None


def _reached(event: Any) -> BaseException | None:
    """Waits for an event; what its stream failed with, or None."""
    try:
        event.synchronize()
    except BaseException as error:
        return error
    return None
