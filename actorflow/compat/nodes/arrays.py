"""Nodes of arrays: layouts, matrices, old forms of normalization and updates, numbers of few bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.names import functions, numerics
from actorflow.graph.graphdef.rewrites.attributes import Attributes, constant_of


def _order(a: Attributes) -> list[int]:
    """For each dimension of the new layout its place in the old layout."""
    old, new = a("src_format", "NHWC"), a("dst_format", "NCHW")
    return [old.index(dimension) for dimension in new]


def _dimension(a: Attributes, t: Sequence[Any]) -> Any:
    order = _order(a)
    places = [order.index(place) for place in range(len(order))]
    return af.gather(af.constant(places, t[0].dtype), af.floormod(t[0], len(places)))


def _permuted(a: Attributes, t: Sequence[Any]) -> Any:
    """`DataFormatVecPermute`: a number, or a pair of numbers, for each dimension; or for those of space alone."""
    size = None if t[0].static_shape is None else t[0].static_shape[0]
    old, new = a("src_format", "NHWC"), a("dst_format", "NCHW")
    if size == len(old) - 2:
        old, new = (layout.replace("N", "").replace("C", "") for layout in (old, new))
    if size != len(old):
        raise a.refuse("permutes a vector of an unknown or another size")
    return af.gather(t[0], [old.index(dimension) for dimension in new])


def _normalized(a: Attributes, t: Sequence[Any]) -> Any:
    """`BatchNormWithGlobalNormalization`, of graphs of 2015."""
    x, mean, variance, beta, gamma = t
    scale = gamma if a("scale_after_normalization") else None
    return af.nn.batch_normalization(x, mean, variance, beta, scale, a("variance_epsilon"))


def _updated(a: Attributes, t: Sequence[Any]) -> Any:
    x, rows, values = t
    places = af.reshape(rows, [-1, 1])
    if a.op == "InplaceUpdate":
        return af.tensor_scatter_update(x, places, values)
    return af.tensor_scatter_add(x, places, values if a.op == "InplaceAdd" else -values)


def _sparse_and_dense(a: Attributes, t: Sequence[Any]) -> Any:
    """`SparseDenseCwiseAdd`: the sums at the places of the sparse tensor."""
    indices, values, shape, dense = t
    return values + af.gather_nd(af.broadcast_to(dense, shape), indices)


def _product(a: Attributes, t: Sequence[Any]) -> Any:
    x, y = (af.cast(tensor, af.float32) for tensor in t)
    return af.matmul(x, y, transpose_a=a("transpose_a", False), transpose_b=a("transpose_b", False))


def _rounded(a: Attributes, t: Sequence[Any]) -> Any:
    """`QuantizeAndDequantize`, whose bits are an attribute or an input."""
    bits = a("num_bits", 8) if len(t) < 4 else constant_of(t[3])
    if bits is None:
        raise a.refuse("has a computed number of bits")
    if a("axis", -1) != -1:
        raise a.refuse("has a range for each slice")
    return numerics.quantize_and_dequantize(
        t[0],
        t[1],
        t[2],
        signed_input=a("signed_input", True),
        num_bits=int(bits),
        range_given=a("range_given", len(t) > 3),
        round_mode=a("round_mode", "HALF_TO_EVEN"),
        narrow_range=a("narrow_range", False),
    )


def _unique(a: Attributes, t: Sequence[Any]) -> Any:
    """`UniqueV2` along an axis: unique slices in the order in which they come first, and for each slice its place."""
    axis, rank = constant_of(t[1]), t[0].static_shape
    if axis is None or rank is None:
        raise a.refuse("has slices along an unknown axis")
    along = int(axis.ravel()[0]) % len(rank) if axis.size else 0
    places = a("out_idx", af.int32)

    def unique(values: Any) -> tuple[Any, Any, Any]:
        moved = np.moveaxis(values, along, 0)
        _, first, inverse, counts = np.unique(moved, return_index=True, return_inverse=True, return_counts=True, axis=0)
        order = np.argsort(first)
        rank_of = np.empty_like(order)
        rank_of[order] = np.arange(len(order))
        kept = np.moveaxis(moved[first[order]], 0, along)
        kind = places.as_numpy_dtype
        return np.ascontiguousarray(kept), rank_of[inverse.ravel()].astype(kind), counts[order].astype(kind)

    values, numbers, counts = af.py_func(unique, [t[0]], [t[0].dtype, places, places], stateful=False)
    values.set_shape([None if i == along else size for i, size in enumerate(rank)])
    for tensor in (numbers, counts):
        tensor.set_shape([None])
    return [values, numbers, counts] if "Counts" in a.op else [values, numbers]


def _tridiagonal(a: Attributes, t: Sequence[Any]) -> Any:
    return numerics.tridiagonal_solve(t[0], t[1], partial_pivoting=a("partial_pivoting", True))


def _tridiagonal_product(a: Attributes, t: Sequence[Any]) -> Any:
    above, on, below, rhs = t
    return functions.tridiagonal_matmul(af.concat([above, on, below], -2), rhs)


def _banded(a: Attributes, t: Sequence[Any]) -> Any:
    """`BandedTriangularSolve`: the rows of the first input are the diagonals of a triangular matrix."""
    bands, rhs = t
    count = None if bands.static_shape is None else bands.static_shape[-2]
    if count is None:
        raise a.refuse("has an unknown number of diagonals")
    is_lower = a("lower", True)
    reach = (1 - count, 0) if is_lower else (0, count - 1)
    matrix = af.linalg.diag(bands, k=reach, align="LEFT_RIGHT")
    return af.matrix_triangular_solve(matrix, rhs, lower=is_lower, adjoint=a("adjoint", False))


def _eigenvalues(a: Attributes, t: Sequence[Any]) -> Any:
    kind = a("Tout")

    def solve(matrix: Any) -> tuple[Any, Any]:
        values, vectors = np.linalg.eig(matrix.astype(np.complex128))
        return values.astype(kind.as_numpy_dtype), vectors.astype(kind.as_numpy_dtype)

    values, vectors = af.py_func(solve, [t[0]], [kind, kind], stateful=False)
    if t[0].static_shape is not None:
        values.set_shape(t[0].static_shape[:-1])
        vectors.set_shape(t[0].static_shape)
    return [values, vectors]


def _bits(a: Attributes, t: Sequence[Any]) -> Any:
    counts = af.py_func(lambda x: np.bitwise_count(x.view(f"u{x.itemsize}")), [t[0]], af.uint8, stateful=False)
    counts.set_shape(t[0].static_shape)
    return counts


FORMS = {
    "BandedTriangularSolve": _banded,
    "BatchNormWithGlobalNormalization": _normalized,
    "BesselI0": lambda a, t: af.math.bessel_i0(t[0]),
    "BesselI1": lambda a, t: af.math.bessel_i1(t[0]),
    "DataFormatDimMap": _dimension,
    "DataFormatVecPermute": _permuted,
    "Eig": _eigenvalues,
    "InplaceAdd": _updated,
    "InplaceSub": _updated,
    "InplaceUpdate": _updated,
    "MatrixLogarithm": lambda a, t: numerics.logm(t[0]),
    "PopulationCount": _bits,
    "QuantizeAndDequantizeV2": _rounded,
    "QuantizeAndDequantizeV3": _rounded,
    "QuantizeAndDequantizeV4": _rounded,
    "ScatterNdNonAliasingAdd": lambda a, t: af.tensor_scatter_add(*t),
    "SparseDenseCwiseAdd": _sparse_and_dense,
    "SparseMatMul": _product,
    "TridiagonalMatMul": _tridiagonal_product,
    "TridiagonalSolve": _tridiagonal,
    "UniqueV2": _unique,
    "UniqueWithCountsV2": _unique,
}
"""For each op how it is built."""
