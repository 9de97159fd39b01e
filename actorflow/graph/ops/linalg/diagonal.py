"""Diagonals: tensors made of them, and taken out of tensors."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import ANY, INDEX, NUMERIC, STRING
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _diag_shape(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0: a scalar is no diagonal.")
    return None if shape is None else shape + shape


@public("af", "af.linalg:tensor_diag")
@op("Diag", shape=_diag_shape, dtypes=NUMERIC)
def diag(diagonal: TensorLike, *, name: str | None = None) -> Tensor:
    """A tensor of twice the rank, with `diagonal` where both halves of the index agree, else zeros (`tf.diag`).

    A vector gives a square matrix. Raises ValueError for a scalar; see `matrix_diag` for batches.

    Example:
        >>> af.diag([1, 2, 3])
        [[1 0 0]
         [0 2 0]
         [0 0 3]]
    """


def _diag_part_shape(c: Inference) -> Shape:
    shape = c.shapes[0]
    if shape is None:
        return None
    if not shape or len(shape) % 2:
        raise ValueError(f"The rank has to be even and not zero, but the shape is {show(shape)}.")
    return merge(shape[: len(shape) // 2], shape[len(shape) // 2 :])


@public("af", "af.linalg:tensor_diag_part")
@op("DiagPart", shape=_diag_part_shape, dtypes=NUMERIC)
def diag_part(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The elements where both halves of the index agree: the diagonal of a matrix (`tf.diag_part`).

    The shape has to be one twice over, else ValueError is raised.

    Example:
        >>> af.diag_part([[1, 2], [3, 4]])
        [1 4]
    """


@diag.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [diag_part(dy)]


@diag_part.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [diag(dy)]


def _matrix_diag_shape(c: Inference) -> Shape:
    shape = at_least_rank(c, 0, 1)
    return None if shape is None else (*shape, shape[-1])


@op("MatrixDiag", shape=_matrix_diag_shape, dtypes=ANY - STRING)
def matrix_diag(diagonal: TensorLike, *, name: str | None = None) -> Tensor:
    """Square matrices with the vectors in the last dimension of `diagonal` as their diagonals. See `bands.matrix_diag`."""


def _matrix_diag_part_shape(c: Inference) -> Shape:
    shape = at_least_rank(c, 0, 2)
    if shape is None:
        return None
    rows, columns = shape[-2:]
    return (*shape[:-2], None if rows is None or columns is None else min(rows, columns))


@op("MatrixDiagPart", shape=_matrix_diag_part_shape, dtypes=ANY - STRING)
def matrix_diag_part(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The main diagonals of matrices. See `bands.matrix_diag_part`."""


def _set_diag_shape(c: Inference) -> Shape:
    shape, diagonal = at_least_rank(c, 0, 2), at_least_rank(c, 1, 1)
    if shape is not None and diagonal is not None:
        rows, columns = shape[-2:]
        merge(diagonal, (*shape[:-2], None if rows is None or columns is None else min(rows, columns)))
    return shape


@op("MatrixSetDiag", shape=_set_diag_shape, dtypes=ANY - STRING)
def matrix_set_diag(input: TensorLike, diagonal: TensorLike, *, name: str | None = None) -> Tensor:
    """Matrices with the vectors in the last dimension of `diagonal` for their diagonals. See `bands.matrix_set_diag`."""


@matrix_diag.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [matrix_diag_part(dy)]


@matrix_diag_part.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.constant import zeros_like

    return [matrix_set_diag(zeros_like(node.inputs[0]), dy)]


@matrix_set_diag.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.constant import zeros_like

    return [matrix_set_diag(dy, zeros_like(node.inputs[1])), matrix_diag_part(dy)]


# ---- parts of matrices, and checks


def _matrix(c: Inference) -> Shape:
    require_rank(c, 1, 0)
    require_rank(c, 2, 0)
    return at_least_rank(c, 0, 2)


@public("af", "af.linalg:band_part")
@op("MatrixBandPart", shape=_matrix, dtypes=ANY - dt.STRING, types={"num_lower": INDEX, "num_upper": INDEX})
def matrix_band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, *, name: str | None = None
) -> Tensor:
    """Matrices with zeros outside a band around the diagonal (`tf.matrix_band_part`).

    Example:
        >>> af.matrix_band_part(af.ones([3, 3], af.int32), 0, 1)
        [[1 1 0]
         [0 1 1]
         [0 0 1]]
        >>> af.matrix_band_part([[1, 2], [3, 4]], -1, 0)
        [[1 0]
         [3 4]]

    Args:
        input: a tensor of shape (..., m, n), of any type but string.
        num_lower, num_upper: how many diagonals below and above the main diagonal are kept, scalars of int32 or int64;
            negative keeps all on that side.

    Raises:
        InvalidArgumentError: there are not as many diagonals, in the run.
    """


@matrix_band_part.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [matrix_band_part(dy, node.inputs[1], node.inputs[2]), None, None]
