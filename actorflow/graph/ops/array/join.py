"""Ops that put tensors together and take them apart along a dimension: concat, split, stack, unstack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import INDEX, DTypeLike, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, is_static, merge, normalize_axis, show
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import known_value, or_zeros, outputs_of
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- concat and split


def _concatenated(c: Inference) -> Shape:
    parts, axis = c.shapes[:-1], c.value(len(c.shapes) - 1)
    if not parts:
        raise ValueError("concat needs one tensor or more.")
    ranks = {len(s) for s in parts if s is not None}
    if len(ranks) > 1:
        raise ValueError(f"concat needs tensors of one rank, but they have {', '.join(map(show, parts))}.")
    if not ranks:
        return None
    rank = ranks.pop()
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead): af.stack makes a vector of them.")
    if axis is None:
        return (None,) * rank
    at = normalize_axis(int(axis), rank)
    sizes: list[int | None] = []
    joined: Shape = None
    for part in parts:
        sizes.append(None if part is None else part[at])
        joined = merge(joined, None if part is None else part[:at] + (None,) + part[at + 1 :])
    assert joined is not None
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    return joined[:at] + (total,) + joined[at + 1 :]


@op("ConcatV2", shape=_concatenated, types={"axis": INDEX})
def concat_op(values: Sequence[TensorLike], axis: TensorLike, *, name: str | None = None) -> Tensor:
    """`values` joined along `axis`. See `concat`."""


@concat_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    *values, axis = node.inputs
    if len(values) == 1:
        return [dy, None]
    at = known_value(axis)
    lengths = [None if v.static_shape is None or at is None else v.static_shape[int(at)] for v in values]
    sizes: Any = lengths
    if None in lengths:
        sizes = stack([shape(v)[axis] for v in values])
    return [*outputs_of(split_v_op(dy, sizes, axis, num_split=len(values))), None]


@public("af")
def concat(values: Sequence[TensorLike] | TensorLike, axis: TensorLike, name: str = "concat") -> Tensor:
    """`values`, tensors of one type that differ in the size of `axis` only, joined along `axis` (`tf.concat`).

    Raises ValueError, or InvalidArgumentError in the run, where other sizes differ.

    Example:
        >>> af.concat([[[1, 2]], [[3, 4], [5, 6]]], 0)
        [[1 2]
         [3 4]
         [5 6]]
    """
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    return concat_op(parts, axis, name=name)


def _split_evenly(c: Inference) -> list[Shape]:
    source, axis, count = c.shapes[0], c.value(1), c.attrs["num_split"]
    if count < 1:
        raise ValueError(f"A tensor is split into one part or more, not {count}.")
    if source is None or axis is None:
        return [None if source is None else (None,) * len(source)] * count
    at = normalize_axis(int(axis), len(source))
    whole = source[at]
    if whole is not None and whole % count:
        raise ValueError(
            f"Dimension size must be evenly divisible by {count} but is {whole}: the number of parts should evenly divide "
            f"dimension {at} of {show(source)}."
        )
    return [(*source[:at], None if whole is None else whole // count, *source[at + 1 :])] * count


def _each_part(c: Inference) -> Any:
    return (c.dtypes[0],) * c.attrs["num_split"]


@op("Split", shape=_split_evenly, types={"axis": INDEX}, result=_each_part, view=True, work=0)
def split_op(value: TensorLike, axis: TensorLike, *, num_split: int, name: str | None = None) -> list[Tensor]:
    """`num_split` equal parts of `value` along `axis`. See `split`."""


@split_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    return [concat_op(or_zeros(dys, node.outputs), node.inputs[1]), None]


def _split_by_sizes(c: Inference) -> list[Shape]:
    source, sizes, axis, count = c.shapes[0], c.value(1), c.value(2), c.attrs["num_split"]
    if c.shapes[1] is not None and not compatible(c.shapes[1], (count,)):
        raise ValueError(f"The sizes of {count} parts are a vector of {count}, but have shape {show(c.shapes[1])}.")
    if source is None:
        return [None] * count
    if axis is None:
        return [(None,) * len(source)] * count
    at = normalize_axis(int(axis), len(source))
    parts: list[int | None] = [None] * count
    if sizes is not None:
        parts = list(resolve_sizes(sizes, source[at]))
    return [(*source[:at], part, *source[at + 1 :]) for part in parts]


def resolve_sizes(sizes: np.ndarray[Any, Any], whole: int | None) -> Sequence[int | None]:
    """The sizes of parts, with the size -1 filled in. Raises ValueError for sizes that don't add up to `whole`."""
    parts = [int(s) for s in sizes.reshape(-1)]
    if parts.count(-1) > 1 or any(p < -1 for p in parts):
        raise ValueError(f"The sizes of parts are zero or more, one of them may be -1; got {parts}.")
    if whole is None:
        return [None if p == -1 else p for p in parts]
    rest = whole - sum(p for p in parts if p != -1)
    if rest < 0 or rest and -1 not in parts:
        raise ValueError(f"Parts of sizes {parts} don't add up to a dimension of {whole}.")
    return [rest if p == -1 else p for p in parts]


@op("SplitV", shape=_split_by_sizes, types={"sizes": INDEX, "axis": INDEX}, result=_each_part, view=True, work=0)
def split_v_op(
    value: TensorLike, sizes: TensorLike, axis: TensorLike, *, num_split: int, name: str | None = None
) -> list[Tensor]:
    """`num_split` parts of `value` along `axis`, of the sizes in the vector `sizes`. See `split`."""


@split_v_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    return [concat_op(or_zeros(dys, node.outputs), node.inputs[2]), None, None]


@public("af")
def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """`value` cut along `axis` (`tf.split`).

    Example:
        >>> af.split([1, 2, 3, 4, 5, 6], 3)
        [[1 2], [3 4], [5 6]]
        >>> af.split([1, 2, 3, 4, 5, 6], [1, 5])
        [[1], [2 3 4 5 6]]

    Args:
        value: a tensor of any type.
        num_or_size_splits: an int, the number of equal parts; or a vector of the size of each, of which one may be -1,
            for what is left.
        axis: the dimension to cut, an int or a scalar; a negative axis counts from the end.
        num: how many parts there are, where the length of the vector is not known.

    Returns:
        A list of the parts.

    Raises:
        ValueError: the parts don't add up, or nothing says how many there are. InvalidArgumentError in the run.
    """
    if isinstance(num_or_size_splits, (int, np.integer)):
        return outputs_of(split_op(value, axis, num_split=int(num_or_size_splits), name=name))
    sizes = convert_to_tensor(num_or_size_splits, preferred_dtype="int32")
    if sizes.static_shape == () and (count := known_value(sizes)) is not None:
        return outputs_of(split_op(value, axis, num_split=int(count), name=name))
    if num is None:
        num = sizes.static_shape[0] if sizes.static_shape else None
    if num is None:
        raise ValueError(
            f"Cannot infer num: the length of {sizes.name} is not known, so split needs `num`, the number of parts."
        )
    return outputs_of(split_v_op(value, sizes, axis, num_split=num, name=name))


# ---- stack and unstack


def _stacked(c: Inference) -> Shape:
    if not c.shapes:
        raise ValueError("stack needs one tensor or more.")
    shape: Shape = None
    for other in c.shapes:
        shape = merge(shape, other)
    if shape is None:
        return None
    at = normalize_axis(c.attrs["axis"], len(shape) + 1, says="axis = {axis} not in [{low}, {high})")
    return (*shape[:at], len(c.shapes), *shape[at:])


@op("Pack", shape=_stacked)
def pack_op(values: Sequence[TensorLike], *, axis: int = 0, N: int = 0, name: str | None = None) -> Tensor:
    """The `N` tensors `values` stacked along a new dimension `axis`. See `stack`."""


@pack_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return outputs_of(unpack_op(dy, num=len(node.inputs), axis=node.get_attr("axis")))


@public("af")
def stack(values: Sequence[TensorLike] | TensorLike, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one type and shape along a new dimension `axis` (`tf.stack`).

    Raises ValueError where their shapes differ or the axis is outside [-rank - 1, rank].

    Example:
        >>> af.stack([[1, 2], [3, 4]])
        [[1 2]
         [3 4]]
        >>> af.stack([[1, 2], [3, 4]], axis=1)
        [[1 3]
         [2 4]]
    """
    if axis == 0 and not (isinstance(values, (list, tuple)) and any(is_symbolic(v) for v in values)):
        return convert_to_tensor(values, name=name)
    parts = list(values) if isinstance(values, (list, tuple)) else unstack(values)
    return pack_op(parts, axis=axis, N=len(parts), name=name)


@public("af")
def parallel_stack(values: Sequence[TensorLike], name: str = "parallel_stack") -> Tensor:
    """`stack` along a first dimension (`tf.parallel_stack`), for which all shapes have to be known.

    Raises ValueError for a shape that is not known, or shapes that differ.

    Example:
        >>> af.parallel_stack([[1, 2], [3, 4]])
        [[1 2]
         [3 4]]
    """
    parts = [convert_to_tensor(v) for v in values]
    for part in parts:
        if not is_static(part.static_shape):
            raise ValueError(f"parallel_stack needs known shapes, but {part.name} has {show(part.static_shape)}.")
    return pack_op(parts, axis=0, N=len(parts), name=name)


def _unstacked(c: Inference) -> list[Shape]:
    source, count = c.shapes[0], c.attrs["num"]
    if source is None:
        return [None] * count
    at = normalize_axis(c.attrs["axis"], len(source), says="axis = {axis} not in [{low}, {high})")
    if source[at] not in (None, count):
        raise ValueError(f"Dimension {at} of {show(source)} is to be unstacked into {count} parts.")
    return [source[:at] + source[at + 1 :]] * count


@op("Unpack", shape=_unstacked, result=lambda c: (c.dtypes[0],) * c.attrs["num"], view=True, work=0)
def unpack_op(value: TensorLike, *, num: int, axis: int = 0, name: str | None = None) -> list[Tensor]:
    """The `num` parts of `value` along its dimension `axis`. See `unstack`."""


@unpack_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    return [pack_op(or_zeros(dys, node.outputs), axis=node.get_attr("axis"), N=len(dys))]


@public("af")
def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """The parts of `value` along its dimension `axis`, which they lose (`tf.unstack`).

    Example:
        >>> first, second = af.unstack([[1, 2], [3, 4]])
        >>> second
        [3 4]

    Args:
        value: a tensor of rank 1 or more.
        num: the size of that dimension, where the static shape does not say it.
        axis: the dimension to take apart; a negative axis counts from the end.

    Returns:
        A list of `num` tensors.

    Raises:
        ValueError: neither `num` nor the static shape says how many there are.
    """
    tensor = convert_to_tensor(value)
    source = tensor.static_shape
    if num is None and source is not None:
        num = source[normalize_axis(axis, len(source), says="axis = {axis} not in [{low}, {high})")]
    if num is None:
        raise ValueError(f"Cannot infer num from shape {show(source)}: dimension {axis} of {tensor.name} is not known.")
    return outputs_of(unpack_op(tensor, num=num, axis=axis, name=name))


# ---- shapes of what is joined, for gradients that TensorFlow built


@op(
    "ShapeN",
    shape=lambda c: [(None,) if s is None else (len(s),) for s in c.shapes],
    result=lambda c: (c.attrs["out_type"],) * len(c.dtypes),
    gradient=None,
    work=0,
)
def shape_n_op(input: Sequence[TensorLike], *, out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """The sizes of each tensor of a list, as vectors. `af.shape_n` makes constants of those that are known."""


@op(
    "ConcatOffset",
    shape=lambda c: list(c.shapes[1:]),
    dtypes=INDEX,
    types={"concat_dim": int32},
    result=lambda c: (c.dtypes[1],) * (len(c.dtypes) - 1),
    gradient=None,
)
def concat_offset(concat_dim: TensorLike, shape: Sequence[TensorLike], *, name: str | None = None) -> list[Tensor]:
    """The offset of each of several tensors, of these shapes, in their concatenation along `concat_dim`.

    Raises InvalidArgumentError in the run where the dimension is none of theirs, or other sizes differ."""
