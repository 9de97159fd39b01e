"""Arithmetic of sparse tensors with others: products, sums, extremes (`tf.sparse`)."""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import INEXACT, NUMERIC, REAL
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, merge
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import ones
from actorflow.graph.ops.array.gather import gather, gather_nd
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.scatter import scatter_nd
from actorflow.graph.ops.array.shape import reshape, shape, size
from actorflow.graph.ops.arriving import divided, scaled
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import T, op
from actorflow.graph.ops.linalg.matrix import matrix_transpose
from actorflow.graph.ops.math.cast import cast, conj
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.sparse.shape import rank_in
from actorflow.graph.ops.sparse.tensor import sparse_of, with_shape
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

# ---- products


def _product(c: Inference) -> Shape:
    require_rank(c, 1, 1)
    merge((rank_in(c, 0, 2),), (2,))
    sizes, b = c.value(2), require_rank(c, 3, 2)
    rows = inner = None
    if sizes is not None:
        rows, inner = (int(n) for n in (sizes[::-1] if c.attrs["adjoint_a"] else sizes))
    if b is None:
        return (rows, None)
    depth, columns = b[::-1] if c.attrs["adjoint_b"] else b
    if not compatible((inner,), (depth,)):
        raise ValueError(
            f"Dimensions must be equal, but are {inner} and {depth}: the columns of the first, the rows of the second."
        )
    return (rows, columns)


@op(
    "SparseTensorDenseMatMul",
    shape=_product,
    dtypes=INEXACT | {dt.int32},
    types={"a_indices": dt.int64, "a_shape": dt.int64},
    work=20,
)
def _sparse_tensor_dense_matmul(
    a_indices: TensorLike,
    a_values: TensorLike,
    a_shape: TensorLike,
    b: TensorLike,
    *,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a sparse and a dense matrix. See `sparse_tensor_dense_matmul`."""


@_sparse_tensor_dense_matmul.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    from actorflow.graph.ops.math.reduction import reduce_sum

    indices, values, sizes, b = node.inputs
    adjoint_a, adjoint_b = node.get_attr("adjoint_a"), node.get_attr("adjoint_b")
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns = columns, rows
    right = conj(matrix_transpose(b)) if adjoint_b else b
    of_values = reduce_sum(gather(dy, rows) * conj(gather(right, columns)), 1)
    of_b = _sparse_tensor_dense_matmul(indices, values, sizes, dy, adjoint_a=not adjoint_a)
    return [
        None,
        conj(of_values) if adjoint_a else of_values,
        None,
        conj(matrix_transpose(of_b)) if adjoint_b else of_b,
    ]


@public("af", "af.sparse:matmul", "af.sparse:sparse_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: SparseTensor,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The dense product of a sparse matrix and a dense one (`tf.sparse_tensor_dense_matmul`, `tf.sparse.matmul`).

    An index that comes twice counts twice.

    Example:
        >>> a = af.SparseTensor([[0, 1]], [2.0], [2, 2])
        >>> af.sparse_tensor_dense_matmul(a, [[1.0, 2.0], [3.0, 4.0]])
        [[6. 8.]
         [0. 0.]]

    Args:
        sp_a: a sparse matrix of floats, complex numbers or int32.
        b: a dense matrix of the same type.
        adjoint_a, adjoint_b: take the conjugate transpose of that matrix.

    Raises:
        ValueError: the sizes don't fit.
        InvalidArgumentError: they don't, or an index is outside the matrix, in the run.
    """
    a = sparse_of(sp_a, "sp_a")
    with composite(name, "SparseTensorDenseMatMul", a.values) as scope:
        dense = convert_to_tensor(b, a.dtype)
        return _sparse_tensor_dense_matmul(
            a.indices, a.values, a.dense_shape, dense, adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=scope
        )


# ---- with a dense tensor, element by element


def paired(c: Inference) -> Shape:
    """The values' shape, which has as many elements as there are indices."""
    rank_in(c, 0, 2)
    return merge(require_rank(c, 1, 1), None if c.shapes[0] is None else c.shapes[0][:1])


_SPARSE = {"sp_indices": dt.int64, "sp_shape": dt.int64}


@op("SparseDenseCwiseMul", shape=paired, dtypes=NUMERIC, types=_SPARSE)
def _cwise_mul(
    sp_indices: TensorLike, sp_values: TensorLike, sp_shape: TensorLike, dense: TensorLike, *, name: str | None = None
) -> Tensor:
    """The values times the elements of `dense` at the same places, which is broadcast to the sparse tensor's shape."""


@op("SparseDenseCwiseDiv", shape=paired, dtypes=NUMERIC, types=_SPARSE)
def _cwise_div(
    sp_indices: TensorLike, sp_values: TensorLike, sp_shape: TensorLike, dense: TensorLike, *, name: str | None = None
) -> Tensor:
    """The values over the elements of `dense` at the same places, which is broadcast to the sparse tensor's shape."""


def _met(node: Operation) -> tuple[Tensor, Tensor, Tensor]:
    """The dense tensor's shape with as many dimensions as the sparse tensor has, the places in it that the elements meet, and
    what is there."""
    from actorflow.graph.ops.math.arithmetic import floordiv, maximum

    indices, _, sizes, dense = node.inputs
    own = shape(dense, out_type=dt.int64)
    full = concat([ones(reshape(size(sizes) - size(own), [1]), dt.int64), own], 0)
    # A size of 1 is met at 0.
    places = floordiv(indices, maximum(floordiv(sizes, maximum(full, 1)), 1))
    return full, places, gather_nd(reshape(dense, full), places)


@_cwise_mul.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    full, places, factors = _met(node)
    _, values, _, dense = node.inputs
    of_dense = scatter_nd(places, dy * conj(values), full)
    return [None, dy * conj(factors), None, reshape(of_dense, shape(dense))]


@_cwise_div.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    full, places, divisors = _met(node)
    _, values, _, dense = node.inputs
    of_values = divided(dy, conj(divisors))
    of_dense = scatter_nd(places, scaled(-of_values, conj(values / divisors)), full)
    return [None, of_values, None, reshape(of_dense, shape(dense))]


def _elementwise(build: Any, sparse: SparseTensor, dense: TensorLike, scope: str) -> SparseTensor:
    other = convert_to_tensor(dense, sparse.dtype)
    values = build(sparse.indices, sparse.values, sparse.dense_shape, other, name=scope)
    return with_shape(SparseTensor(sparse.indices, values, sparse.dense_shape), sparse.static_shape)


def sparse_multiply(sp: SparseTensor, dense: TensorLike, name: str | None = None) -> SparseTensor:
    """`sp * dense`: each element times that of `dense` at its place, which is broadcast to the shape of `sp`."""
    with composite(name, "mul", sp.values) as scope:
        return _elementwise(_cwise_mul, sp, dense, scope)


def sparse_divide(sp: SparseTensor, dense: TensorLike, name: str | None = None) -> SparseTensor:
    """`sp / dense`: each element over that of `dense` at its place; integers become floats as in `tf.truediv`."""
    with composite(name, "truediv", sp.values) as scope:
        if not sp.dtype.is_integer:
            return _elementwise(_cwise_div, sp, dense, scope)
        kind = dt.float32 if sp.dtype.size <= 2 else dt.float64
        wide = with_shape(SparseTensor(sp.indices, cast(sp.values, kind), sp.dense_shape), sp.static_shape)
        return _elementwise(_cwise_div, wide, cast(convert_to_tensor(dense, sp.dtype), kind), scope)


# ---- sums and extremes of two


_PAIR = {name: dt.int64 for name in ("a_indices", "a_shape", "b_indices", "b_shape")}


def _pair(c: Inference) -> int | None:
    dims = rank_in(c, 0, 2), rank_in(c, 3, 5)
    both = merge((dims[0],), (dims[1],))
    for index in (1, 4):
        require_rank(c, index, 1)
    return None if both is None else both[0]


def _sum_of_two(c: Inference) -> list[Shape]:
    return [(None, _pair(c)), (None,), c.shapes[2] or (None,)]


@op(
    "SparseAdd",
    shape=_sum_of_two,
    dtypes=NUMERIC,
    types={**_PAIR, "thresh": REAL},
    result=(dt.int64, T, dt.int64),
    work=20,
)
def _sparse_add(
    a_indices: TensorLike,
    a_values: TensorLike,
    a_shape: TensorLike,
    b_indices: TensorLike,
    b_values: TensorLike,
    b_shape: TensorLike,
    thresh: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum of two sparse tensors. See `sparse_add`."""


@op(
    "SparseAddGrad",
    shape=lambda c: [(None if c.shapes[i] is None else c.shapes[i][0],) for i in (1, 2)],  # type: ignore[index]
    dtypes=NUMERIC,
    types={name: dt.int64 for name in ("a_indices", "b_indices", "sum_indices")},
    result=(T, T),
    gradient=None,
    work=20,
)
def _sparse_add_grad(
    backprop_val_grad: TensorLike,
    a_indices: TensorLike,
    b_indices: TensorLike,
    sum_indices: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradients of both summands' values: those of the sum at their places, zero where the sum was left out."""


@_sparse_add.gradient
def _(node: Operation, _: Any, dy: Tensor, __: Any) -> list[Any]:
    a, b = _sparse_add_grad(dy, node.inputs[0], node.inputs[3], node.outputs[0])
    return [None, a, None, None, b, None, None]


@op(
    "SparseTensorDenseAdd",
    shape=lambda c: c.shapes[3],
    dtypes=NUMERIC,
    types={"a_indices": dt.int64, "a_shape": dt.int64},
)
def _sparse_tensor_dense_add(
    a_indices: TensorLike, a_values: TensorLike, a_shape: TensorLike, b: TensorLike, *, name: str | None = None
) -> Tensor:
    """The dense sum of a sparse and a dense tensor of one shape. See `sparse_add`."""


@_sparse_tensor_dense_add.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [None, gather_nd(dy, node.inputs[0]), None, dy]


@public("af", "af.sparse:add")
def sparse_add(
    a: Any, b: Any, threshold: TensorLike | None = None, thresh: TensorLike | None = None, name: str | None = None
) -> Any:
    """The sum of two sparse tensors, sparse; or of a sparse and a dense tensor, dense (`tf.sparse_add`).

    Example:
        >>> a = af.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
        >>> af.sparse_add(a, [[10, 20], [30, 40]])
        [[11 20]
         [30 42]]
        >>> af.sparse_add(a, a)
        SparseTensor(indices=[[0 0]
                              [1 1]], values=[2 4], dense_shape=[2 2])

    Args:
        a, b: tensors of numbers, at least one sparse, of one type and one shape, without broadcasting. The
            elements of sparse tensors are in order.
        threshold: a scalar: sums of two sparse tensors whose magnitude is less are left out; 0 by default.
        thresh: the older name of `threshold`.

    Raises:
        TypeError: neither is sparse.
        ValueError, InvalidArgumentError: the shapes differ.
    """
    sparse = [hasattr(v, "dense_shape") for v in (a, b)]
    if not any(sparse):
        raise TypeError("sparse_add adds a SparseTensor and another one or a tensor; for two tensors there is af.add.")
    if not all(sparse):
        sparse_part, other = (sparse_of(a), b) if sparse[0] else (sparse_of(b), a)
        with composite(name, "SparseTensorDenseAdd", sparse_part.values) as scope:
            dense = convert_to_tensor(other, sparse_part.dtype)
            return _sparse_tensor_dense_add(
                sparse_part.indices, sparse_part.values, sparse_part.dense_shape, dense, name=scope
            )
    first, second = sparse_of(a), sparse_of(b)
    common = merge(first.static_shape, second.static_shape)
    bound = thresh if threshold is None else threshold
    with composite(name, "SparseAdd", first.values) as scope:
        kind = {"complex64": dt.float32, "complex128": dt.float64}.get(first.dtype.name, first.dtype)
        least = convert_to_tensor(0 if bound is None else bound, kind)
        parts: Any = [*first.__tensor_components__(), *second.__tensor_components__(), least]
        parts_out = _sparse_add(*parts, name=scope)
        return with_shape(SparseTensor(*parts_out), common)


def _extremes(c: Inference) -> list[Shape]:
    return [(None, _pair(c)), (None,)]


@op("SparseSparseMaximum", shape=_extremes, dtypes=REAL, types=_PAIR, result=(dt.int64, T), gradient=None, work=20)
def _sparse_maximum(
    a_indices: TensorLike,
    a_values: TensorLike,
    a_shape: TensorLike,
    b_indices: TensorLike,
    b_values: TensorLike,
    b_shape: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The larger elements of two sparse tensors. See `sparse_maximum`."""


@op("SparseSparseMinimum", shape=_extremes, dtypes=REAL, types=_PAIR, result=(dt.int64, T), gradient=None, work=20)
def _sparse_minimum(
    a_indices: TensorLike,
    a_values: TensorLike,
    a_shape: TensorLike,
    b_indices: TensorLike,
    b_values: TensorLike,
    b_shape: TensorLike,
    *,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The smaller elements of two sparse tensors. See `sparse_minimum`."""


@public("af", "af.sparse:maximum")
def sparse_maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The larger element at each place that has an element in either of two sparse tensors; a missing element is 0
    (`tf.sparse_maximum`). No broadcasting, and no gradient. Raises InvalidArgumentError in the run for other shapes.

    Example:
        >>> a = af.SparseTensor([[0], [1]], [1, -2], [3])
        >>> b = af.SparseTensor([[0], [2]], [5, 7], [3])
        >>> af.sparse_maximum(a, b)
        SparseTensor(indices=[[0]
                              [1]
                              [2]], values=[5 0 7], dense_shape=[3])
    """
    return _extreme(_sparse_maximum, sp_a, sp_b, name)


@public("af", "af.sparse:minimum")
def sparse_minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The smaller of the elements at each place; see `sparse_maximum` (`tf.sparse_minimum`).

    Example:
        >>> a = af.SparseTensor([[0], [1]], [1, -2], [3])
        >>> b = af.SparseTensor([[0], [2]], [5, 7], [3])
        >>> af.sparse_minimum(a, b)
        SparseTensor(indices=[[0]
                              [1]
                              [2]], values=[ 1 -2  0], dense_shape=[3])
    """
    return _extreme(_sparse_minimum, sp_a, sp_b, name)


def _extreme(build: Any, sp_a: SparseTensor, sp_b: SparseTensor, name: str | None) -> SparseTensor:
    a, b = sparse_of(sp_a, "sp_a"), sparse_of(sp_b, "sp_b")
    indices, values = build(*a.__tensor_components__(), *b.__tensor_components__(), name=name)
    return with_shape(SparseTensor(indices, values, a.dense_shape), a.static_shape)
