"""Ops that move elements between space and the batch or the channels, and that take patches of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite, known_value, small_constant
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.nn.conv.geometry import channel_axis
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- space and batch


def _blocks(c: Inference) -> tuple[Any, Any, int | None]:
    """The block's sizes, the paddings (None where unknown) and their number. Raises ValueError if they don't fit."""
    block, widths = c.shapes[1], c.shapes[2]
    if block is not None and len(block) != 1:
        raise ValueError(f"block_shape is a vector, but has the shape {show(block)}.")
    if widths is not None and (len(widths) != 2 or widths[1] not in (None, 2)):
        raise ValueError(f"{c.op.inputs[2].name} is a matrix of two columns, but has the shape {show(widths)}.")
    count = merge(None if block is None else block, None if widths is None else widths[:1])
    source = c.shapes[0]
    number = None if count is None else count[0]
    if source is not None and number is not None and len(source) < number + 1:
        raise ValueError(f"{number} block sizes need {number + 1} dimensions or more, but the shape is {show(source)}.")
    return c.value(1), c.value(2), number


def check_blocks(sizes: Any, pairs: Any, name: str) -> None:
    """Raises ValueError for a block size below 1 and a negative width."""
    if sizes is not None and np.any(np.asarray(sizes) < 1):
        raise ValueError(f"Block sizes are positive, but {np.asarray(sizes).tolist()} was given.")
    if pairs is not None and np.any(np.asarray(pairs) < 0):
        raise ValueError(f"{name} are zero or more, but {np.asarray(pairs).tolist()} was given.")


def divided(size: int, by: int, what: str) -> int:
    """size / by. Raises ValueError where that leaves a rest."""
    if size % by:
        raise ValueError(f"{what} of {size} can't be divided into blocks of {by}.")
    return size // by


def _to_batch(c: Inference) -> Shape:
    block, paddings, number = _blocks(c)
    check_blocks(block, paddings, "Paddings")
    source = c.shapes[0]
    if source is None or number is None:
        return None
    batch = source[0]
    result: list[int | None] = [None] * number
    for d in range(number):
        size = source[1 + d]
        if block is not None and paddings is not None and size is not None:
            result[d] = divided(size + int(paddings[d].sum()), int(block[d]), "A padded dimension")
    count = None if batch is None or block is None else batch * int(np.prod(block))
    return (count, *result, *source[1 + number :])


def _to_space(c: Inference) -> Shape:
    block, crops, number = _blocks(c)
    check_blocks(block, crops, "Crops")
    source = c.shapes[0]
    if source is None or number is None:
        return None
    batch = source[0]
    if batch is not None and block is not None:
        batch = divided(batch, int(np.prod(block)), "A batch")
    elif block is None:
        batch = None
    result: list[int | None] = [None] * number
    for d in range(number):
        size = source[1 + d]
        if block is not None and crops is not None and size is not None:
            result[d] = cropped(size * int(block[d]), int(crops[d].sum()))
    return (batch, *result, *source[1 + number :])


def cropped(size: int, by: int) -> int:
    """size - by. Raises ValueError where nothing could be left."""
    if by > size:
        raise ValueError(f"A dimension of {size} can't be cropped by {by}.")
    return size - by


@public("af", "tf.manip")
@op("SpaceToBatchND", shape=_to_batch, types={"block_shape": INDEX, "paddings": INDEX})
def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, *, name: str | None = None
) -> Tensor:
    """Pads the dimensions after the first with zeros, and moves the elements of their blocks into the batch, each
    position in a block becoming a part of it (`tf.space_to_batch_nd`).

    Example:
        >>> af.space_to_batch_nd([[[1], [2], [3], [4]]], [2], [[0, 0]])[:, :, 0]
        [[1 3]
         [2 4]]

    Args:
        input: of shape [batch, space..., rest...], any type.
        block_shape: int32 or int64, one size for each spatial dimension.
        paddings: a matrix of the widths before and after each spatial dimension.

    Returns:
        A tensor of shape [batch · prod(block_shape), padded space / block_shape..., rest...].

    Raises:
        ValueError: a padded dimension is not a multiple of its block; InvalidArgumentError in the run.
    """


@public("af", "tf.manip")
@op("BatchToSpaceND", shape=_to_space, types={"block_shape": INDEX, "crops": INDEX})
def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, *, name: str | None = None
) -> Tensor:
    """The inverse of `space_to_batch_nd`, with `crops` cut off instead of paddings put on (`tf.batch_to_space_nd`).

    Example:
        >>> af.batch_to_space_nd([[[1], [3]], [[2], [4]]], [2], [[0, 0]])[0, :, 0]
        [1 2 3 4]

    Args:
        input: of shape [batch, space..., rest...], of any type.
        block_shape: int32 or int64, one size for each spatial dimension.
        crops: a matrix of the widths to cut off before and after each spatial dimension.

    Raises:
        ValueError: the batch is not a multiple of the block's elements, or more would be cut off than there is;
            InvalidArgumentError where only the run knows.
    """


@space_to_batch_nd.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [batch_to_space_nd(dy, node.inputs[1], node.inputs[2]), None, None]


@batch_to_space_nd.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [space_to_batch_nd(dy, node.inputs[1], node.inputs[2]), None, None]


def _block_of(block_size: Any, block_shape: Any) -> Any:
    if (block_size is None) == (block_shape is None):
        raise ValueError("One of the arguments block_size and block_shape is needed, and not both.")
    return block_shape if block_size is None else [block_size, block_size]


def _as_images(result: Tensor) -> Tensor:
    """The same tensor, which has four dimensions also where its shape is not known. Raises ValueError for another number."""
    result.set_shape([None] * 4)
    return result


@public("af", "af.nn")
def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """`space_to_batch_nd` of images (`tf.space_to_batch`).

    Example:
        >>> af.space_to_batch([[[[1], [2]], [[3], [4]]]], [[0, 0], [0, 0]], block_size=2)[:, 0, 0, 0]
        [1 2 3 4]

    Args:
        input: of shape [batch, height, width, channels], of any type.
        paddings: a matrix [2, 2] of the widths of zeros before and after height and width.
        block_size: the side of square blocks.
        block_shape: the height and the width of blocks that are not square.
    """
    return _as_images(space_to_batch_nd(input, _block_of(block_size, block_shape), paddings, name=name))


@public("af", "af.nn")
def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """`batch_to_space_nd` of images (`tf.batch_to_space`).

    Example:
        >>> af.batch_to_space([[[[1]]], [[[2]]], [[[3]]], [[[4]]]], [[0, 0], [0, 0]], block_size=2).shape
        TensorShape([1, 2, 2, 1])

    Args:
        input: of shape [batch, height, width, channels], of any type.
        crops: a matrix [2, 2] of the widths to cut off before and after height and width.
        block_size: the side of square blocks.
        block_shape: the height and the width of blocks that are not square.
    """
    return _as_images(batch_to_space_nd(input, _block_of(block_size, block_shape), crops, name=name))


@public("af")
def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """How `space_to_batch_nd` has to pad so that blocks come out even, and how its inverse has to crop afterwards
    (`tf.required_space_to_batch_paddings`).

    Example:
        >>> af.required_space_to_batch_paddings([5, 6], [2, 3])
        ([[0 1]
          [0 0]], [[0 1]
                   [0 0]])

    Args:
        input_shape: int32, the sizes of the spatial dimensions.
        block_shape: int32, the sizes of the block.
        base_paddings: the smallest paddings wanted, of shape [dimensions, 2]; zeros by default.

    Returns:
        The paddings and the crops, each of shape [dimensions, 2].

    Raises:
        ValueError: the numbers of dimensions differ.
    """
    with composite(name, "required_space_to_batch_paddings", input_shape, block_shape, base_paddings):
        graph = graph_of([input_shape, block_shape, base_paddings])
        sizes = convert_to_tensor(input_shape, int32, graph=graph)
        block = convert_to_tensor(block_shape, int32, graph=graph)
        base = None if base_paddings is None else convert_to_tensor(base_paddings, int32, graph=graph)
        merge(merge(sizes.static_shape, block.static_shape), None if base is None else base[:, 0].static_shape)
        values: list[Any] = [known_value(t) for t in (sizes, block, base) if t is not None]
        if all(v is not None for v in values):
            paddings = values[2] if len(values) == 3 else np.zeros((len(values[0]), 2), np.int32)
            before, after = paddings[:, 0], paddings[:, 1]
            rest = (-(values[0] + before + after)) % values[1]
            return (
                small_constant(graph, np.stack([before, after + rest], 1), int32, "paddings"),
                small_constant(graph, np.stack([np.zeros_like(rest), rest], 1), int32, "crops"),
            )
        first: Any = sizes * 0 if base is None else base[:, 0]
        second: Any = sizes * 0 if base is None else base[:, 1]
        total = sizes + first + second
        missing = (block - total % block) % block
        return stack([first, second + missing], 1), stack([missing * 0, missing], 1)


@public("af.nn")
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, Any, str], Tensor],
    filter_shape: TensorLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """The result of `op` where its window sees elements `dilation_rate` from each other (`tf.nn.with_space_to_batch`).

    The elements of the same rest modulo the rate become images of their own, on which `op` is called without padding.

    Example:
        >>> image = af.reshape(af.range_(25.0), [1, 5, 5, 1])
        >>> seen = []
        >>> def pooled(x, blocks, padding):
        ...     seen.append(x.shape)
        ...     return af.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], padding)
        >>> af.nn.with_space_to_batch(image, [2, 2], "VALID", pooled, filter_shape=[2, 2])[0, :, :, 0]
        [[12. 13. 14.]
         [17. 18. 19.]
         [22. 23. 24.]]
        >>> seen
        [TensorShape([4, 3, 3, 1])]

    Args:
        input: of rank len(dilation_rate) + 2 or more.
        dilation_rate: int32, a rate for each spatial dimension, known as the graph is built. If all are 1, the result is
            that of `op` on the input itself.
        padding: "SAME" or "VALID".
        op: a function of a tensor, the number of spatial dimensions and a padding.
        filter_shape: the size of the window in each spatial dimension, needed for "SAME".
        spatial_dims: the spatial dimensions in ascending order; 1, 2, ... by default, 2, 3, ... where `data_format`
            starts with "NC".
        data_format: "NHWC" (by default) and its like, or "NCHW": where the channels are.

    Raises:
        ValueError: the rates are not known or below 1, or the dimensions or the padding can't be.
    """
    tensor = convert_to_tensor(input)
    rates = known_value(convert_to_tensor(dilation_rate, int32, graph=tensor.graph))
    if rates is None or rates.ndim != 1 or np.any(rates < 1):
        raise ValueError(f"The dilation rates are a constant vector of positive numbers, not {dilation_rate!r}.")
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    dims = list(range(first, first + len(rates))) if spatial_dims is None else [int(d) for d in spatial_dims]
    if len(dims) != len(rates) or dims != sorted(set(dims)) or dims and dims[0] < 1:
        raise ValueError(f"The {len(rates)} spatial dimensions are positive and ascending, but {dims} was given.")
    if np.all(rates == 1):
        return op(tensor, len(rates), padding)
    base = np.zeros((len(rates), 2), np.int32)
    if padding == "SAME":
        window = (
            None if filter_shape is None else known_value(convert_to_tensor(filter_shape, int32, graph=tensor.graph))
        )
        if window is None:
            raise ValueError("The padding SAME needs a constant `filter_shape`.")
        more = (window[: len(rates)] - 1) * rates
        base = np.stack([more // 2, more - more // 2], 1).astype(np.int32)
    elif padding != "VALID":
        raise ValueError(f"The padding is 'SAME' or 'VALID', not {padding!r}.")
    static = tensor.static_shape
    if static is not None and all(static[d] is not None for d in dims):
        sizes: Any = [static[d] for d in dims]
    else:
        whole = shape(tensor)
        sizes = stack([whole[d] for d in dims])
    paddings, crops = required_space_to_batch_paddings(sizes, rates, base)
    block = list(rates)
    # Dimensions between the batch and the last spatial one take a block of 1.
    if dims != list(range(1, len(dims) + 1)):
        paddings, crops, block = _adjusted(paddings, crops, block, dims)
    moved = space_to_batch_nd(tensor, [int(b) for b in block], paddings)
    return batch_to_space_nd(op(moved, len(rates), "VALID"), [int(b) for b in block], crops)


def _adjusted(paddings: Tensor, crops: Tensor, block: list[Any], dims: list[int]) -> tuple[Tensor, Tensor, list[Any]]:
    none: Any = [0, 0]
    at = {dim: number for number, dim in enumerate(dims)}
    every = range(1, dims[-1] + 1)
    widths = [stack([paddings[at[d]] if d in at else none for d in every])]
    widths.append(stack([crops[at[d]] if d in at else none for d in every]))
    return widths[0], widths[1], [block[at[d]] if d in at else 1 for d in every]


# ---- space and depth


def _check_depth(c: Inference) -> tuple[int, int]:
    """The block's size and the channels' axis."""
    layout, block = c.attrs["data_format"], c.attrs["block_size"]
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"The data format of {c.op.type} is NHWC or NCHW, not {layout!r}.")
    if block < 2:
        raise ValueError(f"The block size of {c.op.type} is 2 or more, but {block} was given.")
    return block, channel_axis(layout, 4)


def _to_depth(c: Inference) -> Shape:
    block, axis = _check_depth(c)
    source = require_rank(c, 0, 4)
    if source is None:
        return (None,) * 4
    return tuple(
        None
        if size is None
        else size
        if d == 0
        else size * block * block
        if d == axis
        else divided(size, block, "A spatial dimension")
        for d, size in enumerate(source)
    )


def _from_depth(c: Inference) -> Shape:
    block, axis = _check_depth(c)
    source = require_rank(c, 0, 4)
    if source is None:
        return (None,) * 4
    return tuple(
        None
        if size is None
        else size
        if d == 0
        else divided(size, block * block, "A depth")
        if d == axis
        else size * block
        for d, size in enumerate(source)
    )


@op("SpaceToDepth", shape=_to_depth)
def space_to_depth_op(
    input: TensorLike, *, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Each square block of an image as channels of one element. See `space_to_depth`."""


@op("DepthToSpace", shape=_from_depth)
def depth_to_space_op(
    input: TensorLike, *, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The channels of each element as a square block of an image. See `depth_to_space`."""


@space_to_depth_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    attrs = {name: node.attrs[name] for name in ("block_size", "data_format")}
    return [depth_to_space_op(dy, **attrs)]


@depth_to_space_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    attrs = {name: node.attrs[name] for name in ("block_size", "data_format")}
    return [space_to_depth_op(dy, **attrs)]


@public("af", "af.nn")
def space_to_depth(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Each square block of an image as channels of one element (`tf.space_to_depth`).

    Example:
        >>> af.space_to_depth([[[[1], [2]], [[3], [4]]]], 2)
        [[[[1 2 3 4]]]]

    Args:
        input: [batch, height, width, channels], or [batch, channels, height, width] for NCHW; of any type.
        block_size: the side of the blocks, 2 or more.
        data_format: NHWC or NCHW.

    Returns:
        [batch, height / block_size, width / block_size, channels · block_size²], in the order of the input.

    Raises:
        ValueError: the block is smaller than 2, or space is not a multiple of it; InvalidArgumentError where only the run
            knows.
    """
    return space_to_depth_op(input, block_size=block_size, data_format=data_format, name=name)


@public("af", "af.nn")
def depth_to_space(input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """The inverse of `space_to_depth` (`tf.depth_to_space`).

    Example:
        >>> af.depth_to_space([[[[1, 2, 3, 4]]]], 2)[0, :, :, 0]
        [[1 2]
         [3 4]]

    Args:
        input: [batch, height, width, channels], or [batch, channels, height, width] for NCHW; of any type.
        block_size: the side of the blocks, 2 or more.
        data_format: NHWC or NCHW.

    Returns:
        [batch, height · block_size, width · block_size, channels / block_size²], in the order of the input.

    Raises ValueError, or InvalidArgumentError in the run, where the channels are no multiple of block_size².
    """
    return depth_to_space_op(input, block_size=block_size, data_format=data_format, name=name)
