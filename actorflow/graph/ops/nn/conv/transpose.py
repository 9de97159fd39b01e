"""Transposed convolutions, which are the gradients of convolutions for their input, and those with holes."""

from __future__ import annotations

from typing import Any

from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, squeeze
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.nn.conv.functions import either, flattened
from actorflow.graph.ops.nn.conv.geometry import FORMATS, steps_of
from actorflow.graph.ops.nn.conv.rules import conv2d_backprop_input_op, conv2d_op, conv3d_backprop_input_op
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.nn")
def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv2d`, sometimes called a deconvolution (`tf.nn.conv2d_transpose`).

    Example:
        >>> image = af.reshape(af.constant([1.0, 2.0, 3.0, 4.0]), [1, 2, 2, 1])
        >>> af.nn.conv2d_transpose(image, af.ones([2, 2, 1, 1]), [1, 4, 4, 1], 2)[0, :, :, 0]
        [[1. 1. 2. 2.]
         [1. 1. 2. 2.]
         [3. 3. 4. 4.]
         [3. 3. 4. 4.]]

    Args:
        value, input: of the shape that `conv2d` gives for `output_shape`; `input` is the newer name.
        filter, filters: of shape [height, width, out, in]: the channels of `value` are last. `filters` is the newer
            name.
        output_shape: int32, the shape of the result in all dimensions.
        strides: those of the convolution, how much larger the result is: one number, a pair for height and width, or
            a number for each dimension.
        padding: that of the convolution, "SAME" or "VALID".
        data_format: "NHWC" or "NCHW".
        dilations: those of the convolution, given as the strides are; 1 by default.

    Returns:
        A tensor of the shape `output_shape`.

    Raises:
        ValueError: the shapes don't fit together, or as `conv2d`.
    """
    source = either(input, value, "`value` and `input`")
    weights = either(filters, filter, "`filter` and `filters`")
    with composite(name, "conv2d_transpose", source, weights, output_shape) as scope:
        return conv2d_backprop_input_op(
            _wanted(output_shape),
            weights,
            source,
            strides=steps_of(strides, data_format, 4, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=steps_of(dilations, data_format, 4, "dilations"),
            name=scope,
        )


@public("af.nn")
def conv3d_transpose(
    value: TensorLike | None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv3d` (`tf.nn.conv3d_transpose`). Errors are those of `conv2d_transpose`.

    Example:
        >>> af.nn.conv3d_transpose(af.ones([1, 2, 2, 2, 8]), af.ones([2, 2, 2, 1, 8]), [1, 4, 4, 4, 1], 2).shape
        TensorShape([1, 4, 4, 4, 1])

    Args:
        value, input: of the shape that `conv3d` gives for `output_shape`; `input` is the newer name.
        filter, filters: of shape [depth, height, width, out, in]: the channels of `value` are last. `filters` is the
            newer name.
        output_shape: int32, the shape of the result in all dimensions.
        strides: those of the convolution, how much larger the result is: one number, three numbers, or a number for each
            dimension.
        padding: that of the convolution, "SAME" or "VALID".
        data_format: "NDHWC" or "NCDHW".
        dilations: those of the convolution, given as the strides are; 1 by default.

    Returns:
        A tensor of the shape `output_shape`.
    """
    source = either(input, value, "`value` and `input`")
    weights = either(filters, filter, "`filter` and `filters`")
    with composite(name, "conv3d_transpose", source, weights, output_shape) as scope:
        return conv3d_backprop_input_op(
            _wanted(output_shape),
            weights,
            source,
            strides=steps_of(strides, data_format, 5, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=steps_of(dilations, data_format, 5, "dilations"),
            name=scope,
        )


@public("af.nn")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d` (`tf.nn.conv1d_transpose`). Errors are those of `conv2d_transpose`.

    Example:
        >>> af.nn.conv1d_transpose([[[1.0], [2.0]]], [[[1.0]], [[10.0]]], [1, 4, 1], strides=2)
        [[[ 1.]
          [10.]
          [ 2.]
          [20.]]]

    Args:
        input: of the shape that `conv1d` gives for `output_shape`.
        filters: of shape [width, out, in]: the channels of the input are last.
        output_shape: int32, the shape of the result in all dimensions.
        strides: that of the convolution, how much larger the result is: one number, or three.
        padding: that of the convolution, "SAME" or "VALID".
        data_format: "NWC" or "NCW".
        dilations: that of the convolution, given as the stride is; 1 by default.

    Returns:
        A tensor of the shape `output_shape`.
    """
    if data_format not in FORMATS[3]:
        raise ValueError(f"The data format of conv1d_transpose is NWC or NCW, not {data_format!r}.")
    layout, axis = ("NHWC", 1) if data_format == "NWC" else ("NCHW", 2)
    with composite(name, "conv1d_transpose", input, filters, output_shape) as scope:
        target = _wanted(output_shape)
        if is_symbolic(target):
            sizes: Any = concat([target[:axis], [1], target[axis:]], 0)
        else:
            sizes = flattened(tuple(target), axis)
        convolved = conv2d_backprop_input_op(
            sizes,
            expand_dims(convert_to_tensor(filters), 0),
            expand_dims(convert_to_tensor(input), axis),
            strides=flattened(steps_of(strides, data_format, 3, "strides"), axis),
            padding=padding,
            data_format=layout,
            dilations=flattened(steps_of(dilations, data_format, 3, "dilations"), axis),
        )
        return squeeze(convolved, [axis], name=scope)


def _wanted(output_shape: Any) -> Any:
    if output_shape is None:
        raise ValueError("The argument 'output_shape' is missing: the strides alone don't decide it.")
    return output_shape


@public("af.nn")
def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None) -> Tensor:
    """`conv2d` with the elements of the filter `rate` from each other (`tf.nn.atrous_conv2d`).

    Example:
        >>> signal = [[[[1.0], [2.0], [4.0], [7.0]]]]
        >>> af.nn.atrous_conv2d(signal, [[[[-1.0]], [[1.0]]]], rate=2, padding="VALID")[0, 0, :, 0]
        [3. 5.]

    Args:
        value: floating, of shape [batch, height, width, in].
        filters: of the same type, of shape [height, width, in, out].
        rate: from how far apart the elements are that a filter sees, 1 or more.
        padding: "SAME" or "VALID".

    Returns:
        A tensor of shape [batch, places, places, out].

    Raises:
        ValueError: a rate below 1, or as `conv2d`.
    """
    return conv2d_op(
        value,
        filters,
        strides=(1, 1, 1, 1),
        padding=padding,
        dilations=(1, rate, rate, 1),
        name=name or "convolution",
    )


@public("af.nn")
def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d` (`tf.nn.atrous_conv2d_transpose`). Errors are those of `conv2d_transpose`.

    Example:
        >>> slope = af.ones([1, 1, 2, 1])
        >>> af.nn.atrous_conv2d_transpose(slope, [[[[-1.0]], [[1.0]]]], [1, 1, 4, 1], rate=2, padding="VALID")[0, 0, :, 0]
        [-1. -1.  1.  1.]

    Args:
        value: of the shape that `atrous_conv2d` gives for `output_shape`.
        filters: of shape [height, width, out, in]: the channels of `value` are last.
        output_shape: int32 [4], the shape of the result.
        rate: from how far apart the elements are that a filter sees, 1 or more.
        padding: that of the convolution, "SAME" or "VALID".

    Returns:
        A tensor of the shape `output_shape`.
    """
    with composite(name, "atrous_conv2d_transpose", value, filters, output_shape) as scope:
        return conv2d_backprop_input_op(
            _wanted(output_shape),
            filters,
            value,
            strides=(1, 1, 1, 1),
            padding=padding,
            dilations=(1, rate, rate, 1),
            name=scope,
        )
