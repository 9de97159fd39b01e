"""Ops that stand for a few others, made by the pass `fuse`: the same result with fewer passes over memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry import opdef
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, num_elements, show
from actorflow.graph.ops.declare import RefLike, T, op
from actorflow.graph.ops.nn.conv.geometry import output_size
from actorflow.graph.ops.nn.normalization import (
    NORM_GRAD_WORK,
    NORM_WORK,
    denormalized_shapes,
    kind_of,
    normalized_shapes,
)
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike

_FUSED = frozenset((dt.float32, dt.float64))

ACTIVATIONS = ("", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "_Gelu", "_GeluTanh", "_Swish")
"""The ops whose result a fused kernel may give; the empty name stands for none."""


def _biased(of: str, first: int = 0) -> Any:
    """The shape rule of op `of`, whose inputs begin at number `first`, and a bias for the last dimension of its output. An
    input before that has the shape of the result."""

    def rule(c: Inference) -> Shape:
        if c.attrs["activation"] not in ACTIVATIONS:
            raise ValueError(f"The activation is one of {ACTIVATIONS}, not {c.attrs['activation']!r}.")
        shape, bias = _shape(_alone(of, c, first)), c.shapes[first + 2]
        if bias is not None and len(bias) != 1:
            raise ValueError(f"A bias is a vector, but its shape is {show(bias)}.")
        if shape is not None and bias is not None:
            shape = (*shape[:-1], *(merge(shape[-1:], bias) or (None,)))
        return merge(c.shapes[0], shape) if first else shape

    return rule


def _alone(of: str, c: Inference, first: int) -> Inference:
    """The two inputs from `first` on, as those of op `of`."""
    pair = slice(first, first + 2)
    return Inference(opdef.lookup(of), c.attrs, c.dtypes[pair], c.shapes[pair], lambda index: None)


def _shape(c: Inference) -> Shape:
    shape = c.op.shape_rule(c)
    return shape[0] if isinstance(shape, list) else shape


def _work(of: str, first: int) -> Any:
    def rule(c: Inference) -> float:
        alone = _alone(of, c, first)
        assert callable(alone.op.work)
        return alone.op.work(alone)

    return rule


@op("_FusedMatMul", shape=_biased("MatMul"), dtypes=_FUSED, gradient=None, work=_work("MatMul", 0))
def fused_matmul(
    a: TensorLike,
    b: TensorLike,
    bias: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(a b + bias), of matrices that are transposed first where an attribute says so."""


def _added(c: Inference) -> Shape:
    return merge(c.shapes[0], _shape(_alone("MatMul", c, 1)))


@op("_AddMatMul", shape=_added, dtypes=_FUSED, gradient=None, work=_work("MatMul", 1))
def add_matmul(
    c: TensorLike,
    a: TensorLike,
    b: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """c + a b, of matrices that are transposed first where an attribute says so."""


@op("_FusedConv2D", shape=_biased("Conv2D"), dtypes=_FUSED, gradient=None, work=_work("Conv2D", 0))
def fused_conv2d(
    input: TensorLike,
    filter: TensorLike,
    bias: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(conv2d(input, filter) + bias), with the channels last."""


@op(
    "_FusedDepthwiseConv2d",
    shape=_biased("DepthwiseConv2dNative"),
    dtypes=_FUSED,
    gradient=None,
    work=_work("DepthwiseConv2dNative", 0),
)
def fused_depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    bias: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(depthwise_conv2d_native(input, filter) + bias), with the channels last."""


@op("_AddFusedMatMul", shape=_biased("MatMul", 1), dtypes=_FUSED, gradient=None, work=_work("MatMul", 1))
def add_fused_matmul(
    c: TensorLike,
    a: TensorLike,
    b: TensorLike,
    bias: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(a b + bias + c), of matrices `a` and `b` that are transposed first where an attribute says so."""


@op("_AddFusedConv2D", shape=_biased("Conv2D", 1), dtypes=_FUSED, gradient=None, work=_work("Conv2D", 1))
def add_fused_conv2d(
    c: TensorLike,
    input: TensorLike,
    filter: TensorLike,
    bias: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    activation: str = "",
    name: str | None = None,
) -> Tensor:
    """activation(conv2d(input, filter) + bias + c), with the channels last."""


def _pooled(c: Inference) -> Shape:
    shape, pads = c.shapes[0], c.attrs["pads"]
    if shape is None:
        return None
    if not len(shape) == len(c.attrs["ksize"]) == len(c.attrs["strides"]) == len(pads) // 2:
        raise ValueError(f"There are windows, strides and pads for each dimension of a tensor of shape {show(shape)}.")
    each = zip(shape, c.attrs["ksize"], c.attrs["strides"], zip(pads[::2], pads[1::2], strict=True), strict=True)
    return tuple(
        [
            size if (window, stride, pair) == (1, 1, (0, 0)) else output_size(size, window, stride, 1, "EXPLICIT", pair)
            for size, window, stride, pair in each
        ]
    )


@op("_PaddedMaxPool", shape=_pooled, dtypes=_FUSED, gradient=None, work=300)
def padded_max_pool(
    input: TensorLike,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """The largest element of each window over images with channels last, which has `pads` before and behind each dimension."""


_NORM_TYPES = {name: _FUSED for name in ("scale", "offset", "mean", "variance")}
NORM_ACTIVATIONS = ("", "Relu", "Relu6")
"""The same behind a batch normalization."""


def _checked(c: Inference) -> None:
    if c.attrs["activation"] not in NORM_ACTIVATIONS:
        raise ValueError(f"The activation is one of {NORM_ACTIVATIONS}, not {c.attrs['activation']!r}.")


def _normalized(c: Inference) -> list[Shape]:
    _checked(c)
    return normalized_shapes(c)


def _denormalized(c: Inference) -> list[Shape]:
    _checked(c)
    merge(c.shapes[0], c.shapes[6])
    return denormalized_shapes(c)


@op(
    "_FusedBatchNorm",
    shape=_normalized,
    dtypes=_FUSED,
    types=_NORM_TYPES,
    result=(T, *[kind_of(1)] * 5),
    gradient=None,
    work=NORM_WORK,
)
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    *,
    epsilon: float = 0.0001,
    data_format: str = "NHWC",
    is_training: bool = True,
    activation: str = "",
    name: str | None = None,
) -> list[Tensor]:
    """FusedBatchNormV3 with an activation behind its first output."""


@op(
    "_FusedBatchNormGrad",
    shape=_denormalized,
    dtypes=_FUSED,
    types={
        **{name: _FUSED for name in ("reserve_space_1", "reserve_space_2", "reserve_space_3")},
        "scale": _FUSED,
    },
    result=(T, *[kind_of(3)] * 4),
    gradient=None,
    work=NORM_GRAD_WORK,
)
def fused_batch_norm_grad(
    y_backprop: TensorLike,
    x: TensorLike,
    scale: TensorLike,
    reserve_space_1: TensorLike,
    reserve_space_2: TensorLike,
    reserve_space_3: TensorLike,
    y: TensorLike,
    *,
    epsilon: float = 0.0001,
    data_format: str = "NHWC",
    is_training: bool = True,
    activation: str = "",
    name: str | None = None,
) -> list[Tensor]:
    """FusedBatchNormGradV3 of what is behind an activation that has made `y`."""


def _stepped(c: Inference) -> list[Shape]:
    merge(c.shapes[0], _shape(_alone("MatMul", c, 2)))
    if c.shapes[1] not in (None, ()):
        raise ValueError(f"alpha is a scalar, but its shape is {show(c.shapes[1])}.")
    return []


@op(
    "_SgdMatMul",
    shape=_stepped,
    dtypes=_FUSED,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=_work("MatMul", 2),
)
def sgd_matmul(
    var: RefLike,
    alpha: TensorLike,
    a: TensorLike,
    b: TensorLike,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Operation:
    """var -= alpha · (a b), in one product that is added to the variable's buffer."""


@op("_Gelu", shape=unchanged, dtypes=_FUSED, gradient=None, work=20)
def gelu(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x times the share of a normal distribution that is below x, by erf: 0.5 x (1 + erf(x / √2))."""


@op("_GeluTanh", shape=unchanged, dtypes=_FUSED, gradient=None, work=20)
def gelu_tanh(x: TensorLike, *, name: str | None = None) -> Tensor:
    """0.5 x (1 + tanh(√(2 / π) (x + 0.044715 x³))), which is near `_Gelu`."""


@op("_Swish", shape=unchanged, dtypes=_FUSED, gradient=None, work=15)
def swish(x: TensorLike, *, name: str | None = None) -> Tensor:
    """x sigmoid(x)."""


def _rows(c: Inference) -> Shape:
    """The shape of x, whose rows are as long as all vectors."""
    shape = c.shapes[0]
    for vector in c.shapes[1:]:
        if vector is not None and len(vector) != 1:
            raise ValueError(f"The scale and the offset are vectors, but a shape is {show(vector)}.")
        if shape is not None and vector is not None:
            if not shape:
                raise ValueError("A scalar has no rows.")
            shape = (*shape[:-1], *(merge(shape[-1:], vector) or (None,)))
    return shape


@op("_LayerNorm", shape=_rows, dtypes=_FUSED, gradient=None, work=8)
def layer_norm(
    x: TensorLike, scale: TensorLike, offset: TensorLike, *, epsilon: float, name: str | None = None
) -> Tensor:
    """Rows without their mean, by the root of their variance plus `epsilon`; times `scale`, plus `offset`."""


def _row_slopes(c: Inference) -> Shape:
    """The shape of x, which dy has too."""
    shape = merge(c.shapes[0], c.shapes[1])
    if shape == ():
        raise ValueError("A scalar has no rows.")
    vector = c.shapes[2] if len(c.shapes) > 2 else None
    if vector is not None and len(vector) != 1:
        raise ValueError(f"The scale is a vector, but its shape is {show(vector)}.")
    return shape if shape is None or vector is None else (*shape[:-1], *(merge(shape[-1:], vector) or (None,)))


def _of_row(c: Inference) -> Shape:
    """The shape of a row."""
    shape = _row_slopes(c)
    return (None,) if shape is None else shape[-1:]


@op("_LayerNormGrad", shape=_row_slopes, dtypes=_FUSED, gradient=None, work=14)
def layer_norm_grad(
    dy: TensorLike, x: TensorLike, scale: TensorLike, *, epsilon: float, name: str | None = None
) -> Tensor:
    """The gradient of `_LayerNorm` for x."""


@op("_LayerNormScaleGrad", shape=_of_row, dtypes=_FUSED, gradient=None, work=8)
def layer_norm_scale_grad(dy: TensorLike, x: TensorLike, *, epsilon: float, name: str | None = None) -> Tensor:
    """The gradient of `_LayerNorm` for the scale."""


@op("_SoftmaxGrad", shape=_row_slopes, dtypes=_FUSED, gradient=None, work=5)
def softmax_grad(dy: TensorLike, y: TensorLike, *, scale: float, name: str | None = None) -> Tensor:
    """The gradient of `Softmax` along the last dimension, which gave y, times `scale`: (dy - sum(dy y)) y scale."""


@op("_RmsNorm", shape=_rows, dtypes=_FUSED, gradient=None, work=6)
def rms_norm(x: TensorLike, scale: TensorLike, *, epsilon: float, name: str | None = None) -> Tensor:
    """Rows by the root of their mean square plus `epsilon`, times `scale`."""


def _attended(c: Inference) -> Shape:
    query, key, value = c.shapes[:3]
    ranks = {len(shape) for shape in (query, key, value) if shape is not None}
    if len(ranks) > 1 or not ranks <= {3, 4}:
        raise ValueError(f"Queries, keys and values have the shapes {', '.join(map(show, c.shapes[:3]))}.")
    if query is None or key is None or value is None:
        return None
    turned = c.attrs["turned"]
    merge(query[-1:], key[-2:-1] if turned else key[-1:])
    merge(value[-2:-1], key[-1:] if turned else key[-2:-1])
    return (*query[:-1], value[-1])


def _attending(c: Inference) -> float:
    query, _, value = c.shapes[:3]
    rows, keys = num_elements((query or (None,))[:-1]), (value or (None, None))[-2]
    if query is None or value is None or rows is None or None in (keys, query[-1], value[-1]):
        return 1e6
    return 2.0 * rows * (keys or 0) * ((query[-1] or 0) + (value[-1] or 0))


@op("_Attention", shape=_attended, dtypes=_FUSED, gradient=None, work=_attending)
def attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: Sequence[TensorLike],
    *,
    scale: float = 1.0,
    turned: bool = False,
    name: str | None = None,
) -> Tensor:
    """softmax(scale · query keyᵀ + bias) value, for rows of the last dimension; or with keys that are `turned`: columns. There
    is one bias, several that are added, or none; they are broadcast. Some heads in a row (dimension 1 of 4) may have a key and a
    value together."""


def _rotated(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is not None and (not shape or (shape[-1] or 0) % 2):
        raise ValueError(f"Rows of two halves are rotated, but the shape is {show(shape)}.")
    return shape


@op("_Rotary", shape=_rotated, dtypes=_FUSED, gradient=None, work=4)
def rotary(x: TensorLike, cosines: TensorLike, sines: TensorLike, *, name: str | None = None) -> Tensor:
    """x · cosines + (the halves of each row of x in the other order, the new first half negated) · sines. The cosines and
    the sines are broadcast to the shape of x."""
