"""Kernels that put sparse tensors together, take parts of them, and change their shapes."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.sparse.shape import resolve_shape

from ..array.shape import axis_in
from ..strings.objects import moving_kernel
from .tensor import check_inside, order_of


@moving_kernel("SparseConcat")
def sparse_concat(xp: Any, inputs: Any, *, concat_dim: int) -> Any:
    count = len(inputs) // 3
    indices, values, shapes = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
    rank = len(shapes[0])
    axis = axis_in(concat_dim, rank)
    moved, first = [], 0
    for number, (rows, shape) in enumerate(zip(indices, shapes)):
        if len(shape) != rank or any(shape[i] != shapes[0][i] for i in range(rank) if i != axis):
            raise ValueError(
                f"Input shapes must match: tensor {number} has {shape.tolist()}, which differs from {shapes[0].tolist()} in "
                f"another dimension than {axis}."
            )
        step = xp.zeros(rank, xp.int64)
        step[axis] = first
        moved.append(rows + step)
        first += int(shape[axis])
    whole = shapes[0].copy()
    whole[axis] = first
    rows, elements = xp.concatenate(moved), xp.concatenate(values)
    order = order_of(xp, rows)
    return rows[order], elements[order], whole


@moving_kernel("SparseSplit")
def sparse_split(xp: Any, split_dim: Any, indices: Any, values: Any, shape: Any, *, num_split: int) -> Any:
    axis = axis_in(int(split_dim), len(shape))
    whole = int(shape[axis])
    if num_split > whole:
        raise ValueError(f"A dimension of {whole} can't be split into {num_split} parts.")
    size, larger = divmod(whole, num_split)
    rows, elements, shapes, first = [], [], [], 0
    for number in range(num_split):
        end = first + size + (number < larger)
        inside = (indices[:, axis] >= first) & (indices[:, axis] < end)
        part, sizes = indices[inside], shape.copy()
        part[:, axis] -= first
        sizes[axis] = end - first
        rows.append(part)
        elements.append(values[inside])
        shapes.append(sizes)
        first = end
    return (*rows, *elements, *shapes)


@moving_kernel("SparseSlice")
def sparse_slice(xp: Any, indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    if not shape.shape == start.shape == size.shape:
        raise ValueError(f"A tensor of rank {len(shape)} can't be sliced at {start.tolist()} to {size.tolist()}.")
    if (size < 0).any():
        raise ValueError(f"The size of a slice is zero or more, but is {size.tolist()}.")
    sizes = xp.clip(shape - start, 0, size)
    inside = ((indices >= start) & (indices < start + sizes)).all(axis=1)
    return indices[inside] - start, values[inside], sizes


@kernel("SparseReshape")
def sparse_reshape(xp: Any, indices: Any, shape: Any, new_shape: Any) -> Any:
    if indices.shape[1] != len(shape):
        raise ValueError(f"Indices of rank {indices.shape[1]} don't fit the dense shape {shape.tolist()}.")
    target = resolve_shape(shape, new_shape)
    numbers = xp.zeros(len(indices), xp.int64)
    for column, size in zip(indices.T, shape.tolist()):
        numbers = numbers * size + column
    result = xp.empty((len(indices), len(target)), xp.int64)
    for axis in range(len(target) - 1, -1, -1):
        numbers, result[:, axis] = xp.divmod(numbers, max(1, int(target[axis])))
    return result, target


@moving_kernel("SparseFillEmptyRows")
def sparse_fill_empty_rows(xp: Any, indices: Any, values: Any, shape: Any, default: Any) -> Any:
    if default.ndim:
        raise ValueError(f"The default value is a scalar, but has the shape {default.shape}.")
    if not len(shape):
        raise ValueError("A sparse tensor of rank 0 has no rows.")
    count = int(shape[0])
    rows = indices[:, :1]
    check_inside(rows, shape[:1])
    empty = xp.ones(count, bool)
    empty[rows[:, 0]] = False
    added = xp.flatnonzero(empty)
    heads = xp.zeros((len(added), len(shape)), xp.int64)
    heads[:, 0] = added
    filling = xp.empty(len(added), values.dtype)
    filling[:] = default
    order = xp.argsort(xp.concatenate([rows[:, 0], added]), kind="stable")
    places = xp.empty(len(order), xp.int64)
    places[order] = xp.arange(len(order))
    return (
        xp.concatenate([indices, heads])[order],
        xp.concatenate([values, filling])[order],
        empty,
        places[: len(indices)],
    )
