"""Kernels of ops that pick elements by their indices, and put them back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorflow.graph.ops.array.scatter import check_updates

from ..shared.scipy_parts import part
from ..strings.objects import moving_kernel
from .shape import axis_in


def check_indices(indices: Any, size: int, what: str = "indices") -> None:
    """Raises ValueError if any of `indices` is outside [0, size)."""
    if indices.ndim == 0:
        inside = 0 <= indices < size
    else:
        # Seen as unsigned, a negative index is a huge number: one pass finds both faults.
        inside = not indices.size or indices.view(f"u{indices.dtype.itemsize}").max() < size
    if not inside:
        bad = np.argwhere((np.asarray(indices) < 0) | (np.asarray(indices) >= size))[0].tolist()
        where = f"[{','.join(map(str, bad))}]" if bad else ""
        raise ValueError(f"{what}{where} = {int(indices[tuple(bad)])} is not in [0, {size}). {allowed(size)}")


def allowed(size: int, what: str = "indices") -> str:
    """A sentence on what the indices of a dimension may be."""
    return f"The {what} here are 0 to {size - 1}." if size else f"There is nothing here that {what} could name."


# ---- gather


@moving_kernel("Gather")
def gather(xp: Any, params: Any, indices: Any, *, out: Any = None) -> Any:
    if params.ndim == 0:
        raise ValueError("gather picks from a tensor of rank 1 or more, not from a scalar.")
    return _taken(xp, params, indices, 0, out)


def _taken(xp: Any, params: Any, indices: Any, axis: int, out: Any) -> Any:
    if out is None and xp is np and indices.ndim and indices.dtype == np.int32:
        try:
            return params.take(indices.view(np.uint32), axis)  # as an unsigned number, a negative index is too large
        except IndexError:
            pass  # the check names the bad index
    check_indices(indices, params.shape[axis])
    # With `out`, numpy writes without a buffer of its own only if no check is needed.
    return params.take(indices, axis) if out is None else params.take(indices, axis, out, "clip")


@moving_kernel("GatherV2")
def gather_v2(xp: Any, params: Any, indices: Any, axis: Any, *, batch_dims: int, out: Any = None) -> Any:
    at = axis_in(axis.item(), params.ndim)
    if batch_dims:
        check_indices(indices, params.shape[at])
        return _gather_in_batches(xp, params, indices, at, batch_dims, out)
    return _taken(xp, params, indices, at, out)


def _gather_in_batches(xp: Any, params: Any, indices: Any, at: int, batch_dims: int, out: Any) -> Any:
    """The tensors are seen as (batches, before, n, after) and (batches, places)."""
    if not -indices.ndim <= batch_dims <= indices.ndim:
        raise ValueError(f"gather: {batch_dims} batch dimensions are too many for indices of shape {indices.shape}.")
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if at < batch or params.shape[:batch] != indices.shape[:batch]:
        raise ValueError(
            f"gather: the {batch} batch dimensions of params {params.shape} (up to axis {at}) and indices "
            f"{indices.shape} differ."
        )
    whole = params.shape[:at] + indices.shape[batch:] + params.shape[at + 1 :]
    count = math.prod(params.shape[:batch])
    places = indices.reshape(count, math.prod(indices.shape[batch:]))
    before, after = math.prod(params.shape[batch:at]), math.prod(params.shape[at + 1 :])
    rows = params.reshape(count, before, params.shape[at], after)
    gathered = rows[xp.arange(count)[:, None, None], xp.arange(before)[None, :, None], places[:, None, :]]
    if out is None:
        return gathered.reshape(whole)
    out[...] = gathered.reshape(whole)
    return out


def row_numbers(indices: Any, shape: tuple[int, ...]) -> Any:
    """For each point (a last dimension of `indices`), its number in row-major order among those of `shape`."""
    points = indices.reshape(math.prod(indices.shape[:-1]), indices.shape[-1])
    # Seen as unsigned, a negative index is a huge number. Columns are faster than rows of two or three numbers.
    unsigned = points.view(f"u{points.dtype.itemsize}")
    if not all(not len(points) or unsigned[:, axis].max() < size for axis, size in enumerate(shape)):
        inside = ((points >= 0) & (points < np.array(shape, points.dtype))).all(axis=1)
        if 0 in shape:
            raise ValueError(f"Requested more than 0 entries, but params is empty. Params shape: {shape}.")
        bad = int(inside.argmin())
        place = ",".join(str(int(i)) for i in np.unravel_index(bad, indices.shape[:-1])) if indices.ndim > 1 else ""
        raise ValueError(f"indices[{place}] = {points[bad].tolist()} does not index into param shape {shape}.")
    if not shape:
        return np.zeros(len(points), np.intp)
    numbers = points[:, 0].astype(np.intp)
    for axis, size in enumerate(shape[1:], 1):
        numbers *= size
        numbers += points[:, axis]
    return numbers


@moving_kernel("GatherNd")
def gather_nd(xp: Any, params: Any, indices: Any, *, out: Any = None) -> Any:
    depth = indices.shape[-1]
    if depth > params.ndim:
        raise ValueError(f"Points of {depth} numbers are too many for a tensor of shape {params.shape}.")
    outer, inner = params.shape[:depth], params.shape[depth:]
    rows = params.reshape(math.prod(outer), *inner)
    numbers = row_numbers(indices, outer).reshape(indices.shape[:-1])
    return rows.take(numbers, 0) if out is None else rows.take(numbers, 0, out, "clip")


def accumulate(xp: Any, ufunc: Any, rows: Any, numbers: Any, updates: Any) -> None:
    """rows[numbers[i]] = ufunc(rows[numbers[i]], updates[i]) for each i in turn, in place; `rows` is contiguous.

    numpy is several times faster at single elements than at rows.
    """
    width = math.prod(rows.shape[1:])
    if width != 1:
        if ufunc is np.add and add_rows(rows, numbers, updates):
            return
        numbers = (numbers.astype(np.intp)[:, None] * width + np.arange(width)).reshape(-1)
    ufunc.at(rows.reshape(-1), numbers, updates.reshape(-1))


@moving_kernel("ScatterNd", computes=True)
def scatter_nd(xp: Any, indices: Any, updates: Any, shape: Any, *, out: Any = None) -> Any:
    sizes = tuple(shape.tolist())
    depth = indices.shape[-1]
    if 0 in sizes or depth > len(sizes) or updates.shape != indices.shape[:-1] + sizes[depth:]:
        check_updates(updates.shape, indices.shape, sizes)
    if out is None:
        out = xp.empty(sizes, updates.dtype)
    out[...] = b"" if out.dtype == object else 0
    numbers = row_numbers(indices, sizes[:depth])
    if out.size and numbers.size:
        accumulate(xp, xp.add, out.reshape(math.prod(sizes[:depth]), -1), numbers, updates)
    return out


WORTH_SCIPY = 20_000  # elements; to load it takes longer than many additions


def _sparse_tools() -> Any:
    return part("scipy.sparse._sparsetools")


def add_rows(rows: Any, numbers: Any, updates: Any) -> bool:
    """`rows[numbers[i]] += updates[i]` by SciPy, if installed: the product with `updates` of a sparse matrix whose column i has
    a 1 in row `numbers[i]`. False where numpy has to do it."""
    if updates.size < WORTH_SCIPY or rows.dtype.char not in "fd" or updates.dtype != rows.dtype:
        return False
    multiply = getattr(_sparse_tools(), "csc_matvecs", None)
    if multiply is None or not rows.flags.c_contiguous:
        return False
    count = numbers.size
    starts = np.arange(count + 1, dtype=numbers.dtype)
    ones = np.ones(count, rows.dtype)
    places = np.ascontiguousarray(numbers)
    multiply(len(rows), count, rows[0].size, starts, places, ones, updates.reshape(-1), rows.reshape(-1))
    return True


# ---- partition and stitch


@moving_kernel("DynamicPartition")
def dynamic_partition(xp: Any, data: Any, partitions: Any, *, num_partitions: int) -> Any:
    if data.shape[: partitions.ndim] != partitions.shape:
        raise ValueError(
            f"Data of shape {data.shape} do not begin with the shape of the partitions, {partitions.shape}."
        )
    check_indices(partitions, num_partitions, "partitions")
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    flat = partitions.reshape(-1)
    parts = tuple([rows[flat == i] for i in range(num_partitions)])
    return parts[0] if num_partitions == 1 else parts


@moving_kernel("DynamicStitch")
def dynamic_stitch(xp: Any, inputs: Any) -> Any:
    count = len(inputs) // 2
    indices, data = inputs[:count], inputs[count:]
    length = 1 + max((int(i.max()) for i in indices if i.size), default=-1)
    row = data[0].shape[indices[0].ndim :]
    empty = b"" if data[0].dtype == object else 0
    result = xp.full((length, *row), empty, data[0].dtype)
    for number, (places, values) in enumerate(zip(indices, data)):
        if values.shape != places.shape + row:
            raise ValueError(f"data[{number}] has shape {values.shape}, but {places.shape + row} is needed.")
        check_indices(places, length, f"indices[{number}]")
        # Of equal indices the last assignment stays.
        result[places.reshape(-1)] = values.reshape(places.size, *row)
    return result
