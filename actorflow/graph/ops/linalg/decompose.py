"""Matrices as products of simpler matrices: QR, singular values, eigenvalues, LU. They lie in the last two dimensions.

Gradients are those of J. Townsend, "Differentiating the Singular Value Decomposition" (2016), and of M. Giles, "An
extended collection of matrix derivative results" (2008), for complex matrices too. Singular and eigenvectors are free up
to a factor of magnitude 1 each; the gradient of what depends on that factor means nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DTypeLike
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.one_hot import one_hot
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.linalg.diagonal import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from actorflow.graph.ops.linalg.matrix import SOLVABLE, cubic, matrix_transpose, square_matrices
from actorflow.graph.ops.linalg.solve import matrix_triangular_solve
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.math.elementwise import reciprocal, square
from actorflow.graph.ops.math.logic import equal, where_v2
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.shape_rules import at_least_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _least(rows: int | None, columns: int | None) -> int | None:
    return None if rows is None or columns is None else min(rows, columns)


def _sides(tensor: Tensor, op_type: str) -> tuple[int, int]:
    """The rows and columns of matrices. Raises NotImplementedError for unknown sizes."""
    shape = tensor.static_shape
    rows, columns = (None, None) if shape is None else shape[-2:]
    if rows is None or columns is None:
        raise NotImplementedError(f"The gradient of {op_type} needs matrices whose static sizes are known.")
    return rows, columns


def _adjoint(x: Tensor) -> Tensor:
    return matrix_transpose(x, conjugate=True)


def _over_differences(values: Tensor) -> Tensor:
    """The matrix 1 / (values[j] - values[i]), with zeros on the diagonal and where two are equal."""
    differences = expand_dims(values, -2) - expand_dims(values, -1)
    same = equal(differences, 0)
    return where_v2(same, 0, reciprocal(where_v2(same, 1, differences)))


# ---- QR


def _qr(c: Inference) -> Shape | list[Shape]:
    shape = at_least_rank(c, 0, 2)
    if shape is None:
        return [None, None]
    batch, (rows, columns) = shape[:-2], shape[-2:]
    inner = rows if c.attrs["full_matrices"] else _least(rows, columns)
    return [(*batch, rows, inner), (*batch, inner, columns)]


@op("Qr", shape=_qr, dtypes=SOLVABLE, result=(T, T), work=lambda c: 4 * cubic(c))
def qr_op(input: TensorLike, *, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The factors Q and R. See `qr`."""


@qr_op.gradient
def _(node: Operation, dq: Tensor, dr: Tensor) -> list[Any]:
    q, r = node.outputs
    rows, columns = _sides(node.inputs[0], "Qr")
    if rows > columns and node.get_attr("full_matrices"):
        raise NotImplementedError("The gradient of Qr is not known for full_matrices=True and more rows than columns.")
    if rows >= columns:
        return [_tall_qr_gradient(q, r, dq, dr)]
    # The first columns alone decide Q; the others are the product of it and the rest of R.
    source = node.inputs[0]
    rest = dr[..., :, rows:]
    through_q = dq + matmul(source[..., :, rows:], rest, adjoint_b=True)
    first = _tall_qr_gradient(q, r[..., :, :rows], through_q, dr[..., :, :rows])
    return [concat([first, matmul(q, rest)], -1)]


def _tall_qr_gradient(q: Tensor, r: Tensor, dq: Tensor, dr: Tensor) -> Tensor:
    # With N = dR·Rᴴ - Qᴴ·dQ only the upper triangle of N counts, because R has no lower triangle; R's diagonal is real.
    upper = matrix_band_part(matmul(dr, r, adjoint_b=True) - matmul(q, dq, adjoint_a=True), 0, -1)
    half = matrix_set_diag(upper, matrix_diag_part(upper) / 2)
    outer = dq + matmul(q, half + _adjoint(half))
    return _adjoint(matrix_triangular_solve(r, _adjoint(outer), lower=False))


@public("af", "af.linalg")
def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and the upper triangular R with Q · R = input (`tf.qr`).

    For matrices of shape (..., m, n), Q has the shape (..., m, k) and R has the shape (..., k, n). The number k is the
    smaller of m and n, or m with `full_matrices`, which has a gradient if m ≤ n. The signs of R's diagonal are LAPACK's.

    Example:
        >>> q, r = af.qr([[3.0, 1.0], [4.0, 2.0]])
        >>> af.matmul(q, r)
        [[3. 1.]
         [4. 2.]]
    """
    return qr_op(input, full_matrices=full_matrices, name=name)


# ---- singular values


def _svd(c: Inference) -> Shape | list[Shape]:
    shape = at_least_rank(c, 0, 2)
    if shape is None:
        return [None, None, None]
    batch, (rows, columns) = shape[:-2], shape[-2:]
    inner = _least(rows, columns)
    full = c.attrs["full_matrices"]
    if not c.attrs["compute_uv"]:
        return [(*batch, inner), (0,), (0,)]
    return [(*batch, inner), (*batch, rows, rows if full else inner), (*batch, columns, columns if full else inner)]


def _real(c: Inference) -> dt.DType:
    return c.dtypes[0].real_dtype


@op("Svd", shape=_svd, dtypes=SOLVABLE, result=(_real, T, T), work=lambda c: 20 * cubic(c))
def svd_op(
    input: TensorLike, *, compute_uv: bool = True, full_matrices: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Singular values and vectors. See `svd`."""


@svd_op.gradient
def _(node: Operation, ds: Tensor, du: Tensor, dv: Tensor) -> list[Any]:
    source = node.inputs[0]
    if not node.get_attr("compute_uv"):
        _, u, v = svd_op(source)
        return [matmul(_scaled(u, cast(ds, source.dtype)), v, adjoint_b=True)]
    s, u, v = node.outputs
    rows, columns = _sides(source, "Svd")
    if node.get_attr("full_matrices"):
        if abs(rows - columns) > 1:
            raise NotImplementedError(
                "The gradient of Svd is not known for full_matrices=True and sides that differ by more than 1."
            )
        inner = min(rows, columns)
        u, du = _without_complement(u, du, inner)
        v, dv = _without_complement(v, dv, inner)
    weights = _over_differences(square(s))
    s, weights = cast(s, source.dtype), cast(weights, source.dtype)
    inverse = reciprocal(s)
    in_u, in_v = matmul(u, du, adjoint_a=True), matmul(v, dv, adjoint_a=True)
    left, right = weights * in_u, weights * in_v
    core = (left + _adjoint(left)) * expand_dims(s, -2) + expand_dims(s, -1) * (right + _adjoint(right))
    core += matrix_diag(cast(ds, source.dtype))
    if source.dtype.is_complex:
        turned = matrix_diag_part(in_v)
        core += matrix_diag((conj(turned) - turned) * inverse / 2)
    total = matmul(matmul(u, core), v, adjoint_b=True)
    if rows > columns:
        total += matmul(_scaled(du - matmul(u, in_u), inverse), v, adjoint_b=True)
    if columns > rows:
        total += matmul(_scaled(u, inverse), dv - matmul(v, in_v), adjoint_b=True)
    return [total]


def _scaled(matrix: Tensor, factors: Tensor) -> Tensor:
    """The columns of a matrix times these factors."""
    return matrix * expand_dims(factors, -2)


def _without_complement(vectors: Tensor, gradient: Tensor, inner: int) -> tuple[Tensor, Tensor]:
    """The first `inner` vectors, with a gradient that counts the one more that there may be: it has to stay orthogonal
    to them, so that it turns with them."""
    first, extra = vectors[..., :, :inner], vectors[..., :, inner:]
    turned = matmul(extra, matmul(first, gradient[..., :, inner:], adjoint_a=True), adjoint_b=True)
    return first, gradient[..., :, :inner] - turned


@public("af", "af.linalg")
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values s (largest first) and vectors u, v with tensor = u · diag(s) · vᴴ (`tf.svd`).

    Example:
        >>> s, u, v = af.svd([[3.0, 0.0], [0.0, -5.0]])
        >>> s
        [5. 3.]
        >>> af.matmul(u * s, v, transpose_b=True)
        [[ 3.  0.]
         [ 0. -5.]]

    Args:
        tensor: matrices of shape (..., m, n); k is the smaller of m and n.
        full_matrices: give m and n vectors, not k of each.
        compute_uv: whether to give vectors at all.

    Returns:
        (s, u, v) of shapes (..., k), (..., m, k or m) and (..., n, k or n); s alone where `compute_uv` is false. s is
        real. The gradient of vectors needs distinct singular values, none of them 0, and static sizes.
    """
    s, u, v = svd_op(tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (s, u, v) if compute_uv else s


# ---- eigenvalues


def _eigen(c: Inference) -> Shape | list[Shape]:
    shape = square_matrices(c)
    return [None if shape is None else shape[:-1], shape if c.attrs["compute_v"] else (0,)]


@op("SelfAdjointEigV2", shape=_eigen, dtypes=SOLVABLE, result=(T, T), work=lambda c: 10 * cubic(c))
def self_adjoint_eig_op(input: TensorLike, *, compute_v: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices. See `self_adjoint_eig`."""


@self_adjoint_eig_op.gradient
def _(node: Operation, de: Tensor, dv: Tensor) -> list[Any]:
    if node.get_attr("compute_v"):
        e, v = node.outputs
        core = matrix_diag(de) + _over_differences(e) * matmul(v, dv, adjoint_a=True)
    else:
        _, v = self_adjoint_eig_op(node.inputs[0])
        core = matrix_diag(de)
    whole = matmul(matmul(v, core), v, adjoint_b=True)
    # Only the lower triangle is read, so that it gets the gradient of both.
    lower = matrix_band_part(whole + _adjoint(whole), -1, 0)
    return [matrix_set_diag(lower, matrix_diag_part(lower) / 2)]


@public("af", "af.linalg:eigh")
def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues e (smallest first) and eigenvectors v, in columns, of Hermitian matrices (`tf.self_adjoint_eig`).

    tensor · v = v · diag(e). Only the lower triangles are read. e has the type of the matrices; the gradient of v needs
    distinct eigenvalues.

    Example:
        >>> values, vectors = af.self_adjoint_eig([[2.0, 1.0], [1.0, 2.0]])
        >>> values
        [1. 3.]
        >>> af.matmul(vectors * values, vectors, transpose_b=True)
        [[2. 1.]
         [1. 2.]]
    """
    return self_adjoint_eig_op(tensor, compute_v=True, name=name)


@public("af", "af.linalg:eigvalsh")
def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices, smallest first (`tf.self_adjoint_eigvals`). See `self_adjoint_eig`.

    Example:
        >>> af.self_adjoint_eigvals([[2.0, 1.0], [1.0, 2.0]])
        [1. 3.]
    """
    return self_adjoint_eig_op(tensor, compute_v=False, name=name)[0]


# ---- LU


def _lu(c: Inference) -> Shape | list[Shape]:
    shape = square_matrices(c)
    return [shape, None if shape is None else shape[:-1]]


@op("Lu", shape=_lu, dtypes=SOLVABLE, result=(T, "output_idx_type"), work=cubic)
def lu_op(
    input: TensorLike, *, output_idx_type: DTypeLike = dt.int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The factors L and U in one matrix, and the permutation. See `lu`."""


@lu_op.gradient
def _(node: Operation, dlu: Tensor, _: Any) -> list[Any]:
    both, order = node.outputs
    side = _sides(node.inputs[0], "Lu")[0]
    lower, upper = (
        matrix_set_diag(matrix_band_part(both, -1, 0), matrix_diag_part(both) * 0 + 1),
        matrix_band_part(both, 0, -1),
    )
    dlower, dupper = matrix_band_part(dlu, -1, 0), matrix_band_part(dlu, 0, -1)
    dlower = matrix_set_diag(dlower, matrix_diag_part(dlu) * 0)
    # With P·A = L·U, the change of L⁻¹·P·A·U⁻¹ below the diagonal is that of L, the rest that of U.
    of_lower = matmul(lower, dlower, adjoint_a=True)
    of_lower = matrix_set_diag(matrix_band_part(of_lower, -1, 0), matrix_diag_part(dlu) * 0)
    core = of_lower + matrix_band_part(matmul(dupper, upper, adjoint_b=True), 0, -1)
    half = matrix_triangular_solve(lower, core, lower=True, adjoint=True)
    whole = _adjoint(matrix_triangular_solve(upper, _adjoint(half), lower=False))
    return [matmul(one_hot(order, side, dtype=dlu.dtype), whole, transpose_a=True)]


class Lu(NamedTuple):
    """L and U in one matrix, and the permutation."""

    lu: Tensor
    p: Tensor


@public("af.linalg")
def lu(input: TensorLike, output_idx_type: DTypeLike = dt.int32, name: str | None = None) -> Lu:
    """L and U with gather(input, p) = L · U, and the permutation p (`tf.linalg.lu`), of square matrices.

    The first result holds L, whose diagonal is 1, below its diagonal, and U on and above it.

    Example:
        >>> factors, order = af.linalg.lu([[1.0, 2.0], [4.0, 2.0]])
        >>> factors, order
        ([[4.   2.  ]
          [0.25 1.5 ]], [1 0])
    """
    return Lu(*lu_op(input, output_idx_type=output_idx_type, name=name))
