"""Pools: the largest element or the mean of each window (`tf.nn.max_pool`, `avg_pool`, `pool`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DTypeLike, int64
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.shape import expand_dims, squeeze
from actorflow.graph.ops.array.space_batch import with_space_to_batch
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.nn.conv.functions import either, flattened, known_rank, layout_of
from actorflow.graph.ops.nn.conv.geometry import FORMATS, spatial, steps_of
from actorflow.graph.ops.nn.pooling.rules import (
    avg_pool3d_op,
    avg_pool_op,
    max_pool3d_op,
    max_pool_op,
    max_pool_with_argmax_op,
)
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _pooled(function: Any, value: Any, ksize: Any, strides: Any, padding: str, layout: str, name: str | None) -> Tensor:
    rank = 5 if "D" in layout else 4
    pooled: Tensor = function(
        value,
        ksize=steps_of(ksize, layout, rank, "ksize"),
        strides=steps_of(strides, layout, rank, "strides"),
        padding=padding,
        data_format=layout,
        name=name,
    )
    return pooled


def _pooled_sequence(
    function: Any, value: Any, ksize: Any, strides: Any, padding: str, layout: str, name: str | None, default: str
) -> Tensor:
    if layout not in FORMATS[3]:
        raise ValueError(f"The data format of {default} is NWC or NCW, not {layout!r}.")
    flat, axis = ("NHWC", 1) if layout == "NWC" else ("NCHW", 2)
    with composite(name, default, value) as scope:
        pooled = function(
            expand_dims(convert_to_tensor(value), axis),
            ksize=flattened(steps_of(ksize, layout, 3, "ksize"), axis),
            strides=flattened(steps_of(strides, layout, 3, "strides"), axis),
            padding=padding,
            data_format=flat,
        )
        return squeeze(pooled, [axis], name=scope)


@public("af.nn")
def max_pool(
    value: TensorLike | None,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The largest element of each window of images (`tf.nn.max_pool`). The gradient goes to the first of equal elements.

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> af.nn.max_pool(image, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")[0, :, :, 0]
        [[ 5.  7.]
         [13. 15.]]

    Args:
        value, input: a real tensor of shape [batch, height, width, channels], or [batch, channels, height, width] where
            `data_format` is "NCHW"; `input` is the newer name.
        ksize: the size of the window: one number, a pair for height and width, or a number for each dimension. Either
            space is pooled, or the channels are, in windows that don't overlap.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NHWC" or "NCHW".

    Returns:
        A tensor of the same type, with a place for each window.

    Raises:
        ValueError: the window does not fit in, or an argument can't be. InvalidArgumentError in the run, where shapes
            are known only then.
    """
    return _pooled(max_pool_op, either(input, value, "`value` and `input`"), ksize, strides, padding, data_format, name)


@public("af.nn", "tf.nn:avg_pool2d")
def avg_pool(
    value: TensorLike | None,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The mean of the elements in each window of images (`tf.nn.avg_pool`), of those that there are. The channels are not
    pooled. Errors are those of `max_pool`.

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> af.nn.avg_pool(image, 2, 2, "VALID")[0, :, :, 0]
        [[ 2.5  4.5]
         [10.5 12.5]]

    Args:
        value, input: floating, of shape [batch, height, width, channels], or [batch, channels, height, width] where
            `data_format` is "NCHW"; `input` is the newer name.
        ksize: the size of the window: one number, a pair for height and width, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NHWC" or "NCHW".
    """
    return _pooled(avg_pool_op, either(input, value, "`value` and `input`"), ksize, strides, padding, data_format, name)


@public("af.nn")
def max_pool2d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The same as `max_pool` (`tf.nn.max_pool2d`).

    Example:
        >>> af.nn.max_pool2d([[[[1.0], [3.0]], [[5.0], [7.0]]]], 2, 2, "VALID")
        [[[[7.]]]]

    Args:
        input: a real tensor of shape [batch, height, width, channels], or [batch, channels, height, width] where
            `data_format` is "NCHW".
        ksize: the size of the window: one number, a pair for height and width, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NHWC" or "NCHW".
    """
    return _pooled(max_pool_op, input, ksize, strides, padding, data_format, name or "max_pool2d")


@public("af.nn")
def avg_pool2d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The same as `avg_pool` (`tf.nn.avg_pool2d`).

    Example:
        >>> af.nn.avg_pool2d([[[[1.0], [3.0]], [[5.0], [7.0]]]], 2, 2, "VALID")
        [[[[4.]]]]

    Args:
        input: floating, of shape [batch, height, width, channels], or [batch, channels, height, width] where
            `data_format` is "NCHW".
        ksize: the size of the window: one number, a pair for height and width, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NHWC" or "NCHW".
    """
    return _pooled(avg_pool_op, input, ksize, strides, padding, data_format, name or "avg_pool2d")


@public("af.nn")
def max_pool3d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of volumes (`tf.nn.max_pool3d`). Errors are those of `max_pool`.

    Example:
        >>> af.nn.max_pool3d(af.ones([1, 5, 5, 5, 2]), 2, 2, "SAME").shape
        TensorShape([1, 3, 3, 3, 2])

    Args:
        input: floating, of shape [batch, depth, height, width, channels], or [batch, channels, depth, height, width]
            where `data_format` is "NCDHW".
        ksize: the size of the window in space: one number, three numbers, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NDHWC" or "NCDHW".
    """
    return _pooled(max_pool3d_op, input, ksize, strides, padding, data_format, name)


@public("af.nn")
def avg_pool3d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: str | None = None
) -> Tensor:
    """The mean of each window of volumes (`tf.nn.avg_pool3d`). Errors are those of `max_pool`.

    Example:
        >>> af.nn.avg_pool3d(af.ones([1, 4, 4, 4, 2]), 2, 2, "VALID").shape
        TensorShape([1, 2, 2, 2, 2])

    Args:
        input: floating, of shape [batch, depth, height, width, channels], or [batch, channels, depth, height, width]
            where `data_format` is "NCDHW".
        ksize: the size of the window in space: one number, three numbers, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NDHWC" or "NCDHW".
    """
    return _pooled(avg_pool3d_op, input, ksize, strides, padding, data_format, name)


@public("af.nn")
def max_pool1d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of sequences (`tf.nn.max_pool1d`). Errors are those of `max_pool`.

    Example:
        >>> af.nn.max_pool1d([[[1.0], [3.0], [2.0]]], 2, 1, "VALID")
        [[[3.]
          [3.]]]

    Args:
        input: a real tensor of shape [batch, width, channels], or [batch, channels, width] where `data_format` is
            "NCW".
        ksize: the size of the window: one number, or three.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NWC" or "NCW".
    """
    return _pooled_sequence(max_pool_op, input, ksize, strides, padding, data_format, name, "max_pool1d")


@public("af.nn")
def avg_pool1d(
    input: TensorLike, ksize: Any, strides: Any, padding: str, data_format: str = "NWC", name: str | None = None
) -> Tensor:
    """The mean of each window of sequences (`tf.nn.avg_pool1d`). Errors are those of `max_pool`.

    Example:
        >>> af.nn.avg_pool1d([[[1.0], [3.0], [10.0]]], 2, 1, "VALID")
        [[[2. ]
          [6.5]]]

    Args:
        input: floating, of shape [batch, width, channels], or [batch, channels, width] where `data_format` is "NCW".
        ksize: the size of the window: one number, or three.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NWC" or "NCW".
    """
    return _pooled_sequence(avg_pool_op, input, ksize, strides, padding, data_format, name, "avg_pool1d")


@public("af.nn")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: DTypeLike | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool`, and the place of each window's first maximum (`tf.nn.max_pool_with_argmax`).

    Example:
        >>> largest, place = af.nn.max_pool_with_argmax([[[[1.0], [3.0]], [[9.0], [7.0]]]], [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        >>> largest[0, 0, 0], place[0, 0, 0]
        ([9.], [2])

    Args:
        input: a real tensor of shape [batch, height, width, channels].
        ksize: the size of the window: one number, a pair for height and width, or a number for each dimension.
        strides: how far the window moves, given in the same way.
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        data_format: "NHWC".
        Targmax, output_dtype: the type of the places, int64 (by default) or int32; `output_dtype` is the newer name.
        include_batch_in_index: whether places count the elements of the whole batch, rather than of their own image.

    Returns:
        The maxima and the places, of one shape. Element [b, y, x, c] has the place (y · width + x) · channels + c.

    Raises:
        ValueError: another data format; or as `max_pool`.
    """
    if data_format != "NHWC":
        raise ValueError(f"The data format of max_pool_with_argmax is NHWC, not {data_format!r}.")
    kind: Any = output_dtype or Targmax or int64
    return max_pool_with_argmax_op(
        input,
        ksize=steps_of(ksize, "NHWC", 4, "ksize"),
        strides=steps_of(strides, "NHWC", 4, "strides"),
        padding=padding,
        Targmax=kind,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@public("af.nn")
def pool(
    input: TensorLike,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Pools of 1, 2 or 3 dimensions, whichever the input has (`tf.nn.pool`).

    Example:
        >>> af.nn.pool([[[1.0], [3.0], [2.0], [8.0]]], [2], "MAX", "VALID", strides=[2])
        [[[3.]
          [8.]]]

    Args:
        input: of rank 3, 4 or 5, which has to be known; the channels are last, or in dimension 1 where `data_format`
            starts with "NC".
        window_shape: the size of the window in each spatial dimension.
        pooling_type: "MAX" or "AVG".
        padding: "SAME" (windows may lie partly outside, which adds nothing) or "VALID" (none does).
        dilation_rate, dilations: how far the elements of a window are from each other; 1 by default, more only with the
            padding "VALID". `dilations` is the newer name.
        strides: how far the window moves; 1 by default.
        data_format: where the channels are: "NWC", "NHWC" or "NDHWC" (by default), or "NCW", "NCHW" or "NCDHW".

    Returns:
        A tensor of the same type, with a place for each window.

    Raises:
        ValueError: another type, a list of another length, strides and dilations that are both more than 1, or
            dilations with the padding "SAME".
    """
    source = convert_to_tensor(input)
    rank = known_rank(source, None, "pool")
    layout = layout_of(data_format, rank, "pool")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"The pooling type is 'MAX' or 'AVG', not {pooling_type!r}.")
    rates = dilation_rate if dilations is None else dilations
    for what, sizes in (("window_shape", window_shape), ("strides", strides), ("dilation_rate", rates)):
        if sizes is not None and len(sizes) != rank - 2:
            raise ValueError(f"pool needs {rank - 2} entries in {what} for {source.name}, but {list(sizes)} was given.")
    spread = spatial(steps_of(rates, layout, rank, "dilations"), layout)
    steps = steps_of(strides, layout, rank, "strides")
    if max(spread) > 1 and max(steps) > 1:
        raise ValueError(f"Strides and dilations can't both be more than 1, but {strides} and {rates} were given.")
    if max(spread) > 1 and padding == "SAME":
        raise ValueError(f"A pool with the padding SAME takes no dilations, but {rates} was given.")
    functions = {3: (max_pool1d, avg_pool1d), 4: (max_pool2d, avg_pool2d), 5: (max_pool3d, avg_pool3d)}
    function = functions[rank][pooling_type == "AVG"]
    with composite(name, f"{pooling_type.lower()}_pool", source):
        return with_space_to_batch(
            source,
            list(spread),
            padding,
            lambda tensor, _, kind: function(tensor, list(window_shape), list(steps), kind, layout),
            filter_shape=list(window_shape),
            data_format=layout,
        )
