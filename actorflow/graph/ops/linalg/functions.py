"""Functions of whole matrices: logarithms of determinants, roots, exponentials, pseudo-inverses; products with vectors.

Matrices lie in the last two dimensions; more dimensions are a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from actorflow.base.dtypes import REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import zeros_like
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape, squeeze
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.linalg.decompose import svd
from actorflow.graph.ops.linalg.diagonal import matrix_diag_part
from actorflow.graph.ops.linalg.matrix import (
    SOLVABLE,
    batch_of_matrices,
    cholesky,
    cubic,
    matrix_inverse,
    matrix_solve,
    matrix_transpose,
    square_matrices,
)
from actorflow.graph.ops.math.arithmetic import maximum, multiply
from actorflow.graph.ops.math.cast import cast, real
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.logic import greater, where_v2
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.math.reduction import reduce_max, reduce_sum
from actorflow.graph.ops.shape_rules import merged
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


class LogMatrixDeterminant(NamedTuple):
    """The sign of a determinant (a number of magnitude 1, or 0), and the logarithm of its magnitude."""

    sign: Tensor
    log_abs_determinant: Tensor


@op("LogMatrixDeterminant", shape=batch_of_matrices, dtypes=SOLVABLE, result=(T, T), work=cubic)
def slogdet_op(input: TensorLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The signs and logarithms of determinants. See `slogdet`."""


@slogdet_op.gradient
def _(node: Operation, _: Tensor, dlog: Tensor) -> list[Any]:
    # As in TensorFlow the sign counts as a constant, which it is for real matrices. The logarithm is real.
    source = node.inputs[0]
    weights = cast(real(dlog), source.dtype)
    return [expand_dims(expand_dims(weights, -1), -1) * matrix_inverse(source, adjoint=True)]


@public("af.linalg")
def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """The sign and the logarithm of the magnitude of the determinants of square matrices (`tf.linalg.slogdet`).

    Both have the type of the matrices. Of a singular one they are 0 and -inf.

    Example:
        >>> af.linalg.slogdet([[0.0, 2.0], [3.0, 0.0]])
        LogMatrixDeterminant(sign=-1.0, log_abs_determinant=1.7918)
    """
    return LogMatrixDeterminant(*slogdet_op(input, name=name))


@public("af.linalg")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of Hermitian positive definite matrices, as a real number (`tf.linalg.logdet`).

    Raises InvalidArgumentError in the run for a matrix that is not positive definite.

    Example:
        >>> af.linalg.logdet([[2.0, 0.0], [0.0, 3.0]]), af.log(6.0)
        (1.7918, 1.7918)
    """
    with composite(name, "logdet", matrix) as scope:
        factor = cholesky(matrix)
        return multiply(2.0, reduce_sum(log(real(matrix_diag_part(factor))), [-1]), name=scope)


# ---- roots and exponentials


@public("af.linalg", "tf:matrix_square_root")
@op("MatrixSquareRoot", shape=square_matrices, dtypes=SOLVABLE, work=lambda c: 30 * cubic(c))
def sqrtm(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The principal square root X of square matrices, with X · X = input (`tf.linalg.sqrtm`).

    NaN where a real matrix has none that is real. It needs the extra `special`.

    Example:
        >>> af.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]])
        [[2. 0.]
         [0. 3.]]
    """


@sqrtm.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    """The solution of Sylvester's equation Xᴴ·Z + Z·Xᴴ = dy, row by row in one vector."""
    root = node.outputs[0]
    side = root.static_shape[-1] if root.static_shape is not None else None
    if side is None:
        raise NotImplementedError("The gradient of MatrixSquareRoot needs matrices whose static sizes are known.")
    turned = matrix_transpose(root, conjugate=True)
    unit = np.eye(side, dtype=root.dtype.numpy_dtype)
    system = _kronecker(turned, unit, side) + _kronecker(unit, matrix_transpose(turned), side)
    rows = shape(dy)
    column = expand_dims(_with_last(dy, [side * side]), -1)
    return [reshape(matrix_solve(system, column), rows)]


def _kronecker(a: Any, b: Any, side: int) -> Tensor:
    """The Kronecker product of square matrices."""
    left = expand_dims(expand_dims(convert_to_tensor(a), -1), -3)
    right = expand_dims(expand_dims(convert_to_tensor(b), -2), -4)
    product = left * right
    return reshape(product, concat([shape(product)[:-4], [side * side] * 2], 0))


def _with_last(x: Tensor, sizes: list[int]) -> Tensor:
    return reshape(x, concat([shape(x)[:-2], sizes], 0))


@public("af.linalg")
@op("MatrixExponential", shape=square_matrices, dtypes=SOLVABLE, work=lambda c: 30 * cubic(c))
def expm(input: TensorLike, *, name: str | None = None) -> Tensor:
    """The exponential Σ inputᵏ / k! of square matrices (`tf.linalg.expm`).

    Example:
        >>> af.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
        [[1. 1.]
         [0. 1.]]
    """


@expm.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    # The derivative at Aᴴ in the direction dy: a block of the exponential of [[Aᴴ, dy], [0, Aᴴ]].
    turned = matrix_transpose(node.inputs[0], conjugate=True)
    top, bottom = concat([turned, dy], -1), concat([zeros_like(dy), turned], -1)
    side = shape(dy)[-1]
    return [expm(concat([top, bottom], -2))[..., :side, side:]]


# ---- made of others


@public("af.linalg")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The conjugate transposes of matrices (`tf.linalg.adjoint`).

    Example:
        >>> af.linalg.adjoint([[1 + 2j, 3 + 0j]])
        [[1.-2.j]
         [3.-0.j]]
    """
    return matrix_transpose(matrix, name=name or "adjoint", conjugate=True)


@public("af.linalg")
def pinv(a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverses of Moore and Penrose of floating matrices (`tf.linalg.pinv`).

    Example:
        >>> af.linalg.pinv([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
        [[0.5  0.   0.  ]
         [0.   0.25 0.  ]]

    Args:
        a: of shape (..., m, n). The result has shape (..., n, m).
        rcond: singular values up to this part of the largest count as zero; by default 10 · max(m, n) · ε.
        validate_args: accepted, and of no effect.
    """
    with composite(name, "pinv", a, rcond) as scope:
        source = convert_to_tensor(a)
        s, u, v = svd(source)
        if rcond is None:
            sides = cast(maximum(shape(source)[-1], shape(source)[-2]), s.dtype)
            rcond = 10 * sides * float(np.finfo(s.dtype.numpy_dtype).eps)
        cut = convert_to_tensor(rcond, s.dtype) * reduce_max(s, [-1])
        kept = greater(s, expand_dims(cut, -1))
        inverse = where_v2(kept, 1 / where_v2(kept, s, 1), 0)
        return matmul(v * expand_dims(cast(inverse, v.dtype), -2), u, adjoint_b=True, name=scope)


@public("af.linalg")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices of shape (..., m, n) times vectors of shape (..., n) (`tf.linalg.matvec`). See `matmul`.

    Example:
        >>> af.linalg.matvec([[1, 2], [3, 4]], [10, 1])
        [12 34]

    Args:
        a: matrices of shape (..., m, n), or (..., n, m) if transposed; of a type that `matmul` takes.
        b: vectors of shape (..., n), of the same type.
        transpose_a: transposes the matrices.
        adjoint_a: transposes and conjugates them.
        a_is_sparse, b_is_sparse: accepted, and of no effect.

    Returns:
        A tensor of shape (..., m).
    """
    with composite(name, "MatVec", a, b) as scope:
        product = matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, [-1], name=scope)


# ---- vectors in space


def _cross(c: Inference) -> Shape:
    both = merged(c)
    if both is not None and (not both or not compatible(both[-1:], (3,))):
        raise ValueError(f"A cross product takes vectors of three numbers, but the shape is {both}.")
    return both


@public("af", "af.linalg")
@op("Cross", shape=_cross, dtypes=REAL, work=3)
def cross(a: TensorLike, b: TensorLike, *, name: str | None = None) -> Tensor:
    """The cross products of vectors of three numbers in the last dimension; `a` and `b` have one shape (`tf.cross`).

    Example:
        >>> af.cross([1, 0, 0], [0, 1, 0])
        [0 0 1]
    """


@cross.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    a, b = node.inputs
    return [cross(b, dy), cross(dy, a)]
