"""As much of NVIDIA's module `cudnn` as the kernels call, on a fake GPU.

It computes what a graph describes, from addresses, sizes and strides alone, with sums of its own. It fails where the real one
would: calls in another order, sizes that don't follow from the paddings, a handle in another stream than the current one.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_cupy import GARBAGE, FakeCupy, names

WORKSPACE = 4096


class NotSupported(Exception):
    pass


class FakeCudnn:
    """Stands in for the module. `supports` is asked of an operation's name and its first input's type."""

    def __init__(self, gpu: FakeCupy, supports: Callable[[str, str], bool] = lambda name, dtype: True) -> None:
        self.gpu, self.supports = gpu, supports
        self.built: list[_Graph] = []
        self.runs: list[str] = []
        self.handles: list[SimpleNamespace] = []
        self.cudnnGraphNotSupportedError = NotSupported
        self.data_type = SimpleNamespace(HALF="float16", FLOAT="float32", DOUBLE="float64")
        self.heur_mode = SimpleNamespace(A="A", FALLBACK="FALLBACK")
        notes = (
            "NONDETERMINISTIC",
            "DOWN_CONVERT_INPUTS",
            "REDUCED_PRECISION_REDUCTION",
            "WINOGRAD",
            "FFT",
            "TENSOR_CORE",
        )
        self.numerical_note = SimpleNamespace(**{name: name for name in notes})

    def backend_version(self) -> int:
        return 92800

    def create_handle(self) -> Any:
        self.handles.append(SimpleNamespace(place=self.gpu.place(), stream=None))
        return self.handles[-1]

    def set_stream(self, *, handle: Any, stream: int) -> None:
        handle.stream = stream

    def pygraph(self, **options: Any) -> _Graph:
        return _Graph(self, **options)


class _Tensor:
    def __init__(
        self, name: str, dim: Any = None, stride: Any = None, data_type: str = "", by_value: bool = False
    ) -> None:
        self.name, self.dim, self.stride, self.data_type, self.by_value = name, dim, stride, data_type, by_value
        self.output = False

    def set_output(self, output: bool) -> _Tensor:
        self.output = output
        return self

    def set_dim(self, dim: list[int]) -> _Tensor:
        assert type(dim) is list
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> _Tensor:
        assert type(stride) is list and len(stride) == len(self.dim)
        self.stride = stride
        return self

    def set_data_type(self, data_type: str) -> _Tensor:
        self.data_type = data_type
        return self


class _Graph:
    _ORDER = names(
        "validate build_operation_graph create_execution_plans deselect_numeric_notes check_support build_plans"
    )

    def __init__(
        self,
        cudnn: FakeCudnn,
        *,
        io_data_type: str,
        intermediate_data_type: str,
        compute_data_type: str,
        handle: Any,
    ) -> None:
        self._cudnn, self.handle, self.compute = cudnn, handle, compute_data_type
        self._done: list[str] = []
        self.refused: list[str] = []
        self.inputs: dict[str, Any] = {}
        self.outputs: list[_Tensor] = []
        self.lists: dict[str, Any] = {}
        self.name = ""

    def tensor(
        self, *, name: str, dim: list[int], stride: list[int], data_type: str, is_pass_by_value: bool = False
    ) -> _Tensor:
        assert type(dim) is type(stride) is list and len(dim) == len(stride) and min(dim) > 0
        return _Tensor(name, dim, stride, data_type, is_pass_by_value)

    def _operation(self, name: str, count: int, **given: Any) -> Any:
        self.name = name
        self.inputs = {k: v for k, v in given.items() if isinstance(v, _Tensor)}
        self.lists = {k: v for k, v in given.items() if not isinstance(v, _Tensor)}
        self.outputs = [_Tensor(f"{name}:{i}") for i in range(count)]
        return self.outputs[0] if count == 1 else self.outputs

    def conv_fprop(self, *, image: Any, weight: Any, **moves: Any) -> Any:
        return self._operation("conv_fprop", 1, image=image, weight=weight, **moves)

    def conv_dgrad(self, *, loss: Any, filter: Any, **moves: Any) -> Any:
        return self._operation("conv_dgrad", 1, loss=loss, filter=filter, **moves)

    def conv_wgrad(self, *, image: Any, loss: Any, **moves: Any) -> Any:
        return self._operation("conv_wgrad", 1, image=image, loss=loss, **moves)

    def batchnorm(
        self,
        *,
        input: Any,
        scale: Any,
        bias: Any,
        in_running_mean: Any,
        in_running_var: Any,
        epsilon: Any,
        momentum: Any,
    ) -> Any:
        return self._operation(
            "batchnorm",
            5,
            input=input,
            scale=scale,
            bias=bias,
            in_running_mean=in_running_mean,
            in_running_var=in_running_var,
            epsilon=epsilon,
            momentum=momentum,
        )

    def batchnorm_inference(self, *, input: Any, mean: Any, inv_variance: Any, scale: Any, bias: Any) -> Any:
        return self._operation(
            "batchnorm_inference", 1, input=input, mean=mean, inv_variance=inv_variance, scale=scale, bias=bias
        )

    def batchnorm_backward(self, *, grad: Any, input: Any, scale: Any, mean: Any, inv_variance: Any) -> Any:
        return self._operation(
            "batchnorm_backward", 3, grad=grad, input=input, scale=scale, mean=mean, inv_variance=inv_variance
        )

    def _step(self, name: str) -> None:
        assert self._ORDER[len(self._done)] == name, f"{name} after {self._done}"
        self._done.append(name)

    def validate(self) -> None:
        self._step("validate")
        if self.name.startswith("conv"):
            for name in ("pre_padding", "post_padding", "stride", "dilation"):
                assert type(self.lists[name]) is list and len(self.lists[name]) == len(self.outputs[0].dim) - 2
            x, w, y = self._parts()
            moves = zip(*(self.lists[k] for k in ("pre_padding", "post_padding", "stride", "dilation")))
            for size, window, count, (before, after, stride, dilation) in zip(x[2:], w[2:], y[2:], moves):
                reach = (window - 1) * dilation + 1
                assert (size + before + after - reach) // stride + 1 == count, "sizes that don't follow from the moves"
            assert x[0] == y[0] and y[1] == w[0] and x[1] % w[1] == 0 and w[0] % (x[1] // w[1]) == 0

    def _parts(self) -> tuple[list[int], list[int], list[int]]:
        """The sizes of images, weights and result."""
        a, b = [t.dim for t in self.inputs.values()]
        c = self.outputs[0].dim
        return {"conv_fprop": (a, b, c), "conv_dgrad": (c, b, a), "conv_wgrad": (a, c, b)}[self.name]

    def build_operation_graph(self) -> None:
        self._step("build_operation_graph")

    def create_execution_plans(self, modes: list[str]) -> None:
        assert modes == ["A", "FALLBACK"]
        self._step("create_execution_plans")

    def deselect_numeric_notes(self, notes: list[str]) -> None:
        self.refused = notes
        self._step("deselect_numeric_notes")

    def check_support(self) -> None:
        self._step("check_support")
        if not self._cudnn.supports(self.name, next(iter(self.inputs.values())).data_type):
            raise NotSupported(f"no engine for {self.name}")

    def build_plans(self) -> None:
        self._step("build_plans")
        self._cudnn.built.append(self)

    def get_workspace_size(self) -> int:
        return WORKSPACE

    def execute(self, places: dict[_Tensor, int], workspace: int, *, handle: Any) -> None:
        gpu = self._cudnn.gpu
        stream = gpu.stream()
        assert len(self._done) == len(self._ORDER) and handle is self.handle
        assert handle.stream == stream.ptr and handle.place == stream.place, "a handle in another stream"
        written = [t for t in self.outputs if t.output]
        given = {name: self._array(places[t], t) for name, t in self.inputs.items()}
        with np.errstate(all="ignore"):
            made = _COMPUTED[self.name](self, {k: v.astype(np.float64) for k, v in given.items()})
        for tensor, value in zip(self.outputs, made, strict=True):
            if tensor.output:
                self._array(places[tensor], tensor)[...] = value.reshape(tensor.dim)
        scratch, offset = _block(gpu, workspace)
        assert len(scratch.bytes) >= offset + WORKSPACE, "the workspace is too small"
        scratch.bytes[offset : offset + WORKSPACE] = GARBAGE
        reads = {_block(gpu, places[t])[0] for t in self.inputs.values() if not t.by_value}
        stream.uses(reads, {scratch, *(_block(gpu, places[t])[0] for t in written)}, self.name)
        gpu.launches.append((stream.number, self.name))
        self._cudnn.runs.append(self.name)
        stream.put(lambda: None)

    def _array(self, address: int, tensor: _Tensor) -> Any:
        dtype = np.dtype(tensor.data_type)
        if tensor.by_value:
            kind = {"float32": ctypes.c_float, "float64": ctypes.c_double}[dtype.name]
            return np.array(kind.from_address(address).value).reshape(tensor.dim)
        block, offset = _block(self._cudnn.gpu, address)
        strides = [step * dtype.itemsize for step in tensor.stride]
        return np.ndarray(tensor.dim, dtype, block.bytes, offset, strides)


def _block(gpu: FakeCupy, address: int) -> tuple[Any, int]:
    """The piece of memory in which an address lies."""
    begin = max(known for known in gpu._physical if known <= address)
    return gpu._physical[begin], address - begin


# ---- what the operations compute


def _taps(graph: _Graph) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each element of the window, and the elements of the padded images that it meets."""
    _, w, y = graph._parts()
    moves = list(zip(graph.lists["stride"], graph.lists["dilation"], y[2:]))
    for index in itertools.product(*map(range, w[2:])):
        at = [
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, (stride, dilation, count) in zip(index, moves)
        ]
        yield index, tuple(at)


def _frame(graph: _Graph) -> list[tuple[int, int]]:
    return [(0, 0), (0, 0), *zip(graph.lists["pre_padding"], graph.lists["post_padding"])]


def _grouped(graph: _Graph, value: Any, axis: int) -> Any:
    """With an axis of its own for the groups."""
    x, w, _ = graph._parts()
    count = x[1] // w[1]
    return value.reshape(*value.shape[:axis], count, value.shape[axis] // count, *value.shape[axis + 1 :])


def _fprop(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    x = _grouped(graph, np.pad(given["image"], _frame(graph)), 1)
    w = _grouped(graph, given["weight"], 0)
    y: Any = 0
    for index, at in _taps(graph):
        y = y + np.einsum("ngi...,goi->ngo...", x[(..., *at)], w[(..., *index)])
    return [y]


def _dgrad(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    dy, w = _grouped(graph, given["loss"], 1), _grouped(graph, given["filter"], 0)
    sizes, frame = graph._parts()[0], _frame(graph)
    dx = _grouped(graph, np.zeros([s + sum(f) for s, f in zip(sizes, frame)]), 1)
    for index, at in _taps(graph):
        dx[(..., *at)] += np.einsum("ngo...,goi->ngi...", dy, w[(..., *index)])
    inner = tuple(slice(before, before + size) for size, (before, _) in zip(sizes[2:], frame[2:]))
    return [np.ascontiguousarray(dx[(..., *inner)])]


def _wgrad(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    x, dy = _grouped(graph, np.pad(given["image"], _frame(graph)), 1), _grouped(graph, given["loss"], 1)
    dw = _grouped(graph, np.zeros(graph._parts()[1]), 0)
    letters = "xyz"[: x.ndim - 3]
    for index, at in _taps(graph):
        dw[(..., *index)] = np.einsum(f"ngi{letters},ngo{letters}->goi", x[(..., *at)], dy)
    return [dw]


def _axes(x: Any) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _batchnorm(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    x, axes = given["input"], _axes(given["input"])
    count = x.size // x.shape[1]
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    factor = 1 / np.sqrt(var + given["epsilon"])
    share = given["momentum"]
    return [
        (x - mean) * factor * given["scale"] + given["bias"],
        mean,
        factor,
        (1 - share) * given["in_running_mean"] + share * mean,
        (1 - share) * given["in_running_var"] + share * var * count / (count - 1),
    ]


def _inference(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    return [(given["input"] - given["mean"]) * given["inv_variance"] * given["scale"] + given["bias"]]


def _backward(graph: _Graph, given: dict[str, Any]) -> list[Any]:
    dy, factor, axes = given["grad"], given["inv_variance"], _axes(given["grad"])
    normal = (given["input"] - given["mean"]) * factor
    dscale, dbias = (dy * normal).sum(axes, keepdims=True), dy.sum(axes, keepdims=True)
    count = dy.size // dy.shape[1]
    return [given["scale"] * factor * (dy - dbias / count - normal * dscale / count), dscale, dbias]


_COMPUTED: dict[str, Callable[[_Graph, dict[str, Any]], list[Any]]] = {
    "conv_fprop": _fprop,
    "conv_dgrad": _dgrad,
    "conv_wgrad": _wgrad,
    "batchnorm": _batchnorm,
    "batchnorm_inference": _inference,
    "batchnorm_backward": _backward,
}
