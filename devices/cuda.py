"""The GPU device: one actor for each GPU, which owns its streams and its memory and computes with CuPy.

Kernels are launched by the dispatcher as soon as their inputs' kernels have been, into one compute stream; a launch takes some
microseconds of the event loop, whatever it computes. Copies have streams of their own (from the host, to it, from other
GPUs), with events towards the compute stream, through pinned memory. The host learns of an end in three cases only: something
has to be in host memory, a step is over, a buffer of a copy is free again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.device.base import DeviceStatistics, Recordable
from actorflow.device.spec import DeviceSpec
from actorflow.dtypes import DType
from actorflow.errors import FailedPreconditionError, InternalError, OpError, ResourceExhaustedError, UnavailableError
from actorflow.graph.node import Node
from actorflow.registry import residence
from actorflow.shapes import Shape

from .cpu import CpuDevice
from .cuda_graph import NotRecordable, Recorder, Recording, Replay
from .cuda_memory import CudaAllocator, address, pinned
from .cuda_streams import Stream
from .cuda_variable import CudaVariable
from .layout import axes_in_memory, inverse

SMALL = 4096
"""Bytes up to which a value that comes from the host waits there until a kernel needs it."""
_REMEMBERED = 256
_STICKY = frozenset((214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 999))
"""Errors after which the driver refuses all further work of this process on the GPU."""
_NO_MEMORY = 2


@dataclass(frozen=True, slots=True)
class Lent:
    """An array on its way to another GPU, and the event behind which it is complete."""

    array: Any
    ready: Any


class CudaDevice:
    """A GPU, found by the index in its name. `memory_budget` bounds its tensors in bytes.

    `checked` waits for each kernel, so that an error names the node whose kernel failed; it is for looking for such an error.
    Shapes and their like, of up to `host_elements` elements, are computed by the host where they are there already. `cupy` is
    what stands in for CuPy in tests.
    """

    type = "GPU"
    asynchronous = True
    swaps = True

    def __init__(
        self,
        name: str,
        *,
        memory_budget: int | None = None,
        checked: bool = False,
        host_elements: int = 64,
        capture: bool = False,
        cupy: Any = None,
    ) -> None:
        self.name = name
        self.spec = DeviceSpec.parse(name)
        self.xp: Any = cupy if cupy is not None else _import_cupy(name)
        self.checked = checked
        self.host_elements = host_elements
        # Copies and events fail with the one, launches with the other.
        self._errors = (self.xp.cuda.runtime.CUDARuntimeError, self.xp.cuda.driver.CUDADriverError)
        index = self.spec.index or 0
        count = self.xp.cuda.runtime.getDeviceCount()
        if index >= count:
            raise FailedPreconditionError(
                f"There is no GPU for {name}: CUDA finds {count} here.",
                hint="Ask for fewer: Session(devices={'GPU': 1}), or look at CUDA_VISIBLE_DEVICES.",
            )
        self.index = index
        self.place = self.xp.cuda.Device(index)
        self.host = CpuDevice(name)
        self.compute = Stream(self.xp, self.place, f"compute {name}")
        self._to_device = Stream(self.xp, self.place, f"to {name}")
        self._to_host = Stream(self.xp, self.place, f"from {name}")
        self._peer = Stream(self.xp, self.place, f"between {name}")
        self.allocator = CudaAllocator(self.xp, self.place, self.compute, memory_budget, owner=name)
        self.speed = _speed(self.place)
        self._lock = threading.Lock()
        self._kept: dict[int, list[Any]] = {}
        self._staged: deque[tuple[Any, Any]] = deque()
        self._launched: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._number = self._reached = 0
        self._lost = ""
        self._closed = False
        self._inline = self._threaded = 0
        self._within = 0
        """The thread that is inside `together`."""
        self.capture = capture
        self._recorder: Recorder | None = None
        self._recording: Recording | None = None
        self._not_recorded: dict[str, str] = {}
        self._replays = 0
        self._swapped_out = self._swapped_in = 0

    @property
    def budget(self) -> int | None:
        """The bytes that placement may plan for."""
        return self.allocator.budget if self.allocator.budget is not None else int(self.place.mem_info[1])

    # ---- kernels

    def launcher(self, node: Node, call: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:
        """`call`, the kernel of a node, launched in the compute stream on inputs that it brings where they are wanted."""
        name, array = node.name, self.xp.ndarray
        hosts = residence.host_inputs(node.op, self.type, len(node.inputs))
        anywhere = residence.takes_either(node.op, self.type)
        follows = on_host if residence.follows(node.op, self.type) else None
        few = self.host_elements

        def launch(*inputs: Any, **keywords: Any) -> Any:
            if follows is not None and inputs and all(_is_few(value, few) for value in inputs):
                return follows(*inputs)
            with self.launching(name):
                given = inputs if anywhere else [self._placed(v, array, i in hosts) for i, v in enumerate(inputs)]
                return call(*given, **keywords)

        return launch

    @contextmanager
    def launching(self, what: str) -> Iterator[None]:
        """A block whose CuPy calls go to this GPU: its compute stream, its memory. Errors of CUDA say `what` it was."""
        self._check_usable()
        if self._recorded_here() is None:
            self._number += 1
            self._launched.append((self._number, what))
        try:
            if self._within == threading.get_ident():
                yield
                return
            with self.place, self.compute.raw, self.xp.cuda.using_allocator(self.allocator.malloc):
                yield
                if self.checked:
                    self.compute.mark(blocking=True).synchronize()
        except self._errors as error:
            raise self._failed(error) from error
        if self.checked:
            self._reached = self._number

    @contextmanager
    def together(self) -> Iterator[None]:
        """A block of many `launching`s on this thread: what each of them enters is entered once. Where the device is `checked`,
        each is on its own."""
        if self.checked:
            yield
            return
        self._check_usable()
        with self._translating(), self.place, self.compute.raw, self.xp.cuda.using_allocator(self.allocator.malloc):
            self._within = threading.get_ident()
            try:
                yield
            finally:
                self._within = 0

    def record(self, line: Recordable, inputs: Sequence[Any]) -> Replay | None:
        """See `actorflow.device.base.AsynchronousDevice`."""
        if not self.capture or self.checked or not line.pieces:  # a region of constants alone has none
            return None
        self._recorder = self._recorder or Recorder(self)
        try:
            return self._recorder.record(line, inputs)
        except Exception as error:  # whatever it is, the ordinary way is open, and tells it again if it stays
            self._not_recorded[line.pieces[0].nodes[0].name] = str(error).splitlines()[0]
            return None

    @contextmanager
    def recording(self, recording: Recording) -> Iterator[None]:
        """A block in which launches of this thread are recorded, in whatever stream it has entered."""
        self._recording, self._within = recording, threading.get_ident()
        self.allocator.diverted = threading.get_ident(), recording.memory.malloc
        try:
            yield
        finally:
            self._recording, self._within, self.allocator.diverted = None, 0, None

    def _recorded_here(self) -> Recording | None:
        """What this thread records. Others, such as those that write checkpoints, go on meanwhile."""
        return self._recording if self._within == threading.get_ident() else None

    def uses(self, variable: Any, buffer: Any, written: bool) -> None:
        """A variable is read or written where it is."""
        recording = self._recorded_here()
        if recording is not None:
            recording.use(variable, buffer, written)

    def moves(self, variable: Any) -> None:
        """A variable is about to get another buffer. Raises NotRecordable where that would be recorded."""
        if self._recorded_here() is not None:
            raise NotRecordable(f"the variable {variable.name!r} gets another buffer in each run")

    def replayed(self) -> None:
        """Counts a replay."""
        self._replays += 1

    def on_gpu(self, value: Any) -> Any:
        """A value as a kernel takes it."""
        return self._placed(value, self.xp.ndarray, False)

    def _placed(self, value: Any, array: Any, on_host: bool) -> Any:
        """An input as a kernel takes it: in host memory where it is to be looked at, else on the GPU."""
        if type(value) is array:
            return self.fetch(value) if on_host else value
        if self._recorded_here() is not None and id(value) not in self._kept:
            return self._kept_for_recording(value, on_host)
        if on_host and isinstance(value, np.ndarray):
            return _arrived(value)
        if on_host or not isinstance(value, (np.ndarray, np.generic)) or value.dtype.hasobject:
            return value
        kept = self._kept.get(id(value))
        if kept is None:
            return self._upload(value)
        if kept[1] is None:
            kept[1] = self._upload(value)
        return kept[1]

    def _kept_for_recording(self, value: Any, on_host: bool) -> Any:
        """The same for what is recorded: an array that it reads again and again stays."""
        recording, self._recording = self._recording, None
        assert recording is not None
        try:
            placed = self._placed(value, self.xp.ndarray, on_host)
        finally:
            self._recording = recording
        if placed is not value:
            recording.kept.append(placed)
        return placed

    def constant(self, value: Any) -> Any:
        """A value that is the same in all steps; it is copied to the GPU once."""
        if value.nbytes > SMALL and not value.dtype.hasobject:
            known = self._kept.get(id(value))
            if known is None:
                known = self._kept[id(value)] = [value, self._upload(value)]
            return known[1]
        if value.ndim == 0 and not value.dtype.hasobject:
            value = value[()]
        self._kept.setdefault(id(value), [value, None])
        return value

    # ---- transfers

    def bring(self, value: Any) -> Any:
        """A value of the host or lent by another GPU as it is passed on here. What is small stays where it is until a kernel
        needs it, because shapes and their like never do."""
        if isinstance(value, Lent):
            return self._from_peer(value)
        if isinstance(value, np.ndarray) and value.nbytes > SMALL and not value.dtype.hasobject:
            return self._upload(value)
        return value

    def _upload(self, value: Any) -> Any:
        """A copy of a host array on the GPU, on its way: kernels that are launched from now on find it there."""
        self._check_usable()
        value = np.asarray(value)
        with self._translating():
            self._let_staged_go()
            target = self.allocator.allocate(value.shape, value.dtype, self._to_device)
            if value.size:
                staging = pinned(self.xp, value.shape, value.dtype)
                np.copyto(staging, value)
                with self.place:
                    target.data.copy_from_host_async(address(staging), value.nbytes, self._to_device.raw)
                arrived = self._to_device.mark()
                self._staged.append((arrived, staging))  # the copy reads it until then
                self.compute.wait_event(arrived)
        return target

    def _let_staged_go(self) -> None:
        """Frees pinned buffers whose copies are done; the last ones stay until the next copy."""
        with self._lock:
            while self._staged and self._staged[0][0].done:
                self._staged.popleft()

    def _from_peer(self, lent: Lent) -> Any:
        """A copy of another GPU's array, on its way."""
        self._check_usable()
        source = lent.array
        if source.device.id == self.index:
            return source
        with self._translating():
            target = self.allocator.allocate(source.shape, source.dtype, self._peer)
            self._peer.wait_event(lent.ready)
            with self.place:
                target.data.copy_from_device_async(source.data, source.nbytes, self._peer.raw)
            self.compute.wait_for(self._peer)
            self._peer.when_done(_Holding(source))
        return target

    def lend(self, value: Any) -> Any:
        """A value for another GPU of this process to copy."""
        if type(value) is not self.xp.ndarray:
            return value
        with self.launching("a copy to another GPU"):
            value = self.xp.ascontiguousarray(value)
        return Lent(value, self.compute.mark())

    def take(self, value: Any, done: Callable[[Any, BaseException | None], None]) -> None:
        """Calls `done` on the running loop when `value` is in host memory. The copy runs beside later kernels."""
        loop = asyncio.get_running_loop()
        if type(value) is not self.xp.ndarray:
            loop.call_soon(done, value, None)
            return
        host, source = self._download(value)
        held = [source]

        def come(error: BaseException | None) -> None:
            held.clear()
            _call(loop, done, None if error else _arrived(host), self._translated(error))

        self._to_host.when_done(come)

    def fetch(self, value: Any) -> Any:
        """`value` in host memory. Waits for it, so nothing on the way of a step calls this: it is for checkpoints, and for
        inputs whose place could not be known when the plan was made."""
        if type(value) is not self.xp.ndarray:
            return value
        host, source = self._download(value)
        with self._translating():
            self._to_host.mark(blocking=True).synchronize()
        del source
        return _arrived(host)

    def _download(self, value: Any) -> tuple[Any, Any]:
        """Starts a copy to the host: where it will be, and the array that has to live until then."""
        if self._recorded_here() is not None:
            raise NotRecordable("the host waits for a value")
        with self.launching("a copy to the host"):
            value = self.xp.ascontiguousarray(value) if value.ndim else value
            host = pinned(self.xp, value.shape, value.dtype)
            if value.size:
                self._to_host.wait_for(self.compute)
                value.data.copy_to_host_async(address(host), value.nbytes, self._to_host.raw)
        return host, value

    def swap_out(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Calls `done` on the running loop when a copy of `value` is in pinned host memory. The copy runs beside kernels, and
        until its end it holds the memory."""
        if type(value) is not self.xp.ndarray:
            done(value, None)
            return
        axes = axes_in_memory(value.strides)
        with self.launching("a copy to the host"):
            dense = value.transpose(axes)
        self._swapped_out += value.nbytes

        def arrived(host: Any, error: BaseException | None) -> None:
            done(None if error else host.transpose(inverse(axes)), error)

        self.take(dense, arrived)

    def swap_in(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """Calls `done` on the running loop when what `swap_out` gave is in the GPU's memory. The copy runs beside kernels; the
        ones that wait for it are launched after it, so the compute stream never stands still for its sake."""
        if not isinstance(value, np.ndarray):
            done(value, None)
            return
        self._check_usable()
        loop = asyncio.get_running_loop()
        axes = axes_in_memory(value.strides)
        with self._translating(), self.place:
            dense = value.transpose(axes)
            target = self.allocator.allocate(dense.shape, dense.dtype, self._to_device)
            target.data.copy_from_host_async(address(dense), dense.nbytes, self._to_device.raw)
            held = [dense, target.transpose(inverse(axes))]
        self._swapped_in += value.nbytes
        del target

        def come(error: BaseException | None) -> None:
            back = held.pop()
            held.clear()
            _call(loop, done, None if error else back, self._translated(error))

        self._to_device.when_done(come)

    def copy(self, target: Any, value: Any) -> None:
        """Writes a value, of the host or the GPU, into an array of the GPU."""
        value = self._placed(value, self.xp.ndarray, False)
        with self.launching("an assignment"):
            self.xp.copyto(target, value)

    def variable(self, name: str, dtype: DType, shape: Shape, allocator: Any) -> CudaVariable:
        """A variable in this GPU's memory."""
        return CudaVariable(name, dtype, shape, allocator, self)

    # ---- ends and errors

    def settle(self, done: Callable[[BaseException | None], None]) -> None:
        """Calls `done` on the running loop when all kernels that were launched so far have run, with what went wrong."""
        loop = asyncio.get_running_loop()
        number = self._number

        def come(error: BaseException | None) -> None:
            if error is None:
                self._reached = max(self._reached, number)
            _call(loop, done, self._translated(error))

        self.compute.when_done(come)

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise self._failed(error) from error

    def _translated(self, error: BaseException | None) -> BaseException | None:
        """An error of CUDA as one of ours. Others are as they were."""
        is_cuda = isinstance(error, self._errors)
        return self._failed(error) if error is not None and is_cuda else error

    def _failed(self, error: BaseException) -> OpError:
        """What an error of CUDA means, and which kernels it may be of."""
        status = getattr(error, "status", 0)
        if status == _NO_MEMORY:
            return ResourceExhaustedError(f"{self.name} has no memory left: {error}.")
        names = list(dict.fromkeys(name for number, name in self._launched if number > self._reached))
        if status in _STICKY:
            self._lost = str(error)
        details = [f"launched since the last kernel that is known to have run: {', '.join(names[-16:]) or 'nothing'}"]
        return InternalError(
            f"A kernel failed on {self.name}: {error}.",
            node=names[0] if len(names) == 1 else None,
            device=self.name,
            details=details,
            hint="CUDA reports an error after the launch. CudaDevice(name, checked=True) finds the node.",
        )

    def _check_usable(self) -> None:
        if self._closed:
            raise FailedPreconditionError(f"The device {self.name} is closed: its session has ended.")
        if self._lost:
            raise UnavailableError(
                f"{self.name} is lost to this process: {self._lost}.",
                device=self.name,
                hint="CUDA takes no more work after such an error. Other devices go on; start the process again for this one.",
            )

    # ---- the rest of a device

    def submit(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Runs `work`, then `done`, on a thread of the host. Raises FailedPreconditionError after `close`."""
        self.host.submit(work, done)

    def count(self, inline: int, threaded: int) -> None:
        """Adds to the launches that `statistics` reports."""
        self._inline += inline
        self._threaded += threaded

    def statistics(self) -> DeviceStatistics:
        return DeviceStatistics(
            launches=self._inline + self._threaded,
            inline=self._inline,
            threaded=self._threaded,
            memory=self.allocator.statistics(),
            swapped_out=self._swapped_out,
            swapped_in=self._swapped_in,
            replays=self._replays,
            not_recorded=tuple(self._not_recorded.items()),
        )

    def close(self) -> None:
        """Lets threads end with the work that streams have. Waits for none of it. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self.host.close()
        self._kept.clear()
        for stream in (self.compute, self._to_device, self._to_host, self._peer):
            stream.close()
        if not self._lost:
            self.allocator.close()


class _Holding:
    """A callback that does nothing but keep an array alive until it is called."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __call__(self, error: BaseException | None) -> None:
        self._array = None


def _call(loop: asyncio.AbstractEventLoop, done: Callable[..., object], *arguments: Any) -> None:
    """Calls `done` on the loop, from any thread."""
    try:
        loop.call_soon_threadsafe(done, *arguments)
    except RuntimeError:
        pass  # the loop is closed: nobody waits any more


def _arrived(host: np.ndarray[Any, Any]) -> Any:
    """A value as it travels in host memory: a scalar for rank 0."""
    return host if host.ndim else host[()]


def _is_few(value: Any, few: int) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.size <= few


def _speed(place: Any) -> float:
    """Its arithmetic relative to a core of a CPU, roughly, for placement."""
    attributes = place.attributes
    hertz = attributes.get("ClockRate", 1_500_000) * 1e3  # kHz; CUDA 13 tells no more
    return float(max(1.0, attributes["MultiProcessorCount"] * 128 * 2 * hertz / 1e11))


def _import_cupy(name: str) -> Any:
    """CuPy, which is imported only when a GPU is asked for."""
    try:
        import cupy
    except ImportError as error:
        raise FailedPreconditionError(
            f"The device {name} needs CuPy, which can't be imported: {error}.",
            hint="Install the extra: pip install 'actorflow[cuda]' on a machine with a GPU and its driver.",
        ) from error
    return cupy
