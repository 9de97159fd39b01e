"""Matrices from diagonals, and diagonals of matrices: the main diagonal, another, or a band of several side by side.

A band of diagonals is a matrix with a row for each, the uppermost first. Diagonals differ in length: a row is filled up on the
side that `align` says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorflow.base.shapes import show
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import control_dependencies
from actorflow.graph.ops.array.constant import constant, fill
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import concat, stack
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.array.shape import shape as shape_of
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.asserts import assert_equal
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.linalg import diagonal as main
from actorflow.graph.ops.math.arithmetic import maximum, minimum
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.cumulative import range_
from actorflow.graph.ops.math.logic import logical_and
from actorflow.graph.ops.math.logic import where_v2 as where
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
Band = Any


@public("af", "af.linalg:diag")
def matrix_diag(
    diagonal: TensorLike,
    name: str | None = None,
    k: Band = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the vectors in the last dimension of `diagonal` as diagonals, and a value elsewhere (`tf.matrix_diag`).

    Example:
        >>> af.matrix_diag([[1, 2], [3, 4]])
        [[[1 0]
          [0 2]]
         [[3 0]
          [0 4]]]
        >>> af.matrix_diag([1, 2], k=1)
        [[0 1 0]
         [0 0 2]
         [0 0 0]]

    Args:
        diagonal: `[..., m]`; or a band, `[..., diagonals, m]`.
        name: a scope.
        k: which diagonal: 0 is the main diagonal, and diagonals above it are positive; or a pair: the lowest and the highest
            of a band.
        num_rows, num_cols: the size of the matrices; -1 for the least size, or for square matrices.
        padding_value: the value elsewhere.
        align: on which side rows of a band are filled up, above the main diagonal and below it: `LEFT` has the values at the
            left.

    Raises:
        ValueError: `k` is no constant or no band, or `align` is another word.
    """
    low, high = _limits(k)
    if (low, high) == (0, 0) and num_rows == num_cols == -1 and isinstance(padding_value, int) and not padding_value:
        return main.matrix_diag(diagonal, name=name)
    with composite(name, "matrix_diag", diagonal):
        values = convert_to_tensor(diagonal)
        longest = shape_of(values)[-1]
        rows = longest + maximum(-high, 0) if num_rows < 0 else constant(num_rows)
        columns = longest + maximum(low, 0) if num_cols < 0 else constant(num_cols)
        if num_rows < 0 and num_cols < 0:
            rows = columns = maximum(rows, columns)
        outer = shape_of(values)[: -1 if low == high else -2]
        empty = fill(concat([outer, stack([rows, columns])], 0), cast(padding_value, values.dtype))
        result = matrix_set_diag(empty, values, k=(low, high) if low != high else low, align=align)
        if values.static_shape is not None:
            inner = [num_rows if num_rows >= 0 else None, num_cols if num_cols >= 0 else None]
            result.set_shape([*values.static_shape[: -1 if low == high else -2], *inner])
        return result


@public("af", "af.linalg:diag_part")
def matrix_diag_part(
    input: TensorLike,
    name: str | None = None,
    k: Band = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonals of matrices, which need not be square (`tf.matrix_diag_part`).

    Example:
        >>> af.matrix_diag_part([[1, 2, 3], [4, 5, 6]])
        [1 5]
        >>> af.matrix_diag_part([[1, 2, 3], [4, 5, 6]], k=(-1, 1))
        [[2 6]
         [1 5]
         [4 0]]

    Args:
        input: `[..., rows, columns]`.
        name: a scope.
        k, align: see `matrix_diag`.
        padding_value: the value with which short diagonals of a band are filled up.

    Raises:
        ValueError: `k` is no constant or no band, or `align` is another word.
    """
    low, high = _limits(k)
    if (low, high) == (0, 0):
        return main.matrix_diag_part(input, name=name)
    with composite(name, "matrix_diag_part", input):
        matrix = convert_to_tensor(input)
        sizes = _sizes(matrix, low, high)
        numbers = expand_dims(range_(high, low - 1, -1), 1)
        places = expand_dims(range_(sizes.longest), 0) - _shift(sizes, numbers, align)
        row, column = places + maximum(-numbers, 0), places + maximum(numbers, 0)
        inside = logical_and(places >= 0, logical_and(row < sizes.rows, column < sizes.columns))
        flat = reshape(matrix, concat([shape_of(matrix)[:-2], [-1]], 0))
        band = gather(flat, where(inside, row * sizes.columns + column, _zeros(row)), axis=-1)
        band = where(inside, band, cast(padding_value, matrix.dtype))
        return band if low != high else band[..., 0, :]


@public("af", "af.linalg:set_diag")
def matrix_set_diag(
    input: TensorLike, diagonal: TensorLike, name: str | None = None, k: Band = 0, align: str = "RIGHT_LEFT"
) -> Tensor:
    """Matrices with the vectors in the last dimension of `diagonal` for their diagonals (`tf.matrix_set_diag`).

    Example:
        >>> af.matrix_set_diag([[1, 2], [3, 4]], [9, 8])
        [[9 2]
         [3 8]]
        >>> af.matrix_set_diag([[1, 2], [3, 4]], [9], k=-1)
        [[1 2]
         [9 4]]

    Args:
        input: `[..., rows, columns]`.
        diagonal: `[..., m]`; or a band, `[..., diagonals, m]`.
        name: a scope.
        k, align: see `matrix_diag`.

    Raises:
        ValueError: `k` is no constant or no band, `align` is another word, or the diagonals do not fit the matrices;
            InvalidArgumentError where only the run knows.
    """
    low, high = _limits(k)
    if (low, high) == (0, 0):
        return main.matrix_set_diag(input, diagonal, name=name)
    with composite(name, "matrix_set_diag", input, diagonal):
        matrix, values = convert_to_tensor(input), convert_to_tensor(diagonal)
        sizes = _sizes(matrix, low, high)
        band = _checked(matrix, values if low != high else expand_dims(values, -2), sizes, low, high)
        row, column = expand_dims(range_(sizes.rows), 1), expand_dims(range_(sizes.columns), 0)
        number = column - row
        inside = logical_and(number >= low, number <= high)
        place = minimum(row, column) + _shift(sizes, number, align)
        flat = reshape(band, concat([shape_of(band)[:-2], [-1]], 0))
        at = where(inside, (high - number) * sizes.longest + place, _zeros(number))
        return where(inside, gather(flat, at, axis=-1), matrix)


class _Sizes(NamedTuple):
    rows: Tensor
    columns: Tensor
    longest: Tensor


def _zeros(places: Tensor) -> Tensor:
    return places - places


def _limits(k: Band) -> tuple[int, int]:
    """The lowest and the highest diagonal."""
    if isinstance(k, Tensor):
        k = constant_value(k.graph.nodes, k.tensor_id)
        if k is None:
            raise ValueError("k is known when the graph is built: give a number or a pair.")
    limits = [int(number) for number in np.ravel(k)]
    if len(limits) not in (1, 2) or limits[0] > limits[-1]:
        raise ValueError(f"k is a diagonal, or the lowest and the highest of a band, not {limits}.")
    return limits[0], limits[-1]


def _sizes(matrix: Tensor, low: int, high: int) -> _Sizes:
    """The size of matrices, and how long the longest diagonal of a band is."""
    shape = shape_of(matrix)
    rows, columns = shape[-2], shape[-1]
    return _Sizes(rows, columns, minimum(rows + min(high, 0), columns - max(low, 0)))


def _checked(matrix: Tensor, band: Tensor, sizes: _Sizes, low: int, high: int) -> Tensor:
    """A band that fits matrices. Raises ValueError if its shape is known and does not; the run checks what is not known."""
    rows, columns = (matrix.static_shape or (None, None))[-2:]
    count = high - low + 1
    if (
        rows is not None
        and columns is not None
        and band.static_shape is not None
        and None not in band.static_shape[-2:]
    ):
        longest = min(rows + min(high, 0), columns - max(low, 0))
        if band.static_shape[-2:] != (count, longest):
            raise ValueError(
                f"Diagonals {low} to {high} of matrices of {rows} rows and {columns} columns are {count}, and the longest has "
                f"{longest} values, but diagonals of the shape {show(band.static_shape)} are given."
            )
        return band
    fits = assert_equal(
        shape_of(band)[-2:], stack([count, sizes.longest]), message="The diagonals do not fit the matrices."
    )
    with control_dependencies([fits]):
        return identity(band)


def _shift(sizes: _Sizes, number: Tensor, align: str) -> Tensor:
    """How many values of padding are before the diagonals with the given numbers."""
    if align not in ALIGNMENTS:
        raise ValueError(f"align is one of {', '.join(ALIGNMENTS)}, not {align!r}.")
    length = minimum(sizes.rows + minimum(number, 0), sizes.columns - maximum(number, 0))
    above, below = (side == "RIGHT" for side in align.split("_"))
    is_right = where(number >= 0, fill(shape_of(number), above), fill(shape_of(number), below))
    return where(is_right, sizes.longest - length, _zeros(number))
