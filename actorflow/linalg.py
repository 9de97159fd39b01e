"""Linear algebra under the short names of `tf.linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.ops.clip import global_norm
    from actorflow.ops.diagonal import diag as tensor_diag
    from actorflow.ops.diagonal import diag_part as tensor_diag_part
    from actorflow.ops.diagonal import matrix_diag as diag
    from actorflow.ops.diagonal import matrix_diag_part as diag_part
    from actorflow.ops.diagonal import matrix_set_diag as set_diag
    from actorflow.ops.einsum import einsum
    from actorflow.ops.factorizations import lu, qr, svd
    from actorflow.ops.factorizations import self_adjoint_eig as eigh
    from actorflow.ops.factorizations import self_adjoint_eigvals as eigvalsh
    from actorflow.ops.layers import l2_normalize
    from actorflow.ops.linalg import cholesky, eye, matrix_transpose, trace
    from actorflow.ops.linalg import matrix_determinant as det
    from actorflow.ops.linalg import matrix_inverse as inv
    from actorflow.ops.linalg import matrix_solve as solve
    from actorflow.ops.linalg import matrix_transpose as transpose
    from actorflow.ops.linear_solve import cholesky_solve
    from actorflow.ops.linear_solve import matrix_solve_ls as lstsq
    from actorflow.ops.linear_solve import matrix_triangular_solve as triangular_solve
    from actorflow.ops.matmul import matmul
    from actorflow.ops.matrix_functions import adjoint, cross, expm, logdet, matvec, normalize, pinv, slogdet, sqrtm
    from actorflow.ops.ordering import matrix_band_part as band_part
    from actorflow.ops.statistics import norm
    from actorflow.ops.tensordot import tensordot

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "lu",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]
