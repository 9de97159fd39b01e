"""Kernels of sparse tensors: their elements in order, in groups, in a dense tensor."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel

from ..strings.objects import moving_kernel


def order_of(xp: Any, rows: Any) -> Any:
    """The order in which rows of indices ascend; equal rows keep theirs."""
    return xp.lexsort(rows.T[::-1]) if rows.shape[1] else xp.arange(len(rows))


def groups_of(xp: Any, rows: Any) -> tuple[Any, Any]:
    """For each row the number of its group of equal rows, in ascending order; and one row of each group."""
    order = order_of(xp, rows)
    ordered = rows[order]
    begins = xp.ones(len(rows), bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = xp.empty(len(rows), xp.int64)
    numbers[order] = xp.cumsum(begins) - 1
    return numbers, ordered[begins]


def check_inside(indices: Any, shape: Any, prefix: str = "") -> None:
    """Raises ValueError where a row of `indices` is outside a tensor of `shape`."""
    if indices.shape[1] != shape.shape[0]:
        raise ValueError(f"Indices of rank {indices.shape[1]} don't fit the dense shape {shape.tolist()}.")
    inside = ((indices >= 0) & (indices < shape)).all(axis=1)
    if not inside.all():
        bad = int(inside.argmin())
        raise ValueError(
            f"{prefix}indices[{bad}] = {indices[bad].tolist()} is out of bounds: need 0 <= index < {shape.tolist()}."
        )


@moving_kernel("SparseToDense")
def sparse_to_dense(
    xp: Any, indices: Any, shape: Any, values: Any, default: Any, *, validate_indices: bool, out: Any = None
) -> Any:
    if indices.ndim > 2:
        raise ValueError(f"sparse_indices are a scalar, a vector or a matrix, but have the shape {indices.shape}.")
    points = indices if indices.ndim == 2 else indices.reshape(-1, 1)
    if values.ndim > 1 or values.ndim and values.shape[0] != len(points):
        raise ValueError(f"sparse_values has incorrect shape {values.shape}, should be [] or [{len(points)}]")
    if default.ndim:
        raise ValueError(f"default_value should be a scalar, but has the shape {default.shape}.")
    check_inside(points, shape)
    if validate_indices and len(points) > 1:
        steps = points[1:] - points[:-1]
        first = xp.take_along_axis(steps, (steps != 0).argmax(axis=1)[:, None], 1)[:, 0] if steps.shape[1] else steps
        if not (first > 0).all():
            bad = int((first > 0).reshape(len(steps), -1).all(axis=1).argmin()) + 1
            raise ValueError(
                f"indices[{bad}] = {points[bad].tolist()} is {'out of order' if steps[bad - 1].any() else 'repeated'}: sort "
                f"them with sparse_reorder, or say validate_indices=False."
            )
    if out is None:
        out = xp.empty(tuple(shape.tolist()), values.dtype)
    out[...] = default
    if out.ndim:
        out[tuple(points.T)] = values
    elif len(points):
        out[...] = values.reshape(-1)[-1]
    return out


@moving_kernel("SparseReorder")
def sparse_reorder(xp: Any, indices: Any, values: Any, shape: Any) -> Any:
    order = order_of(xp, indices)
    return indices[order], values[order]


# ---- distance


@kernel("EditDistance")
def edit_distance(
    xp: Any,
    hypothesis_indices: Any,
    hypothesis_values: Any,
    hypothesis_shape: Any,
    truth_indices: Any,
    truth_values: Any,
    truth_shape: Any,
    *,
    normalize: bool,
) -> Any:
    if hypothesis_shape.shape != truth_shape.shape:
        raise ValueError(f"The ranks of {hypothesis_shape.tolist()} and {truth_shape.tolist()} differ.")
    check_inside(hypothesis_indices, hypothesis_shape)
    check_inside(truth_indices, truth_shape)
    result = xp.zeros(tuple(xp.maximum(hypothesis_shape, truth_shape)[:-1].tolist()), xp.float32)
    guesses = _sequences(hypothesis_indices, hypothesis_values)
    truths = _sequences(truth_indices, truth_values)
    for place in guesses.keys() | truths.keys():
        guess, truth = guesses.get(place, []), truths.get(place, [])
        distance = float(_levenshtein(guess, truth))
        if normalize:
            distance = distance / len(truth) if truth else float("inf")
        result[place] = distance
    return result[()]


def _sequences(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    """The elements along the last dimension, by the other indices."""
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for row, value in zip(indices[:, :-1].tolist(), values.tolist()):
        sequences.setdefault(tuple(row), []).append(value)
    return sequences


def _levenshtein(left: list[Any], right: list[Any]) -> int:
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]
