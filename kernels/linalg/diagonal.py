"""Kernels of diagonals and bands of matrices."""

from __future__ import annotations

from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

# ---- parts of matrices, and checks


@kernel("MatrixBandPart")
def matrix_band_part(xp: Any, x: Any, lower: Any, upper: Any) -> Any:
    height, width = x.shape[-2:]
    if lower > max(height, 0) or upper > max(width, 0):
        raise ValueError(f"A matrix of {height} x {width} has no {int(lower)} diagonals below and {int(upper)} above.")
    if lower >= 0:
        x = xp.triu(x, -int(lower))
    return xp.tril(x, int(upper)) if upper >= 0 else x


# ---- diagonals


@kernel("Diag")
def diag(xp: Any, x: Any) -> Any:
    result = xp.zeros((x.size, x.size), x.dtype)
    xp.einsum("ii->i", result)[:] = x.reshape(-1)
    return result.reshape(x.shape + x.shape)


@kernel("DiagPart")
def diag_part(xp: Any, x: Any) -> Any:
    shape = x.shape[: x.ndim // 2]
    if x.ndim == 0 or shape + shape != x.shape:
        raise InvalidArgumentError(f"The shape has to be one twice over, but it is {x.shape}.")
    side = round(x.size**0.5)
    return xp.diagonal(x.reshape(side, side)).reshape(shape).copy()


@kernel("MatrixDiag")
def matrix_diag(xp: Any, x: Any) -> Any:
    if x.ndim == 0:
        raise InvalidArgumentError("input must be at least 1-dim: a scalar is no diagonal.")
    result = xp.zeros((*x.shape, x.shape[-1]), x.dtype)
    xp.einsum("...ii->...i", result)[...] = x
    return result


@kernel("MatrixDiagPart")
def matrix_diag_part(xp: Any, x: Any) -> Any:
    return xp.diagonal(x, axis1=-2, axis2=-1).copy()


@kernel("MatrixSetDiag")
def matrix_set_diag(xp: Any, x: Any, diagonal: Any) -> Any:
    side = min(x.shape[-2:])
    if diagonal.shape != (*x.shape[:-2], side):
        raise InvalidArgumentError(f"The diagonals of matrices {x.shape} have no shape {diagonal.shape}.")
    result = x.copy()
    xp.einsum("...ii->...i", result[..., :side, :side])[...] = diagonal
    return result
