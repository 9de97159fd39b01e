"""Kernels of functions of whole matrices."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError, UnimplementedError, with_topic

from .matrix import check_square


@kernel("LogMatrixDeterminant")
def log_matrix_determinant(xp: Any, x: Any) -> tuple[Any, Any]:
    check_square(x)
    sign, logarithm = xp.linalg.slogdet(x)
    return sign, logarithm.astype(x.dtype)


@kernel("MatrixSquareRoot", device="CPU")
def matrix_square_root(xp: Any, x: Any) -> Any:
    check_square(x)
    try:
        root = importlib.import_module("scipy.linalg").sqrtm
    except ImportError:
        raise UnimplementedError(
            "Roots of matrices need scipy.linalg, which is not installed.",
            hint=with_topic("Install it with: pip install 'actorflow[special]'", "extra-missing"),
        ) from None
    result = np.empty(x.shape, x.dtype)
    for at in np.ndindex(*x.shape[:-2]):
        square_root = root(x[at])
        result[at] = square_root if square_root.dtype.kind == x.dtype.kind or not square_root.imag.any() else np.nan
    return result


# Of the diagonal Padé approximant of order 13, and the norm up to which it is exact to the last digit of a double:
# N. Higham, "The Scaling and Squaring Method for the Matrix Exponential Revisited" (2005).
_PADE = [math.comb(13, j) * math.factorial(26 - j) / math.factorial(26) for j in range(14)]
_EXACT = 5.37


@kernel("MatrixExponential")
def matrix_exponential(xp: Any, x: Any) -> Any:
    check_square(x)
    if not x.size:
        return xp.empty(x.shape, x.dtype)
    norms = xp.abs(x).sum(-2).max(-1)
    ratio = xp.where(xp.isfinite(norms), norms, 1) / norms.dtype.type(_EXACT)
    halvings = xp.ceil(xp.log2(xp.maximum(ratio, 1)))[..., None, None]
    scaled = x / xp.exp2(halvings).astype(x.dtype)
    square = xp.matmul(scaled, scaled)
    power = xp.broadcast_to(xp.eye(x.shape[-1], dtype=x.dtype), x.shape)
    even, odd = xp.zeros_like(x), xp.zeros_like(x)
    for j in range(0, 14, 2):
        even = even + x.dtype.type(_PADE[j]) * power
        odd = odd + x.dtype.type(_PADE[j + 1]) * power
        power = xp.matmul(power, square)
    odd = xp.matmul(scaled, odd)
    result = xp.linalg.solve(even - odd, even + odd)
    for done in range(int(halvings.max())):
        result = xp.where(done < halvings, xp.matmul(result, result), result)
    return result


@kernel("Cross")
def cross(xp: Any, a: Any, b: Any) -> Any:
    if a.shape != b.shape or a.shape[-1:] != (3,):
        raise InvalidArgumentError(f"A cross product takes vectors of three numbers, but got {a.shape} and {b.shape}.")
    return xp.cross(a, b)
