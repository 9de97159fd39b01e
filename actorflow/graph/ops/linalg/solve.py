"""Systems of linear equations with factored or rectangular matrices, which lie in the last two dimensions."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, broadcast, compatible, show
from actorflow.graph.convert import convert_alike, convert_to_tensor
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.linalg.diagonal import matrix_band_part
from actorflow.graph.ops.linalg.matrix import SOLVABLE, cholesky, cubic, eye, square_matrices
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.shape_rules import at_least_rank, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _triangular(c: Inference) -> Shape:
    matrix, right = square_matrices(c), at_least_rank(c, 1, 2)
    if matrix is None or right is None:
        return None
    if not compatible(matrix[-1:], right[-2:-1]):
        raise ValueError(
            f"Dimensions must be equal: the matrices {show(matrix)} and the right-hand sides {show(right)} differ in their rows."
        )
    batch = broadcast(matrix[:-2], right[:-2])
    rows = matrix[-1] if right[-2] is None else right[-2]
    return None if batch is None else (*batch, rows, right[-1])


@op("MatrixTriangularSolve", shape=_triangular, dtypes=SOLVABLE, broadcasts=True, work=cubic)
def matrix_triangular_solve_op(
    matrix: TensorLike, rhs: TensorLike, *, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """X with matrix · X = rhs for a triangular matrix. See `matrix_triangular_solve`."""


@matrix_triangular_solve_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    matrix, solution = node.inputs[0], node.outputs[0]
    lower, adjoint = node.get_attr("lower"), node.get_attr("adjoint")
    right = matrix_triangular_solve_op(matrix, dy, lower=lower, adjoint=not adjoint)
    product = matmul(solution, right, adjoint_b=True) if adjoint else matmul(right, solution, adjoint_b=True)
    triangle = (-1, 0) if lower else (0, -1)
    return [-matrix_band_part(product, *triangle), right]


@public("af", "af.linalg:triangular_solve")
def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """X with matrix · X = rhs, by substitution (`tf.matrix_triangular_solve`).

    Example:
        >>> af.matrix_triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[4.0], [5.0]])
        [[2.]
         [3.]]

    Args:
        matrix: triangular matrices of shape (..., m, m); the other triangle is not read.
        rhs: of shape (..., m, k), as the result; dimensions before those of the matrices are broadcast.
        lower: which triangle there is.
        adjoint: the conjugate transpose of the matrix stands in its place.

    Raises InvalidArgumentError in the run for a zero on the diagonal.
    """
    left, right = convert_alike(matrix, rhs)
    return matrix_triangular_solve_op(left, right, lower=lower, adjoint=adjoint, name=name)


@public("af", "af.linalg")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """X with A · X = rhs, where `chol` is the Cholesky factor of A (`tf.cholesky_solve`).

    `chol` has shape (..., m, m), `rhs` and the result (..., m, k).

    Example:
        >>> factor = af.cholesky([[4.0, 2.0], [2.0, 5.0]])
        >>> af.cholesky_solve(factor, [[8.0], [12.0]])
        [[1.]
         [2.]]
    """
    with composite(name, "cholesky_solve", chol, rhs) as scope:
        factor, right = convert_alike(chol, rhs)
        half = matrix_triangular_solve_op(factor, right, adjoint=False, lower=True)
        return matrix_triangular_solve_op(factor, half, adjoint=True, lower=True, name=scope)


# ---- least squares


def _least_squares(c: Inference) -> Shape:
    matrix, right = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    require_rank(c, 2, 0)
    if matrix is None or right is None:
        return None
    if len(matrix) != len(right) or not compatible(matrix[:-1], right[:-1]):
        raise ValueError(
            f"Dimensions must be equal: the matrices {show(matrix)} and the right-hand sides {show(right)} differ in their rows."
        )
    batch = [b if a is None else a for a, b in zip(matrix[:-2], right[:-2], strict=True)]
    return (*batch, matrix[-1], right[-1])


@op("MatrixSolveLs", shape=_least_squares, dtypes=SOLVABLE, types={"l2_regularizer": dt.float64}, work=cubic)
def matrix_solve_ls_op(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: TensorLike, *, fast: bool = True, name: str | None = None
) -> Tensor:
    """The X of least squares. See `matrix_solve_ls`."""


@matrix_solve_ls_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """Through the normal equations, of which the smaller side is solved."""
    matrix, right, regularizer = node.inputs
    solution = node.outputs[0]
    sides = None if matrix.static_shape is None else matrix.static_shape[-2:]
    if not node.get_attr("fast"):
        raise ValueError("The gradient of matrix_solve_ls is defined for fast=True only.")
    if sides is None or sides[0] is None or sides[1] is None:
        raise NotImplementedError("The gradient of matrix_solve_ls needs matrices whose static sizes are known.")
    if sides[0] >= sides[1]:
        z = cholesky_solve(_normal_factor(matrix, regularizer, True), dy)
        residual = right - matmul(matrix, solution)
        image = matmul(matrix, z)
        return [matmul(residual, z, adjoint_b=True) - matmul(image, solution, adjoint_b=True), image, None]
    factor = _normal_factor(matrix, regularizer, False)
    weights = cholesky_solve(factor, right)
    t = cholesky_solve(factor, matmul(matrix, dy))
    rest = dy - matmul(matrix, t, adjoint_a=True)
    return [matmul(weights, rest, adjoint_b=True) - matmul(t, solution, adjoint_b=True), t, None]


def _normal_factor(matrix: Tensor, regularizer: Tensor, tall: bool) -> Tensor:
    """The Cholesky factor of Aᴴ·A + λ·I, or of A·Aᴴ + λ·I."""
    gram = matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    identity = eye(shape(matrix)[-1 if tall else -2], dtype=matrix.dtype)
    return cholesky(gram + cast(regularizer, matrix.dtype) * identity)


@public("af", "af.linalg:lstsq")
def matrix_solve_ls(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """The X that makes |matrix · X - rhs|² + l2_regularizer · |X|² smallest (`tf.matrix_solve_ls`, `tf.linalg.lstsq`).

    Of several the smallest X is given, where the matrix has fewer rows than columns.

    Example:
        >>> points = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
        >>> af.matrix_solve_ls(points, [[1.0], [3.0], [5.0]])
        [[1.]
         [2.]]

    Args:
        matrix: of shape (..., m, n).
        rhs: of shape (..., m, k). The result has shape (..., n, k).
        l2_regularizer: a number; of no effect where `fast` is false.
        fast: solve the normal equations, which takes a matrix of full rank; else decompose it, whatever its rank. Only
            the fast way has a gradient, for static sizes.

    Raises InvalidArgumentError in the run where the normal equations can't be solved.
    """
    left, right = convert_alike(matrix, rhs)
    regularizer = convert_to_tensor(l2_regularizer, dt.float64, graph=left.graph)
    return matrix_solve_ls_op(left, right, regularizer, fast=fast, name=name or "matrix_solve_ls")
