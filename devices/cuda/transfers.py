"""Copies between the host, a GPU and its neighbours, each kind in a stream of its own, beside the kernels.

Events put the copies in order with the compute stream. The source of a copy is held until it has run; the host goes
through pinned memory, whose buffers come from CuPy's pool and go back there when the copy is done.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..allocator import axes_in_memory, inverse
from .errors import CudaErrors
from .memory import CudaAllocator, address, pinned
from .recording import NotRecordable
from .streams import Come, CudaStream

Done = Callable[[Any, BaseException | None], object]


@dataclass(frozen=True, slots=True)
class Lent:
    """An array on its way to another GPU, and the event behind which it is complete."""

    array: Any
    ready: Any


class Holding:
    """A callback that does nothing but keep something alive until it is called."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __call__(self, error: BaseException | None) -> None:
        self._held = None


class Transfers:
    """The copies of the GPU `place`, which is called `name`.

    `launching(what)` is a block whose calls of CuPy go into the compute stream, and `is_recorded()` says whether they are
    only recorded there.
    """

    def __init__(
        self,
        cupy: Any,
        place: Any,
        name: str,
        compute: CudaStream,
        allocator: CudaAllocator,
        errors: CudaErrors,
        launching: Callable[[str], AbstractContextManager[None]],
        is_recorded: Callable[[], bool],
    ) -> None:
        self.to_device = CudaStream(cupy, place, f"to {name}")
        self.to_host = CudaStream(cupy, place, f"from {name}")
        self.peer = CudaStream(cupy, place, f"between {name}")
        self.staged: deque[tuple[Any, Any]] = deque()
        """Pinned buffers, each with the event of the copy that reads it."""
        self.swapped_out = self.swapped_in = 0
        self._xp = cupy
        self._place = place
        self._compute = compute
        self._allocator = allocator
        self._errors = errors
        self._launching = launching
        self._is_recorded = is_recorded
        self._lock = threading.Lock()

    # ---- from the host

    def upload(self, value: Any) -> Any:
        """A copy of a host array on the GPU, on its way: kernels that are launched from now on find it there."""
        self._errors.check_usable()
        value = np.asarray(value)
        with self._errors.translating():
            self._let_staged_go()
            target = self._allocator.allocate(value.shape, value.dtype, self.to_device)
            if value.size:
                staging = pinned(self._xp, value.shape, value.dtype)
                np.copyto(staging, value)
                with self._place:
                    target.data.copy_from_host_async(address(staging), value.nbytes, self.to_device.raw)
                arrived = self.to_device.mark()
                self.staged.append((arrived, staging))  # the copy reads it until then
                self._compute.wait_event(arrived)
        return target

    def _let_staged_go(self) -> None:
        """Frees pinned buffers whose copies are done; the last buffers stay until the next copy."""
        with self._lock:
            while self.staged and self.staged[0][0].done:
                self.staged.popleft()

    # ---- between GPUs of this process

    def lend(self, value: Any) -> Any:
        """A value for another GPU of this process to copy."""
        if type(value) is not self._xp.ndarray:
            return value
        with self._launching("a copy to another GPU"):
            value = self._xp.ascontiguousarray(value)
        return Lent(value, self._compute.mark())

    def from_peer(self, lent: Lent) -> Any:
        """A copy of another GPU's array, on its way; the array itself if this GPU holds it."""
        self._errors.check_usable()
        source = lent.array
        if source.device.id == self._place.id:
            return source
        return self.copied(source.shape, source.dtype, source.data, lent.ready, Holding(source))

    def copied(self, shape: tuple[int, ...], dtype: Any, source: Any, ready: Any, come: Come) -> Any:
        """A copy of memory that this GPU sees, on its way. It begins behind the event `ready`; `come` is called at its end, on
        another thread, and holds until then what is copied."""
        with self._errors.translating():
            target = self._allocator.allocate(shape, dtype, self.peer)
            self.peer.wait_event(ready)
            with self._place:
                target.data.copy_from_device_async(source, target.nbytes, self.peer.raw)
            self._compute.wait_for(self.peer)
            self.peer.when_done(come)
        return target

    # ---- to the host

    def take(self, value: Any, done: Done) -> None:
        """Calls `done` on the running loop when `value` is in host memory. The copy runs beside later kernels."""
        loop = asyncio.get_running_loop()
        if type(value) is not self._xp.ndarray:
            loop.call_soon(done, value, None)
            return
        host, source = self._download(value)
        held = [source]

        def come(error: BaseException | None) -> None:
            held.clear()
            call_on(loop, done, None if error else arrived(host), self._errors.translated(error))

        self.to_host.when_done(come)

    def fetch(self, value: Any) -> Any:
        """`value` in host memory. Waits for it."""
        if type(value) is not self._xp.ndarray:
            return value
        host, source = self._download(value)
        with self._errors.translating():
            self.to_host.mark(blocking=True).synchronize()
        del source
        return arrived(host)

    def _download(self, value: Any) -> tuple[Any, Any]:
        """Starts a copy to the host: the array for the copy, and the source, which has to live until the copy is done."""
        if self._is_recorded():
            raise NotRecordable("the host waits for a value")
        with self._launching("a copy to the host"):
            value = self._xp.ascontiguousarray(value) if value.ndim else value
            host = pinned(self._xp, value.shape, value.dtype)
            if value.size:
                self.to_host.wait_for(self._compute)
                value.data.copy_to_host_async(address(host), value.nbytes, self.to_host.raw)
        return host, value

    # ---- there and back again

    def swap_out(self, value: Any, done: Done) -> None:
        """See `actorflow.engine.device.base.SwappingDevice`. The copy runs beside kernels, and until its end it holds the
        memory."""
        if type(value) is not self._xp.ndarray:
            done(value, None)
            return
        axes = axes_in_memory(value.strides)
        with self._launching("a copy to the host"):
            dense = value.transpose(axes)
        self.swapped_out += value.nbytes

        def come(host: Any, error: BaseException | None) -> None:
            done(None if error else host.transpose(inverse(axes)), error)

        self.take(dense, come)

    def swap_in(self, value: Any, done: Done) -> None:
        """See `actorflow.engine.device.base.SwappingDevice`. The copy runs beside kernels; kernels that wait for it are
        launched after it, so the compute stream never stands still for its sake."""
        if not isinstance(value, np.ndarray):
            done(value, None)
            return
        self._errors.check_usable()
        loop = asyncio.get_running_loop()
        axes = axes_in_memory(value.strides)
        with self._errors.translating(), self._place:
            dense = value.transpose(axes)
            target = self._allocator.allocate(dense.shape, dense.dtype, self.to_device)
            target.data.copy_from_host_async(address(dense), dense.nbytes, self.to_device.raw)
            held = [dense, target.transpose(inverse(axes))]
        self.swapped_in += value.nbytes
        del target

        def come(error: BaseException | None) -> None:
            back = held.pop()
            held.clear()
            call_on(loop, done, None if error else back, self._errors.translated(error))

        self.to_device.when_done(come)

    def close(self) -> None:
        """Lets threads end with the work that streams have. Waits for none of it."""
        for stream in (self.to_device, self.to_host, self.peer):
            stream.close()


def call_on(loop: asyncio.AbstractEventLoop, done: Callable[..., object], *arguments: Any) -> None:
    """Calls `done` on the loop, from any thread."""
    try:
        loop.call_soon_threadsafe(done, *arguments)
    except RuntimeError:
        pass  # the loop is closed: no one waits any more


def arrived(host: np.ndarray[Any, Any]) -> Any:
    """A value as it travels in host memory: a scalar for rank 0."""
    return host if host.ndim else host[()]
