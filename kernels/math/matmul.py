"""Kernels of products of matrices and of einsum. Halves are multiplied in float32, which BLAS knows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import COMPLEX
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import APART
from actorflow.errors import InvalidArgumentError

from ..shared import blas

_HALVES = frozenset((dt.float16, dt.bfloat16))


_IN_BLAS = frozenset((dt.float32, dt.float64, dt.complex64, dt.complex128))


def _matrix(x: Any, transpose: bool) -> Any:
    if x.ndim != 2:
        raise InvalidArgumentError(f"MatMul takes matrices, but an input has the shape {x.shape}.")
    return x.T if transpose else x


@kernel("MatMul", dtypes=_HALVES, gpu=APART)
def matmul_halves(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    left, right = a.astype(xp.float32), b.astype(xp.float32)
    return xp.matmul(_matrix(left, transpose_a), _matrix(right, transpose_b)).astype(a.dtype)


@kernel("MatMul", device="CPU", dtypes=_IN_BLAS)
def matmul_on_cpu(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return blas.matmul(_matrix(a, transpose_a), _matrix(b, transpose_b), out)


@kernel("MatMul", gpu=APART)
def matmul(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return xp.matmul(_matrix(a, transpose_a), _matrix(b, transpose_b), out=out)


def _turned(xp: Any, x: Any, adjoint: bool) -> Any:
    if x.ndim < 2:
        raise InvalidArgumentError(f"A matrix has two dimensions or more, but an input has the shape {x.shape}.")
    return xp.swapaxes(x, -1, -2) if adjoint else x


@kernel("BatchMatMulV2", dtypes=_HALVES, gpu=APART)
def batch_matmul_halves(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool) -> Any:
    left, right = x.astype(xp.float32), y.astype(xp.float32)
    return xp.matmul(_turned(xp, left, adj_x), _turned(xp, right, adj_y)).astype(x.dtype)


@kernel("BatchMatMulV2", dtypes=COMPLEX, gpu=APART)
def batch_matmul_complex(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool, out: Any = None) -> Any:
    left = _turned(xp, xp.conjugate(x) if adj_x else x, adj_x)
    return xp.matmul(left, _turned(xp, xp.conjugate(y) if adj_y else y, adj_y), out=out)


@kernel("BatchMatMulV2", device="CPU", dtypes=_IN_BLAS - COMPLEX)
def batch_matmul_on_cpu(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool, out: Any = None) -> Any:
    return blas.matmul_batch(_turned(xp, x, adj_x), _turned(xp, y, adj_y), out)


@kernel("BatchMatMulV2", gpu=APART)
def batch_matmul(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool, out: Any = None) -> Any:
    return xp.matmul(_turned(xp, x, adj_x), _turned(xp, y, adj_y), out=out)


@kernel("Einsum", dtypes=_HALVES, gpu=APART)
def einsum_halves(xp: Any, inputs: Any, *, equation: str) -> Any:
    total = _einsum(xp, [value.astype(xp.float32) for value in inputs], equation)
    return total.astype(inputs[0].dtype)


@kernel("Einsum", gpu=APART)
def einsum(xp: Any, inputs: Any, *, equation: str, out: Any = None) -> Any:
    total = _einsum(xp, inputs, equation)
    if out is None:
        return total
    xp.copyto(out, total)
    return out


def _einsum(xp: Any, inputs: Any, equation: str) -> Any:
    # numpy would broadcast a label of size 1.
    sizes: dict[str, int] = {}
    for names, value in zip(equation.partition("->")[0].split(","), inputs):
        if len(names) != value.ndim or any(sizes.setdefault(n, size) != size for n, size in zip(names, value.shape)):
            raise InvalidArgumentError(
                f"The shapes don't fit the equation {equation!r}.", details=[f"shape: {v.shape}" for v in inputs]
            )
    with blas.one_thread() if xp is np else nullcontext():
        result = xp.einsum(equation, *inputs, optimize=len(inputs) > 1)
    # An op that only moves dimensions makes a view.
    return result.copy() if result.base is not None else result
