"""Operations of cuDNN: how they are described, the plans that the library makes of them, and their runs.

A description says all that a plan depends on: the operation, its tensors' sizes, strides and types, its attributes. Plans are
kept by description and GPU. An operation that the library does not support is kept too, so that it is asked once.

**Precision.** A float32 convolution multiplies float32 numbers: engines that round inputs to TF32 (all that use tensor cores for
float32), or down to halves, are refused. So are Winograd's and Fourier's transforms, whose errors grow with the largest element
rather than with each product, and which make a single infinity many NaNs. Thereby results differ from the CPU's by the order of
sums alone, and the tolerances of the CPU's tests hold (2e-5 for float32; TF32 has 1e-3). TensorFlow takes TF32 unless it is told
otherwise. Halves are multiplied by tensor cores and summed in float32. Engines whose sums depend on the order in which threads
arrive are refused as well: a run gives the same bits each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.reports.logs import get_logger

from .binding import CudnnHandles, Handle, loaded

MOST_PLANS = 512
_KINDS = {"float16": "HALF", "float32": "FLOAT", "float64": "DOUBLE"}
_REFUSED = ("NONDETERMINISTIC", "DOWN_CONVERT_INPUTS", "REDUCED_PRECISION_REDUCTION", "WINOGRAD", "FFT")


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor as cuDNN is told of it: its sizes in the order batch, channels, space, the strides of these in elements, and
    numpy's name of its type."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def packed(sizes: Sequence[int], dtype: Any, channels_last: bool) -> Layout:
    """The layout of an array in C's order of [batch, channels, space...] (these are its `sizes`), or with its channels last."""
    order = [0, *range(2, len(sizes)), 1] if channels_last else list(range(len(sizes)))
    strides, step = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= sizes[axis]
    return Layout(tuple(sizes), tuple(strides), np.dtype(dtype).name)


def vector(length: int, rank: int, dtype: Any) -> Layout:
    """The layout of a number for each channel."""
    return packed((1, length, *(1,) * (rank - 2)), dtype, True)


@dataclass(frozen=True, slots=True)
class CudnnOperation:
    """One operation: its name in the frontend, its inputs by the names of its parameters, and its outputs in order (None for an
    unwanted output). Its lists of numbers follow, and its numbers, which are handed over in each run."""

    name: str
    inputs: tuple[tuple[str, Layout], ...]
    outputs: tuple[Layout | None, ...]
    lists: tuple[tuple[str, tuple[int, ...]], ...] = ()
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def computed_in(self) -> str:
        """The type of sums and of parameters: float32, or float64 where an input has it."""
        return "float64" if any(layout.dtype == "float64" for _, layout in self.inputs) else "float32"


class CudnnPlan:
    """The plan that cuDNN made of an operation for one GPU. Its runs take their workspace from the memory of the array
    module."""

    def __init__(self, cudnn: Any, handle: Handle, operation: CudnnOperation) -> None:
        """Raises whatever the frontend does where the library lacks it."""
        kind = getattr(cudnn.data_type, _KINDS[operation.computed_in])
        self._cudnn, self._handle = cudnn, handle
        self._graph = graph = cudnn.pygraph(
            io_data_type=getattr(cudnn.data_type, _KINDS[operation.inputs[0][1].dtype]),
            intermediate_data_type=kind,
            compute_data_type=kind,
            handle=handle.raw,
        )
        rank = len(operation.inputs[0][1].sizes)
        inputs = {name: self._tensor(name, layout) for name, layout in operation.inputs}
        scalars = {
            name: graph.tensor(name=name, dim=[1] * rank, stride=[1] * rank, data_type=kind, is_pass_by_value=True)
            for name, _ in operation.numbers
        }
        lists = {name: list(values) for name, values in operation.lists}
        results = getattr(graph, operation.name)(**inputs, **scalars, **lists)
        outputs = []
        for tensor, layout in zip(
            results if isinstance(results, (list, tuple)) else (results,), operation.outputs, strict=True
        ):
            if layout is not None:
                tensor.set_output(True).set_dim(list(layout.sizes)).set_stride(list(layout.strides))
                tensor.set_data_type(getattr(cudnn.data_type, _KINDS[layout.dtype]))
                outputs.append(tensor)
        self._tensors = [*inputs.values(), *outputs]
        # Numbers stay in host memory, where the library reads them in each run.
        self._numbers = [np.full((1,) * rank, value, operation.computed_in) for _, value in operation.numbers]
        self._fixed = {t: array.ctypes.data for t, array in zip(scalars.values(), self._numbers)}
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.deselect_numeric_notes([getattr(cudnn.numerical_note, note) for note in _refused(operation)])
        graph.check_support()
        graph.build_plans()
        self.workspace = int(graph.get_workspace_size())
        """Bytes that a run needs beside its tensors."""

    def _tensor(self, name: str, layout: Layout) -> Any:
        return self._graph.tensor(
            name=name,
            dim=list(layout.sizes),
            stride=list(layout.strides),
            data_type=getattr(self._cudnn.data_type, _KINDS[layout.dtype]),
        )

    def __call__(self, xp: Any, *arrays: Any) -> None:
        """Launches it into the current stream: on the inputs, then the wanted outputs, as they were described."""
        workspace = xp.empty((max(1, self.workspace),), np.uint8)  # behind the launch, its block is the stream's again
        places = {t: array.data.ptr for t, array in zip(self._tensors, arrays, strict=True)}
        with self._handle.lock:
            handle = self._handle.enter(self._cudnn, xp.cuda.get_current_stream().ptr)
            self._graph.execute({**places, **self._fixed}, workspace.data.ptr, handle=handle)


def _refused(operation: CudnnOperation) -> tuple[str, ...]:
    single = any(layout.dtype == "float32" for _, layout in operation.inputs[:1])
    return (*_REFUSED, "TENSOR_CORE") if single else _REFUSED


class CudnnPlans:
    """Plans by GPU and description; of many, the plans that were used last."""

    def __init__(self, most: int = MOST_PLANS) -> None:
        self._most = most
        self._known: OrderedDict[tuple[int, CudnnOperation], CudnnPlan | None] = OrderedDict()
        self._handles = CudnnHandles()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, operation: CudnnOperation, device: int) -> CudnnPlan | None:
        """The plan for a GPU, which is current on this thread. None where cuDNN is not there, or lacks the operation."""
        cudnn = loaded()
        if cudnn is None:
            return None
        key = device, operation
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            plan = self._known[key] = self._made(cudnn, operation, device)
            if len(self._known) > self._most:
                self._known.popitem(last=False)
            return plan

    def _made(self, cudnn: Any, operation: CudnnOperation, device: int) -> CudnnPlan | None:
        try:
            handle = self._handles.of(cudnn, device)
            with handle.lock:
                return CudnnPlan(cudnn, handle, operation)
        except (cudnn.cudnnGraphNotSupportedError, RuntimeError) as error:  # the second, if cuDNN knows no engine
            get_logger("kernels").info(
                "cudnn does not support an operation, CuPy computes it", operation=operation, reason=str(error)
            )
            return None


plans = CudnnPlans()
"""Those of this process."""


def run(xp: Any, operation: CudnnOperation, *arrays: Any) -> tuple[Any, ...] | None:
    """Launches an operation on arrays that lie as its inputs are described. Fresh outputs (flat arrays, for the caller to shape),
    or None, and nothing done, where cuDNN does not support it."""
    plan = plans.find(operation, arrays[0].device.id)
    if plan is None:
        return None
    outputs = [xp.empty((size_of(layout),), np.dtype(layout.dtype)) for layout in operation.outputs if layout]
    plan(xp, *arrays, *outputs)
    return tuple(outputs)


def size_of(layout: Layout) -> int:
    """The number of its elements."""
    size = 1
    for length in layout.sizes:
        size *= length
    return size
