"""Means and variances in parts: sufficient statistics, weighted moments, and a normalization by given moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import float16, float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones_like
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.shape import shape, squeeze
from actorflow.graph.ops.building import composite, small_constant
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.arithmetic import multiply, squared_difference, subtract
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import reciprocal, rsqrt, square
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_prod, reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.nn")
def sufficient_statistics(
    x: TensorLike,
    axes: Sequence[int],
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Sums from which the mean and the variance of `x` over `axes` can be computed (`tf.nn.sufficient_statistics`).

    Example:
        >>> af.nn.sufficient_statistics([1.0, 3.0, 5.0], [0])
        (3.0, 9.0, 35.0, None)

    Args:
        x: floating.
        axes: a list of the dimensions to sum over.
        shift: subtracted first, which loses less with a shift close to the mean.
        keepdims, keep_dims: whether the dimensions stay, with size 1; `keep_dims` is the older name.

    Returns:
        How many elements went into each sum (a scalar of x's type), the sum, the sum of the squares, and the shift.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    with composite(name, "sufficient_statistics", x, shift):
        tensor = convert_to_tensor(x)
        static = tensor.static_shape
        over = list(axes)
        if static is not None and all(static[axis] is not None for axis in over):
            number = small_constant(tensor.graph, np.prod([static[axis] for axis in over]), tensor.dtype, "count")  # type: ignore[arg-type]
        else:
            number = cast(reduce_prod(gather(shape(tensor), over)), tensor.dtype, name="count")
        if shift is None:
            sums, squares, moved = tensor, square(tensor), None
        else:
            moved = convert_to_tensor(shift, tensor.dtype, name="shift")
            sums, squares = subtract(tensor, moved), squared_difference(tensor, moved)
        return (
            number,
            reduce_sum(sums, over, keepdims=keep, name="mean_ss"),
            reduce_sum(squares, over, keepdims=keep, name="var_ss"),
            moved,
        )


@public("af.nn")
def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance from what `sufficient_statistics` gives (`tf.nn.normalize_moments`).

    Example:
        >>> count, total, squares, shift = af.nn.sufficient_statistics([1.0, 3.0, 5.0], [0])
        >>> af.nn.normalize_moments(count, total, squares, shift)
        (3.0, 2.6667)

    Args:
        counts: how many elements went into each sum, a floating scalar.
        mean_ss: the sum of the elements, or of their differences from `shift`.
        variance_ss: the sum of their squares.
        shift: what was subtracted, or None.
    """
    with composite(name, "normalize", counts, mean_ss, variance_ss, shift):
        share = reciprocal(counts, name="divisor")
        if shift is None:
            off = mean = multiply(mean_ss, share, name="mean")
        else:
            off = multiply(mean_ss, share, name="shifted_mean")
            mean = off + convert_to_tensor(shift, off.dtype)
        return mean, subtract(multiply(variance_ss, share), square(off), name="variance")


@public("af.nn")
def weighted_moments(
    x: TensorLike,
    axes: Sequence[int],
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of `x` over `axes`, each element counting as often as `frequency_weights` says
    (`tf.nn.weighted_moments`).

    float16 is computed in float32.

    Example:
        >>> af.nn.weighted_moments([1.0, 3.0], [0], frequency_weights=[3.0, 1.0])
        (1.5, 0.75)

    Args:
        x: floating.
        axes: a list of the dimensions to reduce.
        frequency_weights: of x's type, of a shape that broadcasts to it.
        keepdims, keep_dims: whether the dimensions stay, with size 1; `keep_dims` is the older name.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    with composite(name, "weighted_moments", x, frequency_weights):
        tensor = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, tensor.dtype, name="weights")
        kind = tensor.dtype
        if kind is float16:
            tensor, weights = cast(tensor, float32), cast(weights, float32)
        over = list(axes)
        total = reduce_sum(weights * ones_like(tensor), over, keepdims=True)
        mean = reduce_sum(tensor * weights, over, keepdims=True) / total
        variance = reduce_sum(weights * squared_difference(tensor, mean), over, keepdims=True) / total
        if not keep:
            mean, variance = squeeze(mean, over), squeeze(variance, over)
        return cast(mean, kind), cast(variance, kind)


@public("af.nn")
def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """`batch_normalization` by its TensorFlow 0.x name (`tf.nn.batch_norm_with_global_normalization`).

    Example:
        >>> image = [[[[1.0], [5.0]]]]
        >>> af.nn.batch_norm_with_global_normalization(image, [3.0], [4.0], [0.0], [2.0], 0.0, scale_after_normalization=True)
        [[[[-2.]
           [ 2.]]]]

    Args:
        t, input: the tensor to normalize, floating, usually [batch, height, width, channels]; `input` is the newer
            name.
        m, mean: its mean, usually [channels]; `mean` is the newer name.
        v, variance: its variance, likewise; `variance` is the newer name.
        beta: the offset, likewise.
        gamma: the scale, likewise; used where `scale_after_normalization` is True.
        variance_epsilon: a small number that is added to the variance.
        scale_after_normalization: whether to multiply by `gamma`.

    Returns:
        A tensor of the shape of `t`.

    Raises:
        ValueError: the tensor, its mean, its variance, beta or the epsilon is missing.
    """
    t, m, v = (new if old is None else old for old, new in ((t, input), (m, mean), (v, variance)))
    if t is None or m is None or v is None or beta is None or variance_epsilon is None:
        raise ValueError("A tensor, its mean, its variance, beta and variance_epsilon are needed.")
    scale = gamma if scale_after_normalization else None
    normal = batch_normalization(t, m, v, beta, scale, variance_epsilon)
    return identity(normal, name=name or "batch_norm_with_global_normalization")


@public("af.nn")
def moments(
    x: TensorLike,
    axes: Sequence[int],
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of `x` over `axes` (`tf.nn.moments`).

    float16 is computed in float32.

    Example:
        >>> af.nn.moments([[1.0, 10.0], [3.0, 10.0]], [0])
        ([ 2. 10.], [1. 0.])

    Args:
        x: floating.
        axes: a list of the dimensions to reduce.
        shift: ignored, as in TensorFlow.
        keepdims, keep_dims: whether the dimensions stay, with size 1; `keep_dims` is the older name.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    with composite(name, "moments", x, axes):
        tensor = convert_to_tensor(x)
        y = cast(tensor, float32) if tensor.dtype is float16 else tensor
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        variance = reduce_mean(squared_difference(y, mean), axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return cast(mean, tensor.dtype), cast(variance, tensor.dtype)


@public("af.nn")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """scale · (x - mean) / sqrt(variance + variance_epsilon) + offset, with broadcasting (`tf.nn.batch_normalization`).
    Ioffe and Szegedy, Batch Normalization.

    Example:
        >>> x = af.constant([[1.0], [5.0]])
        >>> mean, variance = af.nn.moments(x, [0])
        >>> af.nn.batch_normalization(x, mean, variance, offset=10.0, scale=1.0, variance_epsilon=0.0)
        [[ 9.]
         [11.]]

    Args:
        x: floating, of any shape.
        mean, variance: of a shape that broadcasts to that of `x`.
        offset: what is added, likewise; or None.
        scale: the factor, likewise; or None.
        variance_epsilon: a small number, so that nothing is divided by 0.

    Returns:
        A tensor of the shape and type of `x`.
    """
    with composite(name, "batchnorm", x, mean, variance, scale, offset):
        tensor = convert_to_tensor(x)
        factor = rsqrt(convert_to_tensor(variance) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shift = -convert_to_tensor(mean) * factor
        if offset is not None:
            shift = shift + offset
        return tensor * cast(factor, tensor.dtype) + cast(shift, tensor.dtype)
