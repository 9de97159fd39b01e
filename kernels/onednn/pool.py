"""Pools of images with channels last.

The library's maxima pass over NaN and take minus infinity for the lowest finite number, so images with such values go numpy's
way. The least element tells, also that of the maxima, which are NaN for a window with a NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.nn.conv.geometry import WindowSpan

from ..nn import pool
from .binding import Binding, loaded
from .conv import FLOAT32
from .parts import ImageBatches
from .program import (
    DIFF_DST,
    DIFF_SRC,
    DST,
    SRC,
    WORKSPACE,
    CompiledProgram,
    Governed,
    ProgramBuilder,
    ProgramCache,
    contiguous,
    destination,
)

_TRAINING, _INFERENCE = 64, 96
_MAXIMA, _MEANS = 0x1FF, 0x3FF  # means over the elements inside, as TensorFlow's
_WORTH_ELEMENTS = 8192
_programs = ProgramCache()
_batches = ImageBatches()


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Windows over height and width of images, nothing empty."""
    ksize, strides = attrs["ksize"], attrs["strides"]
    outer = (ksize[0], ksize[-1], strides[0], strides[-1])
    return len(ksize) == 4 and outer == (1, 1, 1, 1) and all(prod(shape) > 0 for shape in shapes)


def pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return any(prod(shape) >= _WORTH_ELEMENTS for shape in shapes)


def _spans(shape: Sequence[int], ksize: Any, strides: Any, padding: str) -> tuple[WindowSpan, ...] | None:
    """How the window moves along height and width; None if it can't, or lies in the padding alone."""
    try:
        spans = pool._spans(shape, ksize, strides, padding)[1:3]
    except ValueError:
        return None
    return tuple(spans) if all(max(s.before, s.after) < s.window for s in spans) else None


def _moves(spans: Sequence[WindowSpan]) -> list[tuple[int, ...]]:
    """Strides, windows, dilations (counted from 0) and paddings, as the library's calls take them."""
    return [
        tuple(s.stride for s in spans),
        tuple(s.window for s in spans),
        (0,) * len(spans),
        tuple(s.before for s in spans),
        tuple(s.after for s in spans),
    ]


def _result(shape: Sequence[int], spans: Sequence[WindowSpan]) -> tuple[int, ...]:
    return (shape[0], *(s.count for s in spans), shape[3])


def _forward(library: Binding, shape: Any, spans: Any, algorithm: int, goal: int) -> tuple[ProgramBuilder, Any]:
    builder = ProgramBuilder(library)
    layouts = builder.layouts
    layouts["x"], layouts["y"] = builder.images(shape), builder.images(_result(shape, spans))
    create = library.lib.dnnl_pooling_forward_primitive_desc_create
    return builder, builder.describe("a pool", create, goal, algorithm, layouts["x"], layouts["y"], *_moves(spans))


def _pooled(x: Any, spans: Any, algorithm: int, out: Any, check: bool = False) -> Any:
    """The pool of `x`. None where the library can't do it; with `check` also where a number is not ordinary."""
    library = loaded()
    if library is None:
        return None

    def program_for(images: int, flops: float) -> Governed | None:
        shape = (images, *x.shape[1:])

        def make() -> CompiledProgram:
            builder, pd = _forward(library, shape, spans, algorithm, _INFERENCE)
            builder.step(pd, {SRC: "x", DST: "y"})
            return CompiledProgram(builder, ("x", "y"))

        return _programs.get(("forward", algorithm, shape, spans, flops > 0), library, make, flops)

    batch = _batches.get(("forward", algorithm, x.shape, spans), library, len(x), _flops(x.shape), program_for)
    if batch is None:
        return None
    fits = (lambda begin, end: _is_ordinary(x[begin:end])) if check else None
    return batch.run([contiguous(x)], (0,), destination(out, _result(x.shape, spans)), fits)


def _spread(sizes: Any, x: Any, y: Any, dy: Any, spans: Any, algorithm: int, out: Any) -> Any:
    """The gradient of a pool of images of this shape: `x` and `y` are those of maxima, which are found again. None where the
    library can't do it, and where a maximum is no ordinary number."""
    library = loaded()
    if library is None:
        return None
    maxima = algorithm == _MAXIMA

    def program_for(images: int, flops: float) -> Governed | None:
        shape = (images, *sizes[1:])

        def make() -> CompiledProgram:
            builder, hint = _forward(library, shape, spans, algorithm, _TRAINING)
            images, result = builder.layouts["x"], builder.layouts["y"]
            builder.layouts |= {"dx": images, "dy": result}
            create = library.lib.dnnl_pooling_backward_primitive_desc_create
            pd = builder.describe("a pool", create, algorithm, images, result, *_moves(spans), hint)
            args = {DIFF_DST: "dy", DIFF_SRC: "dx"}
            if maxima:
                builder.layouts["places"] = builder.chosen(hint, WORKSPACE)
                builder.step(hint, {SRC: "x", DST: "y", WORKSPACE: "places"})
                args[WORKSPACE] = "places"
            builder.step(pd, args)
            return CompiledProgram(builder, ("x", "dy", "dx") if maxima else ("dy", "dx"))

        return _programs.get(("backward", algorithm, shape, spans, flops > 0), library, make, flops)

    batch = _batches.get(("backward", algorithm, sizes, spans), library, len(dy), _flops(sizes), program_for)
    if batch is None:
        return None
    operands = [contiguous(x), contiguous(dy)] if maxima else [contiguous(dy)]
    fits = (lambda begin, end: _is_ordinary(y[begin:end])) if maxima else None
    return batch.run(operands, (0, 1) if maxima else (0,), destination(out, sizes), fits)


def _flops(shape: Sequence[int]) -> float:
    # An element costs as much as some eighty of a product's, for it comes from far.
    return 80.0 * prod(shape)


def _is_ordinary(x: Any) -> bool:
    """Whether neither NaN nor minus infinity is among the elements."""
    return x.size > 0 and isfinite(np.minimum.reduce(x, None))


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": FLOAT32, "library": "onednn", "can": can, "pays": pays}


@kernel("MaxPool", **_OPTIONS)
def max_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    y = None if spans is None else _pooled(x, spans, _MAXIMA, out, check=True)
    return pool.max_pool(xp, x, ksize=ksize, strides=strides, padding=padding, out=out) if y is None else y


@kernel("MaxPoolGrad", **_OPTIONS)
def max_pool_grad(xp: Any, x: Any, y: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    dx = None
    if spans is not None and y.shape == dy.shape == _result(x.shape, spans) and x.size:
        dx = _spread(x.shape, x, y, dy, spans, _MAXIMA, out)
    if dx is None:
        return pool.max_pool_grad(xp, x, y, dy, ksize=ksize, strides=strides, padding=padding, out=out)
    return dx


@kernel("AvgPool", **_OPTIONS)
def avg_pool(xp: Any, x: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    spans = _spans(x.shape, ksize, strides, padding)
    y = None if spans is None else _pooled(x, spans, _MEANS, out)
    return pool.avg_pool(xp, x, ksize=ksize, strides=strides, padding=padding, out=out) if y is None else y


@kernel("AvgPoolGrad", **_OPTIONS)
def avg_pool_grad(xp: Any, sizes: Any, dy: Any, *, ksize: Any, strides: Any, padding: str, out: Any = None) -> Any:
    shape = tuple(sizes.tolist())
    spans = _spans(shape, ksize, strides, padding) if len(shape) == 4 else None
    dx = None
    if spans is not None and dy.shape == _result(shape, spans) and prod(shape):
        dx = _spread(shape, None, None, dy, spans, _MEANS, out)
    if dx is None:
        return pool.avg_pool_grad(xp, sizes, dy, ksize=ksize, strides=strides, padding=padding, out=out)
    return dx
