"""Rows of convolutions and their backprops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import FLOATS, Case, Literal, Reject
from graph.ops.windows import Windows, convolved, to_filter, to_input

from actorflow.graph.ops.nn.conv import rules as conv_ops

WIDE = "float32 float64"


class Variant:
    """Attributes of a convolution, for the op and for the reference; and TensorFlow's answers for the small arrays of
    `literals`: the output, and the gradients of its sum, flat."""

    def __init__(
        self,
        note: str,
        strides: Any,
        dilations: Any,
        padding: str,
        literal: Any,
        pairs: Any = (),
        first: bool = False,
        dtypes: str = WIDE,
    ) -> None:
        layouts = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
        self.note, self.dtypes, self.first, self.literal = note, dtypes, first, literal
        self.strides, self.dilations, self.padding, self.pairs = strides, dilations, padding, pairs
        self.attrs: dict[str, Any] = {
            "strides": self.every(strides),
            "dilations": self.every(dilations),
            "padding": padding,
            "data_format": layouts[len(strides)][first],
        }
        if pairs:
            self.attrs["explicit_paddings"] = [w for pair in self.every(pairs, (0, 0)) for w in pair]

    def every(self, space: Any, none: Any = 1) -> tuple[Any, ...]:
        return (none, none, *space) if self.first else (none, *space, none)

    def last(self, x: Any) -> Any:
        return np.moveaxis(x, 1, -1) if self.first else x

    def back(self, x: Any) -> Any:
        return np.moveaxis(x, -1, 1) if self.first else x

    def turned(self, shape: Any) -> Any:
        return (shape[0], shape[-1], *shape[1:-1]) if self.first else tuple(shape)

    def windows(self, images: Any, filters: Any) -> Windows:
        return Windows(images[1:-1], filters[:-2], self.strides, self.dilations, self.padding, self.pairs)

    def output(self, images: Any, filters: Any) -> Any:
        """The shape of a convolution of images with channels last."""
        return self.turned((images[0], *self.windows(images, filters).places, filters[-1]))

    def forward(self, x: Any, w: Any) -> Any:
        images = self.last(x)
        return self.back(convolved(images, w, self.windows(images.shape, w.shape)))

    def input(self, sizes: Any, w: Any, dy: Any) -> Any:
        shape = [sizes[0], *sizes[2:], sizes[1]] if self.first else list(sizes)
        return self.back(to_input(shape, w, self.last(dy), self.windows(shape, w.shape)))

    def filter(self, x: Any, sizes: Any, dy: Any) -> Any:
        images = self.last(x)
        return to_filter(images, sizes, self.last(dy), self.windows(images.shape, sizes))


TWO = [
    Variant(
        "",
        (1, 1),
        (1, 1),
        "SAME",
        [[0, 2, 3, 6, 8, 6, 23, 26, 9], [1, 3, 3, 1, 2, 2, 1, 2, 2], [45, 33, 39, 28]],
        dtypes=FLOATS,
    ),
    Variant("valid strided", (2, 1), (1, 1), "VALID", [[0, 2], [1, 3, 2, 0, -1, -1, 0, 0, 0], [3, 5, 9, 11]]),
    Variant("same strided", (2, 3), (1, 1), "SAME", [[0, 23], [1, 2, 0, 0, -1, 0, 1, 2, 0], [8, 10, 4, 5]]),
    Variant(
        "dilated",
        (1, 1),
        (2, 1),
        "SAME",
        [[-5, -6, 0, -3, -1, 3, 14, 17, 6], [1, 3, 3, 1, 2, 2, 0, -1, -1], [21, 16, 39, 28]],
    ),
    Variant("dilated strided", (2, 1), (1, 2), "VALID", [[1], [1, 0, 2, 0, 0, -1, 0, 0, 0], [1, 3, 4, 6]]),
    Variant(
        "explicit",
        (1, 2),
        (1, 1),
        "EXPLICIT",
        [[0, 0, -2, 0, 0, 3, 6, 6, 23, 9], [1, 1, 1, 1, 1, 1, 1, 1, 1], [30, 15, 30, 15]],
        ((2, 1), (0, 1)),
    ),
    Variant(
        "channels first",
        (1, 1),
        (1, 1),
        "SAME",
        [[0, 2, 3, 6, 8, 6, 23, 26, 9], [1, 3, 3, 1, 2, 2, 1, 2, 2], [45, 33, 39, 28]],
        first=True,
    ),
    Variant(
        "channels first strided",
        (2, 1),
        (1, 1),
        "VALID",
        [[0, 2], [1, 3, 2, 0, -1, -1, 0, 0, 0], [3, 5, 9, 11]],
        first=True,
    ),
    Variant(
        "channels first explicit",
        (2, 1),
        (1, 1),
        "EXPLICIT",
        [[-1, -2, -3, 0, 1, 6, 8, 6], [-1, -1, -1, 3, 3, 3, -1, -1, -1], [15, 15, 30, 30]],
        ((1, 0), (1, 1)),
        first=True,
    ),
]
THREE = [
    Variant(
        "",
        (1, 1, 1),
        (1, 1, 1),
        "SAME",
        [[-1, 2, 3, 4, 17, 6, 23, 8], [1, 3, 1, 3, 1, 2, 1, 2], [36, 20, 26, 14]],
        dtypes=FLOATS,
    ),
    Variant("valid strided", (2, 1, 1), (1, 1, 1), "VALID", [[-1, 3], [1, 2, 1, 2, 0, -1, 0, -1], [4, 6, 12, 14]]),
    Variant(
        "dilated",
        (1, 1, 1),
        (1, 1, 2),
        "SAME",
        [[-2, 1, 0, 3, 12, 5, 16, 7], [1, 2, 1, 2, 1, 1, 1, 1], [16, 20, 12, 14]],
    ),
    Variant(
        "channels first",
        (1, 2, 1),
        (1, 1, 1),
        "SAME",
        [[-1, 2, 17, 6], [1, 3, 0, 0, 1, 2, 0, 0], [14, 8, 11, 6]],
        first=True,
    ),
]
# Images and filters, channels last. The last ones have channels enough for rows of columns that are copied together.
SIZES_2 = [((2, 4, 5, 2), (2, 3, 2, 3)), ((1, 3, 3, 1), (1, 2, 1, 2)), ((0, 4, 3, 1), (2, 2, 1, 2))]
SIZES_3 = [((2, 3, 2, 3, 2), (2, 1, 2, 2, 2)), ((1, 3, 3, 2, 1), (1, 1, 1, 1, 2))]
DEEP = ((1, 3, 3, 17), (2, 2, 17, 3))


def small(space: int) -> tuple[Any, Any]:
    """The arrays of the variants' answers."""
    x = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1) if space == 2 else np.arange(1, 9, dtype=np.float32)
    w = np.array([1, 2, 0, -1], np.float32)
    return (x, w.reshape(2, 2, 1, 1)) if space == 2 else (x.reshape(1, 2, 2, 2, 1), w.reshape(2, 1, 2, 1, 1))


def literals(variant: Variant) -> list[Literal]:
    x, w = small(len(variant.strides))
    shape = variant.output(x.shape, w.shape)
    images = variant.back(x)
    y, dx, dw = variant.literal
    dy = np.ones(shape).tolist()
    return [
        Literal((images.tolist(), w.tolist()), np.reshape(y, shape).tolist()),
        Literal((i32(*images.shape), w.tolist(), dy), np.reshape(dx, images.shape).tolist()),
        Literal((images.tolist(), i32(*w.shape), dy), np.reshape(dw, w.shape).tolist()),
    ]


def attributes(rank: int, **changed: Any) -> dict[str, Any]:
    return {"strides": (1,) * rank, "padding": "VALID", **changed}


def refused(build: Callable[..., Any], inputs: Any) -> list[Reject]:
    """Attributes of two dimensions that there are not."""
    return [
        Reject(ValueError, inputs, lambda *given, a=a: build(*given, **attributes(4, **a)))
        for a in (
            {"strides": (1, 0, 1, 1)},
            {"strides": (2, 1, 1, 1)},
            {"strides": (1, 1, 1, 2)},
            {"strides": (1, 1)},
            {"dilations": (1, 0, 1, 1)},
            {"dilations": (1, 1, 1, 2)},
            {"padding": "FULL"},
            {"data_format": "NWC"},
            {"explicit_paddings": (0, 0, 1, 1, 0, 0, 0, 0)},
            {"padding": "EXPLICIT", "explicit_paddings": (0, 0, -1, 1, 0, 0, 0, 0)},
            {"padding": "EXPLICIT", "explicit_paddings": (1, 0, 1, 1, 0, 0, 0, 0)},
            {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 1, 0, 0)},
        )
    ]


def zeros(*shape: int) -> Any:
    return np.zeros(shape).tolist()


def rows(space: int, variants: list[Variant], sizes: list[Any], ops: list[tuple[str, Any]], more: str) -> list[Case]:
    """Those of a convolution and of its two backprops."""
    (forward, f), (to_x, g), (to_w, h) = ops
    rank = space + 2
    made: list[Case] = []
    kernel, image = (2,) * space, (3,) * space
    plain = attributes(rank)
    mismatches = {
        forward: [
            (zeros(1, *image, 3), zeros(*kernel, 2, 1)),
            (zeros(1, *image[1:], 1), zeros(*kernel, 1, 1)),
            (zeros(1, *image, 1), zeros(*kernel[1:], 1, 1)),
            (zeros(1, *kernel, 1), zeros(*image, 1, 1)),
        ],
        to_x: [
            (i32(1, *image, 1), zeros(*kernel, 1, 1), zeros(1, *image, 1)),
            (i32(1, *image, 1, 1), zeros(*kernel, 1, 1), zeros(1, *kernel, 1)),
            (i32(1, *image, 2), zeros(*kernel, 1, 1), zeros(1, *kernel, 1)),
        ],
        to_w: [
            (zeros(1, *image, 1), i32(*kernel, 1, 1), zeros(1, *image, 1)),
            (zeros(1, *image, 1), i32(*kernel, 1), zeros(1, *kernel, 1)),
            (zeros(1, *image, 1), i32(*kernel, 2, 1), zeros(1, *kernel, 1)),
        ],
    }
    for v in variants:
        answers = literals(v)
        examples = [(v.turned(x), w, v.output(x, w)) for x, w in [*sizes, *([DEEP] if space == 2 else [])]]
        for (name, build), reference, answer, args, extra in (
            ((forward, f), v.forward, answers[0], [(x, w) for x, w, _ in examples], more),
            ((to_x, g), v.input, answers[1], [(i32(*x), w, y) for x, w, y in examples], more),
            ((to_w, h), v.filter, answers[2], [(x, i32(*w), y) for x, w, y in examples], ""),
        ):
            made.append(
                Case(
                    name,
                    lambda *given, build=build, v=v: build(*given, **v.attrs),
                    reference,
                    args if not v.note else args[:2],
                    answer,
                    dtypes=v.dtypes + extra * (not v.note),
                    domain=(-1.0, 1.0),
                    loose=4,
                    note=v.note,
                    rejects=[]
                    if v.note
                    else [
                        *[
                            Reject(EITHER, m, lambda *given, build=build: build(*given, **plain))
                            for m in mismatches[name]
                        ],
                        Reject(TypeError, tuple(np.zeros(np.shape(m), bool) for m in answer.inputs)),
                        *(refused(build, answer.inputs) if space == 2 else []),
                    ],
                )
            )
    return made


CASES = [
    *rows(
        2,
        TWO,
        SIZES_2,
        [
            ("Conv2D", conv_ops.conv2d_op),
            ("Conv2DBackpropInput", conv_ops.conv2d_backprop_input_op),
            ("Conv2DBackpropFilter", conv_ops.conv2d_backprop_filter_op),
        ],
        " int32",
    ),
    *rows(
        3,
        THREE,
        SIZES_3,
        [
            ("Conv3D", conv_ops.conv3d_op),
            ("Conv3DBackpropInputV2", conv_ops.conv3d_backprop_input_op),
            ("Conv3DBackpropFilterV2", conv_ops.conv3d_backprop_filter_op),
        ],
        "",
    ),
]
