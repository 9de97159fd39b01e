"""Rows of convolutions whose filters take the channels of images in groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import FLOATS, Case, Literal, Reject
from graph.ops.windows import Windows, convolved, to_filter, to_input

from actorflow import nn
from actorflow.graph.ops.nn.conv import rules as conv_ops

X = ((np.arange(36) % 7) - 3.0).astype(np.float32).reshape(1, 3, 3, 4)
W = ((np.arange(48) % 5) - 2.0).astype(np.float32).reshape(2, 2, 2, 6)
# TensorFlow's: the convolution, and the gradients of the sum of its squares.
Y = [9, 1, -7, -8, -16, -4, -10, -6, -2, -4, 22, -2, -6, -6, -6, -10, 7, 9, -4, 8, 20, 22, -4, -10]
DX = [
    *(-38, -32, -64, 40, 26, 66, 152, -92, -20, -36, -28, 4, 82, -38, -76, -150, -80, 62, 170, 314),
    *(112, -76, -180, -92, 12, 36, 50, -28, -88, -36, -134, 94, 48, 96, 124, -80),
]
DW = [
    *(
        -90,
        -58,
        -26,
        96,
        114,
        -78,
        -112,
        -64,
        -16,
        152,
        -176,
        -64,
        46,
        86,
        126,
        -156,
        -66,
        34,
        80,
        -32,
        -144,
        -44,
        176,
        76,
    ),
    *(
        80,
        -32,
        -144,
        -44,
        176,
        76,
        58,
        -38,
        -134,
        -44,
        194,
        62,
        -50,
        14,
        78,
        152,
        -158,
        -78,
        68,
        92,
        116,
        -156,
        -84,
        48,
    ),
]
VALID: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID"}
STRIDED: dict[str, Any] = {"strides": (1, 2, 1, 1), "padding": "SAME"}
FIRST: dict[str, Any] = {"strides": (1, 1, 1, 1), "padding": "VALID", "data_format": "NCHW"}


def in_groups(attrs: Any) -> tuple[Any, Any, Any]:
    """The definitions: each group is a convolution of its own."""
    first = attrs.get("data_format") == "NCHW"
    strides = attrs["strides"][2:] if first else attrs["strides"][1:3]

    def last(x: Any) -> Any:
        return np.moveaxis(x, 1, -1) if first else x

    def back(parts: list[Any]) -> Any:
        y = np.concatenate(parts, -1)
        return np.moveaxis(y, -1, 1) if first else y

    def windows(space: Any, filters: Any) -> Windows:
        return Windows(space, filters[:2], strides, (1, 1), attrs["padding"])

    def forward(x: Any, w: Any) -> Any:
        images, count = last(x), last(x).shape[-1] // w.shape[2]
        moves = windows(images.shape[1:3], w.shape)
        pairs = zip(np.split(images, count, -1), np.split(w, count, -1))
        return back([convolved(part, filters, moves) for part, filters in pairs])

    def images(sizes: Any, w: Any, dy: Any) -> Any:
        n, h, v, c = (sizes[0], sizes[2], sizes[3], sizes[1]) if first else sizes
        moves, count = windows((h, v), w.shape), c // w.shape[2]
        pairs = zip(np.split(w, count, -1), np.split(last(dy), count, -1))
        return back([to_input((n, h, v, w.shape[2]), filters, slopes, moves) for filters, slopes in pairs])

    def filters(x: Any, sizes: Any, dy: Any) -> Any:
        source, count = last(x), last(x).shape[-1] // sizes[2]
        moves = windows(source.shape[1:3], sizes)
        pairs = zip(np.split(source, count, -1), np.split(last(dy), count, -1))
        size = (*sizes[:3], sizes[3] // count)
        return np.concatenate([to_filter(part, size, slopes, moves) for part, slopes in pairs], -1)

    return forward, images, filters


def rows(note: str, attrs: Any, images: Any, filters: Any, output: Any, dtypes: str, literal: bool) -> list[Case]:
    forward, to_images, to_filters = in_groups(attrs)
    dy = np.reshape(Y, (1, 2, 2, 6)) * 2.0
    answers = [
        Literal((X.tolist(), W.tolist()), np.reshape(Y, (1, 2, 2, 6)).tolist()),
        Literal((i32(1, 3, 3, 4), W.tolist(), dy.tolist()), np.reshape(DX, X.shape).tolist()),
        Literal((X.tolist(), i32(2, 2, 2, 6), dy.tolist()), np.reshape(DW, W.shape).tolist()),
    ]
    if not literal:  # the same numbers in the other layout
        turned = np.moveaxis(X, -1, 1).tolist(), np.moveaxis(dy, -1, 1).tolist()
        answers = [
            Literal((turned[0], W.tolist()), np.moveaxis(np.reshape(Y, (1, 2, 2, 6)), -1, 1).tolist()),
            Literal((i32(1, 4, 3, 3), W.tolist(), turned[1]), np.moveaxis(np.reshape(DX, X.shape), -1, 1).tolist()),
            Literal((turned[0], i32(2, 2, 2, 6), turned[1]), np.reshape(DW, W.shape).tolist()),
        ]
    made = []
    for op, build, reference, args, answer in (
        ("Conv2D", conv_ops.conv2d_op, forward, (images, filters), answers[0]),
        (
            "Conv2DBackpropInput",
            conv_ops.conv2d_backprop_input_op,
            to_images,
            (i32(*images), filters, output),
            answers[1],
        ),
        (
            "Conv2DBackpropFilter",
            conv_ops.conv2d_backprop_filter_op,
            to_filters,
            (images, i32(*filters), output),
            answers[2],
        ),
    ):
        made.append(
            Case(
                op,
                lambda *given, build=build: build(*given, **attrs),
                reference,
                [args],
                answer,
                dtypes=dtypes,
                domain=(-1.0, 1.0),
                loose=4,
                note=note,
            )
        )
    return made


def refused(filters: tuple[int, ...]) -> Reject:
    return Reject(EITHER, (X.tolist(), np.zeros(filters).tolist()))


CASES = [
    *rows("groups", VALID, (2, 4, 3, 6), (2, 2, 2, 9), (2, 3, 2, 9), FLOATS, True),
    *rows("groups channels first", FIRST, (2, 4, 3, 4), (2, 2, 2, 2), (2, 2, 2, 3), "float32 float64", False),
    Case(
        "",
        lambda x, w: nn.conv2d(x, w, [1, 2, 1, 1], "SAME"),
        in_groups(STRIDED)[0],
        [((2, 5, 4, 6), (3, 2, 1, 12)), ((1, 3, 3, 34), (2, 2, 17, 4))],
        Literal((np.ones((1, 1, 2, 4)).tolist(), np.ones((1, 2, 2, 2)).tolist()), [[[[4.0, 4.0], [2.0, 2.0]]]]),
        dtypes="float32 float64",
        domain=(-1.0, 1.0),
        loose=4,
        note="conv2d groups strided",
        rejects=[
            refused((2, 2, 3, 6)),  # four channels, three at a time
            refused((2, 2, 2, 5)),  # five outputs of two groups
            refused((2, 2, 0, 6)),
        ],
    ),
    Case(
        "",
        lambda x, w: nn.conv1d(x, w, 1, "VALID"),
        lambda x, w: in_groups(VALID)[0](x[:, None], w[None])[:, 0],
        [((2, 5, 6), (2, 2, 3))],
        Literal((np.ones((1, 3, 4)).tolist(), np.ones((2, 2, 2)).tolist()), np.full((1, 2, 2), 4.0).tolist()),
        dtypes="float32 float64",
        note="conv1d groups",
    ),
]
