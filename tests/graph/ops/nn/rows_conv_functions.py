"""Rows of depthwise convolutions, and of functions made of convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.nn.rows_conv import Variant, small, zeros
from graph.ops.table import FLOATS, Case, Literal, Reject
from graph.ops.windows import Windows, convolved, deep, shallow, to_filter, to_input

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.space_batch import with_space_to_batch
from actorflow.graph.ops.nn.conv import depthwise as conv_depthwise
from actorflow.graph.ops.nn.conv import functions as conv
from actorflow.graph.ops.nn.conv import rules as conv_ops
from actorflow.graph.ops.nn.conv import transpose as conv_transpose

WIDE = "float32 float64"
# ---- depthwise

XD = np.arange(1, 19, dtype=np.float32).reshape(1, 3, 3, 2)
WD = np.array([1, 2, 0, -1, 1, 1, -1, 0], np.float32).reshape(2, 1, 2, 2)
SAME = (
    [8, 9, -8, -2, 12, 15, -10, -4, 16, 21, -12, -6, 20, 27, -14, -8, 24, 33, -16, -10, 28, 39, -18, -12]
    + [13, 26, 0, -14, 15, 30, 0, -16, 17, 34, 0, -18],
    [3, -1, 3, -1, 3, -1, 5, -2, 5, -2, 5, -2, 5, -2, 5, -2, 5, -2],
    [81, 81, 90, 90, 72, 72, 78, 78],
)
STRIDED = (
    [8, 9, -8, -2, 16, 21, -12, -6],
    [3, -1, 0, 0, 3, -1, 2, -1, 0, 0, 2, -1, 0, 0, 0, 0, 0, 0],
    [6, 6, 8, 8, 18, 18, 20, 20],
)
DILATED = (
    [7, 7, -8, 0, 9, 9, -10, 0, 11, 11, -12, 0, 14, 15, -14, -2, 18, 21, -16, -4, 22, 27, -18, -6]
    + [7, 14, 0, -8, 9, 18, 0, -10, 11, 22, 0, -12],
    None,
    None,
)
DEPTHWISE = [
    Variant("", (1, 1), (1, 1), "SAME", SAME, dtypes=FLOATS),
    Variant("valid strided", (2, 2), (1, 1), "VALID", STRIDED),
    Variant("channels first", (2, 2), (1, 1), "VALID", STRIDED, first=True),
]
SIZES = [((2, 4, 3, 2), (2, 3, 2, 2)), ((1, 3, 3, 3), (2, 2, 3, 1)), ((0, 3, 3, 2), (2, 1, 2, 1))]


def depthwise_rows() -> list[Case]:
    rows: list[Case] = []
    names = ("", "BackpropInput", "BackpropFilter")
    builds: Any = (
        conv_depthwise.depthwise_op,
        conv_depthwise.depthwise_conv2d_native_backprop_input,
        conv_depthwise.depthwise_conv2d_native_backprop_filter,
    )
    for v in DEPTHWISE:

        def wide(filters: Any) -> Any:
            return (*filters[:3], filters[2] * filters[3])

        def narrow(x: Any, sizes: Any, dy: Any, v: Variant = v) -> Any:
            return shallow(v.filter(x, wide(sizes), dy), sizes[3])

        shape = v.output(XD.shape, wide(WD.shape))
        x, dy = v.back(XD), np.ones(shape).tolist()
        answers = [np.reshape(a, s).tolist() for a, s in zip(v.literal, (shape, x.shape, WD.shape))]
        literals = [
            Literal(
                (x.tolist(), WD.tolist()),
                answers[0] if not v.first else v.back(np.reshape(v.literal[0], (1, 1, 2, 4))).tolist(),
            ),
            Literal((i32(*x.shape), WD.tolist(), dy), v.back(np.reshape(v.literal[1], XD.shape)).tolist()),
            Literal((x.tolist(), i32(*WD.shape), dy), answers[2]),
        ]
        shapes = [(v.turned(a), b, v.output(a, wide(b))) for a, b in SIZES]
        arguments: Any = (
            [(a, b) for a, b, _ in shapes],
            [(i32(*a), b, c) for a, b, c in shapes],
            [(a, i32(*b), c) for a, b, c in shapes],
        )
        references = (
            lambda x, w, v=v: v.forward(x, deep(w)),
            lambda sizes, w, dy, v=v: v.input(sizes, deep(w), dy),
            narrow,
        )
        bad: Any = (
            [
                (zeros(1, 3, 3, 3), zeros(2, 2, 2, 1)),
                (zeros(1, 3, 3), zeros(2, 2, 3, 1)),
                (zeros(1, 1, 1, 1), zeros(2, 2, 1, 1)),
            ],
            [
                (i32(1, 3, 3, 1), zeros(2, 2, 1, 1), zeros(1, 3, 3, 1)),
                (i32(1, 3, 3), zeros(2, 2, 1, 1), zeros(1, 2, 2, 1)),
            ],
            [
                (zeros(1, 3, 3, 1), i32(2, 2, 1, 1), zeros(1, 3, 3, 1)),
                (zeros(1, 3, 3, 1), i32(2, 2, 1), zeros(1, 2, 2, 1)),
            ],
        )
        for name, build, reference, args, literal, wrong in zip(names, builds, references, arguments, literals, bad):
            rows.append(
                Case(
                    f"DepthwiseConv2dNative{name}",
                    lambda *given, build=build, v=v: build(*given, **v.attrs),
                    reference,
                    args if not v.note else args[:1],
                    literal,
                    dtypes=v.dtypes,
                    domain=(-1.0, 1.0),
                    loose=4,
                    note=v.note,
                    rejects=[
                        Reject(
                            EITHER, w, lambda *given, build=build: build(*given, strides=(1, 1, 1, 1), padding="VALID")
                        )
                        for w in wrong
                    ]
                    if not v.note
                    else (),
                )
            )
    return rows


# ---- functions

X, W = small(2)
X3, W3 = small(3)
PAIR = (X.tolist(), W.tolist())


def windows(x: Any, w: Any, strides: Any = 1, dilations: Any = 1, padding: str = "SAME", pairs: Any = ()) -> Windows:
    space = x[1:-1] if isinstance(x, (list, tuple)) else x.shape[1:-1]
    each = [s if isinstance(s, tuple) else (s,) * len(space) for s in (strides, dilations)]
    return Windows(space, w.shape[:-2], *each, padding, pairs)


def shaped(values: Any, *shape: int) -> Any:
    return np.reshape(values, shape).tolist()


def separable(x: Any, deep_filter: Any, pointed: Any) -> Any:
    between = convolved(x, deep(deep_filter), windows(x, deep_filter))
    return convolved(between, pointed, windows(between, pointed))


def ranked(rank: int, x: Any) -> Any:
    x.set_shape([None] * rank)
    return x


def any_rank(x: Any, w: Any) -> Any:
    return conv.convolution(x, w, "SAME")


CASES = [
    *depthwise_rows(),
    Case(
        "",
        lambda x, w: [
            conv.conv2d(x, w, 1, "SAME"),
            conv.conv2d(x, filters=w, strides=[2, 1], padding="VALID"),
            conv.conv2d(x, w, [1, 1, 1, 1], [[0, 0], [1, 0], [0, 1], [0, 0]], dilations=2),
        ],
        lambda x, w: (
            convolved(x, w, windows(x, w)),
            convolved(x, w, windows(x, w, (2, 1), padding="VALID")),
            convolved(x, w, windows(x, w, 1, 2, "EXPLICIT", ((1, 0), (0, 1)))),
        ),
        [((1, 3, 4, 2), (2, 2, 2, 1))],
        Literal(
            PAIR,
            (
                shaped([0, 2, 3, 6, 8, 6, 23, 26, 9], 1, 3, 3, 1),
                shaped([0, 2], 1, 1, 2, 1),
                shaped([-6, 0, -2, 2], 1, 2, 2, 1),
            ),
        ),
        dtypes=WIDE,
        note="conv2d",
        rejects=[
            Reject(ValueError, PAIR, lambda x, w: conv.conv2d(x, w, 1, "SAME", filters=w)),
            Reject(ValueError, PAIR, lambda x, w: conv.conv2d(x, strides=1, padding="SAME")),
            Reject(ValueError, PAIR, lambda x, w: conv.conv2d(x, w, [1, 1, 1], "SAME")),
            Reject(ValueError, PAIR, lambda x, w: conv.conv2d(x, w, 1, [[0, 0], [1, 1], [0, 0]])),
            Reject(ValueError, PAIR, lambda x, w: conv.conv2d(x, w, 1, None)),
        ],
    ),
    Case(
        "",
        lambda w, dy: conv.conv2d_backprop_input([1, 3, 3, 1], w, dy, [1, 2, 2, 1], "SAME"),
        lambda w, dy: to_input((1, 3, 3, 1), w, dy, windows((1, 3, 3, 1), w, 2)),
        [((2, 2, 1, 1), (1, 2, 2, 1))],
        Literal((W.tolist(), X[:, :2, :2].tolist()), shaped([1, 2, 2, 0, -1, 0, 4, 8, 5], 1, 3, 3, 1)),
        dtypes=WIDE,
        note="conv2d_backprop_input",
        rejects=[
            Reject(
                ValueError, PAIR, lambda w, dy: conv.conv2d_backprop_input([1, 3, 3, 1], w, strides=1, padding="SAME")
            )
        ],
    ),
    Case(
        "",
        lambda x, dy: conv.conv2d_backprop_filter(x, [2, 2, 1, 1], dy, [1, 1, 1, 1], "SAME"),
        lambda x, dy: to_filter(x, (2, 2, 1, 1), dy, windows(x, W)),
        [((1, 3, 3, 1), (1, 3, 3, 1))],
        Literal((X.tolist(), np.ones((1, 3, 3, 1)).tolist()), shaped([45, 33, 39, 28], 2, 2, 1, 1)),
        dtypes=WIDE,
        note="conv2d_backprop_filter",
    ),
    Case(
        "",
        lambda x, w: conv.conv3d(x, w, [1, 2, 1, 1, 1], "VALID"),
        lambda x, w: convolved(x, w, windows(x, w, (2, 1, 1), padding="VALID")),
        [((1, 3, 2, 2, 1), (2, 1, 2, 1, 2))],
        Literal((X3.tolist(), W3.tolist()), shaped([-1, 3], 1, 1, 2, 1, 1)),
        dtypes=WIDE,
        note="conv3d",
        rejects=[Reject(ValueError, (X3.tolist(), W3.tolist()), lambda x, w: conv.conv3d(x, w, padding="SAME"))],
    ),
    Case(
        "",
        lambda x, w: [
            conv.conv1d(x, w, 2, "SAME"),
            conv.conv1d(input=x, filters=w, stride=1, padding="VALID", data_format="NCW"),
        ],
        lambda x, w: (
            convolved(x, w, windows(x, w, 2)),
            np.moveaxis(convolved(np.moveaxis(x, 1, 2), w, windows(np.moveaxis(x, 1, 2), w, padding="VALID")), 2, 1),
        ),
        [((1, 2, 2), (2, 2, 3))],
        Literal((shaped([1, 2, 3, 4], 1, 2, 2), shaped([1, 0, -1, 2], 2, 2, 1)), ([[[6.0]]], [[[7.0]]])),
        dtypes=WIDE,
        note="conv1d",
        rejects=[
            Reject(
                ValueError,
                (zeros(1, 3, 1), zeros(2, 1, 1)),
                lambda x, w: conv.conv1d(x, w, 1, "SAME", data_format="WCN"),
            ),
            Reject(ValueError, (zeros(1, 3, 2), zeros(2, 1, 1)), lambda x, w: conv.conv1d(x, w, 1, "SAME")),
        ],
    ),
    Case(
        "",
        lambda x, w: conv.conv1d(x, w, 2, "SAME"),
        lambda x, w: convolved(x, w, windows(x, w, 2)),
        [((2, 5, 2), (3, 2, 2))],
        Literal((shaped([1, 2, 3, 4, 5], 1, 5, 1), shaped([1, 2, -1], 3, 1, 1)), shaped([0, 4, 14], 1, 3, 1)),
        dtypes=WIDE,
        note="conv1d strided",
    ),
    Case(
        "",
        lambda x, w: [
            conv.convolution(ranked(4, x), w, "SAME", dilation_rate=[1, 2], data_format="NHWC"),
            conv.convolution(ranked(4, x), w, "VALID", strides=[2, 1]),
        ],
        lambda x, w: (
            convolved(x, w, windows(x, w, 1, (1, 2))),
            convolved(x, w, windows(x, w, (2, 1), padding="VALID")),
        ),
        [((1, 3, 3, 2), (2, 2, 2, 1))],
        Literal(PAIR, (shaped([-1, 1, 2, 2, 7, 5, 16, 25, 8], 1, 3, 3, 1), shaped([0, 2], 1, 1, 2, 1))),
        dtypes=WIDE,
        note="convolution",
        rejects=[
            Reject(ValueError, PAIR, lambda x, w: conv.convolution(x, w, "SAME", strides=[2, 2], dilation_rate=[2, 2])),
            Reject(ValueError, PAIR, lambda x, w: conv.convolution(x, w, "SAME", strides=[2, 2, 2])),
            Reject(ValueError, PAIR, lambda x, w: conv.convolution(x, w, "SAME", data_format="NWC")),
            Reject(ValueError, (zeros(2, 2), zeros(2, 2)), any_rank),
        ],
    ),
    Case(
        "",
        lambda x, w: conv.convolution(ranked(3, x), w, "VALID", strides=[2]),
        lambda x, w: convolved(x, w, windows(x, w, 2, padding="VALID")),
        [((1, 5, 2), (2, 2, 1))],
        Literal((shaped([1, 4, 7], 1, 3, 1), shaped([1, 2], 2, 1, 1)), [[[9.0]]]),
        dtypes=WIDE,
        note="convolution of one dimension",
    ),
    Case(
        "",
        lambda x, w: conv.convolution(ranked(5, x), w, "SAME"),
        lambda x, w: convolved(x, w, windows(x, w)),
        [((1, 2, 2, 3, 1), (2, 1, 2, 1, 1))],
        Literal((X3.tolist(), W3.tolist()), shaped([-1, 2, 3, 4, 17, 6, 23, 8], 1, 2, 2, 2, 1)),
        dtypes=WIDE,
        note="convolution of three dimensions",
    ),
    Case(
        "",
        lambda x, w: conv_transpose.conv2d_transpose(x, w, [1, 3, 3, 1], 2, "SAME"),
        lambda x, w: to_input((1, 3, 3, 1), w, x, windows((1, 3, 3, 1), w, 2)),
        [((1, 2, 2, 1), (2, 2, 1, 1))],
        Literal((X[:, :2, :2].tolist(), W.tolist()), shaped([1, 2, 2, 0, -1, 0, 4, 8, 5], 1, 3, 3, 1)),
        dtypes=WIDE,
        note="conv2d_transpose",
        rejects=[
            Reject(ValueError, PAIR, lambda x, w: conv_transpose.conv2d_transpose(x, w, strides=1)),
            Reject(EITHER, PAIR, lambda x, w: conv_transpose.conv2d_transpose(x, w, [1, 9, 9, 1], 2)),
        ],
    ),
    Case(
        "",
        lambda x, w: conv_transpose.conv3d_transpose(x, w, [1, 2, 2, 2, 1], [1, 2, 1, 1, 1], "SAME"),
        lambda x, w: to_input((1, 2, 2, 2, 1), w, x, windows((1, 2, 2, 2, 1), w, (2, 1, 1))),
        [((1, 1, 2, 2, 1), (2, 1, 2, 1, 1))],
        Literal((X3[:, :1].tolist(), W3.tolist()), shaped([1, 4, 3, 10, 0, -1, 0, -3], 1, 2, 2, 2, 1)),
        dtypes=WIDE,
        note="conv3d_transpose",
    ),
    Case(
        "",
        lambda x, w: [
            conv_transpose.conv1d_transpose(x, w, [1, 5, 1], 2, "SAME"),
            conv_transpose.conv1d_transpose(x, w, convert_to_tensor(i32(1, 5, 1), graph=x.graph), 2, "SAME"),
        ],
        lambda x, w: (to_input((1, 5, 1), w, x, windows((1, 5, 1), w, 2)),) * 2,
        [((1, 3, 1), (3, 1, 1))],
        Literal((shaped([1, 2, 3], 1, 3, 1), shaped([1, 2, -1], 3, 1, 1)), (shaped([2, 1, 4, 1, 6], 1, 5, 1),) * 2),
        dtypes=WIDE,
        note="conv1d_transpose",
        rejects=[
            Reject(
                ValueError,
                (zeros(1, 3, 1), zeros(3, 1, 1)),
                lambda x, w: conv_transpose.conv1d_transpose(x, w, [1, 5, 1], 2, data_format="NHWC"),
            )
        ],
    ),
    Case(
        "",
        lambda x, w: [conv_transpose.atrous_conv2d(x, w, 2, "SAME"), conv_transpose.atrous_conv2d(x, w, 2, "VALID")],
        lambda x, w: (convolved(x, w, windows(x, w, 1, 2)), convolved(x, w, windows(x, w, 1, 2, "VALID"))),
        [((1, 3, 4, 2), (2, 2, 2, 1))],
        Literal(PAIR, (shaped([-5, -6, 0, -4, -2, 2, 10, 16, 5], 1, 3, 3, 1), [[[[-2.0]]]])),
        dtypes=WIDE,
        note="atrous_conv2d",
        rejects=[Reject(ValueError, PAIR, lambda x, w: conv_transpose.atrous_conv2d(x, w, 0, "SAME"))],
    ),
    Case(
        "",
        lambda x, w: conv_transpose.atrous_conv2d_transpose(x, w, [1, 3, 3, 1], 2, "SAME"),
        lambda x, w: to_input((1, 3, 3, 1), w, x, windows((1, 3, 3, 1), w, 1, 2)),
        [((1, 3, 3, 1), (2, 2, 1, 1))],
        Literal(PAIR, shaped([5, 14, 10, 8, 22, 14, 0, -4, -5], 1, 3, 3, 1)),
        dtypes=WIDE,
        note="atrous_conv2d_transpose",
    ),
    Case(
        "",
        lambda x, w: conv_depthwise.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", rate=[2, 2]),
        lambda x, w: convolved(x, deep(w), windows(x, w, 1, 2)),
        [((1, 3, 3, 2), (2, 2, 2, 2))],
        Literal((XD.tolist(), WD.tolist()), shaped(DILATED[0], 1, 3, 3, 4)),
        dtypes=WIDE,
        note="depthwise_conv2d",
        rejects=[
            Reject(
                ValueError,
                (XD.tolist(), WD.tolist()),
                lambda x, w: conv_depthwise.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME", rate=[2, 2]),
            )
        ],
    ),
    Case(
        "",
        lambda x, w, p: conv_depthwise.separable_conv2d(x, w, p, [1, 1, 1, 1], "SAME"),
        separable,
        [((1, 3, 3, 2), (2, 2, 2, 1), (1, 1, 2, 3))],
        Literal(
            (X[:, :2, :2].tolist(), shaped([1, 2], 1, 1, 1, 2), shaped([1, -1, 1, 1], 1, 1, 2, 2)),
            shaped([3, 1, 6, 2, 12, 4, 15, 5], 1, 2, 2, 2),
        ),
        dtypes=WIDE,
        note="separable_conv2d",
        rejects=[
            Reject(ValueError, (zeros(1, 2, 2, 1), zeros(2, 2, 1, 2), zeros(1, 1, 3, 1))),
            Reject(ValueError, (zeros(1, 2, 2, 1), zeros(2, 2, 1, 2), zeros(2, 1, 2, 1))),
        ],
    ),
    Case(
        "",
        lambda x, w: with_space_to_batch(
            x,
            [2, 1],
            "SAME",
            lambda t, _, padding: conv_ops.conv2d_op(t, w, strides=(1, 1, 1, 1), padding=padding),
            filter_shape=[2, 2],
        ),
        lambda x, w: convolved(x, w, windows(x, w, 1, (2, 1))),
        [((1, 4, 3, 2), (2, 2, 2, 1))],
        Literal(PAIR, shaped([-5, -6, 0, -3, -1, 3, 14, 17, 6], 1, 3, 3, 1)),
        dtypes=WIDE,
        static=False,
        note="with_space_to_batch",
        rejects=[
            Reject(ValueError, PAIR, lambda x, w: with_space_to_batch(x, [0, 1], "SAME", lambda t, n, p: t, [2, 2])),
            Reject(ValueError, PAIR, lambda x, w: with_space_to_batch(x, [2, 1], "SAME", lambda t, n, p: t)),
            Reject(ValueError, PAIR, lambda x, w: with_space_to_batch(x, [2, 1], "FULL", lambda t, n, p: t)),
            Reject(
                ValueError, PAIR, lambda x, w: with_space_to_batch(x, [2, 1], "VALID", lambda t, n, p: t, None, [2, 1])
            ),
        ],
    ),
]
