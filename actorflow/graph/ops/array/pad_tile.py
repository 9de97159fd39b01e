"""Ops that make a tensor larger around itself: pad with a constant or a mirror image, tile, repeat."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, NUMERIC, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.array.shape import rank, reshape, shape, transpose
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _padded(c: Inference) -> Shape:
    source, widths, constant = c.shapes[0], c.shapes[1], c.value(1)
    if widths is not None and (len(widths) != 2 or widths[1] not in (2, None)):
        raise ValueError(f"Shape must be rank 2 but is rank {len(widths)}: paddings are a matrix of two columns.")
    if source is None and widths is not None and widths[0] is not None:
        source = (None,) * widths[0]
    if source is None:
        return None
    if widths is not None and widths[0] not in (None, len(source)):
        raise ValueError(f"Paddings {show(widths)} need one row for each of the {len(source)} dimensions.")
    if constant is None:
        return _partly_padded(source, c.shape_value(1, 2))
    if np.any(constant < 0):
        raise ValueError(f"Paddings must be non-negative, but {constant.tolist()} was given.")
    mode = c.attrs.get("mode")
    if mode is not None:
        check_mirror(source, constant, mode)
    return tuple(None if s is None else s + int(a) + int(b) for s, (a, b) in zip(source, constant, strict=True))


def _partly_padded(source: tuple[int | None, ...], widths: Shape) -> Shape:
    """The sizes that stay known where a run decides some of the widths."""
    if widths is None:
        return (None,) * len(source)
    pairs = zip(source, widths[::2], widths[1::2], strict=True)
    return tuple(None if None in sizes else sum(size for size in sizes if size is not None) for sizes in pairs)


def check_mirror(shape: Shape, paddings: np.ndarray[Any, Any], mode: str) -> None:
    """Raises ValueError where a mirror image would be longer than what it mirrors."""
    for size, (before, after) in zip(shape or (), paddings, strict=True):
        longest = None if size is None else size - (mode == "REFLECT")
        if longest is not None and max(before, after) > longest:
            raise ValueError(
                f"Paddings must be no greater than {longest} for mode {mode} and a dimension of {size}, but "
                f"{max(before, after)} was given."
            )


@op("Pad", shape=_padded, types={"paddings": INDEX})
def pad_op(input: TensorLike, paddings: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` with zeros around it. See `pad`."""


@op("PadV2", shape=_padded, types={"paddings": INDEX})
def pad_v2_op(
    input: TensorLike, paddings: TensorLike, constant_values: TensorLike, *, name: str | None = None
) -> Tensor:
    """`input` with a constant around it. See `pad`."""


@op("MirrorPad", shape=_padded, types={"paddings": INDEX})
def mirror_pad_op(input: TensorLike, paddings: TensorLike, *, mode: str, name: str | None = None) -> Tensor:
    """`input` with its mirror image around it. See `pad`."""


def _inside(node: Operation, dy: Tensor) -> Tensor:
    from actorflow.graph.ops.array.index import slice_

    source, paddings = node.inputs[:2]
    begin = reshape(slice_(paddings, [0, 0], [-1, 1]), [-1])
    return slice_(dy, begin, shape(source, out_type=begin.dtype))


@pad_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [_inside(node, dy), None]


@pad_v2_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.reduction import reduce_sum

    inner = _inside(node, dy)
    return [inner, None, reduce_sum(dy) - reduce_sum(inner)]


def _unpadded(c: Inference) -> Shape:
    source, constant = c.shapes[0], c.value(1)
    if source is None or constant is None:
        return None if source is None else (None,) * len(source)
    return tuple(None if s is None else s - int(a) - int(b) for s, (a, b) in zip(source, constant, strict=True))


@op("MirrorPadGrad", shape=_unpadded, dtypes=NUMERIC, types={"paddings": INDEX})
def mirror_pad_grad(input: TensorLike, paddings: TensorLike, *, mode: str, name: str | None = None) -> Tensor:
    """The gradient of MirrorPad: each element of `input` added to the element that it mirrors."""


@mirror_pad_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [mirror_pad_grad(dy, node.inputs[1], mode=node.get_attr("mode")), None]


@mirror_pad_grad.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [mirror_pad_op(dy, node.inputs[1], mode=node.get_attr("mode")), None]


@public("af")
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """`tensor` with `paddings[d, 0]` elements before and `paddings[d, 1]` after it in each dimension d (`tf.pad`).

    Example:
        >>> af.pad([[1, 2]], [[0, 1], [1, 0]])
        [[0 1 2]
         [0 0 0]]
        >>> af.pad([1, 2, 3], [[2, 2]], "REFLECT")
        [3 2 1 2 3 2 1]

    Args:
        tensor: a tensor of any type.
        paddings: [rank, 2], int32 or int64: the widths before and after each dimension.
        mode: what is put there. CONSTANT: the scalar `constant_values`. REFLECT: the mirror image without the edge,
            SYMMETRIC: with it.
        constant_values: the scalar that CONSTANT puts there; 0 by default.

    Raises:
        ValueError: another mode, a negative width, or one longer than the image. InvalidArgumentError in the run.
    """
    kind = mode.upper()
    if kind in ("REFLECT", "SYMMETRIC"):
        return mirror_pad_op(tensor, paddings, mode=kind, name=name)
    if kind != "CONSTANT":
        raise ValueError(f"Unknown padding mode: {mode!r} is none of CONSTANT, REFLECT and SYMMETRIC.")
    if not is_symbolic(constant_values) and np.ndim(constant_values) == 0 and constant_values == 0:
        return pad_op(tensor, paddings, name=name)
    return pad_v2_op(tensor, paddings, constant_values, name=name)


# ---- tile


def _tiled(c: Inference) -> Shape:
    source, times = c.shapes[0], c.shape_value(1)
    length = c.shapes[1][0] if c.shapes[1] else None
    if source is None:
        source = None if length is None else (None,) * length
    if source is None:
        return None
    if c.shapes[1] is not None and not compatible(c.shapes[1], (len(source),)):
        raise ValueError(
            f"tile needs {len(source)} multiples for {show(source)}, but they have shape {show(c.shapes[1])}."
        )
    if times is None:
        return (None,) * len(source)
    if any(t is not None and t < 0 for t in times):
        raise ValueError(f"Multiples are zero or more, but {list(times)} was given.")
    return tuple(0 if t == 0 else None if s is None or t is None else s * t for s, t in zip(source, times, strict=True))


@public("af", "tf.manip")
@op("Tile", shape=_tiled, types={"multiples": INDEX})
def tile(input: TensorLike, multiples: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` repeated `multiples[d]` times along each dimension d (`tf.tile`).

    Raises ValueError, or InvalidArgumentError in the run, where `multiples` has not one entry a dimension.

    Example:
        >>> af.tile([[1, 2]], [2, 2])
        [[1 2 1 2]
         [1 2 1 2]]
    """


@tile.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Each dimension is seen as (copies, size), and the copies are added up."""
    from actorflow.graph.ops.math.cumulative import range_
    from actorflow.graph.ops.math.reduction import reduce_sum

    source, multiples = node.inputs
    both = reshape(transpose(stack([multiples, shape(source, out_type=multiples.dtype)])), [-1])
    axes = range_(0, 2 * rank(source), 2)
    summed = reduce_sum(reshape(dy, both), axes)
    summed.set_shape(source.shape)
    return [summed, None]


@public("af")
def repeat(input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each element along `axis` repeated `repeats` times, at its place (`tf.repeat`).

    Example:
        >>> af.repeat([1, 2, 3], [2, 0, 1])
        [1 1 3]

    Args:
        input: a tensor of any type.
        repeats: an integer for all elements, or a vector of one each; a negative number counts as 0.
        axis: without it, the tensor is taken as the vector of all its elements.

    Raises:
        TypeError: repeats that are no integers.
        ValueError: another number of repeats than of elements, or the axis is outside the rank; InvalidArgumentError
            where only the run knows.
    """
    from actorflow.graph.ops.array.gather import gather
    from actorflow.graph.ops.array.one_hot import sequence_mask
    from actorflow.graph.ops.array.shape import broadcast_to, expand_dims
    from actorflow.graph.ops.math.logic import where

    with composite(name, "Repeat", input, repeats) as scope:
        source = convert_to_tensor(input)
        times = convert_to_tensor(repeats, preferred_dtype=int32, graph=source.graph)
        if not times.dtype.is_integer:
            raise TypeError(f"repeats are integers, but {times.name} has type {times.dtype}.")
        if times.static_shape is not None and len(times.static_shape) > 1:
            raise ValueError(f"repeats are a number or a vector, but have shape {show(times.static_shape)}.")
        if axis is None:
            source, axis = reshape(source, [-1]), 0
        static_shape = source.static_shape
        along = axis if static_shape is None else normalize_axis(axis, len(static_shape))
        size = shape(source)[along] if static_shape is None or static_shape[along] is None else static_shape[along]
        if static_shape is not None and times.static_shape not in (None, (), (1,)):
            merge(times.static_shape, (static_shape[along],))
        # A row for each element, true for each of its copies, says which elements come out.
        copies = sequence_mask(broadcast_to(times, expand_dims(size, 0)))
        places = where(copies)[:, 0]
        repeated = gather(source, places, axis=along, name=scope)
        once = known_value(times)
        count = None if static_shape is None else static_shape[along]
        if static_shape is not None and once is not None and count is not None:
            total = int(np.broadcast_to(np.maximum(once, 0), (count,)).sum())
            repeated.set_shape((*static_shape[:along], total, *static_shape[along + 1 :]))
        return repeated
