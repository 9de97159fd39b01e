"""Fake quantization: floats rounded to what a quantized value could hold, and their gradient as if they were not.

The range [min, max] is moved a little, so that zero is one of the `2**num_bits` steps (one less with `narrow_range`). Inputs
are clamped to it and rounded to a step. The gradient passes where the input is in the range (Jacob et al., Quantization and
Training of Neural Networks, 2017), and what lies outside goes to the bound.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import float32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import at_least_rank, merged, require_rank, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_SINGLE: dict[str, Any] = {"dtypes": frozenset((float32,)), "prefer": float32}


def _settings(node: Operation) -> dict[str, Any]:
    return {name: node.get_attr(name) for name in ("num_bits", "narrow_range")}


# ---- a range of plain numbers


@public("af", "tf.quantization")
@op("FakeQuantWithMinMaxArgs", shape=unchanged, **_SINGLE)
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to the steps of the range [min, max] (`tf.fake_quant_with_min_max_args`).

    Example:
        >>> af.fake_quant_with_min_max_args([-9.0, 0.1, 0.4, 9.0], min=-1.0, max=1.0, num_bits=2)
        [-1.3333  0.      0.6667  0.6667]

    Args:
        inputs: float32, of any shape.
        min, max: the ends of the range, numbers; -6 and 6 by default.
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.

    Raises:
        InvalidArgumentError: min >= max, or `num_bits` is outside [2, 16], in the run.
    """


@public("af", "tf.quantization")
@op("FakeQuantWithMinMaxArgsGradient", shape=merged, gradient=None, **_SINGLE)
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    *,
    min: float = -6.0,
    max: float = 6.0,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args`: `gradients` where `inputs` are in the range, else 0. It has no
    gradient itself.

    Example:
        >>> af.fake_quant_with_min_max_args_gradient([1.0, 1.0, 1.0], [-9.0, 0.4, 9.0], min=-1.0, max=1.0)
        [0. 1. 0.]

    Args:
        gradients: float32, the gradients for the results.
        inputs: float32, of the same shape.
        min, max: the ends of the range, numbers; -6 and 6 by default.
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.
    """


@fake_quant_with_min_max_args.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    bounds = {name: node.get_attr(name) for name in ("min", "max")}
    return [fake_quant_with_min_max_args_gradient(dy, node.inputs[0], **bounds, **_settings(node))]


# ---- a range of tensors


def _one_range(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    require_rank(c, 2, 0)
    return c.shapes[0]


@public("af", "tf.quantization")
@op("FakeQuantWithMinMaxVars", shape=_one_range, **_SINGLE)
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to the steps of the range [min, max], which may be trained (`tf.fake_quant_with_min_max_vars`).
    Zeros where both are 0.

    Example:
        >>> af.fake_quant_with_min_max_vars([-9.0, 0.1, 0.4, 9.0], -1.0, 1.0, num_bits=2)
        [-1.3333  0.      0.6667  0.6667]

    Args:
        inputs: float32, of any shape.
        min, max: the ends of the range, float32 scalars.
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.

    Raises:
        InvalidArgumentError: `num_bits` is outside [2, 16], in the run.
    """


def _one_range_gradient(c: Inference) -> list[Shape]:
    require_rank(c, 2, 0)
    require_rank(c, 3, 0)
    return [merge(c.shapes[0], c.shapes[1]), (), ()]


@public("af", "tf.quantization")
@op(
    "FakeQuantWithMinMaxVarsGradient",
    shape=_one_range_gradient,
    result=(float32, float32, float32),
    gradient=None,
    **_SINGLE,
)
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars` by its three inputs.

    Example:
        >>> af.fake_quant_with_min_max_vars_gradient([1.0, 1.0, 1.0], [-9.0, 0.4, 9.0], -1.0, 1.0)
        ([0. 1. 0.], 1.0, 1.0)

    Args:
        gradients: float32, the gradients for the results.
        inputs: float32, of the same shape.
        min, max: the ends of the range, float32 scalars.
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.

    Returns:
        `gradients` where `inputs` are in the range, the sum of those below it, and the sum of those above it.
    """


@fake_quant_with_min_max_vars.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return list(fake_quant_with_min_max_vars_gradient(dy, *node.inputs, **_settings(node)))


# ---- a range for each channel


def _range_per_channel(c: Inference) -> Shape:
    source, low, high = at_least_rank(c, 0, 1), require_rank(c, 1, 1), require_rank(c, 2, 1)
    last = merge(merge(low, high), None if source is None else source[-1:])
    return None if source is None or last is None else (*source[:-1], *last)


@public("af", "tf.quantization")
@op("FakeQuantWithMinMaxVarsPerChannel", shape=_range_per_channel, **_SINGLE)
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to the steps of a range for each channel (`tf.fake_quant_with_min_max_vars_per_channel`). Errors
    are those of `fake_quant_with_min_max_vars`.

    Example:
        >>> af.fake_quant_with_min_max_vars_per_channel([[9.0, 9.0]], [0.0, 0.0], [1.0, 6.0])
        [[1. 6.]]

    Args:
        inputs: float32 [..., channels].
        min, max: the ends of the ranges, float32 [channels].
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.
    """


def _range_per_channel_gradient(c: Inference) -> list[Shape]:
    source = merge(at_least_rank(c, 0, 1), at_least_rank(c, 1, 1))
    last = merge(merge(require_rank(c, 2, 1), require_rank(c, 3, 1)), None if source is None else source[-1:])
    return [source, last or (None,), last or (None,)]


@public("af", "tf.quantization")
@op(
    "FakeQuantWithMinMaxVarsPerChannelGradient",
    shape=_range_per_channel_gradient,
    result=(float32, float32, float32),
    gradient=None,
    **_SINGLE,
)
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    *,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars_per_channel` by its three inputs.

    Example:
        >>> af.fake_quant_with_min_max_vars_per_channel_gradient([[1.0, 1.0]], [[0.5, 9.0]], [0.0, 0.0], [1.0, 6.0])
        ([[1. 0.]], [0. 0.], [0. 1.])

    Args:
        gradients: float32, the gradients for the results.
        inputs: float32 [..., channels], of the same shape.
        min, max: the ends of the ranges, float32 [channels].
        num_bits: how many bits number the steps, 2 to 16; 8 by default.
        narrow_range: leaves the lowest step out.

    Returns:
        `gradients` where `inputs` are in the range, and for each channel the sum of those below it and of those above
        it.
    """


@fake_quant_with_min_max_vars_per_channel.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return list(fake_quant_with_min_max_vars_per_channel_gradient(dy, *node.inputs, **_settings(node)))
