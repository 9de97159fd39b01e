"""LAPACK by scipy (the extra `special`): single matrices, each by the routine that is made for it, on as many threads as pay.

numpy's own functions are for batches of small matrices. They copy each matrix element by element, have no routine for
triangles, and invert by solving. So these functions take a matrix, or a batch of large matrices. The kernels keep numpy for all
else: where scipy is missing, for small matrices in batches, on GPUs.

LAPACK's matrices are stored column by column. The transpose of an array in C's order is such a matrix, without a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.linalg import LinAlgError

from ..shared import blas
from ..shared.scipy_parts import part

P = ParamSpec("P")
T = TypeVar("T")

LARGE = 64
"""The side of the smallest matrices of a batch that are worth a call each."""

_WORTH_THREADS = 512 * 512
"""Elements of a matrix that several threads may share."""
_KINDS = "fdFD"


def _library() -> Any:
    return part("scipy.linalg._flapack") if part("scipy.linalg._fblas") is not None else None


def takes(xp: Any, *matrices: Any) -> bool:
    """Whether the functions below compute these operands, which are of one type, and gain by it."""
    first = matrices[0]
    return (
        xp is np
        and first.dtype.char in _KINDS
        and all(m.size for m in matrices)
        and (first.ndim == 2 or min(first.shape[-2:]) >= LARGE)
        and _library() is not None
    )


def each(function: Callable[..., Any], *matrices: Any) -> Any:
    """`function` of each matrix of a batch: an array, or a tuple of arrays."""
    batch = matrices[0].shape[:-2]
    if not batch:
        return function(*matrices)
    results = [function(*(m[place] for m in matrices)) for place in np.ndindex(*batch)]
    if not isinstance(results[0], tuple):
        return np.stack(results).reshape(*batch, *results[0].shape)
    return tuple(np.stack(column).reshape(*batch, *column[0].shape) for column in zip(*results))


def _threaded(function: Callable[P, T]) -> Callable[P, T]:
    """`function`, whose first argument is a matrix, on one thread, or where the matrix is large on as many as pay."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        x: Any = arguments[0]
        library = blas.openblas("scipy") if x.size >= LARGE * LARGE else None
        if library is None:
            return function(*arguments, **options)
        if x.size < _WORTH_THREADS:
            with library.on_threads(1):
                return function(*arguments, **options)
        key = (
            function.__name__,
            *[array.shape for array in arguments if isinstance(array, np.ndarray)],
            x.dtype.char,
            *options.values(),
        )
        return library.threaded(key, lambda: function(*arguments, **options))

    return call


_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


def _blas(name: str, x: Any) -> Any:
    return getattr(part("scipy.linalg._fblas"), _LETTERS[x.dtype.char] + name)


def _routine(name: str, x: Any) -> Any:
    letter = _LETTERS[x.dtype.char]
    if letter in "cz":
        for real, complex_ in (("syevd", "heevd"), ("orgqr", "ungqr")):
            name = name.replace(real, complex_)
    return getattr(_library(), letter + name)


def _checked(info: int) -> None:
    if info:
        raise LinAlgError(f"LAPACK gives up with {info}.")


def _workspace(name: str, x: Any, *sizes: int, **options: Any) -> int:
    *sizes_out, info = _routine(f"{name}_lwork", x)(*sizes, **options)
    _checked(info)
    return int(sizes_out[0].real)


@_threaded
def cholesky(x: Any) -> Any:
    """The lower factor. Raises LinAlgError where the matrix is not positive definite."""
    factor, info = _routine("potrf", x)(x.T, lower=False, clean=True)
    _checked(info)
    return factor.T


@_threaded
def solve(matrix: Any, right: Any) -> Any:
    """X with matrix · X = right. Raises LinAlgError where the matrix is singular."""
    _, _, solution, info = _routine("gesv", matrix)(matrix, right)
    _checked(info)
    return np.ascontiguousarray(solution)


@_threaded
def solve_triangular(triangle: Any, right: Any, lower: bool, adjoint: bool) -> Any:
    """X with triangle · X = right, or with the adjoint of the triangle. The elements on its other side are not read."""
    if adjoint and triangle.dtype.kind == "c":
        solution, info = _routine("trtrs", triangle)(triangle, right, lower=lower, trans=2)
        _checked(info)
        return np.ascontiguousarray(solution)
    if right.shape[1] == 1:
        solution = _blas("trsv", triangle)(triangle.T, right[:, 0], lower=not lower, trans=not adjoint)
        return solution.reshape(right.shape)
    # The transposes of both sides have the columns' order, so the triangle's transpose stands to the right of the unknown.
    return _blas("trsm", triangle)(
        1, triangle.T, np.array(right, order="C").T, side=1, lower=not lower, trans_a=adjoint, overwrite_b=True
    ).T


@_threaded
def inverse(x: Any) -> Any:
    """The inverse. Raises LinAlgError where the matrix is singular."""
    factors, pivots, info = _routine("getrf", x)(x.T)
    _checked(info)
    inverted, info = _routine("getri", x)(factors, pivots, lwork=_workspace("getri", x, len(x)), overwrite_lu=True)
    _checked(info)
    return inverted.T


@_threaded
def svd(x: Any, vectors: bool, full: bool) -> tuple[Any, Any, Any]:
    """Left vectors, values, and the adjoint of the right vectors; vectors of size 0 if none are asked for."""
    options = {"compute_uv": vectors, "full_matrices": full}
    work = _workspace("gesdd", x, *x.shape, **options)
    left, values, right, info = _routine("gesdd", x)(x, lwork=work, **options)
    _checked(info)
    return np.ascontiguousarray(left), values, right


@_threaded
def eigh(x: Any, vectors: bool) -> tuple[Any, Any]:
    """The eigenvalues of a self-adjoint matrix, of which the lower triangle is read, and the vectors or zeros."""
    values, eigenvectors, info = _routine("syevd", x)(x, compute_v=vectors, lower=True)
    _checked(info)
    return values, np.ascontiguousarray(eigenvectors)


@_threaded
def qr(x: Any, full: bool) -> tuple[Any, Any]:
    """The factors Q and R."""
    rows, columns = x.shape
    least = min(rows, columns)
    packed, scales, _, info = _routine("geqrf", x)(x, lwork=_workspace("geqrf", x, rows, columns))
    _checked(info)
    side = rows if full else least
    reflectors = np.zeros((rows, side), x.dtype, order="F")
    reflectors[:, :least] = packed[:, :least]
    generate = _routine("orgqr", x)
    work = int(generate(reflectors, scales, lwork=-1, overwrite_a=True)[1][0].real)  # only asks
    q, _, info = generate(reflectors, scales, lwork=work, overwrite_a=True)
    _checked(info)
    return np.ascontiguousarray(q), np.triu(packed[:side])
