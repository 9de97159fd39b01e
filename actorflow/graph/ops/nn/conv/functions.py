"""Convolutions (`tf.nn.conv1d`, `conv2d`, `conv3d`, `convolution`, their backprops)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.shapes import show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import expand_dims, squeeze
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.nn.conv.geometry import FORMATS, explicit_padding, steps_of
from actorflow.graph.ops.nn.conv.rules import (
    conv2d_backprop_filter_op,
    conv2d_backprop_input_op,
    conv2d_op,
    conv3d_op,
)
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def either(new: Any, old: Any, names: str) -> Any:
    """The value of an argument that has two names. Raises ValueError where both or neither is given."""
    if (new is None) == (old is None):
        raise ValueError(f"One of the arguments {names} is needed, and not both.")
    return old if new is None else new


@public("af.nn")
def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The convolution of images with filters (`tf.nn.conv2d`); in truth a correlation, the filter is not turned round.

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> mean = af.fill([2, 2, 1, 1], 0.25)
        >>> af.nn.conv2d(image, mean, strides=2, padding="VALID")[0, :, :, 0]
        [[ 2.5  4.5]
         [10.5 12.5]]
        >>> af.nn.conv2d(image, mean, strides=1, padding="SAME").shape
        TensorShape([1, 4, 4, 1])

    Args:
        input: float16, bfloat16, float32, float64 or int32, of shape [batch, height, width, in], or
            [batch, in, height, width] where `data_format` is "NCHW".
        filter, filters: of the same type, of shape [height, width, in, out]; `filters` is the newer name. If it takes
            fewer channels than the input has, these are divided into groups, each of which makes an equal part of the
            outputs.
        strides: how far the filter moves: one number, a pair for height and width, or a number for each dimension.
        padding: "SAME" (zeros around, so that only the strides make the output smaller), "VALID" (none), or four pairs
            of widths, a pair for each dimension.
        use_cudnn_on_gpu: accepted, and of no effect.
        data_format: "NHWC" or "NCHW": where the channels are.
        dilations: from how far apart the elements are that a filter sees, given as the strides are.

    Returns:
        A tensor of shape [batch, places, places, out], the channels where those of the input are.

    Raises:
        ValueError: the channels are no groups for the filter, it does not fit in, or a stride, padding or data format can't be.
            InvalidArgumentError in the run, where shapes are known only then.
    """
    weights = either(filters, filter, "`filter` and `filters`")
    kind, explicit = explicit_padding(padding, data_format, 4)
    return conv2d_op(
        input,
        weights,
        strides=steps_of(strides, data_format, 4, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=steps_of(dilations, data_format, 4, "dilations"),
        name=name,
    )


@public("af.nn")
def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its input (`tf.nn.conv2d_backprop_input`). Errors are those of `conv2d`.

    Example:
        >>> weights, slope = af.ones([2, 2, 1, 1]), af.ones([1, 2, 2, 1])
        >>> af.nn.conv2d_backprop_input([1, 3, 3, 1], weights, slope, [1, 1, 1, 1], "VALID")[0, :, :, 0]
        [[1. 2. 1.]
         [2. 4. 2.]
         [1. 2. 1.]]

    Args:
        input_sizes: int32 [4], the shape of the input.
        filter, filters: the filter, [height, width, in, out]; `filters` is the newer name.
        out_backprop: the gradient for the output, of its shape and the filter's type.
        strides: how far the filter moves: one number, a pair for height and width, or a number for each dimension.
        padding: "SAME", "VALID", or four pairs of widths, as in `conv2d`.
        use_cudnn_on_gpu: accepted, and of no effect.
        data_format: "NHWC" or "NCHW".
        dilations: from how far apart the elements are that a filter sees, given as the strides are.

    Returns:
        A tensor of the shape `input_sizes`.
    """
    weights = either(filters, filter, "`filter` and `filters`")
    kind, explicit = explicit_padding(padding, data_format, 4)
    return conv2d_backprop_input_op(
        input_sizes,
        weights,
        _given(out_backprop, "out_backprop"),
        strides=steps_of(strides, data_format, 4, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=steps_of(dilations, data_format, 4, "dilations"),
        name=name,
    )


@public("af.nn")
def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its filter (`tf.nn.conv2d_backprop_filter`). Errors are those of `conv2d`.

    Example:
        >>> image, slope = af.reshape(af.range_(9.0), [1, 3, 3, 1]), af.ones([1, 2, 2, 1])
        >>> af.nn.conv2d_backprop_filter(image, [2, 2, 1, 1], slope, [1, 1, 1, 1], "VALID")[:, :, 0, 0]
        [[ 8. 12.]
         [20. 24.]]

    Args:
        input: the input, [batch, height, width, in], or [batch, in, height, width] for "NCHW".
        filter_sizes: int32 [4], the shape of the filter.
        out_backprop: the gradient for the output, of its shape and the input's type.
        strides: how far the filter moves: one number, a pair for height and width, or a number for each dimension.
        padding: "SAME", "VALID", or four pairs of widths, as in `conv2d`.
        use_cudnn_on_gpu: accepted, and of no effect.
        data_format: "NHWC" or "NCHW".
        dilations: from how far apart the elements are that a filter sees, given as the strides are.

    Returns:
        A tensor of the shape `filter_sizes`.
    """
    kind, explicit = explicit_padding(padding, data_format, 4)
    return conv2d_backprop_filter_op(
        input,
        filter_sizes,
        out_backprop,
        strides=steps_of(strides, data_format, 4, "strides"),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=steps_of(dilations, data_format, 4, "dilations"),
        name=name,
    )


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"The argument {name!r} is missing.")
    return value


@public("af.nn")
def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: Any = None,
    padding: str | None = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """The convolution of volumes with filters (`tf.nn.conv3d`).

    Example:
        >>> af.nn.conv3d(af.ones([1, 4, 4, 4, 1]), af.ones([2, 2, 2, 1, 8]), [1, 2, 2, 2, 1], "VALID").shape
        TensorShape([1, 2, 2, 2, 8])

    Args:
        input: floating, of shape [batch, depth, height, width, in], or [batch, in, depth, height, width] where
            `data_format` is "NCDHW".
        filter, filters: of the same type, of shape [depth, height, width, in, out]; `filters` is the newer name.
        strides: how far the filter moves: one number, three numbers, or a number for each dimension.
        padding: "SAME" or "VALID", as in `conv2d`; no explicit widths.
        data_format: "NDHWC" or "NCDHW": where the channels are.
        dilations: from how far apart the elements are that a filter sees, given as the strides are.

    Returns:
        A tensor of shape [batch, places, places, places, out], the channels where those of the input are.

    Raises:
        ValueError: as `conv2d`.
    """
    return conv3d_op(
        input,
        either(filters, filter, "`filter` and `filters`"),
        strides=steps_of(_given(strides, "strides"), data_format, 5, "strides"),
        padding=_given(padding, "padding"),
        data_format=data_format,
        dilations=steps_of(dilations, data_format, 5, "dilations"),
        name=name,
    )


@public("af.nn")
def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: Any = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """The convolution of sequences with filters (`tf.nn.conv1d`).

    Example:
        >>> af.nn.conv1d([[[1.0], [2.0], [4.0], [7.0]]], [[[-1.0]], [[1.0]]], stride=1, padding="VALID")
        [[[1.]
          [2.]
          [3.]]]

    Args:
        value, input: of shape [batch, width, in], or [batch, in, width] where `data_format` is "NCW"; `input` is the
            newer name.
        filters: of the same type, of shape [width, in, out].
        stride: how far the filter moves: one number, or three.
        padding: "SAME" (zeros around, so that only the stride makes the output smaller) or "VALID" (none).
        use_cudnn_on_gpu: accepted, and of no effect.
        data_format: "NWC" (by default) or "NCW"; TensorFlow also calls these layouts "NHWC" and "NCHW".
        dilations: from how far apart the elements are that a filter sees, given as the stride is; 1 by default.

    Returns:
        A tensor of shape [batch, places, out], the channels where those of the input are.

    Raises:
        ValueError: as `conv2d`.
    """
    source = either(input, value, "`value` and `input`")
    with composite(name, "conv1d", source, filters) as scope:
        layout = {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format or "NWC", data_format or "NWC")
        if layout not in FORMATS[3]:
            raise ValueError(f"The data format of conv1d is NWC or NCW, not {data_format!r}.")
        flat, axis = ("NHWC", 1) if layout == "NWC" else ("NCHW", 2)
        convolved = conv2d_op(
            expand_dims(convert_to_tensor(source), axis),
            expand_dims(convert_to_tensor(_given(filters, "filters")), 0),
            strides=flattened(steps_of(_given(stride, "stride"), layout, 3, "strides"), axis),
            padding=_given(padding, "padding"),
            data_format=flat,
            dilations=flattened(steps_of(dilations, layout, 3, "dilations"), axis),
        )
        return squeeze(convolved, [axis], name=scope)


def flattened(steps: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Strides or dilations of a sequence as those of an image of one row."""
    return (*steps[:axis], 1, *steps[axis:])


@public("af.nn")
def convolution(
    input: TensorLike,
    filter: TensorLike | None,
    padding: str,
    strides: Sequence[int] | int | None = None,
    dilation_rate: Sequence[int] | int | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: Sequence[int] | int | None = None,
) -> Tensor:
    """The convolution of 1, 2 or 3 dimensions, whichever the input has (`tf.nn.convolution`).

    Example:
        >>> signal = [[[1.0], [2.0], [4.0], [7.0]]]
        >>> af.nn.convolution(signal, [[[-1.0]], [[1.0]]], "VALID", dilation_rate=[2])
        [[[3.]
          [5.]]]

    Args:
        input: of rank 3, 4 or 5, which has to be known; the channels are last, or in dimension 1 where `data_format`
            starts with "NC".
        filter, filters: of shape [window..., in, out]; `filters` is the newer name.
        padding: "SAME" or "VALID", as in `conv2d`.
        strides: a number for each spatial dimension; 1 by default.
        dilation_rate, dilations: from how far apart the elements are that a filter sees, a number for each spatial
            dimension; 1 by default. `dilations` is the newer name.
        data_format: where the channels are: "NWC", "NHWC" or "NDHWC" (by default), or "NCW", "NCHW" or "NCDHW".

    Raises:
        ValueError: the rank is unknown or another; strides and dilations are both more than 1; or as `conv2d`.
    """
    weights = either(filters, filter, "`filter` and `filters`")
    rates = dilation_rate if dilations is None else dilations
    source, weights = convert_to_tensor(input), convert_to_tensor(weights)
    rank = known_rank(source, weights, "convolution")
    layout = layout_of(data_format, rank, "convolution")
    steps = steps_of(strides, layout, rank, "strides")
    spread = steps_of(rates, layout, rank, "dilations")
    if max(steps) > 1 and max(spread) > 1:
        raise ValueError(f"Strides and dilations can't both be more than 1, but {strides} and {rates} were given.")
    if rank == 3:
        return conv1d(source, weights, list(steps), padding, data_format=layout, name=name, dilations=list(spread))
    function: Any = conv2d_op if rank == 4 else conv3d_op
    return function(  # type: ignore[no-any-return]
        source,
        weights,
        strides=steps,
        padding=padding,
        data_format=layout,
        dilations=spread,
        name=name or "convolution",
    )


def known_rank(source: Tensor, weights: Tensor | None, what: str) -> int:
    """The rank of what is convolved, as it or the filter shows. Raises ValueError where neither does."""
    for tensor in (source, weights):
        if tensor is not None and tensor.static_shape is not None:
            if len(tensor.static_shape) not in FORMATS:
                raise ValueError(
                    f"{what} takes a tensor of rank 3, 4 or 5, but {tensor.name} is {show(tensor.static_shape)}."
                )
            return len(tensor.static_shape)
    raise ValueError(f"{what} needs to know the rank of {source.name}; give it one with set_shape.")


def layout_of(data_format: str | None, rank: int, what: str) -> str:
    """The full name of the layout for a rank: its first two letters decide."""
    last, first = FORMATS[rank]
    if data_format is None or data_format == last:
        return last
    if data_format != first:
        raise ValueError(f"The data format of {what} is {last} or {first} for rank {rank}, not {data_format!r}.")
    return first
