"""Partitioners: functions that say into how many slices a variable of some shape and type is cut (`tf.*_partitioner`).

A partitioner is called with a `TensorShape` and a type; it gives the number of slices along each dimension, of which at
most one may be more than 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.shapes import Shape, TensorShape, as_shape, is_static, show
from actorflow.public import public

Partitioner = Callable[..., list[int]]


@public("af")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """`num_shards` slices along `axis`, or as many as it has elements if these are fewer.

    Example:
        >>> table = af.get_variable("table", [5, 2], partitioner=af.fixed_size_partitioner(2))
        >>> [part.shape.as_list() for part in table]
        [[3, 2], [2, 2]]
    """

    def partitioner(shape: Any, **unused: Any) -> list[int]:
        sizes = _sizes(shape)
        return _along(sizes, axis, min(num_shards, sizes[axis]))

    return partitioner


@public("af")
def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """As few slices along `axis` as keep each below `max_shard_bytes`. A slice has at least one row, however large that
    is.

    Example:
        >>> with af.variable_scope("model", partitioner=af.variable_axis_size_partitioner(1000)):
        ...     table = af.get_variable("table", [100, 4])
        >>> [part.shape.as_list() for part in table]
        [[50, 4], [50, 4]]

    Args:
        max_shard_bytes: the maximum size of a slice in bytes.
        axis: the dimension along which variables are cut.
        bytes_per_string_element: the assumed size of an element in bytes, for variables of strings.
        max_shards: the maximum number of slices; no limit unless given.

    Returns:
        A function for `partitioner=` of `get_variable` and `variable_scope`. It raises ValueError for a shape that is
        not fully known.

    Raises:
        ValueError: a number is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: DType) -> list[int]:
        sizes = _sizes(shape)
        elements = math.prod(sizes[:axis]) * math.prod(sizes[axis:][1:])
        row = elements * _bytes(dtype, bytes_per_string_element)
        shards = math.ceil(sizes[axis] / max(1, max_shard_bytes // row if row else sizes[axis]))
        return _along(sizes, axis, max(1, shards if max_shards is None else min(max_shards, shards)))

    return partitioner


@public("af")
def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """As many slices along `axis` as leave each at least about `min_slice_size` bytes, up to `max_partitions`.

    Example:
        >>> parts = af.min_max_variable_partitioner(max_partitions=4, min_slice_size=1000)
        >>> parts(shape=af.TensorShape([100, 10]), dtype=af.float32), parts(shape=af.TensorShape([25, 10]), dtype=af.float32)
        ([4, 1], [1, 1])

    Args:
        max_partitions: the maximum number of slices.
        axis: the dimension along which variables are cut.
        min_slice_size: the minimum size of a slice in bytes, 256 KiB unless given.
        bytes_per_string_element: the assumed size of an element in bytes, for variables of strings.

    Returns:
        A function for `partitioner=` of `get_variable` and `variable_scope`. It raises ValueError for a shape without
        this dimension, or a shape that is not fully known.
    """

    def partitioner(shape: Any, dtype: DType) -> list[int]:
        sizes = _sizes(shape)
        if axis >= len(sizes):
            raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {show(tuple(sizes))}")
        total = math.prod(sizes) * _bytes(dtype, bytes_per_string_element)
        return _along(sizes, axis, max(1, min(sizes[axis], max_partitions, math.ceil(total / min_slice_size))))

    return partitioner


def _sizes(shape: Any) -> list[int]:
    sizes: Shape = as_shape(shape if isinstance(shape, TensorShape) else tuple(shape))
    if sizes is None or not is_static(sizes):
        raise ValueError(f"shape is not fully defined: {show(sizes)}")
    return [int(size or 0) for size in sizes]


def _bytes(dtype: DType, of_a_string: int) -> int:
    return of_a_string if dtype.base_dtype.kind == "S" else dtype.base_dtype.size


def _along(sizes: list[int], axis: int, count: int) -> list[int]:
    counts = [1] * len(sizes)
    counts[axis] = count
    return counts
