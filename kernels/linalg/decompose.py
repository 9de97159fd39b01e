"""Kernels of matrix factorizations, which LAPACK computes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from . import lapack
from .matrix import check_square, explained


def _check_matrix(x: Any) -> None:
    if x.ndim < 2:
        raise InvalidArgumentError(f"A matrix has two dimensions or more, but the shape is {x.shape}.")


@kernel("Qr")
def qr(xp: Any, x: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    _check_matrix(x)
    if lapack.takes(xp, x):
        return lapack.each(partial(lapack.qr, full=full_matrices), x)  # type: ignore[no-any-return]
    q, r = xp.linalg.qr(x, "complete" if full_matrices else "reduced")
    return q, r


@kernel("Svd")
def svd(xp: Any, x: Any, *, compute_uv: bool, full_matrices: bool) -> tuple[Any, Any, Any]:
    _check_matrix(x)
    with explained(xp, "Singular value decomposition was not successful. The input might not be valid."):
        if lapack.takes(xp, x):
            u, s, vh = lapack.each(partial(lapack.svd, vectors=compute_uv, full=full_matrices), x)
        elif compute_uv:
            u, s, vh = xp.linalg.svd(x, full_matrices=full_matrices)
        else:
            s = xp.linalg.svd(x, compute_uv=False)
    if not compute_uv:
        return s, xp.empty(0, x.dtype), xp.empty(0, x.dtype)
    return s, u, xp.ascontiguousarray(xp.conjugate(xp.swapaxes(vh, -1, -2)))


@kernel("SelfAdjointEigV2")
def self_adjoint_eig(xp: Any, x: Any, *, compute_v: bool) -> tuple[Any, Any]:
    check_square(x)
    with explained(xp, "Self-adjoint eigen decomposition was not successful. The input might not be valid."):
        if lapack.takes(xp, x):
            e, v = lapack.each(partial(lapack.eigh, vectors=compute_v), x)
            return e.astype(x.dtype), v if compute_v else xp.empty(0, x.dtype)
        if not compute_v:
            return xp.linalg.eigvalsh(x).astype(x.dtype), xp.empty(0, x.dtype)
        e, v = xp.linalg.eigh(x)
    return e.astype(x.dtype), v


@kernel("Lu", device="CPU")
def lu(xp: Any, x: Any, *, output_idx_type: DType) -> tuple[Any, Any]:
    """Doolittle's algorithm with the largest pivot of each column, on all matrices of the batch at once."""
    check_square(x)
    side = x.shape[-1]
    both = np.array(x).reshape(int(np.prod(x.shape[:-2])), side, side)
    order = np.tile(np.arange(side), (len(both), 1))
    each = np.arange(len(both))
    for k in range(side):
        best = k + np.abs(both[:, k:, k]).argmax(-1)
        both[each, k], both[each, best] = both[each, best], both[each, k]
        order[each, k], order[each, best] = order[each, best], order[each, k]
        pivot = both[:, k, k]
        if not pivot.all():
            raise InvalidArgumentError("Input is not invertible.")
        both[:, k + 1 :, k] /= pivot[:, None]
        both[:, k + 1 :, k + 1 :] -= both[:, k + 1 :, k, None] * both[:, k, None, k + 1 :]
    return both.reshape(x.shape), order.reshape(x.shape[:-1]).astype(output_idx_type.numpy_dtype)
