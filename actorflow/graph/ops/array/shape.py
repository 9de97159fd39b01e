"""Ops that ask for a tensor's shape or change it, and leave its elements: shape, reshape, transpose, squeeze, reverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, DTypeLike, as_dtype, int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import OUT_OF_RANGE, Shape, broadcast, is_static, normalize_axis, num_elements, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.building import composite, known_value, small_constant
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import from_value, require_rank, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- the shape as a tensor


def _rank_vector(c: Inference) -> Shape:
    shape = c.shapes[0]
    return (None,) if shape is None else (len(shape),)


@op("Shape", shape=_rank_vector, result="out_type", gradient=None, work=0)
def shape_op(input: TensorLike, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """The sizes of `input` as a vector. See `shape`."""


@op("Size", shape=scalar, result="out_type", gradient=None, work=0)
def size_op(input: TensorLike, *, out_type: DTypeLike = int32, name: str | None = None) -> Tensor:
    """The number of elements of `input`. See `size`."""


@op("Rank", shape=scalar, result=int32, gradient=None, work=0)
def rank_op(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The number of dimensions of `input`. See `rank`."""


def _sparse_shape(input: Any) -> Tensor | None:
    """The vector of sizes of a sparse tensor; None for any other value."""
    from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue

    if isinstance(input, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(input.dense_shape, int64)
    return None


@public("af")
def shape(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """The shape of `input` as a vector of `out_type`, int32 or int64 (`tf.shape`). A constant if the shape is fully known.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3])
        >>> x.shape
        TensorShape([None, 3])
        >>> await session.run(af.shape(x), {x: [[1, 2, 3], [4, 5, 6]]})
        [2 3]
    """
    dtype = as_dtype(out_type)
    if (sizes := _sparse_shape(input)) is not None:
        from actorflow.graph.ops.math.cast import cast

        return cast(sizes, dtype, name=name)
    tensor = convert_to_tensor(input)
    if is_static(tensor.static_shape):
        return small_constant(tensor.graph, tensor.static_shape, dtype, name or "Shape")
    return shape_op(tensor, out_type=dtype, name=name)


@public("af")
def shape_n(input: Sequence[TensorLike], out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """The shape of each tensor of a list (`tf.shape_n`).

    Example:
        >>> af.shape_n([[1, 2], [[3], [4]]])
        [[2], [2 1]]
    """
    with composite(name, "ShapeN", *input):
        return [shape(t, out_type=out_type) for t in input]


@public("af")
def size(input: TensorLike, name: str | None = None, out_type: DTypeLike = int32) -> Tensor:
    """The number of elements of `input` as a scalar (`tf.size`). A constant if the number is known.

    Example:
        >>> af.size([[1, 2, 3], [4, 5, 6]])
        6
    """
    dtype = as_dtype(out_type)
    if (sizes := _sparse_shape(input)) is not None:
        from actorflow.graph.ops.math.cast import cast
        from actorflow.graph.ops.math.reduction import reduce_prod

        return reduce_prod(cast(sizes, dtype), 0, name=name)
    tensor = convert_to_tensor(input)
    elements = num_elements(tensor.static_shape)
    if elements is not None:
        return small_constant(tensor.graph, elements, dtype, name or "Size")
    return size_op(tensor, out_type=dtype, name=name)


@public("af")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of dimensions of `input` as an int32 scalar (`tf.rank`). A constant if the number is known.

    Example:
        >>> af.rank([[1, 2], [3, 4]])
        2
    """
    sizes = _sparse_shape(input)
    if sizes is not None:
        return size(sizes, name=name)
    tensor = convert_to_tensor(input)
    if tensor.static_shape is not None:
        return small_constant(tensor.graph, len(tensor.static_shape), int32, name or "Rank")
    return rank_op(tensor, name=name)


# ---- other shapes over the same elements


def _reshaped(c: Inference) -> Shape:
    require_rank(c, 1, 1)
    target, elements = c.shape_value(1), num_elements(c.shapes[0])
    if target is None:
        return None
    if target.count(-1) > 1 or any(s is not None and s < -1 for s in target):
        raise ValueError(f"A new shape is a vector of sizes, at most one of them -1, but {list(target)} was given.")
    product = math.prod(s for s in target if s is not None and s != -1)
    open_sizes = target.count(-1) + target.count(None)
    if open_sizes == 0 and elements not in (None, product):
        raise ValueError(
            f"Cannot reshape a tensor with {elements} elements to shape {show(tuple(target))} ({product} elements)."
        )
    rest: int | None = None
    if open_sizes == 1 and elements is not None:
        # The one open size is what the others leave; without elements only -1 says that it is to be found.
        if product:
            if elements % product:
                raise ValueError(
                    f"Dimension size must be evenly divisible by {product} but is {elements}: the elements of "
                    f"{show(c.shapes[0])} can't be divided into {list(target)}."
                )
            rest = elements // product
        elif -1 in target:
            rest = infer_empty(c.shapes[0], [-1 if s is None else s for s in target])
    return tuple(rest if s is None or s == -1 else s for s in target)


def infer_empty(shape: Sequence[int | None] | None, sizes: Sequence[int]) -> int:
    """The size that is -1 in the new shape of a tensor without elements: what the sizes that are not 0 leave of it."""
    have, want = (math.prod(s for s in part if s) for part in (shape or (), (s for s in sizes if s != -1)))
    if shape is None or 0 not in shape or have % want:
        raise ValueError(
            f"The elements of {show(None if shape is None else tuple(shape))} can't be divided into {list(sizes)}."
        )
    return have // want


@public("af", "tf.manip")
@op("Reshape", shape=_reshaped, types={"shape": INDEX}, view=True, work=0)
def reshape(tensor: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """The elements of `tensor`, in order, under the shape that the vector `shape` spells (`tf.reshape`).

    One size may be -1: it is what the others leave. Raises ValueError, or InvalidArgumentError in the run, where the
    numbers of elements differ.

    Example:
        >>> af.reshape([1, 2, 3, 4, 5, 6], [2, -1])
        [[1 2 3]
         [4 5 6]]
    """


@reshape.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [reshape(dy, shape(node.inputs[0])), None]


def _expanded(c: Inference) -> Shape:
    source, axis = c.shapes[0], c.value(1)
    if num_elements(c.shapes[1]) not in (1, None):
        raise ValueError(f"`axis` is one number, but has shape {show(c.shapes[1])}.")
    if source is None:
        return None
    if axis is None:
        return (None,) * (len(source) + 1)
    at = normalize_axis(int(axis.reshape(())), len(source) + 1, says="dim {axis} not in the interval [{low}, {last}]")
    return source[:at] + (1,) + source[at:]


@op("ExpandDims", shape=_expanded, types={"axis": INDEX}, view=True, work=0)
def expand_dims_op(input: TensorLike, axis: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` with a dimension of 1 put in at `axis`. See `expand_dims`."""


@expand_dims_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [reshape(dy, shape(node.inputs[0])), None]


@public("af")
def expand_dims(
    input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim: TensorLike | None = None
) -> Tensor:
    """`input` with a dimension of 1 put in (`tf.expand_dims`).

    Example:
        >>> af.expand_dims([1, 2], 0).shape, af.expand_dims([1, 2], -1).shape
        (TensorShape([1, 2]), TensorShape([2, 1]))

    Args:
        input: a tensor of any type.
        axis: the place of the new dimension, an int or a scalar; a negative axis counts from the end: -1 is the last place.
        dim: TensorFlow's older name of `axis`.

    Raises:
        ValueError: the axis is outside [-rank - 1, rank]; InvalidArgumentError where only the run knows.
    """
    return expand_dims_op(input, _either(axis, dim, "axis", "dim"), name=name)


def _squeezed(c: Inference) -> Shape:
    source, listed = c.shapes[0], c.attrs["axis"]
    if source is None:
        return None
    if not listed:
        return None if None in source else tuple(s for s in source if s != 1)
    axes = {normalize_axis(a, len(source)) for a in listed}
    for a in axes:
        if source[a] not in (1, None):
            raise ValueError(
                f"Can not squeeze dim[{a}], expected a dimension of 1, got {source[a]}: the shape is {show(source)}."
            )
    return tuple(s for i, s in enumerate(source) if i not in axes)


@op("Squeeze", shape=_squeezed, view=True, work=0)
def squeeze_op(input: TensorLike, *, axis: Sequence[int] = (), name: str | None = None) -> Tensor:
    """`input` without its dimensions of 1. See `squeeze`."""


@squeeze_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [reshape(dy, shape(node.inputs[0]))]


@public("af")
def squeeze(
    input: TensorLike,
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
    squeeze_dims: int | Sequence[int] | None = None,
) -> Tensor:
    """`input` without its dimensions of 1 (`tf.squeeze`).

    Example:
        >>> af.squeeze([[[1], [2]]])
        [1 2]
        >>> af.squeeze([[[1], [2]]], axis=[0])
        [[1]
         [2]]

    Args:
        input: a tensor of any type.
        axis: the dimensions to leave out, an int or a list of them; by default all of size 1.
        squeeze_dims: the older name of `axis`.

    Raises:
        ValueError: a dimension of `axis` has another size; InvalidArgumentError where only the run knows.
    """
    axes = axis if squeeze_dims is None else _either(axis, squeeze_dims, "axis", "squeeze_dims")
    if axes is None:
        axes = ()
    listed = (axes,) if isinstance(axes, (int, np.integer)) else tuple(dict.fromkeys(axes))
    return squeeze_op(input, axis=listed, name=name)


def _transposed(c: Inference) -> Shape:
    source, order = c.shapes[0], c.value(1)
    if order is None:
        length = c.shapes[1][0] if c.shapes[1] else None
        if source is not None and length is not None and len(source) != length:
            raise ValueError(f"`perm` has {length} entries for a tensor of rank {len(source)}.")
        dimensions = len(source) if source is not None else length
        return None if dimensions is None else (None,) * dimensions
    axes = [int(a) for a in order.reshape(-1)]
    if source is None:
        source = (None,) * len(axes)
    axes = [a + len(source) if a < 0 else a for a in axes]
    if order.ndim != 1 or sorted(axes) != list(range(len(source))):
        raise ValueError(
            f"`perm` {order.tolist()} is no permutation of {len(source)} dimensions: each is named once, and none that is out "
            f"of range [0, {len(source)})."
        )
    return tuple(source[a] for a in axes)


@op("Transpose", shape=_transposed, types={"perm": INDEX}, view=True, work=0)
def transpose_op(x: TensorLike, perm: TensorLike, *, name: str | None = None) -> Tensor:
    """`x` with dimension i of the output from dimension `perm[i]`. See `transpose`."""


@transpose_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    perm = node.inputs[1]
    order = known_value(perm)
    if order is not None:
        return [transpose_op(dy, np.argsort(order % max(order.size, 1)).astype(order.dtype)), None]
    from actorflow.graph.ops.array.reverse import invert_permutation

    return [transpose_op(dy, invert_permutation(perm)), None]


@public("af")
def transpose(
    a: TensorLike, perm: TensorLike | None = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """`a` with its dimensions in another order (`tf.transpose`).

    Example:
        >>> af.transpose([[1, 2, 3], [4, 5, 6]])
        [[1 4]
         [2 5]
         [3 6]]
        >>> af.transpose(af.zeros([2, 3, 4]), [1, 0, 2]).shape
        TensorShape([3, 2, 4])

    Args:
        a: a tensor of any type.
        perm: a vector of int32 or int64: dimension i of the result is dimension `perm[i]` of `a`. By default the order
            is reversed.
        conjugate: takes the complex conjugate as well.

    Raises:
        ValueError: `perm` is not a permutation of the dimensions; InvalidArgumentError where only the run knows.
    """
    with composite(name, "transpose", a, perm) as scope:
        tensor = convert_to_tensor(a)
        if perm is None:
            if tensor.static_shape is not None:
                perm = np.arange(len(tensor.static_shape), dtype=np.int32)[::-1]
            else:
                from actorflow.graph.ops.math.cumulative import range_

                perm = rank(tensor) - 1 - range_(rank(tensor))
        if not (conjugate and tensor.dtype.is_complex):
            return transpose_op(tensor, perm, name=scope)
        from actorflow.graph.ops.math.cast import conj

        return conj(transpose_op(tensor, perm), name=scope)


def _broadcast_to(c: Inference) -> Shape:
    target = from_value(1)(c)
    if c.shapes[0] is None or target is None:
        return target
    if broadcast(c.shapes[0], target) != target and is_static(target):
        raise ValueError(f"{show(c.shapes[0])} can't be broadcast to {show(target)}.")
    return target


@public("af")
@op("BroadcastTo", shape=_broadcast_to, types={"shape": INDEX}, broadcasts=True, view=True, work=0)
def broadcast_to(input: TensorLike, shape: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` repeated along dimensions of 1 and new leading dimensions up to the vector `shape` (`tf.broadcast_to`).

    Raises ValueError, or InvalidArgumentError in the run, where the shapes don't fit by numpy's rule.

    Example:
        >>> af.broadcast_to([1, 2], [3, 2])
        [[1 2]
         [1 2]
         [1 2]]
    """


@broadcast_to.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [dy, None]  # the gradient walk sums over what was broadcast


def _reversed(c: Inference) -> Shape:
    source, axes = c.shapes[0], c.value(1)
    require_rank(c, 1, 1)
    if source is not None and axes is not None:
        chosen = [normalize_axis(int(a), len(source), says=OUT_OF_RANGE) for a in axes.reshape(-1)]
        if twice := [a for i, a in enumerate(chosen) if a in chosen[:i]]:
            raise ValueError(f"axis {twice[0]} specified more than once: {axes.tolist()}.")
    return source


@public("af", "af:reverse_v2", "tf.manip")
@op("ReverseV2", shape=_reversed, types={"axis": INDEX}, view=True, work=0)
def reverse(tensor: TensorLike, axis: TensorLike, *, name: str | None = None) -> Tensor:
    """`tensor` with the order reversed along each dimension in the vector `axis` (`tf.reverse`).

    Example:
        >>> af.reverse([[1, 2], [3, 4]], [1])
        [[2 1]
         [4 3]]
    """


@reverse.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [reverse(dy, node.inputs[1]), None]


def _bitcast(c: Inference) -> Shape:
    source, old, new = c.shapes[0], c.dtypes[0].size, as_dtype(c.attrs["type"]).size
    if not old or not new:
        raise TypeError("Strings can't be bitcast: they have no fixed size.")
    if source is None or old == new:
        return source
    if old > new:
        return (*source, old // new)
    if not source or source[-1] not in (None, new // old):
        raise ValueError(
            f"Cannot bitcast due to shape: the last dimension of {show(source)} has to be {new // old}, the elements of one "
            f"value of {new} bytes."
        )
    return source[:-1]


@op("Bitcast", shape=_bitcast, result="type", gradient=None, view=True, work=0)
def bitcast_op(input: TensorLike, *, type: DTypeLike, name: str | None = None) -> Tensor:
    """The bytes of `input` read as elements of `type`. See `bitcast`."""


@public("af")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The bytes of `input`, little-endian, read as elements of `type` (`tf.bitcast`).

    A smaller type adds a last dimension, a larger one takes it away.

    Example:
        >>> af.bitcast(1.0, af.int32)
        1065353216
        >>> af.bitcast(af.constant(258, af.int32), af.uint8)
        [2 1 0 0]
    """
    return bitcast_op(input, type=type, name=name)


def _either(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    """An argument that TensorFlow renamed."""
    if (new is None) == (old is None):
        raise ValueError(f"Give `{new_name}`" + (f" or `{old_name}`, not both." if new is not None else "."))
    return old if new is None else new
