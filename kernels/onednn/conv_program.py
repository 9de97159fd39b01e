"""Programs of convolutions of images with channels last: forward, to the images and to the weights, and those of single
channels.

Images stay as they are. The library chooses the layout of the weights; they are copied there, which costs little beside
the convolution.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from actorflow.graph.ops.nn.conv.geometry import WindowSpan, groups

from ..nn import fused
from ..nn.conv import functions as conv
from .binding import Binding, loaded
from .parts import ImageBatches, are_shared, part_size, shared
from .program import (
    AFTER,
    BIAS,
    DIFF_DST,
    DIFF_SRC,
    DIFF_WEIGHTS,
    DST,
    FLOAT32,
    SRC,
    WEIGHTS,
    CompiledProgram,
    Governed,
    ProgramBuilder,
    ProgramCache,
    contiguous,
    destination,
)

TRAINING, INFERENCE, DIRECT = 64, 96, 1
_WORTH_ADDING = 256  # places of a window; with fewer it costs as much to add the parts of a gradient for the weights
_programs = ProgramCache()
_batches = ImageBatches()


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionGeometry:
    """Of one convolution: the shapes of its arrays, and how the window moves. `geometry_of` gives the same object for equal
    geometries, so programs are found by its identity."""

    images: tuple[int, ...]
    weights: tuple[int, ...]
    spans: tuple[WindowSpan, ...]
    depthwise: bool
    result: tuple[int, ...] = field(init=False)
    flops: float = field(init=False)
    known: bool = field(init=False)
    """Whether the library takes such sizes: none is 0, and no window lies in the padding alone."""

    def __post_init__(self) -> None:
        result = (self.images[0], *(s.count for s in self.spans), self.outputs)
        flops = 2.0 * prod(result) * prod(self.weights[:2]) * (1 if self.depthwise else self.weights[2])
        reached = all(max(s.before, s.after) < (s.window - 1) * s.dilation + 1 for s in self.spans)
        object.__setattr__(self, "result", result)
        object.__setattr__(self, "flops", flops)
        object.__setattr__(self, "known", reached and min(*self.images, *self.weights, *result) > 0)

    @property
    def outputs(self) -> int:
        return prod(self.weights[2:]) if self.depthwise else self.weights[3]

    @property
    def is_product(self) -> bool:
        """Whether it is a product of matrices: each element of the result comes from one place of an image."""
        still = all(span.window == span.stride == 1 and not span.before and not span.after for span in self.spans)
        return still and not self.depthwise and self.weights[2] == self.images[3]

    @property
    def moves(self) -> list[tuple[int, ...]]:
        """Strides, dilations (counted from 0) and paddings, as the library's calls take them."""
        spans = self.spans
        return [
            tuple(s.stride for s in spans),
            tuple(s.dilation - 1 for s in spans),
            tuple(s.before for s in spans),
            tuple(s.after for s in spans),
        ]

    def filters(self, builder: ProgramBuilder, kind: int = FLOAT32) -> tuple[Any, Any]:
        """The layout that the weights have, [height, width, in, out], and a layout that the library may choose."""
        h, w, i, o = self.weights
        count = 1 if self.depthwise else self.images[3] // i
        dims, strides = [o, i, h, w], [1, o, w * i * o, i * o]
        if count > 1:
            dims, strides = [count, o // count, i, h, w], [o // count, 1, o, w * i * o, i * o]
        if self.depthwise:  # a group for each channel, with one input and `o` outputs
            dims, strides = [i, o, 1, h, w], [o, 1, o, w * i * o, i * o]
        return builder.strided(dims, strides, kind), builder.any(dims, kind)


def geometry_of(
    images: Any, weights: Any, attrs: dict[str, Any], depthwise: bool = False
) -> ConvolutionGeometry | None:
    """None where the shapes don't fit together, or the channels are not last."""
    if attrs["data_format"] != "NHWC":
        return None
    return _geometry(images, weights, depthwise, *[(name, _hashable(value)) for name, value in attrs.items()])


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@functools.lru_cache(1024)
def _geometry(images: Any, weights: Any, depthwise: bool, *attrs: tuple[str, Any]) -> ConvolutionGeometry | None:
    try:
        spans = conv.spans_of("A convolution", images, weights, dict(attrs))
        if groups(images[3], weights, "images") > 1 and depthwise:
            return None
    except ValueError:
        return None
    return ConvolutionGeometry(images, weights, tuple(spans), depthwise)


@functools.lru_cache(1024)
def of_images(geometry: ConvolutionGeometry, images: int) -> ConvolutionGeometry:
    """The same convolution of `images` images."""
    return geometry if images == geometry.images[0] else replace(geometry, images=(images, *geometry.images[1:]))


def of_places(geometry: ConvolutionGeometry, begin: int, end: int) -> tuple[ConvolutionGeometry, int]:
    """The rows from `begin` to `end` of the result of one image, as a convolution of the rows that they come from; and the first
    of those."""
    down, right = geometry.spans
    first = begin * down.stride - down.before
    last = (end - 1) * down.stride - down.before + (down.window - 1) * down.dilation + 1
    low, high = max(0, first), min(down.size, last)
    part = replace(down, size=high - low, before=low - first, after=last - high, count=end - begin)
    return replace(geometry, images=(1, high - low, *geometry.images[2:]), spans=(part, right)), low


def forward(
    x: Any, w: Any, geometry: ConvolutionGeometry, bias: Any = None, out: Any = None, activation: str = ""
) -> Any:
    """The convolution, plus a bias if given, and the activation of that. None where the library can't do it."""
    library = loaded()
    if library is None or not geometry.known:
        return None
    biased = bias is not None
    operands = [contiguous(x), contiguous(w), *([contiguous(bias)] if biased else [])]

    def program_for(images: int, flops: float) -> Governed | None:
        some = of_images(geometry, images)

        def make() -> CompiledProgram:
            builder, pd = described_forward(library, some, biased)
            args = {SRC: "x", WEIGHTS: builder.reordered("w", "weights"), DST: "y"}
            builder.step(pd, {**args, BIAS: "bias"} if biased else args)
            builder.after = after
            return CompiledProgram(builder, ("x", "w", "bias", "y") if biased else ("x", "w", "y"))

        return _programs.get(("forward", some, biased, after, flops > 0), library, make, flops)

    after = activation if activation in AFTER else ""
    batch = _batches.get(("forward", geometry, biased, after), library, len(x), geometry.flops, program_for)
    if batch is None:
        return None
    y = batch.run(operands, (0,), destination(out, geometry.result))
    return y if after == activation else fused.activated(np, y, activation)


def to_images(w: Any, dy: Any, geometry: ConvolutionGeometry, out: Any = None) -> Any:
    """The gradient for the images. None where the library can't do it."""
    library = loaded()
    if library is None or not geometry.known:
        return None

    def program_for(images: int, flops: float) -> Governed | None:
        some = of_images(geometry, images)

        def make() -> CompiledProgram:
            builder, hint = described_forward(library, some, False)
            images, result = builder.layouts["x"], builder.layouts["y"]
            create = library.lib.dnnl_convolution_backward_data_primitive_desc_create
            free = some.filters(builder)[1]
            pd = builder.describe("a convolution", create, DIRECT, images, free, result, *some.moves, hint)
            builder.layouts["weights"] = builder.chosen(pd, WEIGHTS)
            builder.step(pd, {WEIGHTS: builder.reordered("w", "weights"), DIFF_DST: "y", DIFF_SRC: "x"})
            return CompiledProgram(builder, ("w", "y", "x"))

        return _programs.get(("images", some, flops > 0), library, make, flops)

    batch = _batches.get(("images", geometry), library, len(dy), geometry.flops, program_for)
    if batch is None:
        return None
    return batch.run([contiguous(w), contiguous(dy)], (1,), destination(out, geometry.images))


def to_weights(x: Any, dy: Any, geometry: ConvolutionGeometry) -> Any:
    """The gradient for the weights. None where the library can't do it."""
    library = loaded()
    if library is None or not geometry.known:
        return None

    def program_for(images: int, flops: float) -> Governed | None:
        some = of_images(geometry, images)

        def make() -> CompiledProgram:
            builder, hint = described_forward(library, some, False)
            images, result = builder.layouts["x"], builder.layouts["y"]
            create = library.lib.dnnl_convolution_backward_weights_primitive_desc_create
            free = some.filters(builder)[1]
            null = library.ffi.NULL
            pd = builder.describe("a convolution", create, DIRECT, images, free, null, result, *some.moves, hint)
            builder.layouts["weights"] = builder.chosen(pd, DIFF_WEIGHTS)
            same = library.lib.dnnl_memory_desc_equal(builder.layouts["weights"], builder.layouts["w"])
            builder.step(pd, {SRC: "x", DIFF_DST: "y", DIFF_WEIGHTS: "w" if same else "weights"})
            builder.reordered("weights", "w")
            return CompiledProgram(builder, ("x", "y", "w"))

        return _programs.get(("weights", some, flops > 0), library, make, flops)

    x, dy = contiguous(x), contiguous(dy)
    count = len(x)
    size = part_size(count)
    divides = are_shared(library, geometry.flops, count) and size * prod(geometry.result[1:3]) >= _WORTH_ADDING
    program = program_for(count, 0.0 if divides else geometry.flops)
    if program is None:
        return None
    dw = destination(None, geometry.weights)
    programs = {some: program_for(some, 0.0) for some in (size, count % size) if some} if divides else {}
    if None in programs.values() or not programs:
        program(x, dy, dw)
        return dw
    others: dict[int, Any] = {}

    def some(begin: int, end: int) -> None:
        target = dw
        if begin:
            target = others[begin] = np.empty(geometry.weights, np.float32)
        part: Any = programs[end - begin]
        part(x[begin:end], dy[begin:end], target)

    shared(library, some, count, ("weights", geometry), whole=lambda: program(x, dy, dw))
    for begin in sorted(others):
        dw += others[begin]
    return dw


def described_forward(
    library: Binding,
    geometry: ConvolutionGeometry,
    biased: bool,
    kind: int = TRAINING,
    finish: Callable[[ProgramBuilder], Any] = lambda builder: None,
) -> tuple[ProgramBuilder, Any]:
    """A builder with the layouts of a convolution, and the description of the forward pass. `finish` gives its attributes."""
    builder = ProgramBuilder(library)
    layouts = builder.layouts
    layouts["x"], layouts["y"] = builder.images(geometry.images), builder.images(geometry.result)
    layouts["w"], free = geometry.filters(builder)
    bias = library.ffi.NULL
    if biased:
        layouts["bias"] = bias = builder.strided((geometry.outputs,), (1,))
    create = library.lib.dnnl_convolution_forward_primitive_desc_create
    pd = builder.describe(
        "a convolution",
        create,
        kind,
        DIRECT,
        layouts["x"],
        free,
        bias,
        layouts["y"],
        *geometry.moves,
        attr=finish(builder),
    )
    layouts["weights"] = builder.chosen(pd, WEIGHTS)
    return builder, pd
