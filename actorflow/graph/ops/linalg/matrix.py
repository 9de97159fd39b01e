"""Matrices: inverses, determinants and factors. They lie in the last two dimensions; more dimensions are a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import COMPLEX, DTypeLike, as_dtype
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, is_static, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.building import composite, small_constant
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.linalg.diagonal import matrix_diag_part, matrix_set_diag
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.math.logic import equal
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.math.reduction import reduce_sum, unreduce
from actorflow.graph.ops.shape_rules import at_least_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# The types for which LAPACK has functions.
SOLVABLE = frozenset((dt.float32, dt.float64)) | COMPLEX


def square_matrices(c: Inference) -> Shape:
    """Square matrices in the last two dimensions."""
    shape = at_least_rank(c, 0, 2)
    if shape is None:
        return None
    if None not in shape[-2:] and shape[-2] != shape[-1]:
        raise ValueError(
            f"Dimensions must be equal, but are {shape[-2]} and {shape[-1]}: the matrices have to be square."
        )
    side = shape[-1] if shape[-2] is None else shape[-2]
    return (*shape[:-2], side, side)


def batch_of_matrices(c: Inference) -> Shape:
    shape = square_matrices(c)
    return None if shape is None else shape[:-2]


def cubic(c: Inference) -> float:
    """The cube of the side, for each matrix; a guess for an unknown side."""
    shape = c.shapes[0]
    return float(np.prod(shape)) * float(shape[-1]) if shape and is_static(shape) else 1e5  # type: ignore[arg-type]


@public("af", "af.linalg:inv")
@op("MatrixInverse", shape=square_matrices, dtypes=SOLVABLE, work=lambda c: 2 * cubic(c))
def matrix_inverse(input: TensorLike, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverses of square matrices (`tf.matrix_inverse`); of their conjugate transposes with `adjoint`.

    Raises InvalidArgumentError in the run for a matrix that has none.

    Example:
        >>> af.matrix_inverse([[2.0, 0.0], [0.0, 4.0]])
        [[0.5  0.  ]
         [0.   0.25]]
    """


@matrix_inverse.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    inverse, adjoint = node.outputs[0], node.get_attr("adjoint")
    inner = matmul(dy, inverse, adjoint_a=adjoint, adjoint_b=not adjoint)
    return [-matmul(inverse, inner, adjoint_a=not adjoint)]


@public("af", "af.linalg:det")
@op("MatrixDeterminant", shape=batch_of_matrices, dtypes=SOLVABLE, work=cubic)
def matrix_determinant(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The determinants of square matrices (`tf.matrix_determinant`), without the last two dimensions.

    Example:
        >>> af.matrix_determinant([[1.0, 2.0], [3.0, 4.0]])
        -2.0
    """


@matrix_determinant.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.array.shape import shape

    source = node.inputs[0]
    weights = unreduce(dy * conj(node.outputs[0]), shape(source), [-2, -1])
    return [weights * matrix_inverse(source, adjoint=True)]


def _solution(c: Inference) -> Shape:
    matrix, right = square_matrices(c), at_least_rank(c, 1, 2)
    if matrix is not None and right is not None:
        if None not in (matrix[-1], right[-2]) and matrix[-1] != right[-2]:
            raise ValueError(
                f"Dimensions must be equal: the rows of the matrices {show(matrix)} and the right-hand sides {show(right)}."
            )
        if len(matrix) != len(right):
            raise ValueError(f"Matrices {show(matrix)} and right-hand sides {show(right)} differ in rank.")
    return right


@public("af", "af.linalg:solve")
@op("MatrixSolve", shape=_solution, dtypes=SOLVABLE, work=cubic)
def matrix_solve(matrix: TensorLike, rhs: TensorLike, *, adjoint: bool = False, name: str | None = None) -> Tensor:
    """X with matrix · X = rhs (`tf.matrix_solve`).

    Example:
        >>> af.matrix_solve([[2.0, 0.0], [1.0, 1.0]], [[4.0], [5.0]])
        [[2.]
         [3.]]

    Args:
        matrix: floating or complex, of shape (..., m, m).
        rhs: of the same type and shape (..., m, k).
        adjoint: the conjugate transpose of the matrix stands there instead.

    Returns:
        X, of shape (..., m, k).

    Raises:
        InvalidArgumentError: a matrix has no inverse, in the run.
    """


@matrix_solve.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    matrix, solution, adjoint = node.inputs[0], node.outputs[0], node.get_attr("adjoint")
    right = matrix_solve(matrix, dy, adjoint=not adjoint)
    product = matmul(solution, right, adjoint_b=True) if adjoint else matmul(right, solution, adjoint_b=True)
    return [-product, right]


@public("af", "af.linalg")
@op("Cholesky", shape=square_matrices, dtypes=SOLVABLE, work=lambda c: cubic(c) / 3)
def cholesky(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The lower triangular L with L · Lᴴ = input (`tf.cholesky`), of Hermitian positive definite matrices.

    Only their lower triangles are read; the gradient is that of a Hermitian input.

    Raises InvalidArgumentError in the run for a matrix that is not positive definite.

    Example:
        >>> af.cholesky([[4.0, 2.0], [2.0, 5.0]])
        [[2. 0.]
         [1. 2.]]
    """


@cholesky.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.linalg.diagonal import matrix_band_part
    from actorflow.graph.ops.linalg.solve import matrix_triangular_solve

    # Iain Murray, "Differentiation of the Cholesky decomposition" (2016), equation 10. It multiplies by the factor's inverse from
    # both sides, which are two substitutions.
    factor = node.outputs[0]
    middle = matmul(factor, dy, adjoint_a=True)
    middle = matrix_band_part(matrix_set_diag(middle, matrix_diag_part(middle) / 2), -1, 0)
    left = matrix_triangular_solve(factor, middle, adjoint=True)
    half = matrix_triangular_solve(factor, matrix_transpose(left, conjugate=True), adjoint=True)
    return [(half + matrix_transpose(half, conjugate=True)) / 2]


# ---- made of others


@public("af", "af.linalg", "af.linalg:transpose")
def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """`a` with its last two dimensions exchanged (`tf.matrix_transpose`); conjugated too where asked for.

    Example:
        >>> af.matrix_transpose([[[1, 2], [3, 4]]])
        [[[1 3]
          [2 4]]]

    Raises:
        ValueError: `a` has fewer than two dimensions.
    """
    from actorflow.graph.ops.array.join import concat, stack
    from actorflow.graph.ops.array.shape import rank, transpose
    from actorflow.graph.ops.math.cumulative import range_

    with composite(name, "matrix_transpose", a) as scope:
        tensor = convert_to_tensor(a)
        if tensor.static_shape is None:
            last = rank(tensor)
            order: Any = concat([range_(last - 2), stack([last - 1, last - 2])], 0)
        else:
            count = len(tensor.static_shape)
            if count < 2:
                raise ValueError(
                    f"Argument 'a' should be a (batch) matrix, with rank >= 2, but {tensor.name} has {show(tensor.static_shape)}."
                )
            order = [*range(count - 2), count - 1, count - 2]
        return transpose(tensor, order, name=scope, conjugate=conjugate)


@public("af", "af.linalg")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sums along the diagonals of matrices (`tf.trace`), of the shape of `x` without its last two dimensions.

    Example:
        >>> af.trace([[1, 2], [3, 4]])
        5
    """
    with composite(name, "Trace", x) as scope:
        return reduce_sum(matrix_diag_part(x), [-1], name=scope)


@public("af", "af.linalg")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = dt.float32,
    name: str | None = None,
) -> Tensor:
    """The number 1 on the diagonal, 0 elsewhere (`tf.eye`).

    Example:
        >>> af.eye(2, 3)
        [[1. 0. 0.]
         [0. 1. 0.]]

    Args:
        num_rows, num_columns: ints or scalar tensors; there are as many columns as rows by default.
        batch_shape: the dimensions before those of the matrix: a list or a vector.
        dtype: the element type, float32 by default.

    Returns:
        A tensor of shape (*batch_shape, num_rows, num_columns).
    """
    from actorflow.graph.ops.array.join import concat
    from actorflow.graph.ops.array.shape import broadcast_to, expand_dims, shape
    from actorflow.graph.ops.math.cumulative import range_

    kind, columns = as_dtype(dtype), num_rows if num_columns is None else num_columns
    with composite(name, "eye", num_rows, num_columns, batch_shape) as scope:
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            matrix = cast(equal(expand_dims(range_(num_rows), 1), range_(columns)), kind)
        else:
            matrix = small_constant(get_default_graph(), np.eye(num_rows, columns), kind, "matrix")
        if batch_shape is None:
            return matrix
        sizes = concat([convert_to_tensor(batch_shape, dt.int32), shape(matrix)], 0)
        return broadcast_to(matrix, sizes, name=scope)
