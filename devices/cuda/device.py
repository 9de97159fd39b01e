"""The GPU device: one actor for each GPU, which owns its streams and its memory and computes with CuPy.

Kernels are launched by the dispatcher as soon as their inputs' kernels have been, into one compute stream; a launch takes some
microseconds of the event loop, whatever it computes. Copies have streams of their own (`cuda_transfers`), with events towards
the compute stream. The host learns of an end in three cases only: something has to be in host memory, a step is over, a buffer
of a copy is free again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import traits
from actorflow.base.shapes import Shape
from actorflow.engine.device.base import DeviceStatistics, Recordable
from actorflow.engine.device.sharing import PeerMemory, PeerTensor, SharedTensor
from actorflow.errors import FailedPreconditionError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node

from ..cpu import CpuDevice
from .errors import CudaErrors
from .graph import RecordedRegion, RegionRecorder
from .memory import CudaAllocator
from .recording import Hooks, RegionRecording
from .sharing import Sharing
from .streams import CudaStream
from .transfers import Lent, Transfers, arrived, call_on
from .variable import CudaVariable

SMALL = 4096
"""Bytes up to which a value that comes from the host waits there until a kernel needs it."""


class CudaDevice:
    """A GPU, found by the index in its name. `memory_budget` bounds its tensors in bytes.

    `checked` waits for each kernel, so that an error names the node whose kernel failed; it is for looking for such an error.
    Shapes and their like, of up to `host_elements` elements, are computed by the host if host memory has them already. `cupy`
    is what stands in for CuPy in tests.
    """

    type = "GPU"
    asynchronous = True
    swaps = True
    shares = True

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
        self.errors = CudaErrors(self.xp, name)
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
        self.compute = CudaStream(self.xp, self.place, f"compute {name}")
        self.allocator = CudaAllocator(self.xp, self.place, self.compute, memory_budget, owner=name)
        self.speed = _speed(self.place)
        self.hooks = Hooks(self.allocator)
        self.transfers = Transfers(
            self.xp,
            self.place,
            name,
            self.compute,
            self.allocator,
            self.errors,
            self.launching,
            lambda: self.hooks.here is not None,
        )
        self.sharing = Sharing(self.xp, self.place, name, self.compute, self.allocator, self.errors, self.transfers)
        # See `actorflow.engine.device.sharing.SharingDevice`.
        self.offer, self.opens, self.refused = self.sharing.offer, self.sharing.opens, self.sharing.refused
        self.capture = capture
        self.recorder = RegionRecorder(self)
        self._kept: dict[int, list[Any]] = {}
        """Values of the host that stay, each with its copy on the GPU once that is wanted."""
        self._inline = self._threaded = 0
        self._within = 0
        """The thread that is inside `together`."""

    @property
    def budget(self) -> int | None:
        """The bytes that placement may plan for."""
        return self.allocator.budget if self.allocator.budget is not None else int(self.place.mem_info[1])

    # ---- kernels

    def launcher(self, node: Node, call: Callable[..., Any], on_host: Callable[..., Any] | None) -> Callable[..., Any]:
        """`call`, the kernel of a node, launched in the compute stream on inputs that it brings to the wanted memory."""
        name, array = node.name, self.xp.ndarray
        op_traits = traits(node.op, self.type)
        hosts, anywhere = op_traits.host_inputs(len(node.inputs)), op_traits.anywhere
        follows = on_host if op_traits.follows else None
        few = self.host_elements

        def launch(*inputs: Any, **keywords: Any) -> Any:
            if follows is not None and inputs and all(_is_few(value, few) for value in inputs):
                return follows(*inputs)
            with self.launching(name):
                placed = inputs if anywhere else [self._placed(v, array, i in hosts) for i, v in enumerate(inputs)]
                return call(*placed, **keywords)

        return launch

    @contextmanager
    def launching(self, what: str) -> Iterator[None]:
        """A block whose CuPy calls go to this GPU: its compute stream, its memory. Errors of CUDA say `what` it was."""
        self.errors.check_usable()
        if self.hooks.here is None:
            self.errors.launched(what)
        try:  # each launch comes by here: `translating` would cost it a microsecond
            if self._within == threading.get_ident():
                yield
                return
            with self.place, self.compute.raw, self.xp.cuda.using_allocator(self.allocator.malloc):
                yield
                if self.checked:
                    self.compute.mark(blocking=True).synchronize()
        except self.errors.kinds as error:
            raise self.errors.meaning(error) from error
        if self.checked:
            self.errors.reached(self.errors.number)

    @contextmanager
    def together(self) -> Iterator[None]:
        """A block of many `launching`s on this thread: what each of them enters is entered once. If the device is
        `checked`, each is on its own."""
        if self.checked:
            yield
            return
        self.errors.check_usable()
        with (
            self.errors.translating(),
            self.place,
            self.compute.raw,
            self.xp.cuda.using_allocator(self.allocator.malloc),
        ):
            self._within = threading.get_ident()
            try:
                yield
            finally:
                self._within = 0

    def record(self, line: Recordable, inputs: Sequence[Any]) -> RecordedRegion | None:
        """See `actorflow.engine.device.base.AsynchronousDevice`."""
        if not self.capture or self.checked or not line.instructions:  # a region of constants alone has none
            return None
        return self.recorder.attempt(line, inputs)

    @contextmanager
    def recording(self, recording: RegionRecording) -> Iterator[None]:
        """A block in which launches of this thread are recorded, in whatever stream it has entered."""
        self._within = threading.get_ident()
        try:
            with self.hooks.recording(recording):
                yield
        finally:
            self._within = 0

    # ---- where values are

    def on_gpu(self, value: Any) -> Any:
        """A value as a kernel takes it."""
        return self._placed(value, self.xp.ndarray, False)

    def _placed(self, value: Any, array: Any, on_host: bool) -> Any:
        """An input as a kernel takes it: in host memory if the kernel looks at it, else on the GPU."""
        if type(value) is array:
            return self.fetch(value) if on_host else value
        recording = self.hooks.here
        if recording is not None and id(value) not in self._kept:
            with self.hooks.aside():
                placed = self._placed(value, array, on_host)
            if placed is not value:
                recording.kept.append(placed)  # what is recorded reads it again and again
            return placed
        if on_host and isinstance(value, np.ndarray):
            return arrived(value)
        if on_host or not isinstance(value, (np.ndarray, np.generic)) or value.dtype.hasobject:
            return value
        kept = self._kept.get(id(value))
        if kept is None:
            return self.transfers.upload(value)
        if kept[1] is None:
            kept[1] = self.transfers.upload(value)
        return kept[1]

    def constant(self, value: Any) -> Any:
        """A value that is the same in all steps; it is copied to the GPU once."""
        if value.nbytes > SMALL and not value.dtype.hasobject:
            entry = self._kept.get(id(value))
            if entry is None:
                entry = self._kept[id(value)] = [value, self.transfers.upload(value)]
            return entry[1]
        if value.ndim == 0 and not value.dtype.hasobject:
            value = value[()]
        self._kept.setdefault(id(value), [value, None])
        return value

    def bring(self, value: Any) -> Any:
        """A value of the host, or of another GPU of this process or another, as it is passed on here. A small array in
        host memory stays there until a kernel needs it, because shapes and their like never do."""
        if isinstance(value, Lent):
            return self.transfers.from_peer(value)
        if isinstance(value, PeerTensor):
            return self.sharing.copy(value)
        if isinstance(value, np.ndarray) and value.nbytes > SMALL and not value.dtype.hasobject:
            return self.transfers.upload(value)
        return value

    def lend(self, value: Any) -> Any:
        """A value for another GPU of this process to copy."""
        return self.transfers.lend(value)

    def share(self, value: Any, peer_memory: PeerMemory) -> SharedTensor | None:
        """See `actorflow.engine.device.sharing.SharingDevice`."""
        if type(value) is not self.xp.ndarray:
            return None
        with self.launching("a token for another process"):
            value = self.xp.ascontiguousarray(value) if value.ndim else value
        return self.sharing.share(value, peer_memory)

    def take(self, value: Any, done: Callable[[Any, BaseException | None], None]) -> None:
        """Calls `done` on the running loop when `value` is in host memory. The copy runs beside later kernels."""
        self.transfers.take(value, done)

    def fetch(self, value: Any) -> Any:
        """`value` in host memory. Waits for it, so nothing on the way of a step calls this: it is for checkpoints, and for
        inputs whose place could not be known when the plan was made."""
        return self.transfers.fetch(value)

    def swap_out(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """See `actorflow.engine.device.base.SwappingDevice`."""
        self.transfers.swap_out(value, done)

    def swap_in(self, value: Any, done: Callable[[Any, BaseException | None], object]) -> None:
        """See `actorflow.engine.device.base.SwappingDevice`."""
        self.transfers.swap_in(value, done)

    def copy(self, target: Any, value: Any) -> None:
        """Writes a value, of the host or the GPU, into an array of the GPU."""
        value = self._placed(value, self.xp.ndarray, False)
        with self.launching("an assignment"):
            self.xp.copyto(target, value)

    def variable(self, name: str, dtype: DType, shape: Shape, allocator: Any) -> CudaVariable:
        """A variable in this GPU's memory."""
        return CudaVariable(name, dtype, shape, allocator, self)

    # ---- the rest of a device

    def settle(self, done: Callable[[BaseException | None], None]) -> None:
        """Calls `done` on the running loop when all kernels that were launched so far have run, with what went wrong."""
        loop = asyncio.get_running_loop()
        number = self.errors.number

        def come(error: BaseException | None) -> None:
            if error is None:
                self.errors.reached(number)
            call_on(loop, done, self.errors.translated(error))

        self.compute.when_done(come)

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
            swapped_out=self.transfers.swapped_out,
            swapped_in=self.transfers.swapped_in,
            replays=self.recorder.replays,
            shared_out=self.sharing.sent,
            shared_in=self.sharing.received,
            not_shared=tuple(self.sharing.refusals.items()),
            not_recorded=tuple(self.recorder.not_recorded.items()),
        )

    def close(self) -> None:
        """Lets threads end with the work that streams have. Waits for none of it. A second call does nothing."""
        if self.errors.closed:
            return
        self.errors.closed = True
        self.host.close()
        self._kept.clear()
        self.compute.close()
        self.sharing.close()
        self.transfers.close()
        if not self.errors.lost:
            self.allocator.close()


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
