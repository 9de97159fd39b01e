"""Products and convolutions with weights of int8. Sums are exact, so results differ from numpy's in the last bits at most.

The library has its own layout for the weights. They are brought into it once, because the constants of a graph never change.

With a range that is known before, all of it is one program: the input in steps, the product, its scales, bias and activation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import Prepare, kernel

from ..nn.conv import functions as conv
from ..quantize import int8
from ..quantize.int8 import finished, steps
from .binding import Binding, Unsupported, loaded
from .constants import copied, packed
from .conv import shares_of
from .conv_program import DIRECT, INFERENCE, TRAINING, ConvolutionGeometry, geometry_of
from .prepared import PreparedWork, Share, shares_of_rows
from .program import (
    BIAS,
    DST,
    INT8,
    SCALES,
    SRC,
    UINT8,
    WEIGHTS,
    CompiledProgram,
    Governed,
    ProgramBuilder,
    ProgramCache,
    contiguous,
    destination,
)

_WORTH_PRODUCTS = 1 << 15
"""Multiplications: numpy computes fewer of them before the library is called."""
_programs = ProgramCache()


@dataclass(frozen=True, slots=True, eq=False)
class _PreparedProgram:
    """The program of a product or a convolution, and the layout of its weights."""

    program: CompiledProgram
    builder: ProgramBuilder

    def __call__(self, x: Any, weights: Any, y: Any) -> None:
        layout = copied if weights.flags.writeable else packed
        self.program(x, layout(self.builder, weights, "w", "weights"), y)


def _described(builder: ProgramBuilder, pd: Any) -> _PreparedProgram:
    builder.layouts["weights"] = builder.chosen(pd, WEIGHTS)
    builder.step(pd, {SRC: "x", WEIGHTS: "weights", DST: "y"})
    return _PreparedProgram(CompiledProgram(builder, ("x", "weights", "y")), builder)


def _product(library: Binding, m: int, k: int, n: int, signed: bool) -> _PreparedProgram:
    builder = ProgramBuilder(library)
    builder.layouts = {
        "x": builder.strided((m, k), (k, 1), INT8 if signed else UINT8),
        "w": builder.strided((k, n), (n, 1), INT8),
        "y": builder.strided((m, n), (n, 1)),
    }
    x, free, y = builder.layouts["x"], builder.any((k, n), INT8), builder.layouts["y"]
    pd = builder.describe("a product", library.lib.dnnl_matmul_primitive_desc_create, x, free, library.ffi.NULL, y)
    return _described(builder, pd)


def _convolution(library: Binding, geometry: ConvolutionGeometry, signed: bool) -> _PreparedProgram:
    builder = ProgramBuilder(library)
    layouts = builder.layouts
    layouts["x"] = builder.images(geometry.images, INT8 if signed else UINT8)
    layouts["y"] = builder.images(geometry.result)
    layouts["w"], free = geometry.filters(builder, INT8)
    create, null = library.lib.dnnl_convolution_forward_primitive_desc_create, library.ffi.NULL
    arguments = (TRAINING, DIRECT, layouts["x"], free, null, layouts["y"], *geometry.moves)
    return _described(builder, builder.describe("a convolution", create, *arguments))


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


# ---- with a range that is known


def _scaled(library: Binding, *masks: tuple[int, int]) -> Any:
    """Attributes of a primitive whose arguments have scales: for each the bits of the dimensions along which those differ."""
    attr = library.attributes()
    for arg, mask in masks:
        library.check(library.lib.dnnl_primitive_attr_set_scales_mask(attr, arg, mask), "scales")
    return attr


def _whole(
    builder: ProgramBuilder,
    constants: Sequence[Any],
    attrs: Mapping[str, Any],
    mask: int,
    described: Callable[[Any], Any],
) -> CompiledProgram:
    """The program from floats to floats.

    Args:
        builder: has the layouts of x, of its steps, of w and y, and of the bias.
        constants: the weights, their scales and the bias.
        attrs: those of the node.
        mask: the bit of the dimension of the weights along which scales differ.
        described: describes the primitive for these attributes.
    """
    library, layouts = builder.binding, builder.layouts
    weights, scales, bias = constants
    limit, most = np.array([attrs["limit"]], np.float32), np.float32(127 if attrs["signed"] else 255)
    layouts["factor"], layouts["scales"] = builder.strided((1,), (1,)), builder.strided(scales.shape, (1,))
    layouts["inverse"] = layouts["factor"]
    steps = builder.copy("x", "steps", _scaled(library, (SRC, 0)))
    pd = described(_scaled(library, (SRC, 0), (WEIGHTS, mask)))
    layouts["weights"] = builder.chosen(pd, WEIGHTS)
    builder.kept = {
        "weights": packed(builder, weights, "w", "weights"),
        "scales": contiguous(scales),
        "bias": contiguous(bias),
        "factor": limit / most,
        "inverse": most / limit,  # numpy multiplies by it as well: values in the middle of two steps become the same
    }
    builder.step(steps, {SRC: "x", DST: "steps", SCALES | SRC: "inverse"})
    ends = {BIAS: "bias", DST: "y", SCALES | SRC: "factor", SCALES | WEIGHTS: "scales"}
    builder.step(pd, {SRC: "steps", WEIGHTS: "weights", **ends})
    builder.after = attrs["activation"]
    return CompiledProgram(builder, ("x", "y"))


def _whole_product(library: Binding, m: int, constants: Sequence[Any], attrs: Mapping[str, Any]) -> CompiledProgram:
    k, n = constants[0].shape
    builder = ProgramBuilder(library)
    builder.layouts = layouts = {
        "x": builder.strided((m, k), (k, 1)),
        "steps": builder.strided((m, k), (k, 1), INT8 if attrs["signed"] else UINT8),
        "w": builder.strided((k, n), (n, 1), INT8),
        "bias": builder.strided((1, n), (n, 1)),
        "y": builder.strided((m, n), (n, 1)),
    }
    create, free = library.lib.dnnl_matmul_primitive_desc_create, builder.any((k, n), INT8)
    arguments = (layouts["steps"], free, layouts["bias"], layouts["y"])
    return _whole(
        builder, constants, attrs, 2, lambda attr: builder.describe("a product", create, *arguments, attr=attr)
    )


def _whole_convolution(
    library: Binding, geometry: ConvolutionGeometry, constants: Sequence[Any], attrs: Mapping[str, Any]
) -> CompiledProgram:
    builder = ProgramBuilder(library)
    layouts = builder.layouts
    layouts["x"], layouts["y"] = builder.images(geometry.images), builder.images(geometry.result)
    layouts["steps"] = builder.images(geometry.images, INT8 if attrs["signed"] else UINT8)
    layouts["w"], free = geometry.filters(builder, INT8)
    layouts["bias"] = builder.strided(constants[2].shape, (1,))
    create = library.lib.dnnl_convolution_forward_primitive_desc_create
    arguments = (INFERENCE, DIRECT, layouts["steps"], free, layouts["bias"], layouts["y"], *geometry.moves)
    return _whole(
        builder, constants, attrs, 1, lambda attr: builder.describe("a convolution", create, *arguments, attr=attr)
    )


def _prepared(op: str) -> Prepare:
    """Kernels of `op` where all but the input is constant, and the range of that is known."""

    def prepare(
        attrs: Mapping[str, Any], shapes: Sequence[Any], constants_given: Sequence[Any]
    ) -> Callable[..., Any] | None:
        library, constants = _exact(), constants_given[1:]
        if library is None or not attrs["limit"] or any(value is None for value in constants):
            return None
        expected, weights = tuple(shapes[0]), constants[0]
        result: Sequence[int]
        if any(value.shape != weights.shape[-1:] for value in constants[1:]):
            return None
        if op == "Int8MatMul":
            (rows, k), n = expected, weights.shape[1]
            whole: Any = rows
            result, flops = (rows, n), 2.0 * rows * k * n
            shares: Callable[[], Sequence[Share]] = lambda: shares_of_rows(rows, k, n)  # noqa: E731
        else:
            moves = (attrs["strides"], attrs["padding"], "NHWC", attrs["dilations"], attrs["explicit_paddings"])
            conv_geometry = geometry_of(expected, weights.shape, conv.attributes(*moves))
            if conv_geometry is None or not conv_geometry.known or conv_geometry.images[3] != weights.shape[2]:
                return None
            whole, result, flops = conv_geometry, conv_geometry.result, conv_geometry.flops
            shares = lambda: [] if conv_geometry.is_product else shares_of(conv_geometry)  # noqa: E731
        build = _whole_product if op == "Int8MatMul" else _whole_convolution
        plain = _KERNELS[op]
        named = {name: attrs[name] for name in inspect.signature(plain).parameters if name in attrs}

        def program_for(piece: Any) -> CompiledProgram:
            own = library.set_threads(1)
            try:
                return build(library, piece, constants, attrs)
            finally:
                library.set_threads(own)

        try:
            work = PreparedWork(program_for, ("int8", op, *expected, *weights.shape), ("x", "y"), whole, shares, flops)
        except Unsupported:
            return None

        def run(xp: Any, x: Any, *others: Any, out: Any = None) -> Any:
            flat = x.reshape(-1)
            if x.shape != expected or not isfinite(np.dot(flat, flat)):  # whole numbers hold no NaN
                return plain(xp, x, *others, **named)
            y = destination(out, result)
            work(contiguous(x), y)
            return y

        return run

    return prepare


_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "onednn", "can": _can, "pays": _pays}


@kernel("Int8MatMul", **_OPTIONS, prepare=_prepared("Int8MatMul"))
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


@kernel("Int8Conv2D", **_OPTIONS, prepare=_prepared("Int8Conv2D"))
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
    options: dict[str, Any] = {**attrs, "limit": limit, "signed": signed, "activation": activation}
    return int8.int8_conv2d(xp, x, weights, scales, bias, **options)


_KERNELS: Mapping[str, Callable[..., Any]] = {"Int8MatMul": int8_matmul, "Int8Conv2D": int8_conv2d}
