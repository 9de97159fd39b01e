"""Sets: unions, intersections, differences and sizes (`tf.sets`).

The elements along the last dimension are a set; a tensor of more dimensions has many. A set operation goes through the sets of
two tensors pair by pair, and its result is sparse, because sets differ in size.
"""

from __future__ import annotations

from typing import Any

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import int32, int64
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

ELEMENTS = frozenset((dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.string))
OPERATIONS = ("a-b", "b-a", "intersection", "union")
_WORK = 1000
_FIRST = {"set1_indices": int64, "set1_shape": int64}
_SECOND = {"set2_indices": int64, "set2_shape": int64}


def _check(c: Inference) -> None:
    if c.attrs["set_operation"] not in OPERATIONS:
        raise ValueError(f"The operation is {', '.join(OPERATIONS)}, not {c.attrs['set_operation']!r}.")


def _of_rank(rank: int | None) -> list[Shape]:
    return [(None, rank), (None,), (rank,)]


def _sparse_rank(c: Inference, first: int) -> int | None:
    """The rank of the sparse tensor whose indices are input `first`. Raises ValueError for the shapes of no sparse tensor."""
    indices, shape = require_rank(c, first, 2), require_rank(c, first + 2, 1)
    merge(None if indices is None else indices[:1], require_rank(c, first + 1, 1))
    rank_shape = merge(None if indices is None else indices[1:], shape)
    return rank_shape[0] if rank_shape else None


def _rank(left: int | None, other: int | None) -> list[Shape]:
    if left is not None and other is not None and left != other:
        raise ValueError(f"Sets of rank {left} and of rank {other} are no pairs.")
    common = other if left is None else left
    if common is not None and common < 2:
        raise ValueError(f"Sets lie in tensors of two dimensions or more, but the rank is {common}.")
    return _of_rank(common)


def _dense_dense(c: Inference) -> list[Shape]:
    _check(c)
    ranks = [None if shape is None else len(shape) for shape in c.shapes]
    if c.shapes[0] is not None and c.shapes[1] is not None and ranks[0] == ranks[1]:
        merge(c.shapes[0][:-1], c.shapes[1][:-1])
    return _rank(*ranks)


def _dense_sparse(c: Inference) -> list[Shape]:
    _check(c)
    return _rank(None if c.shapes[0] is None else len(c.shapes[0]), _sparse_rank(c, 1))


def _sparse_sparse(c: Inference) -> list[Shape]:
    _check(c)
    return _rank(_sparse_rank(c, 0), _sparse_rank(c, 3))


def _values(place: int) -> Any:
    return lambda c: (int64, c.dtypes[place], int64)


@op("DenseToDenseSetOperation", shape=_dense_dense, dtypes=ELEMENTS, result=_values(0), gradient=None, work=_WORK)
def _dense_to_dense(
    set1: TensorLike, set2: TensorLike, *, set_operation: str, validate_indices: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """A set operation of two dense tensors."""


@op(
    "DenseToSparseSetOperation",
    shape=_dense_sparse,
    dtypes=ELEMENTS,
    types=_SECOND,
    result=_values(0),
    gradient=None,
    work=_WORK,
)
def _dense_to_sparse(
    set1: TensorLike,
    set2_indices: TensorLike,
    set2_values: TensorLike,
    set2_shape: TensorLike,
    *,
    set_operation: str,
    validate_indices: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A set operation of a dense and a sparse tensor."""


@op(
    "SparseToSparseSetOperation",
    shape=_sparse_sparse,
    dtypes=ELEMENTS,
    types={**_FIRST, **_SECOND},
    result=_values(1),
    gradient=None,
    work=_WORK,
)
def _sparse_to_sparse(
    set1_indices: TensorLike,
    set1_values: TensorLike,
    set1_shape: TensorLike,
    set2_indices: TensorLike,
    set2_values: TensorLike,
    set2_shape: TensorLike,
    *,
    set_operation: str,
    validate_indices: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """A set operation of two sparse tensors."""


def _sizes(c: Inference) -> Shape:
    rank = _sparse_rank(c, 0)
    dense = c.shape_value(2)
    if dense is not None:
        return dense[:-1]
    return None if rank is None else (None,) * (rank - 1)


@op(
    "SetSize",
    shape=_sizes,
    dtypes=ELEMENTS,
    types={"set_indices": int64, "set_shape": int64},
    result=int32,
    gradient=None,
    work=_WORK,
)
def _set_size(
    set_indices: TensorLike,
    set_values: TensorLike,
    set_shape: TensorLike,
    *,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """See `set_size`."""


def _element(value: Any) -> Any:
    """A tensor of sets. Raises TypeError for elements that can't be in sets."""
    tensor = convert_to_tensor_or_sparse_tensor(value)
    if tensor.dtype.base_dtype not in ELEMENTS:
        shown = ", ".join(sorted(dtype.name for dtype in ELEMENTS))
        raise TypeError(f"Set element type {tensor.dtype} is not supported; there are {shown}.")
    return tensor


def _operation(a: Any, b: Any, what: str, validate: bool) -> SparseTensor:
    left, other = _element(a), _element(b)
    if left.dtype.base_dtype is not other.dtype.base_dtype:
        raise TypeError(f"Types don't match: {left.dtype} of `a` and {other.dtype} of `b`.")
    if isinstance(left, SparseTensor) and not isinstance(other, SparseTensor):
        left, other = other, left
        what = {"a-b": "b-a", "b-a": "a-b"}.get(what, what)
    options: dict[str, Any] = {"set_operation": what, "validate_indices": validate}
    if not isinstance(other, SparseTensor):
        return SparseTensor(*_dense_to_dense(left, other, **options))
    second = other.indices, other.values, other.dense_shape
    if not isinstance(left, SparseTensor):
        return SparseTensor(*_dense_to_sparse(left, *second, **options))
    return SparseTensor(*_sparse_to_sparse(left.indices, left.values, left.dense_shape, *second, **options))


@public("af.sets", "af.sets:size")
def set_size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """How many different elements each set has (`tf.sets.size`).

    Example:
        >>> words = af.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "a", "b"], [2, 2])
        >>> af.sets.set_size(words)
        [1 1]

    Args:
        a: a sparse tensor of integers or strings.
        validate_indices: whether the order and the bounds of the indices are checked.

    Returns:
        int32, in the shape of `a` without the last dimension.

    Raises:
        TypeError: `a` is no sparse tensor, or of another type.
    """
    tensor = _element(a)
    if not isinstance(tensor, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {type(a).__name__}.")
    return _set_size(tensor.indices, tensor.values, tensor.dense_shape, validate_indices=validate_indices)


@public("af.sets", "af.sets:intersection")
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in both of two sets, for each pair of sets (`tf.sets.intersection`).

    Example:
        >>> common = af.sets.intersection([[1, 2, 3], [4, 5, 6]], [[3, 1, 9], [7, 8, 9]])
        >>> common.indices, common.values
        ([[0 0]
          [0 1]], [1 3])

    Args:
        a, b: integers or strings of one type, dense or sparse, whose shapes agree but for the last dimension.
        validate_indices: whether the order and the bounds of indices are checked.

    Returns:
        A sparse tensor with the elements of each set in order.

    Raises:
        TypeError: another type. ValueError: shapes that are known not to agree. InvalidArgumentError: such shapes that
            are known only in the run.
    """
    return _operation(a, b, "intersection", validate_indices)


@public("af.sets", "af.sets:difference")
def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in one of two sets only, for each pair of sets (`tf.sets.difference`).

    Example:
        >>> af.sets.difference([[1, 2, 3]], [[3, 1, 9]]).values
        [2]

    Args:
        a, b: see `intersection`.
        aminusb: whether it is those of `a` that are not in `b`; otherwise those of `b` that are not in `a`.
        validate_indices: whether the order and the bounds of indices are checked.

    Returns:
        A sparse tensor with the elements of each set in order.

    Raises:
        TypeError, ValueError, InvalidArgumentError: see `intersection`.
    """
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


@public("af.sets", "af.sets:union")
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The elements that are in one of two sets or in both, for each pair of sets (`tf.sets.union`).

    Example:
        >>> af.sets.set_union([[1, 2, 3]], [[3, 1, 9]]).values
        [1 2 3 9]

    Args:
        a, b: see `intersection`.
        validate_indices: whether the order and the bounds of indices are checked.

    Returns:
        A sparse tensor with the elements of each set in order.

    Raises:
        TypeError, ValueError, InvalidArgumentError: see `intersection`.
    """
    return _operation(a, b, "union", validate_indices)
