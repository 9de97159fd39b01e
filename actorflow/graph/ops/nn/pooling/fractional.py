"""Pools that shrink images by a ratio that is not whole, in windows of random sizes (Graham 2014, Fractional max-pooling)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import float32, float64, int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.shape_rules import from_value, require_rank, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_TYPES = frozenset((float32, float64, int32, int64))


def _pooled(c: Inference) -> list[Shape]:
    ratios = c.attrs["pooling_ratio"]
    if len(ratios) != 4 or min(ratios) < 1:
        raise ValueError(f"pooling_ratio is four numbers of one or more, but {list(ratios)} was given.")
    if ratios[0] != 1 or ratios[3] != 1:
        raise ValueError(
            f"{c.op.type} pools neither over the batch nor over channels, but the ratios are {list(ratios)}."
        )
    if not c.attrs["deterministic"] and (c.attrs["seed"] or c.attrs["seed2"]):
        raise ValueError("Both seed and seed2 have to be 0 where deterministic is False.")
    source = require_rank(c, 0, 4) or (None,) * 4
    sizes = tuple(None if size is None else int(size / ratio) for size, ratio in zip(source, ratios))
    if 0 in sizes[1:3]:
        raise ValueError(f"Nothing is left of images of shape {list(source)} with the ratios {list(ratios)}.")
    borders = [(None if size is None else size + 1,) for size in sizes[1:3]]
    return [sizes, *borders]


def _unaveraged(c: Inference) -> Shape:
    return from_value(0)(c)


@op("FractionalMaxPool", shape=_pooled, dtypes=_TYPES, result=(T, int64, int64), stateful=True, work=20)
def _fractional_max_pool(
    value: TensorLike,
    *,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """See `fractional_max_pool`."""


@op("FractionalAvgPool", shape=_pooled, dtypes=_TYPES, result=(T, int64, int64), stateful=True, work=20)
def _fractional_avg_pool(
    value: TensorLike,
    *,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """See `fractional_avg_pool`."""


_BORDERS = {"row_pooling_sequence": int64, "col_pooling_sequence": int64}


@op("FractionalMaxPoolGrad", shape=unchanged, dtypes=_TYPES, types=_BORDERS, gradient=None, work=60)
def fractional_max_pool_grad(
    orig_input: TensorLike,
    orig_output: TensorLike,
    out_backprop: TensorLike,
    row_pooling_sequence: TensorLike,
    col_pooling_sequence: TensorLike,
    *,
    overlapping: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `FractionalMaxPool`: what comes for a window goes to its first maximum."""


@op(
    "FractionalAvgPoolGrad",
    shape=_unaveraged,
    dtypes=_TYPES,
    types={"orig_input_tensor_shape": int64, **_BORDERS},
    result=lambda c: (c.dtypes[1],),
    gradient=None,
    work=60,
)
def fractional_avg_pool_grad(
    orig_input_tensor_shape: TensorLike,
    out_backprop: TensorLike,
    row_pooling_sequence: TensorLike,
    col_pooling_sequence: TensorLike,
    *,
    overlapping: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `FractionalAvgPool`: what comes for a window is shared by its elements."""


@_fractional_max_pool.gradient
def _(node: Operation, dy: Any, *_: Any) -> list[Any]:
    return [
        fractional_max_pool_grad(
            node.inputs[0], node.outputs[0], dy, *node.outputs[1:], overlapping=node.get_attr("overlapping")
        )
    ]


@_fractional_avg_pool.gradient
def _(node: Operation, dy: Any, *_: Any) -> list[Any]:
    sizes = shape(node.inputs[0], out_type=int64)
    return [fractional_avg_pool_grad(sizes, dy, *node.outputs[1:], overlapping=node.get_attr("overlapping"))]


@public("af.nn")
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest elements of windows whose sizes are drawn at random, so that images shrink by a ratio such as 1.4
    (`tf.nn.fractional_max_pool`).

    Example:
        >>> image = af.reshape(af.range_(36.0), [1, 6, 6, 1])
        >>> largest, rows, columns = af.nn.fractional_max_pool(image, [1.0, 1.5, 1.5, 1.0], deterministic=True, seed=3)
        >>> largest.shape, rows[0], rows[-1]
        (TensorShape([1, 4, 4, 1]), 0, 6)

    Args:
        value: real images `[batch, height, width, channels]`.
        pooling_ratio: by how much each dimension shrinks, such as `[1.0, 1.44, 1.73, 1.0]`; the first and the last are 1.
        pseudo_random: whether sizes follow one random number, as evenly as they can; otherwise they are shuffled.
        overlapping: whether a window has the first row and column of the next one too.
        deterministic: whether all runs draw the same windows.
        seed, seed2: the seeds of a deterministic pool; both are 0 otherwise.

    Returns:
        The maxima `[batch, floor(height / ratio), floor(width / ratio), channels]`; and where the windows begin, with the
        end of the last window: rows and columns, int64. Another random draw gives other windows than TensorFlow's.

    Raises:
        ValueError: a ratio below 1 or for the batch or the channels, nothing is left of the images, or seeds without
            `deterministic`.
    """
    return _fractional_max_pool(
        value, **_options(pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2), name=name
    )


@public("af.nn")
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `fractional_max_pool`, with the mean of each window (`tf.nn.fractional_avg_pool`).

    Example:
        >>> image = af.reshape(af.range_(36.0), [1, 6, 6, 1])
        >>> mean, rows, columns = af.nn.fractional_avg_pool(image, [1.0, 1.5, 1.5, 1.0])
        >>> mean.shape, rows.shape
        (TensorShape([1, 4, 4, 1]), TensorShape([5]))

    Args:
        value: real images `[batch, height, width, channels]`.
        pooling_ratio: by how much each dimension shrinks; the first and the last are 1.
        pseudo_random: whether sizes follow one random number; otherwise they are shuffled.
        overlapping: whether a window has the first row and column of the next one too.
        deterministic: whether all runs draw the same windows.
        seed, seed2: the seeds of a deterministic pool; both are 0 otherwise.

    Returns:
        The means, and the borders of rows and columns as `fractional_max_pool` gives them.

    Raises:
        ValueError: as `fractional_max_pool`.
    """
    return _fractional_avg_pool(
        value, **_options(pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2), name=name
    )


def _options(ratio: Any, pseudo: bool, overlapping: bool, deterministic: bool, seed: int, seed2: int) -> Any:
    return {
        "pooling_ratio": tuple(float(r) for r in ratio),
        "pseudo_random": pseudo,
        "overlapping": overlapping,
        "deterministic": deterministic,
        "seed": seed,
        "seed2": seed2,
    }
