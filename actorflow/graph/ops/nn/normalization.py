"""Normalization: to a norm of 1, across channels (LRN), and over batches (the fused batch norm)."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import FLOATING, float32, float64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import transpose
from actorflow.graph.ops.building import composite, or_zeros, small_constant
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.math.arithmetic import maximum, multiply
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import rsqrt, square
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_sum
from actorflow.graph.ops.nn.conv.geometry import channel_axis
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- to a norm of 1


@public("af.math", "af.linalg", "af.nn")
def l2_normalize(
    x: TensorLike,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """x / sqrt(max(sum(x², axis), epsilon)) (`tf.nn.l2_normalize`).

    Example:
        >>> af.nn.l2_normalize([3.0, 4.0])
        [0.6 0.8]

    Args:
        x: a floating tensor.
        axis: the dimensions over which the sum is taken, an int or a list of them; all by default.
        epsilon: the least sum of squares to divide by, so that a vector of zeros stays zero.
        dim: the older name of `axis`.

    Returns:
        A tensor of the shape of `x`.
    """
    with composite(name, "l2_normalize", x) as scope:
        tensor = convert_to_tensor(x)
        total = reduce_sum(square(tensor), dim if axis is None else axis, keepdims=True)
        return multiply(tensor, rsqrt(maximum(total, epsilon)), name=scope)


# ---- across channels


def _images(c: Inference) -> Shape:
    shape = require_rank(c, 0, 4)
    for other in c.shapes[1:]:
        shape = merge(shape, other)
    return (None,) * 4 if shape is None else shape


@op("LRN", shape=_images, dtypes=FLOATING, work=40)
def lrn_op(
    input: TensorLike,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """`input` [batch, height, width, channels] divided by (bias + alpha · the sum of the squares of the channels up to
    `depth_radius` away)^beta (`tf.nn.local_response_normalization`, `tf.nn.lrn`).

    Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks. See `local_response_normalization`,
    which takes its arguments by position too.
    """


@op("LRNGrad", shape=_images, dtypes=FLOATING, gradient=None, work=60)
def lrn_grad(
    input_grads: TensorLike,
    input_image: TensorLike,
    output_image: TensorLike,
    *,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """The gradient of LRN."""


@lrn_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    attrs = {name: node.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta")}
    return [lrn_grad(dy, node.inputs[0], node.outputs[0], **attrs)]


@public("af.nn", "af.nn:lrn")
def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """`input` / (bias + alpha · s)^beta (`tf.nn.local_response_normalization`, `tf.nn.lrn`).

    Example:
        >>> af.nn.local_response_normalization([[[[3.0, 4.0, 0.0]]]], depth_radius=1, bias=0.0)
        [[[[0.6 0.8 0. ]]]]

    Args:
        input: floating, of shape [batch, height, width, channels].
        depth_radius: s is the sum of the squares of the channels up to so far away.
        bias, alpha, beta: the numbers of this formula; `bias` is usually positive, so that nothing is divided by 0.

    Raises:
        ValueError: another rank, or InvalidArgumentError in the run.
    """
    return lrn_op(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


# ---- over batches

_PARAMETERS = frozenset((float32, float64))
NORM_WORK, NORM_GRAD_WORK = 8, 12
"""Operations on each element. In C it takes 2 to 4 additions, in numpy 8 to 12, and some 20 for a gradient."""


def _check_layout(c: Inference) -> int:
    layout = c.attrs["data_format"]
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"The data format of {c.op.type} is NHWC or NCHW, not {layout!r}.")
    return channel_axis(layout, 4)


def _channels(c: Inference, images: Shape, vectors: range, axis: int) -> Shape:
    """The shape of one number a channel. Raises ValueError where a parameter has another."""
    channels: Shape = None if images is None else (images[axis],)
    for index in vectors:
        shape = require_rank(c, index, 1)
        if not compatible(channels, shape):
            raise ValueError(
                f"{c.op.inputs[index].name} {show(shape)} has not a number for each channel, {show(channels)}."
            )
        channels = merge(channels, shape)
    return (None,) if channels is None else channels


def normalized_shapes(c: Inference) -> list[Shape]:
    """The shape rule of FusedBatchNormV3."""
    axis = _check_layout(c)
    images = require_rank(c, 0, 4)
    require_rank(c, 3, 1)
    require_rank(c, 4, 1)
    # In training the moments are those of the batch, and what is given for them is empty.
    vector = _channels(c, images, range(1, 3 if c.attrs["is_training"] else 5), axis)
    images = (None,) * 4 if images is None else images
    images = tuple(vector[0] if d == axis and vector else size for d, size in enumerate(images))
    return [images, vector, vector, vector, vector, ()]


def denormalized_shapes(c: Inference) -> list[Shape]:
    """The shape rule of FusedBatchNormGradV3."""
    axis = _check_layout(c)
    images = merge(require_rank(c, 0, 4), require_rank(c, 1, 4))
    vector = _channels(c, images, range(2, 5), axis)
    images = (None,) * 4 if images is None else images
    return [images, vector, vector, (0,), (0,)]


def kind_of(index: int) -> Any:
    """The type of an input, as that of an output."""
    return lambda c: c.dtypes[index].base_dtype


@op(
    "FusedBatchNormV3",
    shape=normalized_shapes,
    dtypes=FLOATING,
    types={name: _PARAMETERS for name in ("scale", "offset", "mean", "variance")},
    result=(T, *[kind_of(1)] * 5),
    work=NORM_WORK,
)
def fused_batch_norm_op(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    *,
    epsilon: float = 0.0001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """`x` normalized, the mean and the (unbiased) variance of each channel, and what the gradient takes: the mean, the
    biased variance, and nothing. See `fused_batch_norm`."""


@op(
    "FusedBatchNormGradV3",
    shape=denormalized_shapes,
    dtypes=FLOATING,
    types={
        **{name: _PARAMETERS for name in ("reserve_space_1", "reserve_space_2", "reserve_space_3")},
        "scale": _PARAMETERS,
    },
    result=(T, *[kind_of(3)] * 4),
    work=NORM_GRAD_WORK,
)
def fused_batch_norm_grad(
    y_backprop: TensorLike,
    x: TensorLike,
    scale: TensorLike,
    reserve_space_1: TensorLike,
    reserve_space_2: TensorLike,
    reserve_space_3: TensorLike,
    *,
    epsilon: float = 0.0001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of FusedBatchNormV3 for x, scale and offset, and nothing for the mean and the variance."""


@fused_batch_norm_op.gradient
def _(node: Operation, dy: Tensor, *others: Any) -> list[Any]:
    """Only the normalized x has a gradient, as in TensorFlow."""
    if dy is None:
        return [None] * 5
    mean, variance = [*(node.outputs if node.attrs["is_training"] else node.inputs)][3:5]
    dx, dscale, doffset, _, _ = fused_batch_norm_grad(
        dy, node.inputs[0], node.inputs[1], mean, variance, node.outputs[5], **_attributes(node)
    )
    return [dx, dscale, doffset, None, None]


def _attributes(node: Operation) -> dict[str, Any]:
    return {name: node.attrs[name] for name in ("epsilon", "data_format", "is_training")}


@fused_batch_norm_grad.gradient
def _(node: Operation, *second: Any) -> list[Any]:
    """The first gradients once more, made of simple ops, whose derivatives are known."""
    from actorflow.graph.autodiff.gradients import gradients

    dy, x, scale, mean, variance = node.inputs[:5]
    first = _plain_gradient(dy, x, scale, mean, variance, **_attributes(node))
    return [*gradients(list(first), [dy, x, scale], or_zeros(second[:3], first)), None, None, None]


def _plain_gradient(
    dy: Tensor,
    x: Tensor,
    scale: Tensor,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    kind = scale.dtype
    slopes, images = cast(dy, kind), cast(x, kind)
    if data_format == "NCHW":
        slopes, images = transpose(slopes, [0, 2, 3, 1]), transpose(images, [0, 2, 3, 1])
    axes = [0, 1, 2]
    shift = small_constant(x.graph, epsilon, kind, "epsilon")
    if is_training:
        # Of the batch itself, because they depend on x.
        mean = reduce_mean(images, axes)
        variance = reduce_mean(square(images - mean), axes)
    factor = rsqrt(variance + shift)
    centred = images - mean
    if is_training:
        slanted = reduce_mean(slopes * centred, axes)
        dx = scale * factor * (slopes - reduce_mean(slopes, axes) - centred * slanted * square(factor))
    else:
        dx = slopes * (scale * factor)
    dscale = reduce_sum(slopes * centred, axes) * factor
    doffset = reduce_sum(slopes, axes)
    if data_format == "NCHW":
        dx = transpose(dx, [0, 3, 1, 2])
    return cast(dx, x.dtype), dscale, doffset


@public("af.nn")
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` normalized over batch and space, for each channel by itself (`tf.nn.fused_batch_norm`).

    Example:
        >>> x = af.reshape(af.constant([1.0, 5.0]), [2, 1, 1, 1])
        >>> y, mean, variance = af.nn.fused_batch_norm(x, scale=[1.0], offset=[0.0], epsilon=1e-5)
        >>> af.reshape(y, [-1]), mean, variance
        ([-1.  1.], [3.], [8.])

    Args:
        x: floating, of shape [batch, height, width, channels], or [batch, channels, height, width] for "NCHW".
        scale: float32 (float64), one number a channel, by which the normalized x is multiplied.
        offset: of the same kind, added then.
        mean, variance: of the same kind, what x is normalized by where `is_training` is False.
        epsilon: added to the variance; at least 1.001e-5.
        data_format: "NHWC" or "NCHW".
        is_training: whether x is normalized by its own mean and variance.

    Returns:
        The normalized x; and the mean and the variance: those given, or those of x, the latter without bias.

    Raises:
        ValueError: no mean or variance though not in training, or the channels differ.
    """
    if not is_training and (mean is None or variance is None):
        raise ValueError("A mean and a variance are needed where is_training is False.")
    with composite(name, "FusedBatchNorm", x, scale, offset, mean, variance) as scope:
        images = convert_to_tensor(x)
        factor = convert_to_tensor(scale)
        moments = [
            small_constant(images.graph, [], factor.dtype, "empty") if v is None or is_training else v
            for v in (mean, variance)
        ]
        y, average, spread, *_ = fused_batch_norm_op(
            images,
            factor,
            offset,
            *moments,
            epsilon=max(epsilon, 1.001e-5),
            data_format=data_format,
            is_training=is_training,
            name=scope,
        )
        return y, average, spread
