"""Bounding values and norms (`tf.clip_by_value` and its family)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.arithmetic import add_n, maximum, minimum, multiply, realdiv
from actorflow.graph.ops.math.elementwise import is_finite, sqrt, square
from actorflow.graph.ops.math.logic import greater, where_v2
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_sum
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af")
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor:
    """`t` with values below `clip_value_min` and above `clip_value_max` replaced by these (`tf.clip_by_value`).

    Example:
        >>> af.clip_by_value([-2.0, 0.5, 7.0], 0.0, 1.0)
        [0.  0.5 1. ]

    Args:
        t: a tensor of a real type.
        clip_value_min, clip_value_max: scalars, or tensors that broadcast to t's shape. The lower bound wins if
            it is the larger of the two.

    Raises:
        ValueError: a bound's shape would make the result larger than `t`.
    """
    with composite(name, "clip_by_value", t, clip_value_min, clip_value_max) as scope:
        values = convert_to_tensor(t)
        clipped = maximum(minimum(values, clip_value_max), clip_value_min, name=scope)
        clipped.set_shape(values.static_shape)
        return clipped


@public("af")
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: Any = None, name: str | None = None) -> Tensor:
    """`t` scaled down so that its Euclidean norm is at most `clip_norm` (`tf.clip_by_norm`).

    Example:
        >>> af.clip_by_norm([3.0, 4.0], 1.0)
        [0.6 0.8]
        >>> af.clip_by_norm([0.3, 0.4], 1.0)
        [0.3 0.4]

    Args:
        t: a floating tensor.
        clip_norm: the bound, a scalar above 0.
        axes: the dimensions over which norms are taken, each bounded by itself; all by default.

    Raises:
        ValueError: the bound's shape would make the result larger than `t`.
    """
    with composite(name, "clip_by_norm", t, clip_norm) as scope:
        values = convert_to_tensor(t)
        norm = _norm(reduce_sum(square(values), axes, keepdims=True))
        clipped = realdiv(values * clip_norm, maximum(norm, clip_norm), name=scope)
        clipped.set_shape(values.static_shape)
        return clipped


@public("af")
def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """`t`, a floating tensor, scaled down so that the norm divided by the number of elements is at most `clip_norm`.

    Example:
        >>> af.clip_by_average_norm([3.0, 4.0], 1.0)
        [1.2 1.6]
    """
    with composite(name, "clip_by_average_norm", t, clip_norm) as scope:
        values = convert_to_tensor(t)
        # The mean is the sum over n, so that mean / norm is norm / n.
        norm = _norm(reduce_sum(square(values)))
        average = where_v2(greater(norm, 0), reduce_mean(square(values)) / norm, norm)
        return realdiv(values * clip_norm, maximum(average, clip_norm), name=scope)


@public("af", "af.linalg")
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The Euclidean norm of all `t_list` together (`tf.global_norm`): a scalar, 0 where all entries are None.

    Example:
        >>> af.global_norm([[3.0, 0.0], [4.0]])
        5.0

    Args:
        t_list: floating tensors, indexed slices, and None for what is left out.

    Raises:
        TypeError: `t_list` is not a sequence.
    """
    tensors = _values(t_list)
    if not tensors:
        return constant(0.0, name=name or "global_norm")
    with composite(name, "global_norm", *tensors) as scope:
        return sqrt(add_n([reduce_sum(square(t)) for t in tensors]), name=scope)


@public("af")
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """`t_list`, all scaled by one factor so that their `global_norm` is at most `clip_norm` (`tf.clip_by_global_norm`).

    Example:
        >>> clipped, norm = af.clip_by_global_norm([[3.0, 0.0], [4.0]], 1.0)
        >>> clipped, norm
        ([[0.6 0. ], [0.8]], 5.0)

    Args:
        t_list: floating tensors, indexed slices (which stay so), and None, which stays None.
        clip_norm: a positive scalar.
        use_norm: the global norm, if it is known already.

    Returns:
        The list, and the global norm. An infinite or NaN norm makes all entries NaN.

    Raises:
        TypeError: `t_list` is not a sequence.
    """
    tensors = _values(t_list)
    if not tensors:
        return list(t_list), global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    with composite(name, "clip_by_global_norm", *tensors):
        norm = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm, tensors[0].dtype)
        unit = convert_to_tensor(1, norm.dtype)
        scale = minimum(unit / norm, unit / clip_norm) * clip_norm
        scale = where_v2(is_finite(norm), scale, float("nan"))
        return [_scaled(t, scale) for t in t_list], norm


def _norm(squares: Tensor) -> Tensor:
    """√squares with the derivative 0 at 0, where √ itself has none."""
    some = greater(squares, 0)
    return where_v2(some, sqrt(where_v2(some, squares, 1)), squares)


def _is_slices(value: Any) -> bool:
    return hasattr(value, "indices") and hasattr(value, "values")


def _values(t_list: Sequence[Any]) -> list[Tensor]:
    """The tensors of a list of tensors, indexed slices and None."""
    if isinstance(t_list, (str, bytes, dict)) or not hasattr(t_list, "__len__"):
        raise TypeError(f"A list of tensors is needed, but a {type(t_list).__name__} was given.")
    return [t.values if _is_slices(t) else convert_to_tensor(t) for t in t_list if t is not None]


def _scaled(value: Any, scale: Tensor) -> Any:
    if value is None:
        return None
    if _is_slices(value):
        return type(value)(_scaled(value.values, scale), value.indices, value.dense_shape)
    tensor = convert_to_tensor(value)
    scaled = multiply(tensor, scale)
    scaled.set_shape(tensor.static_shape)  # the scale is a number, whatever a fed norm's shape says
    return scaled
