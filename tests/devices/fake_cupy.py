"""A GPU that exists in a test only: as much of CuPy as the CUDA device calls, with work that completes late and out of order.

`FakeCupy()` stands in for the module. Streams are queues that a driver carries out one piece at a time: in order within a
stream, in an order drawn from a seed between streams, at once (a thread) or when the test says so (`manual`). The
result of a piece of work is known when it is launched, because shapes are asked for then; whether it may be *used* is
checked:

- each block of memory remembers who wrote and read it last, in vector time. A launch in another stream that no event has
  put behind them raises `Race`; so does the reuse of a block by the pool;
- pinned memory is really filled when the copy runs, and full of garbage until then. A copy out of it fails the test (`faults`)
  if the memory was changed or given back before it ran;
- whatever would make the host wait for the GPU (`int(x)`, `if x`, `x.get()`) raises `Blocks`, and numpy functions refuse
  arrays of the GPU as CuPy's do;
- kernels that are given as C are evaluated (`fake_cuda_c`);
- what is launched into a stream that captures is not computed, and its results are garbage, until the graph is launched. It then
  runs over the same memory, whoever that belongs to by now. Events, copies from the host and products fail in such a stream,
  as CuPy's do.

Several of them over one `FakeHost` are processes of one host. Memory that one shows by a handle, another opens; the
checks above hold across them. To open one's own handle, or what has been closed, fails. To close memory that a copy
still reads, or to give memory back to the driver that somebody has open, fails the test.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import re
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_cuda_c import parsed_kernel, run_elementwise, run_kernel

GARBAGE = 0xCB
_NOT_IN_A_CAPTURE, _CAPTURE_SPOILT, _NO_CAPTURE = 900, 901, 401
_INVALID, _NO_CONTEXT = 1, 201
_LIBRARY = frozenset(("dot", "matmul", "einsum"))
"""CuPy refuses to capture what calls cuBLAS."""
Clock = dict[int, int]


def names(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


UFUNCS = names(
    """
    add subtract multiply divide true_divide floor_divide remainder fmod power negative positive absolute sign exp
    expm1 log log1p sqrt square reciprocal sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh
    arctan2 floor ceil rint maximum minimum less less_equal greater greater_equal equal not_equal logical_and
    logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert left_shift right_shift isnan isinf
    isfinite conjugate copysign
    """
)
FUNCTIONS = names(
    """
    where take concatenate stack reshape transpose expand_dims squeeze broadcast_to swapaxes moveaxis flip tile any
    all sum prod max min argmax argmin cumsum cumprod dot matmul einsum zeros_like ones_like empty_like clip copy
    result_type
    """
)
MAKERS = names(
    """
    zeros ones full arange
    """
)
TYPES = names(
    """
    float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ complex64 complex128 intp uintp
    """
)


def _handle(number: int) -> bytes:
    return number.to_bytes(64, "little")


class Race(AssertionError):
    """Two pieces of work use the same memory, and nothing says which one is first."""


class Blocks(AssertionError):
    """The host waits for the GPU where it must not."""


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


class CUDADriverError(RuntimeError):
    """The error that CuPy raises as it launches."""

    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA_ERROR {status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    pass


class Physical:
    """A piece of the GPU's memory, and who used it last."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.address = address
        self.bytes = np.full(nbytes, GARBAGE, np.uint8)
        self.written: tuple[int, int] | None = None
        self.read: Clock = {}
        self.handle = b""
        self.opened = 0
        """In how many other processes it is open."""


class _Work:
    def __init__(self, run: Callable[[], None], ready: Callable[[], bool] = lambda: True) -> None:
        self.run = run
        self.ready = ready


class FakeHost:
    """The common part of processes on one host: the driver."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.known: Clock = {}
        self.addresses = itertools.count(1 << 32, 1 << 24)
        self.numbers = itertools.count(1)
        self.memory: dict[bytes, tuple[FakeCupy, Physical]] = {}
        self.events: dict[bytes, tuple[FakeCupy, weakref.ref[_Event]]] = {}


class FakeCupy:
    """Stands in for the module `cupy`, in one process of `host`. `close` has to be called at the end.

    `refuses` are calls of CUDA, by CuPy's names, each with the error that it fails with.
    """

    def __init__(
        self,
        *,
        gpus: int = 1,
        memory: int = 1 << 30,
        seed: int = 0,
        manual: bool = False,
        host: FakeHost | None = None,
        refuses: dict[str, int] | None = None,
    ) -> None:
        self.host = host or FakeHost()
        self.refuses = refuses or {}
        self.memory = memory
        self.allocated = 0
        self.launches: list[tuple[int, str]] = []
        self.graphs = 0
        """How many graphs were launched."""
        self.faults: list[str] = []
        self.lost: CUDARuntimeError | None = None
        self.manual = manual
        self.late_failure: tuple[str, int] | None = None
        self.known = self.host.known
        """The work that the host has seen to be done: all that is launched later comes after it."""
        self._random = random.Random(seed)
        self._addresses = self.host.addresses
        self._stream_ids = self.host.numbers
        self._physical: dict[int, Physical] = {}
        self._pinned: dict[int, weakref.ref[Any]] = {}
        self._queues: dict[int, deque[_Work]] = {}
        self._changed = self.host.changed
        self._opened: dict[int, tuple[bytes, Physical]] = {}
        """Memory of other processes, by where it is seen here."""
        self._opens: Counter[int] = Counter()
        self._reading: Counter[int] = Counter()
        self._events: weakref.WeakValueDictionary[int, _Event] = weakref.WeakValueDictionary()
        self._opened_events: dict[int, _Event] = {}
        self._closed = False
        self._here = threading.local()
        self._driver: threading.Thread | None = None
        self.ndarray = FakeArray
        for name in UFUNCS:
            setattr(self, name, _Ufunc(self, name))
        for name in FUNCTIONS:
            setattr(self, name, functools.partial(_call, self, getattr(np, name)))
        for name in MAKERS:
            setattr(self, name, functools.partial(_call, self, getattr(np, name)))
        for name in TYPES:
            setattr(self, name, getattr(np, name))
        self.ElementwiseKernel = functools.partial(_Elementwise, self)
        self.RawKernel = functools.partial(_Raw, self)
        self.iinfo, self.nan = np.iinfo, np.nan
        self.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
        self.cuda = SimpleNamespace(
            get_current_stream=self.stream,
            Device=lambda i: _Device(self, i),
            Stream=lambda non_blocking=False: _Stream(self, non_blocking),
            Event=lambda block=False, disable_timing=False, interprocess=False: _Event(
                self, block, disable_timing, interprocess
            ),
            Memory=lambda size: _Malloced(self, size),
            MemoryPool=lambda allocator: _Pool(self, allocator),
            MemoryPointer=_Pointer,
            UnownedMemory=lambda ptr, size, owner, device_id: _Unowned(self, ptr, size, owner, device_id),
            alloc_pinned_memory=self._alloc_pinned,
            using_allocator=self._using_allocator,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            driver=SimpleNamespace(CUDADriverError=CUDADriverError),
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                getDeviceCount=lambda: gpus,
                ipcGetMemHandle=self._show_memory,
                ipcOpenMemHandle=self._open_memory,
                ipcCloseMemHandle=self._close_memory,
                ipcGetEventHandle=self._show_event,
                ipcOpenEventHandle=self._open_event,
                eventDestroy=self._destroy_event,
            ),
        )

    # ---- the driver

    def enqueue(self, stream: _Stream, work: _Work) -> None:
        if self.lost is not None:
            raise CUDARuntimeError(self.lost.status)
        with self._changed:
            self._queues.setdefault(stream.number, deque()).append(work)
            if not self.manual and self._driver is None:
                self._driver = threading.Thread(target=self._drive, name="fake gpu", daemon=True)
                self._driver.start()
            self._changed.notify_all()

    def _drive(self) -> None:
        while True:
            with self._changed:
                while not self._closed and not self._runnable():
                    self._changed.wait()
                if self._closed:
                    return
            self.step()

    def _runnable(self) -> list[int]:
        return [n for n, q in self._queues.items() if q and q[0].ready()]

    def step(self, stream: Any = None) -> bool:
        """Carries out one piece of work, of a stream that is drawn unless one is given; false where none may run."""
        with self._changed:
            able = self._runnable()
            if stream is not None:
                able = [n for n in able if n == stream.number]
            if not able:
                return False
            work = self._queues[self._random.choice(sorted(able))].popleft()
            work.run()
            del work  # it may hold arrays, whose end is the host's business
            self._changed.notify_all()
        return True

    def run(self) -> None:
        """Carries out all that there is."""
        while self.step():
            pass

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self.lost = self.lost or CUDARuntimeError(4)
            self._changed.notify_all()
        if self._driver is not None:
            self._driver.join(5)

    def lose(self, status: int = 700) -> None:
        """From now on every call fails, as after an illegal access."""
        with self._changed:
            self.lost = CUDARuntimeError(status)
            self._changed.notify_all()

    def fail_when_run(self, name: str, status: int = 700) -> None:
        """The next kernel of this name fails, but only when it runs: its launch is as good as any."""
        self.late_failure = (name, status)

    # ---- memory

    def physical(self, nbytes: int) -> Physical:
        if self.allocated + nbytes > self.memory:
            raise OutOfMemoryError(f"out of memory allocating {nbytes} bytes")
        self.allocated += nbytes
        made = Physical(next(self._addresses), nbytes)
        self._physical[made.address] = made
        return made

    def give_back(self, block: Physical) -> None:
        """cudaFree."""
        self.allocated -= len(block.bytes)
        del self._physical[block.address]
        if block.opened:
            self.faults.append("memory was given back to the driver while another process had it open")

    # ---- other processes

    def _call(self, name: str) -> None:
        if self.lost is not None:
            raise CUDARuntimeError(self.lost.status)
        if name in self.refuses:
            raise CUDARuntimeError(self.refuses[name])

    def _show_memory(self, address: int) -> bytes:
        self._call("ipcGetMemHandle")
        block = self._physical.get(address)
        if block is None or address in self._opened:
            raise CUDARuntimeError(_INVALID)
        block.handle = block.handle or _handle(next(self.host.numbers))
        self.host.memory[block.handle] = (self, block)
        return block.handle

    def _open_memory(self, handle: bytes, flags: int = 1) -> int:
        self._call("ipcOpenMemHandle")
        owner, block = self.host.memory.get(handle, (None, None))
        if owner is None or block is None or owner is self:
            raise CUDARuntimeError(_NO_CONTEXT)
        address = next((a for a, (known, _) in self._opened.items() if known == handle), 0)
        if not address:
            address = next(self._addresses)
            self._opened[address] = (handle, block)
            self._physical[address] = block
            block.opened += 1
        self._opens[address] += 1
        return address

    def _close_memory(self, address: int) -> None:
        self._call("ipcCloseMemHandle")
        if address not in self._opened:
            raise CUDARuntimeError(_INVALID)
        self._opens[address] -= 1
        if self._opens[address]:
            return
        if self._reading[address]:
            self.faults.append("memory of another process was closed before a copy had read it")
        _, block = self._opened.pop(address)
        del self._physical[address]
        block.opened -= 1

    def _show_event(self, pointer: int) -> bytes:
        self._call("ipcGetEventHandle")
        event = self._events[pointer]
        if not event.interprocess:
            raise CUDARuntimeError(_INVALID)
        event.handle = event.handle or _handle(next(self.host.numbers))
        self.host.events[event.handle] = (self, weakref.ref(event))
        return event.handle

    def _open_event(self, handle: bytes) -> int:
        self._call("ipcOpenEventHandle")
        owner, known = self.host.events.get(handle, (None, None))
        event = known() if known is not None else None
        if event is None or owner is self:
            raise CUDARuntimeError(_NO_CONTEXT)
        pointer = next(self._addresses)
        self._opened_events[pointer] = event
        return pointer

    def _destroy_event(self, pointer: int) -> None:
        self._call("eventDestroy")
        del self._opened_events[pointer]

    def event_at(self, pointer: int) -> _Event:
        """An event of another process that is open here."""
        found = self._opened_events.get(pointer)
        if found is None:
            raise CUDARuntimeError(_INVALID)
        return found

    @property
    def open_here(self) -> tuple[int, int]:
        """How many pieces of memory and how many events of other processes are open."""
        return len(self._opened), len(self._opened_events)

    def at(self, address: int) -> Physical:
        return self._physical[address]

    def _alloc_pinned(self, size: int) -> Any:
        buffer = _Pinned(bytes([GARBAGE]) * size)
        address = np.frombuffer(buffer, np.uint8).ctypes.data
        self._pinned[address] = weakref.ref(buffer)
        return buffer

    def pinned_at(self, address: int) -> Any:
        found = self._pinned.get(address)
        buffer = found and found()
        assert buffer is not None, "a copy to or from memory that is not pinned"
        return buffer

    @contextlib.contextmanager
    def _using_allocator(self, malloc: Callable[[int], Any]) -> Iterator[None]:
        before = getattr(self._here, "malloc", None)
        self._here.malloc = malloc
        try:
            yield
        finally:
            self._here.malloc = before

    def new(self, value: np.ndarray[Any, Any]) -> FakeArray:
        """A fresh array of the current allocator, as a kernel allocates its result."""
        malloc = getattr(self._here, "malloc", None)
        assert malloc is not None, "a kernel allocates outside of the device's allocator"
        array = FakeArray(value.shape, value.dtype, memptr=malloc(value.nbytes))
        array.host[...] = value
        return array

    # ---- what is current on this thread

    def learn(self, clock: Clock) -> None:
        with self._changed:
            for number, time in clock.items():
                self.known[number] = max(self.known.get(number, 0), time)

    def place(self) -> int:
        return (getattr(self._here, "places", None) or [0])[-1]

    def stream(self) -> _Stream:
        streams = getattr(self._here, "streams", None)
        assert streams, "a launch in the null stream, which waits for all others"
        assert streams[-1].place == self.place(), "a launch in a stream of another GPU"
        return streams[-1]

    def push(self, kind: str, value: Any) -> None:
        if not hasattr(self._here, kind):
            setattr(self._here, kind, [])
        getattr(self._here, kind).append(value)

    def pop(self, kind: str) -> None:
        getattr(self._here, kind).pop()

    # ---- functions with rules of their own

    def ascontiguousarray(self, x: Any) -> Any:
        return x if x.host.flags.c_contiguous else launch(self, np.ascontiguousarray, (x,), {})

    def copyto(self, target: Any, source: Any, casting: str = "same_kind", where: Any = True) -> None:
        launch(self, np.copyto, (target, source), {"casting": casting, "where": where}, writes=(target,))

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        """It launches nothing."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        malloc = getattr(self._here, "malloc", None)
        assert malloc is not None, "a kernel allocates outside of the device's allocator"
        return FakeArray(shape, dtype, memptr=malloc(int(np.prod(shape)) * np.dtype(dtype).itemsize))

    def split(self, x: Any, sections: Any, axis: int = 0) -> list[Any]:
        """Views."""
        return [x._like(part) for part in np.split(x.host, sections, axis)]

    def array(self, values: Any, dtype: Any = None) -> Any:
        return launch(self, np.array, (values, dtype), {})

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        return values if isinstance(values, FakeArray) else self.array(values, dtype)


class _Pinned(bytearray):
    """Pinned host memory. numpy refers to it through a buffer, which keeps it alive."""

    __slots__ = ("__weakref__",)


class _Device:
    def __init__(self, gpu: FakeCupy, number: int) -> None:
        self._gpu = gpu
        self.id = number
        self.attributes = {"ClockRate": 1_000_000, "MultiProcessorCount": 1}

    @property
    def mem_info(self) -> tuple[int, int]:
        return self._gpu.memory - self._gpu.allocated, self._gpu.memory

    def __enter__(self) -> _Device:
        self._gpu.push("places", self.id)
        return self

    def __exit__(self, *error: object) -> None:
        self._gpu.pop("places")

    def synchronize(self) -> None:
        raise Blocks("the host waits for the whole GPU")


class _Stream:
    def __init__(self, gpu: FakeCupy, non_blocking: bool) -> None:
        assert non_blocking, "a stream that the null stream waits for"
        self.gpu = gpu
        self.number = self.ptr = next(gpu._stream_ids)
        self.place = gpu.place()
        self.clock: Clock = {self.number: 0}
        self.recorded: list[_Recorded] | None = None
        """The launches since a capture began."""
        self.spoilt = False

    def begin_capture(self, mode: Any = None) -> None:
        assert self.recorded is None, "a capture begins within another"
        if self.gpu.lost is not None:
            raise CUDARuntimeError(self.gpu.lost.status)
        self.recorded, self.spoilt = [], False

    def end_capture(self) -> _Graph:
        if self.recorded is None:
            raise CUDARuntimeError(_NO_CAPTURE)
        recorded, self.recorded = self.recorded, None
        if self.spoilt:
            raise CUDARuntimeError(_CAPTURE_SPOILT)
        return _Graph(self.gpu, recorded)

    def is_capturing(self) -> bool:
        return self.recorded is not None

    def __enter__(self) -> _Stream:
        self.gpu.push("streams", self)
        return self

    def __exit__(self, *error: object) -> None:
        self.gpu.pop("streams")

    def put(self, run: Callable[[], None], ready: Callable[[], bool] = lambda: True) -> None:
        if self.recorded is not None:
            self.spoilt = True
            raise CUDARuntimeError(_NOT_IN_A_CAPTURE)
        self.gpu.enqueue(self, _Work(run, ready))
        self.clock[self.number] += 1

    def wait_event(self, event: Any) -> None:
        if not isinstance(event, _Event):  # CuPy looks at `ptr` alone
            event = self.gpu.event_at(event.ptr)
        recorded = event.recorded
        self.put(lambda: None, lambda: recorded is None or recorded.is_set())
        for number, time in event.clock.items():
            self.clock[number] = max(self.clock.get(number, 0), time)

    def synchronize(self) -> None:
        raise Blocks("the host waits for a stream")

    def uses(self, reads: set[Physical], writes: set[Physical], what: str) -> None:
        """Checks that what was done before to this memory is done before in this stream's order, and notes the use."""
        for number, time in list(self.gpu.known.items()):
            self.clock[number] = max(self.clock.get(number, 0), time)
        for block in reads | writes:
            if block.written is not None and self.clock.get(block.written[0], 0) < block.written[1]:
                raise Race(
                    f"{what} in stream {self.number} uses what stream {block.written[0]} may not have written yet"
                )
        for block in writes:
            for reader, time in block.read.items():
                if self.clock.get(reader, 0) < time:
                    raise Race(f"{what} in stream {self.number} overwrites what stream {reader} may not have read yet")
        now = self.clock[self.number] + 1
        for block in reads:
            block.read[self.number] = now
        for block in writes:
            block.written, block.read = (self.number, now), {}


class _Event:
    def __init__(self, gpu: FakeCupy, block: bool, disable_timing: bool, interprocess: bool) -> None:
        assert disable_timing or not interprocess, "an event that other processes see has no times"
        self._gpu = gpu
        self._block = block
        self.interprocess = interprocess
        self.handle = b""
        self.ptr = next(gpu._addresses)
        gpu._events[self.ptr] = self
        self.clock: Clock = {}
        self.recorded: threading.Event | None = None

    def record(self, stream: _Stream) -> None:
        recorded = threading.Event()
        stream.put(recorded.set)
        self.recorded, self.clock = recorded, dict(stream.clock)

    @property
    def done(self) -> bool:
        if self.recorded is not None and not self.recorded.is_set():
            return False
        self._gpu.learn(self.clock)
        return True

    def synchronize(self) -> None:
        assert self._block, "a thread spins until an event has come"
        recorded = self.recorded
        assert recorded is not None
        gpu = self._gpu
        with gpu._changed:
            while not recorded.is_set() and gpu.lost is None:
                gpu._changed.wait()
            if gpu.lost is not None:
                raise CUDARuntimeError(gpu.lost.status)
            gpu.learn(self.clock)


class _Pool:
    """Freed blocks by size and by the stream that was current when they were allocated."""

    def __init__(self, gpu: FakeCupy, allocator: Callable[[int], _Pointer]) -> None:
        self._gpu = gpu
        self._allocator = allocator
        self._free: dict[tuple[int, int], list[_Memory]] = {}
        self._lock = threading.Lock()
        self._total = 0
        self._free_bytes = 0

    def malloc(self, nbytes: int) -> _Pointer:
        size = max(-(-nbytes // 512), 1) * 512
        key = (self._gpu.stream().number, size)
        with self._lock:
            blocks = self._free.get(key)
            if blocks:
                block = blocks.pop()
                self._free_bytes -= size
                self._gpu.at(block.ptr).bytes[...] = GARBAGE
            else:
                block = self._allocator(size).mem
                self._total += size
        memory = _Memory(self._gpu, block.ptr, nbytes, self._gpu.place())
        weakref.finalize(memory, self._back, key, block)
        return _Pointer(memory, 0)

    def _back(self, key: tuple[int, int], block: _Memory) -> None:
        with self._lock:
            self._free.setdefault(key, []).append(block)
            self._free_bytes += key[1]

    def total_bytes(self) -> int:
        return self._total

    def free_bytes(self) -> int:
        return self._free_bytes

    def free_all_blocks(self) -> None:
        with self._lock:
            self._free.clear()
            self._total -= self._free_bytes
            self._free_bytes = 0


class _Memory:
    def __init__(self, gpu: FakeCupy, address: int, size: int, place: int) -> None:
        self.gpu = gpu
        self.ptr = address
        self.size = size
        self.device_id = place


class _Malloced(_Memory):
    """The memory of one call of cudaMalloc. It goes back with this object."""

    def __init__(self, gpu: FakeCupy, size: int) -> None:
        block = gpu.physical(size)
        super().__init__(gpu, block.address, size, gpu.place())
        weakref.finalize(self, gpu.give_back, block)


class _Unowned(_Memory):
    __slots__ = ("_owner",)  # as CuPy's, it can't be referred to weakly by its owner

    def __init__(self, gpu: FakeCupy, ptr: int, size: int, owner: object, device_id: int) -> None:
        super().__init__(gpu, ptr, size, device_id)
        self._owner = owner


class _Pointer:
    def __init__(self, mem: _Memory, offset: int) -> None:
        self.mem = mem
        self.offset = offset
        self.ptr = mem.ptr + offset
        self.device_id = mem.device_id

    @property
    def block(self) -> Physical:
        return self.mem.gpu.at(self.mem.ptr)

    def bytes(self, size: int) -> np.ndarray[Any, Any]:
        return self.block.bytes[self.offset : self.offset + size]

    def copy_from_host_async(self, mem: Any, size: int, stream: _Stream) -> None:
        gpu = self.mem.gpu
        source = weakref.ref(gpu.pinned_at(mem.value))
        was = bytes(source())[:size]
        stream.uses(set(), {self.block}, "a copy to the GPU")
        self.bytes(size)[:] = np.frombuffer(was, np.uint8)

        def run() -> None:
            now = source()
            if now is None:
                gpu.faults.append("pinned memory was given back before the copy had read it")
            elif bytes(now)[:size] != was:
                gpu.faults.append("pinned memory was changed before the copy had read it")

        stream.put(run)

    def copy_to_host_async(self, mem: Any, size: int, stream: _Stream) -> None:
        gpu = self.mem.gpu
        target = weakref.ref(gpu.pinned_at(mem.value))
        stream.uses({self.block}, set(), "a copy to the host")
        value = self.bytes(size).copy()
        np.frombuffer(target(), np.uint8)[:size] = GARBAGE

        def run() -> None:
            now = target()
            if now is None:
                gpu.faults.append("pinned memory was given back before the copy had filled it")
            else:
                np.frombuffer(now, np.uint8)[:size] = value

        stream.put(run)

    def copy_from_device_async(self, source: _Pointer, size: int, stream: _Stream) -> None:
        gpu, address = self.mem.gpu, source.mem.ptr
        stream.uses({source.block}, {self.block}, "a copy between GPUs")
        self.bytes(size)[:] = source.bytes(size)
        gpu._reading[address] += 1
        stream.put(lambda: gpu._reading.subtract([address]))


@dataclass(frozen=True)
class _Recorded:
    """A kernel in a graph: it holds addresses, and keeps no memory for itself."""

    name: str
    compute: Callable[[], None]
    reads: frozenset[Physical]
    writes: frozenset[Physical]


class _Graph:
    """The captured launches. It can be launched into any stream, as often as one likes."""

    def __init__(self, gpu: FakeCupy, recorded: list[_Recorded]) -> None:
        self._gpu = gpu
        self.recorded = recorded

    def launch(self, stream: Any = None) -> None:
        gpu = self._gpu
        into = stream if stream is not None else gpu.stream()
        if gpu.lost is not None:
            raise CUDARuntimeError(gpu.lost.status)
        gpu.graphs += 1
        for kernel in self.recorded:
            with np.errstate(all="ignore"):
                kernel.compute()
            into.uses(set(kernel.reads), set(kernel.writes), kernel.name)
            into.put(_failing(gpu, kernel.name))


def _failing(gpu: FakeCupy, name: str) -> Callable[[], None]:
    """The effect of a kernel of this name: nothing, unless it is to fail."""
    fails, status = False, 0
    if gpu.late_failure is not None and gpu.late_failure[0] == name:
        fails, status, gpu.late_failure = True, gpu.late_failure[1], None

    def run() -> None:
        if fails:
            gpu.lost = CUDARuntimeError(status)

    return run


def launch(
    gpu: FakeCupy, function: Callable[..., Any], arguments: Any, keywords: dict[str, Any], writes: Any = ()
) -> Any:
    """Runs numpy's function now, checks the order of what it uses, and queues a kernel of its name."""
    if gpu.lost is not None:
        raise CUDADriverError(gpu.lost.status)
    stream = gpu.stream()
    arrays: list[FakeArray] = []

    out = keywords.get("out")
    name = getattr(function, "__name__", str(function))
    given = [_plain(a, stream, arrays) for a in arguments]
    named = {k: _plain(v, stream, arrays) for k, v in keywords.items() if v is not None or k != "out"}
    written = [w for w in (*writes, out) if isinstance(w, FakeArray)]
    if stream.recorded is not None:
        return _captured(gpu, stream, function, name, (given, named), arrays, written, out)
    with np.errstate(all="ignore"):
        result = function(*given, **named)
    stream.uses({a.data.block for a in arrays}, {w.data.block for w in written}, name)
    answer: Any
    if out is not None:
        answer = out
    elif isinstance(result, tuple):
        answer = tuple(_wrapped(gpu, r, arrays, stream, name) for r in result)
    else:
        answer = _wrapped(gpu, result, arrays, stream, name)
    gpu.launches.append((stream.number, name))
    stream.put(_failing(gpu, name))
    return answer


def _captured(
    gpu: FakeCupy,
    stream: _Stream,
    function: Callable[..., Any],
    name: str,
    call: tuple[list[Any], dict[str, Any]],
    arrays: list[FakeArray],
    written: list[FakeArray],
    out: Any,
) -> Any:
    """A launch into a stream that captures: its results have their place and nothing in it."""
    if name in _LIBRARY:
        raise NotImplementedError("calling cuBLAS API during stream capture is currently unsupported")
    given, named = call
    before = [(block, block.bytes.copy()) for block in {w.data.block for w in written}]
    with np.errstate(all="ignore"):
        result = function(*given, **named)
    for block, content in before:
        block.bytes[...] = content
    made: list[FakeArray] = []

    def wrapped(value: Any) -> Any:
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        if isinstance(value, np.ndarray):
            for array in arrays:
                if np.may_share_memory(value, array.host):
                    return FakeArray._view(array, value)
        fresh = gpu.new(np.asarray(value))
        fresh.data.bytes(max(fresh.nbytes, 1))[...] = GARBAGE
        made.append(fresh)
        return fresh

    answer: Any
    if out is not None:
        answer = out
    elif isinstance(result, tuple):
        answer = tuple(wrapped(r) for r in result)
    else:
        answer = wrapped(result)
    targets = [m.host for m in made]

    def compute() -> None:
        again = function(*given, **named)
        fresh = [
            r for r in (again if isinstance(again, tuple) else (again,)) if isinstance(r, (np.ndarray, np.generic))
        ]
        for target, value in zip(targets, fresh if targets else ()):
            np.copyto(target, value)

    assert stream.recorded is not None
    if made or written:
        writes = frozenset(a.data.block for a in (*made, *written))
        stream.recorded.append(_Recorded(name, compute, frozenset(a.data.block for a in arrays), writes))
    return answer


_NAMES = re.compile(r"(?!_)(?!(?:i|n)$)[A-Za-z_]\w*")
_OPTIONS = ("--fmad=false",)


class _Elementwise:
    """`ElementwiseKernel`: parameters with numpy's names of types, inputs constant, outputs made or given behind the inputs."""

    def __init__(
        self,
        gpu: FakeCupy,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        *,
        no_return: bool = False,
        return_tuple: bool = False,
        options: tuple[str, ...] = (),
    ) -> None:
        assert re.fullmatch(r"[a-zA-Z_]\w*", name), f"no name of a kernel: {name!r}"
        assert all(o in _OPTIONS for o in options), options
        self._known, self._body, self.name = weakref.ref(gpu), operation, name
        self._inputs, self._outputs = _parameters(in_params), _parameters(out_params)
        self._no_return, self._return_tuple = no_return, return_tuple

    def __call__(self, *arguments: Any) -> Any:
        count, gpu = len(self._inputs), self._known()
        assert gpu is not None and len(arguments) in (count, count + len(self._outputs)), "wrong number of arguments"
        arrays = [a for a in arguments[:count] if isinstance(a, FakeArray)]
        given = list(arguments[count:])
        if not arrays and not given:
            raise ValueError("Loop size is undecided.")
        shape = np.broadcast_shapes(*(a.shape for a in (*arrays, *given)))
        for (dtype, name), value in zip((*self._inputs, *self._outputs), arguments):
            if isinstance(value, FakeArray):
                if value.dtype != dtype:
                    raise TypeError(f"Type is mismatched. {name} {value.dtype} {dtype}")
            elif not isinstance(value, (np.generic, int, float, bool)):
                raise TypeError(f"Unsupported type {type(value)}")
        if any(g.shape != shape for g in given):
            raise ValueError("Out shape is mismatched")
        malloc = getattr(gpu._here, "malloc", None)
        if not given:
            assert malloc is not None, "a kernel allocates outside of the device's allocator"
            sizes = [int(np.prod(shape)) * dtype.itemsize for dtype, _ in self._outputs]
            made = [FakeArray(shape, d, memptr=malloc(s)) for (d, _), s in zip(self._outputs, sizes)]
        else:
            made = given

        def run(*values: Any) -> None:
            named: dict[str, tuple[Any, bool]] = {}
            for (dtype, name), value in zip(self._inputs, values):
                whole = np.broadcast_to(np.asarray(value).astype(dtype, casting="unsafe"), shape)
                named[name] = (whole.reshape(-1).copy(), True)
            targets = values[count:]
            flat = [t.reshape(-1).copy() for t in targets]
            named.update((name, (f, False)) for (_, name), f in zip(self._outputs, flat))
            run_elementwise(self._body, named, int(np.prod(shape)))
            for target, value in zip(targets, flat):
                target[...] = value.reshape(shape)

        run.__name__ = self.name
        if 0 not in shape:
            launch(gpu, run, (*arguments[:count], *made), {}, writes=tuple(made))
        if self._no_return:
            return None
        return tuple(made) if self._return_tuple or len(made) != 1 else made[0]


def _parameters(text: str) -> list[tuple[np.dtype[Any], str]]:
    found = []
    for parameter in filter(None, text.split(",")):
        kind, name = parameter.split()
        assert _NAMES.fullmatch(name), f"CuPy keeps the name {name!r} for itself"
        found.append((np.dtype(kind), name))
    return found


class _Raw:
    """`RawKernel`: arrays are handed over as where they begin, so they have to be in order."""

    def __init__(self, gpu: FakeCupy, code: str, name: str, options: tuple[str, ...] = ()) -> None:
        assert all(o in _OPTIONS for o in options), options
        self._known, self._code, self.name = weakref.ref(gpu), code, name

    def __call__(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
        assert 0 < grid[0] < 1 << 31 and 0 < block[0] <= 1024, "no such grid"
        for value in arguments:
            assert isinstance(value, (FakeArray, np.generic)), f"{type(value)} has no size in C that one can rely on"

        def run(*values: Any) -> None:
            for value in values:
                assert not isinstance(value, np.ndarray) or value.flags.c_contiguous, "an array that is not in order"
            flat = [v.reshape(-1) if isinstance(v, np.ndarray) else v for v in values]
            run_kernel(self._code, self.name, grid[0], block[0], flat)

        run.__name__ = self.name
        parameters, _ = parsed_kernel(self._code, self.name)
        written = [a for (_, array, constant, _), a in zip(parameters, arguments) if array and not constant]
        gpu = self._known()
        assert gpu is not None
        launch(gpu, run, arguments, {}, writes=tuple(written))


def _plain(value: Any, stream: _Stream, arrays: list[FakeArray]) -> Any:
    """The array with which numpy computes in the place of `value`; arrays of the GPU are added to `arrays`."""
    if isinstance(value, FakeArray):
        assert value.device.id == stream.place, "a kernel uses an array of another GPU"
        arrays.append(value)
        return value.host
    if isinstance(value, (list, tuple)):
        return type(value)([_plain(v, stream, arrays) for v in value])
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _wrapped(gpu: FakeCupy, result: Any, arrays: list[FakeArray], stream: _Stream, name: str) -> Any:
    if not isinstance(result, (np.ndarray, np.generic)):
        return result
    if isinstance(result, np.ndarray):
        for array in arrays:
            if np.may_share_memory(result, array.host):
                return FakeArray._view(array, result)
    made = gpu.new(np.asarray(result))
    stream.uses(set(), {made.data.block}, name)
    return made


def _call(gpu: FakeCupy, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    return launch(gpu, function, arguments, keywords)


class _Ufunc:
    def __init__(self, gpu: FakeCupy, name: str) -> None:
        self._gpu = gpu
        self._function = getattr(np, name)
        self.__name__ = name

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return launch(self._gpu, self._function, arguments, keywords)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if self.__name__ not in ("add", "multiply"):
            raise NotImplementedError(f"`{self.__name__}.reduce` is not supported yet")
        return (array.sum if self.__name__ == "add" else array.prod)(axis, dtype, out, keepdims)


class FakeArray:
    """An array of the GPU. `host` is what it will hold; only tests may look."""

    __array_ufunc__ = None  # numpy's operators leave it to ours, and its functions fail

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        assert memptr is not None
        self.data = memptr
        self.base: FakeArray | None = None
        self._gpu: FakeCupy = memptr.mem.gpu
        flat = memptr.block.bytes
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.host: np.ndarray[Any, Any] = np.ndarray(shape, dtype, flat, memptr.offset, strides)

    @classmethod
    def _view(cls, whole: FakeArray, host: np.ndarray[Any, Any]) -> FakeArray:
        made = cls.__new__(cls)
        begin = host.ctypes.data - whole.data.block.bytes.ctypes.data if host.size else 0
        made.data, made._gpu, made.host = _Pointer(whole.data.mem, begin), whole._gpu, host
        made.base = whole.base if whole.base is not None else whole
        return made

    def _like(self, host: Any) -> FakeArray:
        return FakeArray._view(self, host)

    shape = property(lambda self: self.host.shape)
    dtype = property(lambda self: self.host.dtype)
    ndim = property(lambda self: self.host.ndim)
    size = property(lambda self: self.host.size)
    nbytes = property(lambda self: self.host.nbytes)
    itemsize = property(lambda self: self.host.itemsize)
    flags = property(lambda self: self.host.flags)
    strides = property(lambda self: self.host.strides)
    device = property(lambda self: SimpleNamespace(id=self.data.device_id))
    T = property(lambda self: self._like(self.host.T))
    real = property(lambda self: self if self.dtype.kind != "c" else self._like(self.host.real))

    def __len__(self) -> int:
        return len(self.host)

    def reshape(self, *shape: Any) -> Any:
        return launch(self._gpu, np.ndarray.reshape, (self, *shape), {})

    def transpose(self, *axes: Any) -> Any:
        return self._like(self.host.transpose(*axes))

    def squeeze(self, axis: Any = None) -> Any:
        return self._like(self.host.squeeze(axis))

    def view(self, dtype: Any) -> Any:
        return self._like(self.host.view(dtype))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        if not copy and self.dtype == dtype:
            return self
        return launch(self._gpu, np.ndarray.astype, (self, dtype), {})

    def copy(self) -> Any:
        return launch(self._gpu, np.ndarray.copy, (self,), {})

    def _reduced(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        return launch(self._gpu, getattr(np.ndarray, name), (self, *arguments), keywords)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._reduced("sum", axis, dtype, out=out, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._reduced("prod", axis, dtype, out=out, keepdims=keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._reduced("max", axis, out=out, keepdims=keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._reduced("min", axis, out=out, keepdims=keepdims)

    def argmax(self, axis: Any = None) -> Any:
        return self._reduced("argmax", axis)

    def argmin(self, axis: Any = None) -> Any:
        return self._reduced("argmin", axis)

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, (FakeArray, list)) for part in parts):
            return launch(self._gpu, _getitem, (self, index), {})
        return self._like(self.host[parts if Ellipsis in parts else (*parts, ...)])  # a view, without a kernel

    def __setitem__(self, index: Any, value: Any) -> None:
        launch(self._gpu, _setitem, (self, index, value), {}, writes=(self,))

    def _refuse(self, *arguments: Any) -> Any:
        raise Blocks("the host waits for a value that the GPU is to compute")

    __bool__ = __int__ = __float__ = __index__ = item = tolist = get = tobytes = _refuse

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __iter__(self) -> Any:
        raise Blocks("a loop over an array launches a kernel for each element")


def _as_strided(x: FakeArray, shape: Any, strides: Any) -> FakeArray:
    return x._like(np.lib.stride_tricks.as_strided(x.host, shape, strides))


def _getitem(x: Any, index: Any) -> Any:
    return x[index]


def _setitem(x: Any, index: Any, value: Any) -> None:
    x[index] = value


def _operator(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    function = getattr(np, name)

    def apply(self: FakeArray, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return launch(self._gpu, function, (other, self) if swapped else (self, other), {})

    return apply


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(np, name)

    def apply(self: FakeArray, other: Any) -> Any:
        return launch(self._gpu, function, (self, other), {"out": self, "casting": "same_kind"})

    return apply


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(np, name)
    return lambda self: launch(self._gpu, function, (self,), {})


for _name, _function in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}.items():  # fmt: skip
    setattr(FakeArray, f"__{_name}__", _operator(_function, False))
    setattr(FakeArray, f"__r{_name}__", _operator(_function, True))
    setattr(FakeArray, f"__i{_name}__", _in_place(_function))
for _name, _function in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(FakeArray, f"__{_name}__", _operator(_function, False))
for _name, _function in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(FakeArray, f"__{_name}__", _unary(_function))
