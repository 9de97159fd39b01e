"""The ops of convolutions of two and three dimensions. Each of the three of a rank is the gradient of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import FLOATING, INDEX
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, merge, num_elements, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.nn.conv.geometry import (
    arranged,
    channel_axis,
    check_attributes,
    groups,
    output_size,
    padding_pairs,
    spatial,
)
from actorflow.graph.ops.shape_rules import from_value, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_CONVOLVED = FLOATING | {dt.int32}


def convolved_shape(c: Inference, images: Shape, filters: Shape) -> Shape:
    """The shape of a convolution of `images` with `filters`, by the attributes of its op.

    Raises:
        ValueError: the channels can't be divided among the filters, a window does not fit in, or an attribute can't be.
    """
    rank = _rank(c)
    layout, padding = c.attrs["data_format"], c.attrs["padding"]
    strides, dilations = c.attrs["strides"], c.attrs["dilations"]
    check_attributes(c.op.type, rank, layout, padding, strides=strides, dilations=dilations)
    pairs = padding_pairs(c.op.type, rank, layout, padding, c.attrs.get("explicit_paddings", ()))
    images = (None,) * rank if images is None else images
    filters = (None,) * rank if filters is None else filters
    channels = images[channel_axis(layout, rank)]
    if channels is not None:
        groups(channels, filters, f"images {show(images)} in the format {layout}")
    sizes = map(
        output_size,
        spatial(images, layout),
        filters[:-2],
        spatial(strides, layout),
        spatial(dilations, layout),
        [padding] * (rank - 2),
        pairs,
    )
    return arranged(images[0], list(sizes), filters[-1], layout)


def _rank(c: Inference) -> int:
    return 5 if c.op.type.startswith("Conv3D") else 4


def _convolved(c: Inference) -> Shape:
    rank = _rank(c)
    return convolved_shape(c, require_rank(c, 0, rank), require_rank(c, 1, rank))


def listed_shape(c: Inference, index: int) -> Shape:
    """The shape whose sizes input `index` lists; an unknown shape has the op's rank."""
    rank = _rank(c)
    listed = c.shapes[index]
    if listed is not None and (len(listed) != 1 or listed[0] not in (None, rank)):
        raise ValueError(f"{c.op.inputs[index].name} is a list of {rank} sizes, but has the shape {show(listed)}.")
    target = from_value(index)(c)
    return (None,) * rank if target is None or len(target) != rank else target


def _images(c: Inference) -> Shape:
    """Of a backprop to the input."""
    rank = _rank(c)
    images, filters, dy = listed_shape(c, 0), require_rank(c, 1, rank), require_rank(c, 2, rank)
    merge(convolved_shape(c, images, filters), dy)
    return images


def _filters(c: Inference) -> Shape:
    """Of a backprop to the filter."""
    rank = _rank(c)
    images, filters, dy = require_rank(c, 0, rank), listed_shape(c, 1), require_rank(c, 2, rank)
    merge(convolved_shape(c, images, filters), dy)
    return filters


def _flops(output: int) -> Any:
    """Two for each output element of the convolution and each weight that it sees.

    Input 1 or the output is the filter; `output` is the index of what is convolved, -1 for the op's output.
    """

    def rule(c: Inference) -> float:
        output_shape = c.op.shape_rule(c)
        filters = output_shape if c.op.type.endswith(("Filter", "FilterV2")) else c.shapes[1]
        result = output_shape if output < 0 else c.shapes[output]
        if not isinstance(result, tuple) or not isinstance(filters, tuple):
            return 1e6
        if not is_static(result) or not is_static(filters):
            return 1e6
        return 2.0 * (num_elements(result) or 0) * (num_elements(filters[:-1]) or 0)

    return rule


# ---- two dimensions


@op("Conv2D", shape=_convolved, dtypes=_CONVOLVED, work=_flops(-1))
def conv2d_op(
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
    """`input` [batch, height, width, in] convolved with `filter` [height, width, in, out]. See `conv2d`."""


@op("Conv2DBackpropInput", shape=_images, dtypes=_CONVOLVED, types={"input_sizes": INDEX}, work=_flops(2))
def conv2d_backprop_input_op(
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
    """The gradient of Conv2D for its input. See `conv2d_backprop_input`."""


@op("Conv2DBackpropFilter", shape=_filters, dtypes=FLOATING, types={"filter_sizes": INDEX}, work=_flops(2))
def conv2d_backprop_filter_op(
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
    """The gradient of Conv2D for its filter. See `conv2d_backprop_filter`."""


# ---- three dimensions


@op("Conv3D", shape=_convolved, dtypes=FLOATING, work=_flops(-1))
def conv3d_op(
    input: TensorLike,
    filter: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """`input` [batch, depth, height, width, in] convolved with `filter` [depth, height, width, in, out]. See
    `conv3d`."""


@op("Conv3DBackpropInputV2", shape=_images, dtypes=FLOATING, types={"input_sizes": INDEX}, work=_flops(2))
def conv3d_backprop_input_op(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of Conv3D for its input, whose shape is `input_sizes`."""


@public("af.nn:conv3d_backprop_filter_v2")
@op("Conv3DBackpropFilterV2", shape=_filters, dtypes=FLOATING, types={"filter_sizes": INDEX}, work=_flops(2))
def conv3d_backprop_filter_op(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    *,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` for its filter (`tf.nn.conv3d_backprop_filter_v2`).

    Example:
        >>> volume, slope = af.ones([1, 3, 3, 3, 1]), af.ones([1, 2, 2, 2, 1])
        >>> options = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}
        >>> af.nn.conv3d_backprop_filter_v2(volume, [2, 2, 2, 1, 1], slope, **options)[0, :, :, 0, 0]
        [[8. 8.]
         [8. 8.]]

    Args:
        input: floating, [batch, depth, height, width, in], or [batch, in, depth, height, width] for "NCDHW".
        filter_sizes: int32 or int64 [5], the shape of the filter.
        out_backprop: the gradient for the output, of its shape.
        strides, dilations: those of the convolution, one number for each dimension.
        padding: "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".

    Returns:
        A tensor of the shape `filter_sizes`.
    """


# ---- gradients


def attributes_of(node: Operation) -> dict[str, Any]:
    """The attributes that the ops of one rank share."""
    names = ("strides", "padding", "explicit_paddings", "data_format", "dilations")
    return {name: node.attrs[name] for name in names if name in node.attrs}


def _register(forward: Any, to_input: Any, to_filter: Any) -> None:
    from actorflow.graph.ops.array.shape import shape

    def of_forward(node: Operation, dy: Tensor) -> list[Any]:
        x, w = node.inputs
        attrs = attributes_of(node)
        return [to_input(shape(x), w, dy, **attrs), to_filter(x, shape(w), dy, **attrs)]

    def of_input(node: Operation, ddx: Tensor) -> list[Any]:
        _, w, dy = node.inputs
        attrs = attributes_of(node)
        return [None, to_filter(ddx, shape(w), dy, **attrs), forward(ddx, w, **attrs)]

    def of_filter(node: Operation, ddw: Tensor) -> list[Any]:
        x, _, dy = node.inputs
        attrs = attributes_of(node)
        return [to_input(shape(x), ddw, dy, **attrs), None, forward(x, ddw, **attrs)]

    forward.gradient(of_forward)
    to_input.gradient(of_input)
    to_filter.gradient(of_filter)


_register(conv2d_op, conv2d_backprop_input_op, conv2d_backprop_filter_op)
_register(conv3d_op, conv3d_backprop_input_op, conv3d_backprop_filter_op)
