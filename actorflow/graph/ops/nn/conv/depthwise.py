"""Convolutions of each channel by itself: depthwise, and separable, which mix the channels afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import FLOATING, INDEX
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, merge, num_elements, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.nn.conv.geometry import explicit_padding, steps_of
from actorflow.graph.ops.nn.conv.rules import attributes_of, conv2d_op, convolved_shape, listed_shape
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _multiplied(filters: Shape) -> int | None:
    return None if filters is None or None in filters[2:] else filters[2] * filters[3]  # type: ignore[operator]


def _shape(c: Inference, images: Shape, filters: Shape) -> Shape:
    """The output's: as of a convolution to in · multiplier channels."""
    seen = None if filters is None else (*filters[:3], _multiplied(filters))
    return convolved_shape(c, images, seen)


def _convolved(c: Inference) -> Shape:
    return _shape(c, require_rank(c, 0, 4), require_rank(c, 1, 4))


def _images(c: Inference) -> Shape:
    images = listed_shape(c, 0)
    merge(_shape(c, images, require_rank(c, 1, 4)), require_rank(c, 2, 4))
    return images


def _filters(c: Inference) -> Shape:
    filters = listed_shape(c, 1)
    merge(_shape(c, require_rank(c, 0, 4), filters), require_rank(c, 2, 4))
    return filters


def _operations(c: Inference) -> float:
    """An addition and a multiplication of arrays for each element of the window, counted in operations of dense products."""
    output = c.op.shape_rule(c)
    filters = output if c.op.type.endswith("Filter") else c.shapes[1]
    result = output if c.op.type == "DepthwiseConv2dNative" else c.shapes[2]
    if not isinstance(result, tuple) or not isinstance(filters, tuple):
        return 1e6
    if not is_static(result) or not is_static(filters):
        return 1e6
    return 8.0 * (num_elements(result) or 0) * (num_elements(filters[:2]) or 0)


@op("DepthwiseConv2dNative", shape=_convolved, dtypes=FLOATING, work=_operations)
def depthwise_op(
    input: TensorLike,
    filter: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Each channel of `input` convolved with its own filters. See `depthwise_conv2d`."""


@public("af.nn", "af.nn:depthwise_conv2d_backprop_input")
@op(
    "DepthwiseConv2dNativeBackpropInput", shape=_images, dtypes=FLOATING, types={"input_sizes": INDEX}, work=_operations
)
def depthwise_conv2d_native_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` for its input, whose shape is `input_sizes`
    (`tf.nn.depthwise_conv2d_backprop_input`).

    Example:
        >>> weights, slope = af.ones([2, 2, 1, 1]), af.ones([1, 2, 2, 1])
        >>> options = {"strides": [1, 1, 1, 1], "padding": "VALID"}
        >>> af.nn.depthwise_conv2d_backprop_input([1, 3, 3, 1], weights, slope, **options)[0, :, :, 0]
        [[1. 2. 1.]
         [2. 4. 2.]
         [1. 2. 1.]]

    Args:
        input_sizes: int32 or int64 [4], the shape of the input.
        filter: floating, of shape [height, width, in, multiplier].
        out_backprop: the gradient for the output, of its shape.
        strides, dilations: those of the convolution, one number for each dimension.
        padding: "SAME", "VALID" or "EXPLICIT".
        explicit_paddings: for "EXPLICIT" the widths before and after each dimension, eight numbers.
        data_format: "NHWC" or "NCHW".

    Returns:
        A tensor of the shape `input_sizes`.
    """


@public("af.nn", "af.nn:depthwise_conv2d_backprop_filter")
@op(
    "DepthwiseConv2dNativeBackpropFilter",
    shape=_filters,
    dtypes=FLOATING,
    types={"filter_sizes": INDEX},
    work=_operations,
)
def depthwise_conv2d_native_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d_native` for its filter, whose shape is `filter_sizes`
    (`tf.nn.depthwise_conv2d_backprop_filter`).

    Example:
        >>> image, slope = af.ones([1, 3, 3, 2]), af.ones([1, 2, 2, 2])
        >>> options = {"strides": [1, 1, 1, 1], "padding": "VALID"}
        >>> af.nn.depthwise_conv2d_backprop_filter(image, [2, 2, 2, 1], slope, **options)[:, :, 0, 0]
        [[4. 4.]
         [4. 4.]]

    Args:
        input: floating, of shape [batch, height, width, in], or [batch, in, height, width] for "NCHW".
        filter_sizes: int32 or int64 [4], the shape of the filter.
        out_backprop: the gradient for the output, of its shape.
        strides, dilations: those of the convolution, one number for each dimension.
        padding: "SAME", "VALID" or "EXPLICIT".
        explicit_paddings: for "EXPLICIT" the widths before and after each dimension, eight numbers.
        data_format: "NHWC" or "NCHW".

    Returns:
        A tensor of the shape `filter_sizes`.
    """


@depthwise_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    x, w = node.inputs
    attrs = attributes_of(node)
    return [
        depthwise_conv2d_native_backprop_input(shape(x), w, dy, **attrs),
        depthwise_conv2d_native_backprop_filter(x, shape(w), dy, **attrs),
    ]


@depthwise_conv2d_native_backprop_input.gradient
def _(node: Operation, ddx: Tensor) -> list[Any]:
    _, w, dy = node.inputs
    attrs = attributes_of(node)
    return [
        None,
        depthwise_conv2d_native_backprop_filter(ddx, shape(w), dy, **attrs),
        depthwise_op(ddx, w, **attrs),
    ]


@depthwise_conv2d_native_backprop_filter.gradient
def _(node: Operation, ddw: Tensor) -> list[Any]:
    x, _, dy = node.inputs
    attrs = attributes_of(node)
    return [
        depthwise_conv2d_native_backprop_input(shape(x), ddw, dy, **attrs),
        None,
        depthwise_op(x, ddw, **attrs),
    ]


@public("af.nn")
def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Each channel convolved with filters of its own (`tf.nn.depthwise_conv2d_native`).

    Example:
        >>> image = [[[[1.0, 10.0], [2.0, 20.0]]]]
        >>> af.nn.depthwise_conv2d_native(image, [[[[2.0], [3.0]]]], [1, 1, 1, 1], "SAME")
        [[[[ 2. 30.]
           [ 4. 60.]]]]

    Args:
        input: floating, of shape [batch, height, width, in], or [batch, in, height, width] for "NCHW".
        filter: of the same type, of shape [height, width, in, multiplier].
        strides: how far the filter moves: one number, a pair for height and width, or a number for each dimension.
        padding: "SAME", "VALID", or four pairs of widths, as in `conv2d`.
        data_format: "NHWC" or "NCHW".
        dilations: from how far apart the elements are that a filter sees, given as the strides are.

    Returns:
        A tensor of in · multiplier channels: first all those of the first channel.

    Raises:
        ValueError: as `conv2d`.
    """
    kind, explicit = explicit_padding(padding, data_format, 4)
    return depthwise_op(
        input,
        filter,
        strides=steps_of(strides, data_format, 4, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=steps_of(dilations, data_format, 4, "dilations"),
        name=name,
    )


@public("af.nn")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """`depthwise_conv2d_native` with dilations of height and width (`tf.nn.depthwise_conv2d`).

    Example:
        >>> image = [[[[1.0, 10.0], [2.0, 20.0]]]]
        >>> weights = [[[[1.0], [1.0]], [[1.0], [-1.0]]]]
        >>> af.nn.depthwise_conv2d(image, weights, [1, 1, 1, 1], "VALID")
        [[[[  3. -10.]]]]

    Args:
        input: floating, of shape [batch, height, width, in], or [batch, in, height, width] for "NCHW".
        filter: of the same type, of shape [height, width, in, multiplier].
        strides: how far the filter moves: one number, a pair for height and width, or a number for each dimension.
        padding: "SAME", "VALID", or four pairs of widths, as in `conv2d`.
        rate: from how far apart the elements are that a filter sees, one number or a pair for height and width; 1 by
            default.
        data_format: "NHWC" (by default) or "NCHW".
        dilations: the newer name of `rate`.

    Returns:
        A tensor of in · multiplier channels: first all those of the first channel.

    Raises:
        ValueError: both the strides and the rate are more than 1; or as `conv2d`.
    """
    layout = data_format or "NHWC"
    rates = steps_of(rate if dilations is None else dilations, layout, 4, "dilations")
    steps = steps_of(strides, layout, 4, "strides")
    if max(rates) > 1 and max(steps) > 1:
        raise ValueError(f"Strides and the rate can't both be more than 1, but {strides} and {rate} were given.")
    return depthwise_conv2d_native(input, filter, steps, padding, layout, rates, name or "depthwise")


@public("af.nn")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """`depthwise_conv2d`, and then a mix of its channels at each place (`tf.nn.separable_conv2d`).

    Example:
        >>> image = [[[[1.0, 10.0], [2.0, 20.0]]]]
        >>> each, mix = [[[[2.0], [3.0]]]], [[[[1.0], [1.0]]]]
        >>> af.nn.separable_conv2d(image, each, mix, [1, 1, 1, 1], "SAME")
        [[[[32.]
           [64.]]]]

    Args:
        input: floating, of shape [batch, height, width, in], or [batch, in, height, width] for "NCHW".
        depthwise_filter: of shape [height, width, in, multiplier].
        pointwise_filter: of shape [1, 1, in · multiplier, out].
        strides: how far the depthwise filter moves: one number, a pair for height and width, or a number for
            each dimension.
        padding: "SAME", "VALID", or four pairs of widths, as in `conv2d`.
        rate: from how far apart the elements are that the depthwise filter sees; 1 by default.
        data_format: "NHWC" (by default) or "NCHW".
        dilations: the newer name of `rate`.

    Returns:
        A tensor of shape [batch, places, places, out], the channels where those of the input are.

    Raises:
        ValueError: the pointwise filter is larger than one element, or does not take in · multiplier channels; or as
            `conv2d`.
    """
    layout = data_format or "NHWC"
    with composite(name, "separable_conv2d", input, depthwise_filter, pointwise_filter) as scope:
        deep, pointed = convert_to_tensor(depthwise_filter), convert_to_tensor(pointwise_filter)
        sizes = pointed.static_shape
        if sizes is not None and (len(sizes) != 4 or any(size not in (1, None) for size in sizes[:2])):
            raise ValueError(
                f"The pointwise filter has the shape [1, 1, in, out], but {pointed.name} is {show(sizes)}."
            )
        between = depthwise_conv2d(input, deep, strides, padding, rate, "depthwise", layout, dilations)
        return conv2d_op(between, pointed, strides=(1, 1, 1, 1), padding="VALID", data_format=layout, name=scope)
