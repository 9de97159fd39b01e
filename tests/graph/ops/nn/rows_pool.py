"""Rows of pools and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import FLOATS, REALS, Array, Case, Literal, Reject
from graph.ops.windows import Windows, pooled, shared_out

from actorflow.graph.ops.nn.pooling import rules as ops

WIDE = "float32 float64"
X = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5], np.float32).reshape(1, 3, 3, 1)
X3 = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.float32).reshape(1, 2, 2, 2, 1)
TIED = np.array([1, 5, 5, 5], np.float32).reshape(1, 2, 2, 1).tolist()
TIED_3 = np.array([1, 5, 5, 5, 5, 0, 1, 2], np.float32).reshape(1, 2, 2, 2, 1).tolist()


def shaped(values: Any, *shape: int) -> Any:
    return np.reshape(values, shape).tolist()


def distinct(*shape: int) -> Any:
    """An entry of numbers so far from each other that a small step makes no other the largest."""
    return lambda rng, dtype: np.asarray(rng.permutation(int(np.prod(shape))).reshape(shape) % 100, dtype.numpy_dtype)


class Kind:
    """Attributes of a pool, for the op and for the references; and TensorFlow's answers for X or X3, flat: the maxima,
    their gradient for 1, 2, ..., the gradient of that for 1, 2, ...; the means, and their gradient for 1, 2, ..."""

    def __init__(self, note: str, window: Any, strides: Any, padding: str, literals: Any, first: bool = False) -> None:
        self.note, self.window, self.strides, self.padding, self.first = note, window, strides, padding, first
        self.literals = literals
        self.attrs = {
            "ksize": self.every(window),
            "strides": self.every(strides),
            "padding": padding,
            "data_format": {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[len(window)][first],
        }

    def every(self, space: Any) -> Any:
        return (1, 1, *space) if self.first else (1, *space, 1)

    def last(self, x: Any) -> Any:
        return np.moveaxis(x, 1, -1) if self.first else x

    def back(self, x: Any) -> Any:
        return np.moveaxis(x, -1, 1) if self.first else x

    def windows(self, shape: Any) -> Windows:
        space = shape[2:] if self.first else shape[1:-1]
        return Windows(space, self.window, self.strides, (1,) * len(space), self.padding)

    def output(self, shape: Any) -> Any:
        channels = shape[1] if self.first else shape[-1]
        places = self.windows(shape).places
        return (shape[0], channels, *places) if self.first else (shape[0], *places, channels)

    def pool(self, best: Any) -> Any:
        return lambda x: self.back(pooled(self.last(x), self.windows(x.shape), best))

    def spread(self, shape: Any, dy: Any, chosen: Any) -> Any:
        """The gradient of a pool for its input."""
        turned = (shape[0], *shape[2:], shape[1]) if self.first else shape
        return self.back(shared_out(turned, self.last(dy), self.windows(shape), chosen))

    def to_maxima(self, x: Any, y: Any, dy: Any) -> Any:
        images = self.last(x)

        def chosen(elements: Any, _: Any) -> list[float]:
            values = [images[e] for e in elements]
            if len(self.window) == 3:
                return [float(v == max(values)) for v in values]
            return [float(i == int(np.argmax(values))) for i in range(len(values))]

        return self.spread(x.shape, dy, chosen)

    def at_maxima(self, x: Any, y: Any, ddx: Any) -> Any:
        images, slopes = self.last(x), self.last(ddx)
        made: Array = np.zeros(self.last(y).shape, ddx.dtype)
        for n, c in np.ndindex(len(images), images.shape[-1]):
            for place, pairs in self.windows(x.shape):
                values = [images[(n, *at, c)] for _, at in pairs]
                made[(n, *place, c)] = slopes[(n, *pairs[int(np.argmax(values))][1], c)]
        return self.back(made)

    def to_all(self, sizes: Any, dy: Any) -> Any:
        return self.spread(tuple(int(s) for s in sizes), dy, lambda elements, _: [1 / len(elements)] * len(elements))


TWO = [
    Kind(
        "",
        (2, 2),
        (2, 2),
        "SAME",
        [
            [5, 9, 6, 5],
            [0, 0, 0, 0, 1, 2, 0, 3, 4],
            [5, 6, 8, 9],
            [2.5, 6.5, 4, 5],
            [0.25, 0.25, 1, 0.25, 0.25, 1, 1.5, 1.5, 4],
        ],
    ),
    Kind(
        "overlapping",
        (2, 3),
        (1, 2),
        "SAME",
        [
            [5, 9, 6, 9, 6, 6],
            [0, 0, 0, 0, 1, 6, 0, 14, 0],
            [5, 6, 8, 6, 8, 8],
            [2.5, 4.75, 3.5, 6.25, 4, 5.5],
            [0.25, 0.75, 0.5, 1, 2.5, 1.5, 3.25, 7.25, 4],
        ],
    ),
    Kind(
        "valid",
        (2, 2),
        (1, 3),
        "VALID",
        [[5, 6], [0, 0, 0, 0, 1, 0, 0, 2, 0], [5, 8], [2.5, 3.5], [0.25, 0.25, 0, 0.75, 0.75, 0, 0.5, 0.5, 0]],
    ),
    Kind(
        "gaps",
        (1, 2),
        (2, 3),
        "VALID",
        [[3, 6], [1, 0, 0, 0, 0, 0, 0, 2, 0], [1, 8], [2, 4], [0.5, 0.5, 0, 0, 0, 0, 1, 1, 0]],
    ),
    Kind(
        "channels first",
        (2, 2),
        (2, 1),
        "SAME",
        [
            [5, 9, 9, 6, 6, 5],
            [0, 0, 0, 0, 1, 5, 0, 9, 6],
            [5, 6, 6, 8, 8, 9],
            [2.5, 4.75, 6.5, 4, 5.5, 5],
            [0.25, 0.75, 2, 0.25, 0.75, 2, 2, 4.5, 8.5],
        ],
        first=True,
    ),
]
THREE = [
    Kind("", (2, 2, 2), (2, 2, 2), "SAME", [[9], [0, 0, 0, 0, 0, 1, 0, 0], [6], [3.875], [0.125] * 8]),
    Kind(
        "overlapping",
        (2, 1, 2),
        (1, 2, 1),
        "SAME",
        [[9, 9, 9, 9], [0, 0, 0, 0, 0, 10, 0, 0], [6, 6, 6, 6], [4.5, 5, 7, 9], [0.25, 1.25, 0, 0, 1.75, 6.75, 0, 0]],
    ),
    Kind(
        "channels first",
        (1, 2, 2),
        (1, 1, 1),
        "VALID",
        [[4, 9], [0, 0, 1, 0, 0, 2, 0, 0], [3, 6], [2.25, 5.5], [0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5]],
        first=True,
    ),
]
SIZES_2 = [(2, 4, 4, 2), (1, 3, 5, 1), (0, 2, 3, 1)]
SIZES_3 = [(1, 3, 2, 4, 2), (0, 2, 2, 2, 1)]


def mean(values: list[Any]) -> Any:
    return sum(values) / len(values)


def counted(shape: Any) -> Any:
    return np.arange(1, np.prod(shape) + 1).reshape(shape).tolist()


def refused(build: Any, inputs: Any) -> list[Reject]:
    same = {"ksize": (1, 2, 2, 1), "strides": (1, 1, 1, 1), "padding": "SAME"}
    return [
        Reject(ValueError, inputs, lambda *given, changed=changed: build(*given, **{**same, **changed}))
        for changed in (
            {"ksize": (2, 1, 1, 1)},
            {"ksize": (1, 0, 1, 1)},
            {"ksize": (1, 2, 2)},
            {"strides": (1, 0, 1, 1)},
            {"strides": (1, 1)},
            {"ksize": (1, 1, 2, 2), "strides": (1, 1, 1, 2)},
            {"padding": "FULL"},
            {"data_format": "NWC"},
        )
    ]


def rows(space: int, kinds: list[Kind], sizes: list[Any], names: str, made: Any, dtypes: str) -> list[Case]:
    """Those of a maximum, its gradient, and the gradient of that; of a mean and its gradient."""
    found: list[Case] = []
    most, to_most, at_most, average, to_average = names.split()
    rank = space + 2
    flat: Any = ([[1.0]],)
    wrong: Any = (np.zeros((1,) * rank).tolist(), np.zeros((1, *(3,) * (rank - 1))).tolist())
    for k in kinds:
        main = not k.note
        x = k.back(X if space == 2 else X3)
        y = k.output(x.shape)
        y_most, dx_most, ddy_most, y_mean, dx_mean = (
            np.reshape(v, s).tolist() for v, s in zip(k.literals, (y, x.shape, y, y, x.shape))
        )
        shapes = [(s[0], s[-1], *s[1:-1]) if k.first else s for s in sizes[: None if main else 1]]
        outputs = [k.output(s) for s in shapes]
        build: Any = [lambda *given, b=b, k=k: b(*given, **k.attrs) for b in made]
        more: dict[str, Any] = {"note": k.note}

        def second(index: int, build: Any = build) -> Any:
            return lambda images, dy: build[index](images, build[0](images), dy)

        found += [
            Case(
                most,
                build[0],
                k.pool(max),
                [(distinct(*s),) for s in shapes],
                Literal((x.tolist(),), y_most),
                dtypes=dtypes if main else WIDE,
                rejects=[Reject(EITHER, flat), *(refused(made[0], (x.tolist(),)) if space == 2 else [])]
                if main
                else (),
                **more,
            ),
            Case(
                to_most,
                second(1),
                lambda x, dy, k=k: k.to_maxima(x, k.pool(max)(x), dy),
                [(distinct(*s), o) for s, o in zip(shapes, outputs)],
                Literal((x.tolist(), counted(y)), dx_most),
                dtypes=dtypes if main else WIDE,
                rejects=[
                    Reject(EITHER, wrong),
                    Reject(
                        EITHER, (*wrong[:1], *wrong), lambda *given, build=build: build[1](given[0], given[2], given[1])
                    ),
                ]
                if main
                else (),
                **more,
            ),
            Case(
                at_most,
                second(2),
                lambda x, dx, k=k: k.at_maxima(x, k.pool(max)(x), dx),
                [(distinct(*s), s) for s in shapes],
                Literal((x.tolist(), counted(x.shape)), ddy_most),
                dtypes=dtypes if main else WIDE,
                rejects=[Reject(EITHER, wrong)] if main else (),
                **more,
            ),
            Case(
                average,
                build[3],
                k.pool(mean),
                [(s,) for s in shapes],
                Literal((x.tolist(),), y_mean),
                dtypes=FLOATS if main else WIDE,
                rejects=[
                    Reject(EITHER, flat),
                    Reject(TypeError, (np.zeros(x.shape, np.int32),)),
                    *(refused(made[3], (x.tolist(),)) if space == 2 else []),
                    *(
                        [
                            Reject(
                                ValueError,
                                (x.tolist(),),
                                lambda x: ops.avg_pool_op(x, ksize=(1, 1, 1, 2), strides=(1, 1, 1, 2), padding="SAME"),
                            )
                        ]
                        if space == 2
                        else []
                    ),
                ]
                if main
                else (),
                **more,
            ),
            Case(
                to_average,
                build[4],
                k.to_all,
                [(i32(*s), o) for s, o in zip(shapes, outputs)],
                Literal((i32(*x.shape), counted(y)), dx_mean),
                dtypes=FLOATS if main else WIDE,
                rejects=[
                    Reject(EITHER, (i32(*(9,) * rank), counted(y))),
                    Reject(EITHER, (i32(*(1,) * (rank - 1)), counted(y))),
                ]
                if main
                else (),
                **more,
            ),
        ]
    return found


CASES = [
    *rows(
        2,
        TWO,
        SIZES_2,
        "MaxPool MaxPoolGrad MaxPoolGradGrad AvgPool AvgPoolGrad",
        (ops.max_pool_op, ops.max_pool_grad, ops.max_pool_grad_grad, ops.avg_pool_op, ops.avg_pool_grad),
        REALS,
    ),
    *rows(
        3,
        THREE,
        SIZES_3,
        "MaxPool3D MaxPool3DGrad MaxPool3DGradGrad AvgPool3D AvgPool3DGrad",
        (ops.max_pool3d_op, ops.max_pool3d_grad, ops.max_pool3d_grad_grad, ops.avg_pool3d_op, ops.avg_pool3d_grad),
        FLOATS,
    ),
]
