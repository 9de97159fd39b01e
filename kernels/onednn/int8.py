"""Products and convolutions with weights of int8. Sums are exact, so results differ from numpy's in the last bits at most.

The library has its own layout for the weights. They are brought into it once, because the
constants of a graph never change.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel

from ..nn.conv import functions as conv
from ..quantize import int8
from ..quantize.int8 import finished, steps
from .binding import Binding, loaded
from .conv_program import DIRECT, TRAINING, Geometry, geometry_of
from .program import DST, INT8, SRC, UINT8, WEIGHTS, Builder, Cache, Governed, Program, contiguous

_WORTH_PRODUCTS = 1 << 15
"""Multiplications: numpy computes fewer of them before the library is called."""
_programs = Cache()


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The program of a product or convolution, and the layout that it takes the weights in."""

    program: Program
    builder: Builder

    def __call__(self, x: Any, weights: Any, y: Any) -> None:
        self.program(x, _packed.get(self.builder, weights), y)


class _Packed:
    """Weights in the library's layouts, as long as the arrays are there that they come from."""

    def __init__(self) -> None:
        self._known: dict[int, list[tuple[Builder, Any]]] = {}

    def get(self, builder: Builder, weights: Any) -> Any:
        """The weights in the layout of a builder's program."""
        equal, layout = builder.binding.lib.dnnl_memory_desc_equal, builder.layouts["weights"]
        for other, packed in self._known.get(id(weights), ()):
            if equal(other.layouts["weights"], layout):
                return packed
        packed = self._made(builder, weights)
        if not weights.flags.writeable:
            if id(weights) not in self._known:
                self._known[id(weights)] = []
                weakref.finalize(weights, self._known.pop, id(weights), None).atexit = False
            self._known[id(weights)].append((builder, packed))
        return packed

    @staticmethod
    def _made(builder: Builder, weights: Any) -> Any:
        own = Builder(builder.binding)
        own.layouts = {name: builder.layouts[name] for name in ("w", "weights")}
        if own.reordered("w", "weights") == "w":
            return weights
        packed = np.empty(builder.binding.lib.dnnl_memory_desc_get_size(own.layouts["weights"]) + 64, np.uint8)
        packed = packed[-packed.ctypes.data % 64 :]
        Program(own, ("w", "weights"))(weights, packed)
        return packed


_packed = _Packed()


def _described(builder: Builder, pd: Any) -> _Work:
    builder.layouts["weights"] = builder.chosen(pd, WEIGHTS)
    builder.step(pd, {SRC: "x", WEIGHTS: "weights", DST: "y"})
    return _Work(Program(builder, ("x", "weights", "y")), builder)


def _product(library: Binding, m: int, k: int, n: int, signed: bool) -> _Work:
    builder = Builder(library)
    builder.layouts = {
        "x": builder.strided((m, k), (k, 1), INT8 if signed else UINT8),
        "w": builder.strided((k, n), (n, 1), INT8),
        "y": builder.strided((m, n), (n, 1)),
    }
    x, free, y = builder.layouts["x"], builder.any((k, n), INT8), builder.layouts["y"]
    pd = builder.describe("a product", library.lib.dnnl_matmul_primitive_desc_create, x, free, library.ffi.NULL, y)
    return _described(builder, pd)


def _convolution(library: Binding, geometry: Geometry, signed: bool) -> _Work:
    builder = Builder(library)
    layouts = builder.layouts
    layouts["x"] = builder.images(geometry.images, INT8 if signed else UINT8)
    layouts["y"] = builder.images(geometry.result)
    layouts["w"], free = geometry.filters(builder, INT8)
    create, null = library.lib.dnnl_convolution_forward_primitive_desc_create, library.ffi.NULL
    given = (TRAINING, DIRECT, layouts["x"], free, null, layouts["y"], *geometry.moves)
    return _described(builder, builder.describe("a convolution", create, *given))


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return all(shape is None or prod(shape) > 0 for shape in shapes)


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    x, weights = shapes[:2]
    places = prod(x[:-1]) if len(weights) == 2 else prod(x[:3]) / prod(attrs["strides"])
    return bool(places * prod(weights) >= _WORTH_PRODUCTS)


def _exact() -> Binding | None:
    library = loaded()
    return library if library is not None and library.sums_are_exact else None


def _run(
    work: Governed, x: Any, weights: Any, shape: Sequence[int], limit: float, signed: bool
) -> tuple[Any, Any] | None:
    """The sums, and what they are multiplied by; None where a value is NaN, which whole numbers can't hold."""
    whole, factor = steps(np, x, limit, signed)
    if np.isnan(whole.sum()):  # steps are within a range, so that no sum of others is
        return None
    y = np.empty(shape, np.float32)
    work(whole.astype(np.int8 if signed else np.uint8), contiguous(weights), y)
    return y, factor


_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "onednn", "can": _can, "pays": _pays}


@kernel("Int8MatMul", **_OPTIONS)
def int8_matmul(
    xp: Any, a: Any, weights: Any, scales: Any, bias: Any, *, limit: float, signed: bool, activation: str
) -> Any:
    library = _exact()
    if library is not None and a.ndim == weights.ndim == 2 and a.shape[1] == weights.shape[0]:
        (m, k), n = a.shape, weights.shape[1]
        work = _programs.get((m, k, n, signed), library, lambda: _product(library, m, k, n, signed), 2.0 * m * k * n)
        if work is not None:
            done = _run(work, a, weights, (m, n), limit, signed)
            if done is not None:
                return finished(xp, *done, scales, bias, activation)
    return int8.int8_matmul(xp, a, weights, scales, bias, limit=limit, signed=signed, activation=activation)


@kernel("Int8Conv2D", **_OPTIONS)
def int8_conv2d(
    xp: Any,
    x: Any,
    weights: Any,
    scales: Any,
    bias: Any,
    *,
    strides: Any,
    padding: str,
    explicit_paddings: Any,
    dilations: Any,
    limit: float,
    signed: bool,
    activation: str,
) -> Any:
    attrs = conv.attributes(strides, padding, "NHWC", dilations, explicit_paddings)
    library = _exact()
    geometry = None if library is None else geometry_of(x.shape, weights.shape, attrs)
    if library is not None and geometry is not None and geometry.known:
        some = geometry
        work = _programs.get((some, signed), library, lambda: _convolution(library, some, signed), some.flops)
        if work is not None:
            done = _run(work, x, weights, geometry.result, limit, signed)
            if done is not None:
                return finished(xp, *done, scales, bias, activation)
    attrs = {key: value for key, value in attrs.items() if key != "data_format"}
    given: dict[str, Any] = {**attrs, "limit": limit, "signed": signed, "activation": activation}
    return int8.int8_conv2d(xp, x, weights, scales, bias, **given)
