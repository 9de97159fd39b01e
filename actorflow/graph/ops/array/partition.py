"""Parting the elements of a tensor by numbers that a run decides, and putting such parts together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge, show
from actorflow.graph.convert import convert_to_tensor, symbolic_dtype
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.shape import reshape, shape, size
from actorflow.graph.ops.building import composite, or_zeros, outputs_of
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _partitioned(c: Inference) -> list[Shape]:
    data, partitions, count = c.shapes[0], c.shapes[1], c.attrs["num_partitions"]
    if count < 1:
        raise ValueError(f"dynamic_partition makes one part or more, not {count}.")
    if data is None or partitions is None:
        return [None] * count
    if len(partitions) > len(data) or not compatible(data[: len(partitions)], partitions):
        raise ValueError(
            f"The shape of the data, {show(data)}, has to begin with that of the partitions, {show(partitions)}."
        )
    return [(None, *data[len(partitions) :])] * count


@op(
    "DynamicPartition",
    shape=_partitioned,
    types={"partitions": int32},
    result=lambda c: (c.dtypes[0],) * c.attrs["num_partitions"],
)
def dynamic_partition_op(
    data: TensorLike, partitions: TensorLike, *, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The elements of `data` in `num_partitions` parts. See `dynamic_partition`."""


@dynamic_partition_op.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    """The positions are parted in the same way, which says where each gradient belongs."""
    from actorflow.graph.ops.math.cumulative import range_

    data, partitions = node.inputs
    count = node.get_attr("num_partitions")
    positions = reshape(range_(size(partitions)), shape(partitions))
    came_from = dynamic_partition(positions, partitions, count)
    joined = dynamic_stitch(came_from, or_zeros(dys, node.outputs))
    return [reshape(joined, shape(data)), None]


@public("af")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The elements of `data`, put into parts: part i has those whose entry in `partitions` is i
    (`tf.dynamic_partition`).

    Example:
        >>> even, odd = af.dynamic_partition([1, 2, 3, 4], [1, 0, 1, 0], 2)
        >>> even, odd
        ([2 4], [1 3])

    Args:
        data: a tensor of any type.
        partitions: int32, of the shape of the first dimensions of `data`: the part of each element or slice.
        num_partitions: how many parts there are, 1 or more.

    Returns:
        A list of `num_partitions` tensors, of shape [how many, the other dimensions of `data`...].

    Raises:
        ValueError: the shape of `data` does not begin with that of `partitions`.
        InvalidArgumentError: an entry is outside [0, num_partitions), in the run.
    """
    return outputs_of(dynamic_partition_op(data, partitions, num_partitions=num_partitions, name=name))


def _stitched_type(c: Inference) -> Any:
    count = len(c.dtypes) // 2
    indices, data = c.dtypes[:count], c.dtypes[count:]
    if len(c.dtypes) % 2 or not data:
        raise TypeError(
            f"dynamic_stitch takes one tensor or more, each with its indices, but got {len(c.dtypes)} inputs."
        )
    if any(d is not int32 for d in indices) or any(d is not data[0] for d in data):
        raise TypeError("dynamic_stitch takes indices of type int32, and data of one type.")
    return data[0]


def _stitched(c: Inference) -> Shape:
    count = len(c.shapes) // 2
    element: Shape = None
    largest: int | None = -1
    for i in range(count):
        indices, data = c.shapes[i], c.shapes[count + i]
        if indices is not None and data is not None:
            if not compatible(data[: len(indices)], indices) or len(data) < len(indices):
                raise ValueError(
                    f"The shape of data {i}, {show(data)}, has to begin with that of its indices, {show(indices)}."
                )
            element = merge(element, data[len(indices) :])
        value = c.value(i)
        if value is None or largest is None:
            largest = None
        elif value.size:
            largest = max(largest, int(value.max()))
    return None if element is None else (None if largest is None else largest + 1, *element)


@op("DynamicStitch", shape=_stitched, result=_stitched_type)
def dynamic_stitch_op(inputs: Sequence[Any], *, name: str | None = None) -> Tensor:
    """One tensor of several: `inputs` are the tensors of indices, then as many of data. See `dynamic_stitch`."""


@dynamic_stitch_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    count = len(node.inputs) // 2
    return [None] * count + [gather(dy, indices) for indices in node.inputs[:count]]


@public("af")
def dynamic_stitch(indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """Puts the elements of the tensors `data` where `indices` say: result[indices[m][i]] = data[m][i] (`tf.dynamic_stitch`).

    If an index comes twice, the later one wins. The result has as many rows as the largest index plus 1.

    Example:
        >>> af.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]])
        [10 20 30]

    Raises:
        ValueError: there are not as many tensors of indices, or a shape does not begin with that of its indices.
        InvalidArgumentError: a negative index, in the run.
    """
    if len(indices) != len(data):
        raise ValueError(f"dynamic_stitch: {len(indices)} tensors of indices for {len(data)} of data.")
    with composite(name, "DynamicStitch", *indices, *data) as scope:
        places = [convert_to_tensor(i, int32) for i in indices]
        kind = next((d for v in data if (d := symbolic_dtype(v)) is not None), None)
        parts = [convert_to_tensor(d, kind) for d in data]
        return dynamic_stitch_op([*places, *parts], name=scope)


@public("af")
def parallel_dynamic_stitch(
    indices: Sequence[TensorLike], data: Sequence[TensorLike], name: str | None = None
) -> Tensor:
    """`dynamic_stitch` without a rule for which of equal indices wins (`tf.raw_ops.ParallelDynamicStitch`).

    Example:
        >>> af.parallel_dynamic_stitch([[0, 2], [1]], [[10, 30], [20]])
        [10 20 30]
    """
    return dynamic_stitch(indices, data, name or "ParallelDynamicStitch")
