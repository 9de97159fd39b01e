"""Linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras.src import tree

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common, floating, kind, on_host, place_of
from keras_actorflow.src.sizes import larger, size_of, sizes_of, vector


def cholesky(a: Any, upper: bool = False) -> Any:
    factor = af.linalg.cholesky(floating(a))
    return af.linalg.matrix_transpose(factor) if upper else factor


def cholesky_inverse(a: Any, upper: bool = False) -> Any:
    factor = floating(a)
    if upper:
        factor = af.linalg.matrix_transpose(factor)
    identity = af.eye(size_of(factor, -1), dtype=factor.dtype)
    inverse = af.linalg.triangular_solve(factor, af.broadcast_to(identity, vector(sizes_of(factor))), lower=True)
    return af.matmul(inverse, inverse, transpose_a=True)


def det(a: Any) -> Any:
    return af.linalg.det(floating(a))


def slogdet(x: Any) -> Any:
    result = af.linalg.slogdet(floating(x))
    return result[0], result[1]


def eig(x: Any) -> Any:
    x = floating(x)
    dtype = "complex128" if kind(x) in ("float64", "complex128") else "complex64"
    sizes = list(x.shape)
    values = on_host(lambda a: np.linalg.eig(a)[0], [x], dtype, sizes[:-1])
    return values, on_host(lambda a: np.linalg.eig(a)[1], [x], dtype, sizes)


def eigh(x: Any) -> Any:
    values, vectors = af.linalg.eigh(floating(x))
    return values, vectors


def inv(a: Any) -> Any:
    return af.linalg.inv(floating(a))


def lu_factor(x: Any) -> Any:
    """The factors in a matrix, and for each column the row that changes places with it."""
    x = floating(x)
    sizes = list(x.shape)
    rows, columns = int(sizes[-2]), int(sizes[-1])
    if rows == columns:
        factors, order = af.linalg.lu(x)
        return factors, on_host(_changes, [order], "int32", sizes[:-1])
    factors = on_host(lambda a: _factored(a)[0], [x], kind(x), sizes)
    return factors, on_host(lambda a: _factored(a)[1], [x], "int32", [*sizes[:-2], min(rows, columns)])


def _changes(order: Any) -> Any:
    """Permutations of rows as changes of two rows each, one after the other."""
    changes = np.zeros(order.shape, np.int32)
    for place in np.ndindex(order.shape[:-1]):
        rows = list(range(order.shape[-1]))
        for number, row in enumerate(order[place]):
            other = rows.index(row)
            changes[(*place, number)] = other
            rows[number], rows[other] = rows[other], rows[number]
    return changes


def _factored(matrices: Any) -> tuple[Any, Any]:
    """`lu_factor` of matrices that are not square."""
    factors = np.array(matrices)
    steps = min(factors.shape[-2:])
    changes = np.zeros((*factors.shape[:-2], steps), np.int32)
    for place in np.ndindex(factors.shape[:-2]):
        part = factors[place]
        for number in range(steps):
            other = number + int(np.argmax(np.abs(part[number:, number])))
            changes[(*place, number)] = other
            part[[number, other]] = part[[other, number]]
            if part[number, number] != 0:
                part[number + 1 :, number] /= part[number, number]
            part[number + 1 :, number + 1 :] -= np.outer(part[number + 1 :, number], part[number, number + 1 :])
    return factors, changes


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    rank = len(x.shape)
    if axis is None:
        if ord is None or (ord == 2 and rank == 1) or (ord == "fro" and rank == 2):
            return af.sqrt(af.reduce_sum(_squares(x), None, keepdims))
        axes = list(range(rank))
    else:
        axes = [axis] if isinstance(axis, int) else list(axis)
    axes = [place_of(place, rank) for place in axes]
    if ord is None:
        return af.sqrt(af.reduce_sum(_squares(x), axes, keepdims))
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(f"Invalid axis values: axis={axis}: a norm of order {ord} is over one axis or two.")


def _squares(x: Any) -> Any:
    return af.real(x * af.conj(x)) if kind(x).startswith("complex") else af.square(x)


def _vector_norm(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    size = af.abs(x)
    if ord == np.inf:
        return af.reduce_max(size, axis, keepdims)
    if ord == -np.inf:
        return af.reduce_min(size, axis, keepdims)
    if ord == 0:
        return af.reduce_sum(af.cast(af.not_equal(x, 0), size.dtype), axis, keepdims)
    if ord == 1:
        return af.reduce_sum(size, axis, keepdims)
    if ord == 2:
        return af.sqrt(af.reduce_sum(_squares(x), axis, keepdims))
    return af.pow(af.reduce_sum(af.pow(size, convert_to_tensor(ord, size.dtype)), axis, keepdims), 1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: Sequence[int], keepdims: bool) -> Any:
    row, column = axes
    size = af.abs(x)
    reduce = af.reduce_max if ord in (1, 2, np.inf) else af.reduce_min
    if ord in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if ord in (1, -1) else (column, row)
        result = reduce(af.reduce_sum(size, summed, True), other, True)
    elif ord == "fro":
        result = af.sqrt(af.reduce_sum(_squares(x), list(axes), True))
    elif ord in (2, -2, "nuc"):
        rank = len(x.shape)
        moved = af.transpose(x, [number for number in range(rank) if number not in axes] + list(axes))
        values = af.linalg.svd(moved, compute_uv=False)
        values = af.reduce_sum(values, -1) if ord == "nuc" else reduce(values, -1)
        sizes = [1 if number in axes else part for number, part in enumerate(sizes_of(x))]
        result = af.reshape(values, vector(sizes))
    else:
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    return result if keepdims else af.squeeze(result, sorted(axes))


def qr(x: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}"
        )
    q, r = af.linalg.qr(floating(x), full_matrices=mode == "complete")
    return q, r


def solve(a: Any, b: Any) -> Any:
    a, b = (floating(part) for part in common(a, b))
    if len(b.shape) == len(a.shape) - 1:
        return af.squeeze(af.linalg.solve(a, af.expand_dims(b, -1)), [-1])
    return af.linalg.solve(a, b)


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    a, b = (floating(part) for part in common(a, b))
    if len(b.shape) == len(a.shape) - 1:
        return af.squeeze(af.linalg.triangular_solve(a, af.expand_dims(b, -1), lower=lower), [-1])
    return af.linalg.triangular_solve(a, b, lower=lower)


def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    x = floating(x)
    if not compute_uv:
        return af.linalg.svd(x, compute_uv=False)
    values, u, v = af.linalg.svd(x, full_matrices=full_matrices)
    return u, values, af.linalg.adjoint(v)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    a, b = (floating(part) for part in common(a, b))
    if len(a.shape) != 2:
        raise ValueError(f"{len(a.shape)}-dimensional array given. Array must be two-dimensional")
    single = len(b.shape) == 1
    result = af.matmul(pinv(a, rcond), af.expand_dims(b, -1) if single else b)
    return af.squeeze(result, [-1]) if single else result


def pinv(x: Any, rcond: float | None = None) -> Any:
    x = floating(x)
    values, u, v = af.linalg.svd(x, full_matrices=False)
    if rcond is None:
        rcond = _rounding(x)
    limit = rcond * af.reduce_max(values, -1, True)
    inverse = af.where_v2(values > limit, 1 / values, af.zeros_like(values))
    return af.matmul(v * af.expand_dims(inverse, -2), af.linalg.adjoint(u))


def matrix_rank(x: Any, tol: Any = None) -> Any:
    x = floating(x)
    values = af.linalg.svd(x, compute_uv=False)
    if tol is None:
        tol = _rounding(x) * af.reduce_max(values, -1, True)
    return af.reduce_sum(af.cast(values > tol, "int32"), -1)


def _rounding(x: Any) -> Any:
    """The part of the largest singular value below which others count as 0."""
    size = larger(size_of(x, -1), size_of(x, -2))
    return (size if isinstance(size, int) else af.cast(size, x.dtype)) * float(np.finfo(kind(x)).eps)


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The result of a function and its slope along a direction: the gradient of a gradient, by which it is linear."""
    primals = tree.map_structure(convert_to_tensor, primals)
    tangents = tree.map_structure(convert_to_tensor, tangents)
    flat = tree.flatten(primals)
    with af.GradientTape(persistent=True) as outer:
        with af.GradientTape() as inner:
            inner.watch(flat)
            result = fun(*primals)
            outputs, aux = result if has_aux else (result, None)
        leaves = tree.flatten(outputs)
        dummies = [af.ones_like(leaf) for leaf in leaves]
        outer.watch(dummies)
        slopes = inner.gradient(leaves, flat, output_gradients=dummies)
        along = [
            af.reduce_sum(slope * tangent)
            for slope, tangent in zip(slopes, tree.flatten(tangents), strict=True)
            if slope is not None
        ]
        total = af.add_n(along)
    directions = outer.gradient(total, dummies)
    directions = [af.zeros_like(leaf) if part is None else part for leaf, part in zip(leaves, directions, strict=True)]
    packed = tree.pack_sequence_as(outputs, directions)
    return (outputs, packed, aux) if has_aux else (outputs, packed)


__all__ = [
    "cholesky", "cholesky_inverse", "det", "eig", "eigh", "inv", "jvp", "lstsq", "lu_factor", "matrix_rank", "norm", "pinv",
    "qr", "slogdet", "solve", "solve_triangular", "svd",
]  # fmt: skip
