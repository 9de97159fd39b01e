# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import matrix_rank as matrix_rank
from actorflow.compat.names.functions import tridiagonal_matmul as tridiagonal_matmul
from actorflow.compat.names.numerics import logm as logm
from actorflow.compat.names.numerics import tridiagonal_solve as tridiagonal_solve
from actorflow.graph.linear_operators.block_diagonal import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from actorflow.graph.linear_operators.circulant import LinearOperatorCirculant as LinearOperatorCirculant
from actorflow.graph.linear_operators.circulant import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from actorflow.graph.linear_operators.circulant import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from actorflow.graph.linear_operators.composition import LinearOperatorComposition as LinearOperatorComposition
from actorflow.graph.linear_operators.derived import LinearOperatorAdjoint as LinearOperatorAdjoint
from actorflow.graph.linear_operators.derived import LinearOperatorInversion as LinearOperatorInversion
from actorflow.graph.linear_operators.diagonal import LinearOperatorDiag as LinearOperatorDiag
from actorflow.graph.linear_operators.householder import LinearOperatorHouseholder as LinearOperatorHouseholder
from actorflow.graph.linear_operators.identity import LinearOperatorIdentity as LinearOperatorIdentity
from actorflow.graph.linear_operators.identity import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from actorflow.graph.linear_operators.identity import LinearOperatorZeros as LinearOperatorZeros
from actorflow.graph.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from actorflow.graph.linear_operators.low_rank_update import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from actorflow.graph.linear_operators.matrices import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from actorflow.graph.linear_operators.matrices import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from actorflow.graph.linear_operators.operator import LinearOperator as LinearOperator
from actorflow.graph.linear_operators.toeplitz import LinearOperatorToeplitz as LinearOperatorToeplitz
from actorflow.graph.ops.linalg.bands import matrix_diag as diag
from actorflow.graph.ops.linalg.bands import matrix_diag_part as diag_part
from actorflow.graph.ops.linalg.bands import matrix_set_diag as set_diag
from actorflow.graph.ops.linalg.decompose import lu as lu
from actorflow.graph.ops.linalg.decompose import qr as qr
from actorflow.graph.ops.linalg.decompose import self_adjoint_eig as eigh
from actorflow.graph.ops.linalg.decompose import self_adjoint_eigvals as eigvalsh
from actorflow.graph.ops.linalg.decompose import svd as svd
from actorflow.graph.ops.linalg.diagonal import diag as tensor_diag
from actorflow.graph.ops.linalg.diagonal import diag_part as tensor_diag_part
from actorflow.graph.ops.linalg.diagonal import matrix_band_part as band_part
from actorflow.graph.ops.linalg.functions import adjoint as adjoint
from actorflow.graph.ops.linalg.functions import cross as cross
from actorflow.graph.ops.linalg.functions import expm as expm
from actorflow.graph.ops.linalg.functions import logdet as logdet
from actorflow.graph.ops.linalg.functions import matvec as matvec
from actorflow.graph.ops.linalg.functions import pinv as pinv
from actorflow.graph.ops.linalg.functions import slogdet as slogdet
from actorflow.graph.ops.linalg.functions import sqrtm as sqrtm
from actorflow.graph.ops.linalg.matrix import cholesky as cholesky
from actorflow.graph.ops.linalg.matrix import eye as eye
from actorflow.graph.ops.linalg.matrix import matrix_determinant as det
from actorflow.graph.ops.linalg.matrix import matrix_inverse as inv
from actorflow.graph.ops.linalg.matrix import matrix_solve as solve
from actorflow.graph.ops.linalg.matrix import matrix_transpose as matrix_transpose
from actorflow.graph.ops.linalg.matrix import matrix_transpose as transpose
from actorflow.graph.ops.linalg.matrix import trace as trace
from actorflow.graph.ops.linalg.norm import norm as norm
from actorflow.graph.ops.linalg.norm import normalize as normalize
from actorflow.graph.ops.linalg.solve import cholesky_solve as cholesky_solve
from actorflow.graph.ops.linalg.solve import matrix_solve_ls as lstsq
from actorflow.graph.ops.linalg.solve import matrix_triangular_solve as triangular_solve
from actorflow.graph.ops.math.clip import global_norm as global_norm
from actorflow.graph.ops.math.matmul import einsum as einsum
from actorflow.graph.ops.math.matmul import matmul as matmul
from actorflow.graph.ops.math.matmul import tensordot as tensordot
from actorflow.graph.ops.nn.normalization import l2_normalize as l2_normalize

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
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
    "logm",
    "lstsq",
    "lu",
    "matmul",
    "matrix_rank",
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
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
