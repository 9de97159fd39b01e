"""CUDA graphs of regions: what a region launches, recorded once and replayed with one launch for each stretch.

A recording takes no part in a step. It is a pass over the region's launches in a stream that captures, in which nothing is
computed; the step then replays it, as later steps do. A graph knows addresses, so all that it reads and writes has a place of
its own for as long as the recording lives: inputs are copied there before a replay, results from there behind it, and what is
computed between comes from memory that no one else gets. Variables are read and written in place. A replay first looks whether
they still are there; if not, the region runs in the ordinary way.

CuPy doesn't capture calls of cuBLAS. Products stand apart between graphs, are launched singly, and write where the graph behind
them reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import lookup, traits
from actorflow.base.shapes import is_static
from actorflow.engine.device.base import Recordable
from actorflow.engine.runtime.state.variable_state import VariableState

from .recording import NotRecordable, PrivateMemory, RegionRecording

LEAST = 4
"""Pieces: fewer launches are not worth a graph."""
_MOST_BYTES = 16 << 20
"""Input bytes for each instruction: copying more would cost what a replay saves."""


@dataclass(frozen=True, slots=True)
class _Apart:
    """A launch that no graph holds, on arrays that stay in place."""

    launch: Callable[..., Any]
    inputs: tuple[Any, ...]
    out: Any
    takes_out: bool


@dataclass(frozen=True, slots=True)
class _Input:
    """How an input of the region gets to where the graph reads it: `array` is that place. Without `array`, `value` has to be
    what is given: it is a variable, or was looked at in host memory."""

    value: Any
    array: Any

    def fits(self, value: Any) -> bool:
        if self.array is not None:
            return (
                getattr(value, "shape", None) == self.array.shape
                and value.dtype == self.array.dtype
                and not isinstance(value, VariableState)
            )
        if self.value is value:
            return True
        if not isinstance(value, (np.ndarray, np.generic)) or not isinstance(self.value, (np.ndarray, np.generic)):
            return False
        return value.dtype == self.value.dtype and np.array_equal(value, self.value)


class RecordedRegion:
    """A recorded region. Called with the inputs, it gives the results; or None, and has done nothing, where something is not as
    it was recorded. It is `stale` when it won't ever be that again."""

    def __init__(self, device: Any, name: str, recording: RegionRecording) -> None:
        self.stale = False
        self._device = device
        self._name = name
        self._recording = recording
        self.inputs: list[_Input] = []
        self.handles: list[tuple[Callable[..., Any], Any]] = []
        self.segments: list[Any] = []
        self.results: list[Any] = []

    def __call__(self, inputs: Sequence[Any]) -> list[Any] | None:
        if not self._fits(inputs):
            return None
        device = self._device
        device.recorder.replays += 1
        with device.together(), device.launching(self._name):
            for source, value in zip(self.inputs, inputs):
                if source.array is not None:
                    device.xp.copyto(source.array, device.on_gpu(value))
            for segment in self.segments:
                if isinstance(segment, _Apart):
                    _launch_apart(device.xp, segment)
                else:
                    segment.launch(device.compute.raw)
            # Later replays write there again, so what is given away is a copy.
            return [r.copy() if type(r) is device.xp.ndarray else r for r in self.results]

    def _fits(self, inputs: Sequence[Any]) -> bool:
        if not all(source.fits(value) for source, value in zip(self.inputs, inputs)):
            return False
        for variable, buffer, written in self._recording.variables.values():
            if not variable.is_at(buffer):
                self.stale = True
                return False
            if written and variable.leased:
                return False  # a snapshot is in use: the update has to leave it the buffer
        for handle, variable in self.handles:
            if handle() is not variable:
                self.stale = True
                return False
        return True


def _launch_apart(xp: Any, apart: _Apart) -> None:
    if apart.out is None:
        apart.launch(*apart.inputs)
        return
    result = apart.launch(*apart.inputs, out=apart.out) if apart.takes_out else apart.launch(*apart.inputs)
    if result is not apart.out:
        xp.copyto(apart.out, result)


class RegionRecorder:
    """Records regions of one GPU, in a stream of its own."""

    def __init__(self, device: Any) -> None:
        self.replays = 0
        """How often a recorded region was replayed."""
        self.not_recorded: dict[str, str] = {}
        """The first nodes of regions that could not be recorded, with the reason."""
        self._device = device
        self._own: Any = None

    @property
    def _stream(self) -> Any:
        if self._own is None:
            with self._device.place:
                self._own = self._device.xp.cuda.Stream(non_blocking=True)
        return self._own

    def attempt(self, line: Recordable, inputs: Sequence[Any]) -> RecordedRegion | None:
        """`record`, or None and a reason in `not_recorded`."""
        try:
            return self.record(line, inputs)
        except Exception as error:  # whatever it is, the ordinary way is open, and tells it again if it stays
            self.not_recorded[line.instructions[0].nodes[0].name] = str(error).splitlines()[0]
            return None

    def record(self, line: Recordable, inputs: Sequence[Any]) -> RecordedRegion:
        """Raises NotRecordable, with the reason."""
        device = self._device
        _check_ops(line, device.type)
        if sum(getattr(v, "nbytes", 0) for v in inputs) > _MOST_BYTES * len(line.instructions):
            raise NotRecordable("copying its inputs would cost more than a replay saves")
        memory = PrivateMemory(device.xp, device.allocator.take_bytes, device.index)
        recording = RegionRecording(memory)
        names = [n.name for instruction in line.instructions for n in instruction.nodes]
        replay = RecordedRegion(device, f"{names[0]} ... {names[-1]} ({len(names)} nodes, replayed)", recording)
        host_places = _wanted_on_host(line, device.type, len(inputs))
        replay.inputs = [self._input(memory, value, place in host_places) for place, value in enumerate(inputs)]
        values = line.fresh_values([source.value if source.array is None else source.array for source in replay.inputs])
        with device.recording(recording), device.place, self._stream:
            with device.xp.cuda.using_allocator(memory.malloc), self._ended():
                self._pass(line, values, replay)
        return replay

    def _input(self, memory: PrivateMemory, value: Any, on_host: bool) -> _Input:
        if isinstance(value, VariableState):
            return _Input(value, None)
        if type(value) is self._device.xp.ndarray:
            if on_host:
                raise NotRecordable("a value that a GPU computes decides what is launched")
            return _Input(None, memory.array(value.shape, value.dtype))
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.hasobject:
            raise NotRecordable(f"it is given a {type(value).__name__}")
        if on_host:
            return _Input(value.copy(), None)
        return _Input(None, memory.array(value.shape, value.dtype))

    def _pass(self, line: Recordable, values: list[Any], replay: RecordedRegion) -> None:
        stream, kind = self._stream, self._device.type
        for instruction in line.instructions:
            op = instruction.node.op
            if traits(op, kind).apart:
                self._end_segment(replay)
                replay.segments.append(self._apart(instruction, values, replay))
                for place in instruction.drops:
                    values[place] = None
                continue
            if op == "VariableV2":
                replay.handles.append((instruction.function, instruction.function()))
            elif not traits(op, kind).anywhere and not stream.is_capturing():
                stream.begin_capture()
            line.perform(instruction, values)  # `anywhere`: it hands its input on, and launches nothing
        replay.results = [self._result(values[place], replay) for place in line.results]
        values.clear()
        self._end_segment(replay)

    def _end_segment(self, replay: RecordedRegion) -> None:
        if self._stream.is_capturing():
            replay.segments.append(self._stream.end_capture())

    def _result(self, value: Any, replay: RecordedRegion) -> Any:
        """A result in a place where results may stay: a view of a variable would keep the variable from being written."""
        if type(value) is not self._device.xp.ndarray or replay._recording.memory.owns(value):
            return value
        if not self._stream.is_capturing():
            self._stream.begin_capture()
        return value.copy()

    def _apart(self, instruction: Any, values: list[Any], replay: RecordedRegion) -> _Apart:
        node = instruction.node
        operands = tuple(self._alias(values[place], replay) for place in instruction.inputs)
        out = None
        if instruction.outputs:
            shape: Any = node.shapes[0]
            if not is_static(shape):
                raise NotRecordable(f"the shape of {node.name} is not known")
            out = replay._recording.memory.array(shape, node.dtypes[0].numpy_dtype)
            values[instruction.outputs[0]] = out
        for value in operands:
            if isinstance(value, VariableState):
                replay._recording.use(value, value.writable(), True)
        takes_out = lookup(node.op, self._device.type, node.dtypes).takes_out
        return _Apart(instruction.function, operands, out, takes_out)

    def _alias(self, value: Any, replay: RecordedRegion) -> Any:
        """The same memory without what an array of it owns: a recording would hold a snapshot of a variable forever. Memory of
        the recording itself is held instead."""
        cupy = self._device.xp
        if type(value) is not cupy.ndarray:
            return value
        if replay._recording.memory.owns(value):
            return value
        memory = value.data.mem
        unowned = cupy.cuda.UnownedMemory(memory.ptr, memory.size, None, self._device.index)
        pointer = cupy.cuda.MemoryPointer(unowned, value.data.ptr - memory.ptr)
        return cupy.ndarray(value.shape, value.dtype, memptr=pointer, strides=value.strides)

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """A block behind which nothing is captured, whatever has happened in it."""
        try:
            yield
        finally:
            if self._stream.is_capturing():
                try:
                    self._stream.end_capture()
                except self._device.xp.cuda.runtime.CUDARuntimeError:
                    pass  # the error that spoilt the capture was raised already


def _check_ops(line: Recordable, kind: str) -> None:
    for instruction in line.instructions:
        for node in instruction.nodes:
            if not traits(node.op, kind).may_be_recorded:
                raise NotRecordable(f"{node.op} ({node.name}) may do something else in each run")
    if len(line.instructions) < LEAST:
        raise NotRecordable("it launches too little")


def _wanted_on_host(line: Recordable, kind: str, count: int) -> set[int]:
    """The places of the region's inputs that its kernels look at in host memory."""
    places: set[int] = set()
    for instruction in line.instructions:
        for i in traits(instruction.node.op, kind).host_inputs(len(instruction.inputs)):
            if instruction.inputs[i] < count:
                places.add(instruction.inputs[i])
    return places
