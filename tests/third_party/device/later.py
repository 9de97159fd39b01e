"""A device of somebody else's, whose kernels finish later: a launch queues a kernel, and a thread of the device computes it.

Its memory is numpy's, counted and with a budget. The shapes and types of its tensors are known when they are launched, from the
rule that the op declares, and their elements when the thread has come to them. So the event loop launches a whole step ahead of
its values, as it does with a GPU, and waits for nothing.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import numpy as np

from actorflow.base.dtypes import STRING, DType
from actorflow.base.registry.kernel import own_memory, traits
from actorflow.base.shapes import Shape, is_static
from actorflow.devices.cpu import CpuDevice
from actorflow.engine.device.base import AllocatorStatistics, DeviceStatistics, Recordable, Replay
from actorflow.engine.runtime.kernel_binding import RuntimeShapes
from actorflow.engine.runtime.state.variable_state import VariableState
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnknownError,
)
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node
from actorflow.kernels.flow.send_recv import copying

KIND = "LATER"
SMALL = 4096
"""Bytes up to which a value that comes from the host stays there until a kernel needs it."""
Done = Callable[[Any, BaseException | None], None]

own_memory(KIND, without=STRING)
copying(KIND)


class LaterArray:
    """A tensor of the device. `future` gives its elements; `pick` says which of several results of a kernel it is."""

    __slots__ = ("__weakref__", "_lease", "device", "dtype", "future", "pick", "shape")

    def __init__(
        self, device: LaterDevice, shape: Any, dtype: Any, future: Future[Any], pick: int | None = None
    ) -> None:
        self.device, self.shape, self.dtype, self.future, self.pick = device, shape, np.dtype(dtype), future, pick
        self._lease = device.allocator.lease(self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def elements(self) -> Any:
        """The elements, as an array of numpy. It waits, so threads of devices call it only. Raises what the kernel raised."""
        found = self.future.result()
        return found if self.pick is None else found[self.pick]


class LaterAllocator:
    """Counts the bytes of tensors, from their launch until no one holds them any more."""

    threshold = 1

    def __init__(self, owner: str, budget: int | None) -> None:
        self.budget, self._owner, self._lock = budget, owner, threading.Lock()
        self._live = self._peak = self._allocations = self._frees = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self.adopt(np.empty(shape, dtype))

    def adopt(self, array: Any) -> Any:
        if isinstance(array, np.ndarray) and array.base is None:
            self.lease(array)
        return array

    def lease(self, holder: Any) -> Any:
        """Counts the bytes of `holder` as long as it lives."""
        nbytes = holder.nbytes
        self.check(nbytes)
        with self._lock:
            self._live += nbytes
            self._allocations += 1
            self._peak = max(self._peak, self._live)
        return weakref.finalize(holder, self._free, nbytes)

    def _free(self, nbytes: int) -> None:
        with self._lock:
            self._live -= nbytes
            self._frees += 1

    def check(self, nbytes: int) -> None:
        if self.budget is not None and self._live + nbytes > self.budget:
            raise ResourceExhaustedError(
                f"{self._owner} has a memory budget of {self.budget:,} bytes, of which {self._live:,} are in use; "
                f"{nbytes:,} bytes more would exceed it."
            )

    def statistics(self) -> AllocatorStatistics:
        made, freed = self._allocations, self._frees
        return AllocatorStatistics(self._live, self._peak, 0, made, freed, 0, self.budget, self.threshold)


class LaterVariable(VariableState):
    """A variable of the device. Its kernels run on the device's thread; who asks from elsewhere waits for that."""

    __slots__ = ("_device",)

    def __init__(self, name: str, dtype: DType, shape: Shape, allocator: Any, device: LaterDevice) -> None:
        super().__init__(name, dtype, shape, allocator)
        self._device = device

    @property
    def initialized(self) -> bool:
        return bool(self._device.wait_for(lambda: super(LaterVariable, self).initialized))

    def on_host(self) -> Any:
        return self._device.wait_for(lambda: np.array(self.read()))

    def assign(self, value: Any) -> None:
        self._device.wait_for(lambda: super(LaterVariable, self).assign(value))

    def adopt(self, buffer: np.ndarray[Any, Any]) -> None:
        self._device.wait_for(lambda: super(LaterVariable, self).adopt(buffer))


class LaterDevice:
    """The device. `memory_budget` bounds its tensors in bytes."""

    type = KIND
    asynchronous = True

    def __init__(self, name: str, *, memory_budget: int | None = None) -> None:
        self.name, self.spec = name, DeviceSpec.parse(name)
        self.xp: Any = np
        self.host = CpuDevice(name)
        self.allocator = LaterAllocator(name, memory_budget)
        self._thread = ThreadPoolExecutor(1, f"compute {name}")
        self._inline = self._threaded = 0
        self._failed: BaseException | None = None
        self._ident = 0
        self._closed = False

    # ---- kernels

    def launcher(self, node: Node, call: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:
        """`call`, the kernel of a node, to be computed by the thread."""
        known = traits(node.op, KIND)
        hosts = known.host_inputs(len(node.inputs))
        types = [dtype.base_dtype.numpy_dtype for dtype in node.dtypes]
        is_handle = any(dtype.is_ref for dtype in node.dtypes)
        follows, shapes_of = on_host if known.follows else None, RuntimeShapes(node)

        def launch(*inputs: Any, **keywords: Any) -> Any:
            if is_handle or known.anywhere and not any(isinstance(x, VariableState) for x in inputs):
                return call(*inputs, **keywords)  # it hands its inputs on, or looks at their shapes
            if follows is not None and inputs and all(np.size(x) <= 64 and type(x) is not LaterArray for x in inputs):
                return follows(*inputs)
            given = [self.fetch(x) if i in hosts else x for i, x in enumerate(inputs)]
            shapes: list[Any] = list(shapes_of(given))
            if not all(map(is_static, shapes)):  # only the values tell: one has to wait for them
                results = self.wait_for(lambda: call(*map(_elements, given), **keywords))
                return self.constant(results) if len(types) == 1 else tuple(map(self.constant, results))
            future = self._queue(lambda: call(*map(_elements, given), **keywords), node)
            if len(types) == 1:
                return LaterArray(self, shapes[0], types[0], future)
            made = [LaterArray(self, shape, kind, future, i) for i, (shape, kind) in enumerate(zip(shapes, types))]
            return tuple(made) or None

        return launch

    def _queue(self, work: Callable[[], Any], node: Node | None = None) -> Future[Any]:
        if self._closed:
            raise FailedPreconditionError(f"The device {self.name} is closed: its session has ended.")
        return self._thread.submit(self._run, work, node)

    def _run(self, work: Callable[[], Any], node: Node | None) -> Any:
        """On the thread: the result of a kernel. The first error of a step is what `settle` tells."""
        self._ident = threading.get_ident()
        try:
            with np.errstate(all="ignore"):
                return work()
        except Exception as error:
            kind = InvalidArgumentError if isinstance(error, (ValueError, TypeError, IndexError)) else UnknownError
            named = error if isinstance(error, OpError) else kind(f"{type(error).__name__}: {error}")
            if node is not None:
                named = named.located(node=node.name, op=node.op, device=self.name, where=node.where)
            self._failed = self._failed or named
            raise named from error

    def wait_for(self, work: Callable[[], Any]) -> Any:
        """The result of `work` after all that was launched before. Nothing on the way of a step calls this."""
        if self._ident == threading.get_ident():
            return work()
        return self._thread.submit(work).result()

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def record(self, line: Recordable, inputs: Sequence[Any]) -> Replay | None:
        return None

    def settle(self, done: Callable[[BaseException | None], None]) -> None:
        """Calls `done` when all that was launched so far has run, with the error that ended it."""

        def ended() -> BaseException | None:
            failed, self._failed = self._failed, None
            return failed

        self._thread.submit(ended).add_done_callback(_on_loop(lambda failed, error: done(failed)))

    # ---- where values are

    def constant(self, value: Any) -> Any:
        return self.bring(np.asarray(value)) if np.ndim(value) else value

    def bring(self, value: Any) -> Any:
        """A value of the host or of another device of the type, copied here by the thread. A small one stays where it is."""
        if isinstance(value, LaterArray) and value.device is not self:
            future = self._queue(lambda: np.array(value.elements()))
        elif isinstance(value, np.ndarray) and value.nbytes > SMALL and not value.dtype.hasobject:
            future = self._queue(lambda: np.array(value, order="K"))
        else:
            return value
        return LaterArray(self, value.shape, value.dtype, future)

    def lend(self, value: Any) -> Any:
        return value

    def fetch(self, value: Any) -> Any:
        """A value in host memory. It is there already but for inputs whose place could not be known."""
        return self.wait_for(value.elements) if isinstance(value, LaterArray) else value

    def take(self, value: Any, done: Done) -> None:
        """Calls `done` with a copy in host memory, in a later turn of the running loop."""

        def copy() -> Any:
            try:
                return np.array(value.elements(), order="K")[()] if isinstance(value, LaterArray) else value
            except OpError:
                self._failed = None  # it is told here
                raise

        self._thread.submit(copy).add_done_callback(_on_loop(done))

    def variable(self, name: str, dtype: DType, shape: Shape, allocator: Any) -> LaterVariable:
        return LaterVariable(name, dtype, shape, allocator, self)

    # ---- the rest of a device

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        self.host.submit(work, done)

    def count(self, inline: int, threaded: int) -> None:
        self._inline += inline
        self._threaded += threaded

    def statistics(self) -> DeviceStatistics:
        total = self._inline + self._threaded
        return DeviceStatistics(total, self._inline, self._threaded, self.allocator.statistics())

    def close(self) -> None:
        self._closed = True
        self.host.close()
        self._thread.shutdown(wait=False)


def _elements(value: Any) -> Any:
    return value.elements() if isinstance(value, LaterArray) else value


def _on_loop(done: Done) -> Callable[[Future[Any]], None]:
    """Hands what a future gives to `done`, on the loop that runs now."""
    loop = asyncio.get_running_loop()

    def tell(future: Future[Any]) -> None:
        error = future.exception()
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(done, None if error else future.result(), error)

    return tell
