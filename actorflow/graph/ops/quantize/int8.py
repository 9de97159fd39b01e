"""Products and convolutions with weights of int8: floats go in and come out, and whole numbers are multiplied in between.

The input becomes int8, or uint8 if it is never negative. Zero stays zero, so a padding of zeros does
too. Sums are exact, as int32. Each output channel and each row (or image) of the input has a scale of its own: what one
row becomes does not depend on its neighbours in a batch. `af.export.quantize` makes these ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike

ACTIVATIONS = ("", "Relu", "Relu6")
"""The ops whose result a kernel may give; the empty name stands for none."""

_TYPES: dict[str, Any] = {"weights": frozenset((dt.int8,))}


def _of(op: str) -> Any:
    """The shape rule of op `op` for the input and the weights; scales and bias belong to the last dimension."""

    def rule(c: Inference) -> Shape:
        if c.attrs["activation"] not in ACTIVATIONS:
            raise ValueError(f"The activation is one of {ACTIVATIONS}, not {c.attrs['activation']!r}.")
        if not (isfinite(c.attrs["limit"]) and c.attrs["limit"] >= 0):
            raise ValueError(f"The limit is 0 or a positive number, not {c.attrs['limit']}.")
        shape = _alone(op, c)
        channels = merge(require_rank(c, 2, 1), require_rank(c, 3, 1))
        if shape is None or channels is None:
            return shape
        return (*shape[:-1], *(merge(shape[-1:], channels) or (None,)))

    return rule


def _alone(of: str, c: Inference) -> Shape:
    alone = _inference(of, c)
    shapes = alone.op.shape_rule(alone)
    return shapes[0] if isinstance(shapes, list) else shapes


def _inference(of: str, c: Inference) -> Inference:
    attrs = {"transpose_a": False, "transpose_b": False, "data_format": "NHWC", **c.attrs}
    return Inference(opdef.lookup(of), attrs, (dt.float32, dt.float32), c.shapes[:2], lambda index: None)


def _work(of: str) -> Any:
    def rule(c: Inference) -> float:
        alone = _inference(of, c)
        assert callable(alone.op.work)
        return alone.op.work(alone)

    return rule


@op(
    "Int8MatMul",
    shape=_of("MatMul"),
    dtypes=frozenset((dt.float32,)),
    types=_TYPES,
    gradient=None,
    work=_work("MatMul"),
)
def int8_matmul(
    a: TensorLike,
    weights: TensorLike,
    scales: TensorLike,
    bias: TensorLike,
    *,
    limit: float = 0.0,
    signed: bool = True,
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(a · (weights · scales) + bias), with `a` in whole numbers.

    Args:
        a: float32 [rows, inner].
        weights: int8 [inner, columns].
        scales: float32 [columns], what the weights are multiplied by.
        bias: float32 [columns].
        limit: the largest value of `a` that has a step; what is beyond becomes it. 0 takes the largest value of each row.
        signed: whether `a` has negative values. Else they become 0.
        activation: "", "Relu" or "Relu6".
    """


@op(
    "Int8Conv2D",
    shape=_of("Conv2D"),
    dtypes=frozenset((dt.float32,)),
    types=_TYPES,
    gradient=None,
    work=_work("Conv2D"),
)
def int8_conv2d(
    input: TensorLike,
    weights: TensorLike,
    scales: TensorLike,
    bias: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
    limit: float = 0.0,
    signed: bool = True,
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(conv2d(input, weights · scales) + bias), with `input` in whole numbers and the channels last.

    Args:
        input: float32 [batch, height, width, in].
        weights: int8 [height, width, in, out].
        scales: float32 [out], what the weights are multiplied by.
        bias: float32 [out].
        strides, padding, explicit_paddings, dilations: as those of `Conv2D`.
        limit: the largest value of `input` that has a step; what is beyond becomes it. 0 takes the largest value of each image.
        signed: whether `input` has negative values. Else they become 0.
        activation: "", "Relu" or "Relu6".
    """
