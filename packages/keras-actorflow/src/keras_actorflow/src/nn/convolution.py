"""Convolutions. Kernels have channels last; other inputs are turned before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras.src.backend import config
from keras.src.backend.common.backend_utils import compute_conv_transpose_output_shape

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common
from keras_actorflow.src.sizes import sizes_of, vector

_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_ASSUMED = 64
"""Stands for a size that only a run tells: a transposed convolution grows by its stride for each pixel more."""


def channels_last(x: Any) -> Any:
    """A batch with the channels moved to the end."""
    return af.transpose(x, [0, *range(2, len(x.shape)), 1])


def channels_first(x: Any) -> Any:
    """A batch with the channels moved behind the first axis."""
    return af.transpose(x, [0, len(x.shape) - 1, *range(1, len(x.shape) - 1)])


def per_axis(value: Any, rank: int, name: str) -> list[int]:
    """A number for each axis of the image.

    Raises:
        ValueError: there is another number of them.
    """
    numbers = [int(value)] * rank if isinstance(value, (int, np.integer)) else [int(number) for number in value]
    if len(numbers) == 1:
        numbers = numbers * rank
    if len(numbers) != rank:
        raise ValueError(f"`{name}` has {len(numbers)} numbers, but the inputs have {rank} spatial axes.")
    return numbers


def _checked(padding: str) -> str:
    padding = padding.upper()
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding is 'valid' or 'same', but it is {padding.lower()!r}.")
    return padding


def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """A convolution; kernels of fewer channels than the input has convolve groups of channels."""
    inputs, kernel = common(inputs, kernel)
    data_format = config.standardize_data_format(data_format)
    x = channels_last(inputs) if data_format == "channels_first" else inputs
    rank = len(x.shape) - 2
    strides, dilations = per_axis(strides, rank, "strides"), per_axis(dilation_rate, rank, "dilation_rate")
    channels, each = int(x.shape[-1]), int(kernel.shape[-2])
    if channels % each:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. Received input channels "
            f"{channels} and kernel in_channels {each}. "
        )
    groups = channels // each
    if int(kernel.shape[-1]) % groups:
        raise ValueError(
            f"The number of filters, {int(kernel.shape[-1])}, is not divisible by that of groups, {groups}."
        )
    if groups == 1:
        result = _convolved(x, kernel, strides, _checked(padding), dilations)
    elif each == 1 and rank == 2:
        result = _depthwise(x, _by_channel(kernel, groups), strides, _checked(padding), dilations)
    else:
        parts = zip(af.split(x, groups, -1), af.split(kernel, groups, -1), strict=True)
        result = af.concat([_convolved(a, b, strides, _checked(padding), dilations) for a, b in parts], axis=-1)
    return channels_first(result) if data_format == "channels_first" else result


def _by_channel(kernel: Any, groups: int) -> Any:
    """A kernel of one channel in a group as that of a depthwise convolution."""
    sizes = [int(size) for size in kernel.shape]
    return af.reshape(kernel, [*sizes[:-2], groups, sizes[-1] // groups])


def _convolved(x: Any, kernel: Any, strides: list[int], padding: str, dilations: list[int]) -> Any:
    rank = len(strides)
    if max(strides) > 1 and max(dilations) > 1:
        kernel, dilations = _spread(kernel, dilations), [1] * rank
    return af.nn.convolution(
        x, kernel, padding=padding, strides=strides, dilation_rate=dilations, data_format=_LAYOUTS[rank]
    )


def _spread(kernel: Any, dilations: list[int]) -> Any:
    """A kernel with zeros between its elements."""
    for axis, rate in enumerate(dilations):
        if rate == 1:
            continue
        sizes = [int(size) for size in kernel.shape]
        kernel = af.expand_dims(kernel, axis + 1)
        widths = [[0, 0]] * len(kernel.shape)
        widths[axis + 1] = [0, rate - 1]
        kernel = af.pad(kernel, widths)
        full = [*sizes[:axis], sizes[axis] * rate, *sizes[axis + 1 :]]
        kernel = af.reshape(kernel, full)
        kernel = af.slice_(kernel, [0] * len(sizes), [*sizes[:axis], (sizes[axis] - 1) * rate + 1, *sizes[axis + 1 :]])
    return kernel


def _depthwise(x: Any, kernel: Any, strides: list[int], padding: str, dilations: list[int]) -> Any:
    if max(dilations) > 1:
        kernel = _spread(kernel, dilations)
    if len(set(strides)) == 1:
        return af.nn.depthwise_conv2d_native(x, kernel, [1, *strides, 1], padding)
    sizes = [int(size) for size in kernel.shape]
    parts = zip(af.split(x, sizes[-2], -1), af.split(kernel, sizes[-2], -2), strict=True)
    return af.concat([_convolved(a, b, strides, padding, [1, 1]) for a, b in parts], axis=-1)


def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """A convolution of each channel by its own kernels."""
    inputs, kernel = common(inputs, kernel)
    data_format = config.standardize_data_format(data_format)
    x = channels_last(inputs) if data_format == "channels_first" else inputs
    rank = len(x.shape) - 2
    if rank > 2:
        raise ValueError("`inputs` rank must be 3 (1D conv) or 4 (2D conv). Received: inputs.ndim=" + str(len(x.shape)))
    strides, dilations = per_axis(strides, rank, "strides"), per_axis(dilation_rate, rank, "dilation_rate")
    if rank == 1:
        x, kernel = af.expand_dims(x, 1), af.expand_dims(kernel, 0)
        strides, dilations = [strides[0]] * 2, [1, dilations[0]]
    result = _depthwise(x, kernel, strides, _checked(padding), dilations)
    result = af.squeeze(result, [1]) if rank == 1 else result
    return channels_first(result) if data_format == "channels_first" else result


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """A convolution of each channel, and a mixture of the channels."""
    data_format = config.standardize_data_format(data_format)
    parts = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(parts, pointwise_kernel, 1, "valid", data_format)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """The transposed convolution, which is the gradient of a convolution by its input."""
    inputs, kernel = common(inputs, kernel)
    data_format = config.standardize_data_format(data_format)
    x = channels_last(inputs) if data_format == "channels_first" else inputs
    rank = len(x.shape) - 2
    strides, dilations = per_axis(strides, rank, "strides"), per_axis(dilation_rate, rank, "dilation_rate")
    shape = _transposed_sizes(x, kernel, strides, padding, output_padding, dilations)
    kernel = _spread(kernel, dilations)
    if rank == 1:
        x, kernel = af.expand_dims(x, 1), af.expand_dims(kernel, 0)
        shape, strides = [shape[0], 1, *shape[1:]], [1, *strides]
    transposed = af.nn.conv3d_transpose if rank == 3 else af.nn.conv2d_transpose
    result = transposed(x, kernel, vector(shape), [1, *strides, 1], _checked(padding))
    result = af.squeeze(result, [1]) if rank == 1 else result
    return channels_first(result) if data_format == "channels_first" else result


def _transposed_sizes(
    x: Any, kernel: Any, strides: list[int], padding: str, output_padding: Any, dilations: list[int]
) -> list[Any]:
    """The sizes of a transposed convolution."""
    assumed = [_ASSUMED if size is None else size for size in tuple(x.shape)]
    shape = compute_conv_transpose_output_shape(
        tuple(assumed),
        tuple(kernel.shape)[:-2],
        int(kernel.shape[-2]),
        strides,
        padding,
        output_padding,
        "channels_last",
        dilations if len(set(dilations)) > 1 else dilations[0],
    )
    batch, *inner, _ = sizes_of(x)
    factors = zip(shape[1:-1], assumed[1:-1], inner, strides, strict=True)
    return [batch, *(int(after) + (size - before) * stride for after, before, size, stride in factors), int(shape[-1])]


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The patches of images, each as a column."""
    x = convert_to_tensor(input)
    size, dilations = per_axis(kernel_size, 2, "kernel_size"), per_axis(dilation, 2, "dilation")
    pads, strides = per_axis(padding, 2, "padding"), per_axis(stride, 2, "stride")
    x = af.pad(x, [[0, 0], [0, 0], [pads[0]] * 2, [pads[1]] * 2])
    rows, columns = _places(sizes_of(x)[2:], size, dilations, strides)
    x = af.gather(af.gather(x, rows, axis=2), columns, axis=4)  # batch, channel, patch row, row, patch column, column
    batch, channels, *_ = sizes_of(x)
    x = af.transpose(x, [0, 1, 3, 5, 2, 4])
    return af.reshape(x, [batch, channels * size[0] * size[1], -1])


def _places(image: list[Any], size: list[int], dilations: list[int], strides: list[int]) -> list[Any]:
    """For each axis, a matrix of indices: a row for each patch."""
    matrices = []
    for length, kernel, dilation, stride in zip(image, size, dilations, strides, strict=True):
        count = (length - dilation * (kernel - 1) - 1) // stride + 1
        rows = af.expand_dims(af.range_(count), 1) * stride
        matrices.append(rows + af.constant(np.arange(kernel)[None, :] * dilation, af.int32))
    return matrices


def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images of patches; where patches overlap they are added."""
    x = convert_to_tensor(x)
    output = per_axis(output_size, 2, "output_size")
    size, dilations = per_axis(kernel_size, 2, "kernel_size"), per_axis(dilation, 2, "dilation")
    pads, strides = per_axis(padding, 2, "padding"), per_axis(stride, 2, "stride")
    full = [length + 2 * pad for length, pad in zip(output, pads, strict=True)]
    numbers = np.arange(full[0] * full[1]).reshape(1, 1, *full)
    patches = _host_patches(numbers, size, dilations, strides)
    batch, rows, count = sizes_of(x)
    channels = rows // (size[0] * size[1])
    parts = af.reshape(x, [batch * channels, size[0] * size[1] * count])
    sums = af.transpose(af.unsorted_segment_sum(af.transpose(parts), patches.ravel(), full[0] * full[1]))
    image = af.reshape(sums, [batch, channels, *full])
    return image[:, :, pads[0] : pads[0] + output[0], pads[1] : pads[1] + output[1]]


def _host_patches(numbers: Any, size: list[int], dilations: list[int], strides: list[int]) -> Any:
    rows, columns = (
        np.asarray(part.numpy()) for part in _eager_places(list(numbers.shape)[2:], size, dilations, strides)
    )
    patches = numbers[0, 0][rows[:, :, None, None], columns[None, None]]
    return patches.transpose(1, 3, 0, 2).astype(np.int32)


def _eager_places(*args: Any) -> list[Any]:
    with af.init_scope():
        return _places(*args)


def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    """Channels as blocks of pixels."""
    return _blocks(af.depth_to_space, x, block_size, data_format)


def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last") -> Any:
    """Blocks of pixels as channels."""
    return _blocks(af.space_to_depth, x, block_size, data_format)


def _blocks(function: Any, x: Any, block_size: int, data_format: str) -> Any:
    x = convert_to_tensor(x)
    if data_format == "channels_first":
        return channels_first(function(channels_last(x), block_size))
    return function(x, block_size)
