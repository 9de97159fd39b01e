"""Identities, multiples of them, and zeros: operators of which only the size is known."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import DTypeLike, as_dtype, float32, int32
from actorflow.base.shapes import Shape
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import certain, joined, sizes
from actorflow.graph.ops.array.constant import ones, zeros
from actorflow.graph.ops.array.shape import expand_dims
from actorflow.graph.ops.flow.asserts import assert_equal, assert_less, assert_positive
from actorflow.graph.ops.flow.control import no_op
from actorflow.graph.ops.linalg.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.math.cast import cast, conj, imag, real
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log, sqrt
from actorflow.graph.ops.static import get_static_value
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


class _Sized(LinearOperator):
    """An operator of a number of rows and columns, and a batch."""

    def _set_sizes(self, rows: Any, columns: Any, batch: Any) -> None:
        self._rows, self._columns = _size(rows, "num_rows"), _size(columns, "num_columns")
        self._batch = None if batch is None else _vector(batch)

    def _shape(self) -> Shape:
        batch: Any = () if self._batch is None else _known(self._batch)
        return None if batch is None else (*batch, _number(self._rows), _number(self._columns))

    def _shape_tensor(self) -> Tensor:
        batch: Any = [] if self._batch is None else self._batch
        return joined(batch, [self._rows], [self._columns])

    def _in_batch(self, x: Tensor) -> Tensor:
        """`x`, broadcast to the batch."""
        return x if self._batch is None else x + zeros(joined(self._batch, [1, 1]), x.dtype)


@public("af.linalg")
class LinearOperatorIdentity(_Sized):
    """A batch of identity matrices (`tf.linalg.LinearOperatorIdentity`).

    Example:
        >>> af.linalg.LinearOperatorIdentity(2).matmul([[1.0], [2.0]])
        [[1.]
         [2.]]

    Args:
        num_rows: the number of rows, a number or a scalar tensor.
        batch_shape: the shape of the batch.
        dtype: the element type, float32 unless given.
        assert_proper_shapes: taken, and not used: sizes are checked anyway.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: a hint is False.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        why = "an identity operator is square, non-singular, self-adjoint and positive definite"
        for hint, value in (
            ("is_non_singular", is_non_singular),
            ("is_self_adjoint", is_self_adjoint),
            ("is_positive_definite", is_positive_definite),
            ("is_square", is_square),
        ):
            certain(hint, value, True, why)
        self._set_sizes(num_rows, num_rows, batch_shape)
        super().__init__(dtype or float32, None, True, True, True, True, name)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._in_batch(adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _diag_part(self) -> Tensor:
        return ones(self.shape_tensor()[:-1], self.dtype)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self.diag_part())

    def _trace(self) -> Tensor:
        return cast(self._rows, self.dtype) * ones(self.batch_shape_tensor(), self.dtype)

    def _determinant(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), real(ones([], self.dtype)).dtype)

    def _inverse(self) -> LinearOperator:
        return self

    def _cholesky(self) -> LinearOperator:
        return self

    def _assert_non_singular(self) -> Operation:
        return no_op()

    def _assert_self_adjoint(self) -> Operation:
        return no_op()

    def _assert_positive_definite(self) -> Operation:
        return no_op()


@public("af.linalg")
class LinearOperatorScaledIdentity(_Sized):
    """A batch of multiples of the identity (`tf.linalg.LinearOperatorScaledIdentity`).

    Example:
        >>> af.linalg.LinearOperatorScaledIdentity(2, 3.0).determinant()
        9.0

    Args:
        num_rows: the number of rows, a number or a scalar tensor.
        multiplier: the factors, a tensor of the batch's shape.
        assert_proper_shapes: taken, and not used: sizes are checked anyway.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: a real multiple is said to be not self-adjoint, or not square.
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        certain("is_square", is_square, True, "a multiple of the identity is square")
        self._multiplier = convert_to_tensor(multiplier)
        if not self._multiplier.dtype.is_complex:
            is_self_adjoint = certain(
                "is_self_adjoint", is_self_adjoint, True, "a real multiple of the identity is self-adjoint"
            )
        self._set_sizes(num_rows, num_rows, None)
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(self._multiplier.dtype, [self._multiplier], *hints, name=name)

    @property
    def multiplier(self) -> Tensor:
        """The factors."""
        return self._multiplier

    def _shape(self) -> Shape:
        batch, rows = self._multiplier.static_shape, _number(self._rows)
        return None if batch is None else (*batch, rows, rows)

    def _shape_tensor(self) -> Tensor:
        return joined(sizes(self._multiplier), [self._rows], [self._rows])

    def _factor(self, adjoint: bool = False) -> Tensor:
        factor = conj(self._multiplier) if adjoint else self._multiplier
        return expand_dims(expand_dims(factor, -1), -1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._factor(adjoint) * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (adjoint_of(rhs) if adjoint_arg else rhs) / self._factor(adjoint)

    def _diag_part(self) -> Tensor:
        return expand_dims(self._multiplier, -1) * ones(joined([self._rows]), self.dtype)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self.diag_part())

    def _trace(self) -> Tensor:
        return self._multiplier * cast(self._rows, self.dtype)

    def _determinant(self) -> Tensor:
        return self._multiplier ** cast(self._rows, self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        size = magnitude(self._multiplier)
        return log(size) * cast(self._rows, size.dtype)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        with self._scope(name):
            value = self._argument(x, "x")
            return matrix_set_diag(value, matrix_diag_part(value) + expand_dims(self._multiplier, -1))

    def _adjoint(self) -> LinearOperator:
        hints = self.is_non_singular, None, self.is_positive_definite
        return LinearOperatorScaledIdentity(self._rows, conj(self._multiplier), *hints)

    def _inverse(self) -> LinearOperator:
        hints = True, self.is_self_adjoint, self.is_positive_definite
        return LinearOperatorScaledIdentity(self._rows, 1 / self._multiplier, *hints)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows, sqrt(self._multiplier), True, True, True)

    def _assert_non_singular(self) -> Operation:
        size = magnitude(self._multiplier)
        return assert_less(size * 0, size, message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(real(self._multiplier), message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        part = imag(self._multiplier) if self.dtype.is_complex else self._multiplier * 0
        return assert_equal(part, part * 0, message="LinearOperator was not self-adjoint")


@public("af.linalg")
class LinearOperatorZeros(_Sized):
    """A batch of matrices of zeros (`tf.linalg.LinearOperatorZeros`).

    Example:
        >>> af.linalg.LinearOperatorZeros(1, 2, is_square=False, is_self_adjoint=False).to_dense()
        [[0. 0.]]

    Args:
        num_rows: the number of rows, a number or a scalar tensor.
        num_columns: that of columns, as many as rows unless given.
        batch_shape: the shape of the batch.
        dtype: the element type, float32 unless given.
        assert_proper_shapes: taken, and not used: sizes are checked anyway.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: it is said to be non-singular or positive definite.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        certain("is_non_singular", is_non_singular, False, "a matrix of zeros is singular")
        certain("is_positive_definite", is_positive_definite, False, "a matrix of zeros is not positive definite")
        self._set_sizes(num_rows, num_rows if num_columns is None else num_columns, batch_shape)
        super().__init__(dtype or float32, None, False, is_self_adjoint, False, is_square, name)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        value = self._in_batch(adjoint_of(x) if adjoint_arg else x)
        size = sizes(value)
        rows = self._columns if adjoint else self._rows
        return zeros(joined(size[:-2], [rows], size[-1:]), self.dtype)

    def _to_dense(self) -> Tensor:
        return zeros(self.shape_tensor(), self.dtype)

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def _determinant(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)


def _size(value: Any, what: str) -> Any:
    number = get_static_value(value) if isinstance(value, Tensor) else value
    if number is None:
        return cast(value, int32)
    if getattr(number, "ndim", 0) or int(number) != number or number < 0:
        raise ValueError(f"{what} is a whole number that is not negative: {number!r}.")
    return int(number)


def _number(value: Any) -> int | None:
    return None if isinstance(value, Tensor) else int(value)


def _vector(value: Any) -> Tensor:
    vector = value if isinstance(value, Tensor) else convert_to_tensor([int(size) for size in value], as_dtype(int32))
    if vector.static_shape is not None and len(vector.static_shape) != 1:
        raise ValueError(f"batch_shape is a vector of sizes, but it has the shape {vector.static_shape}.")
    return vector


def _known(vector: Tensor) -> Shape:
    value = get_static_value(vector)
    if value is not None:
        return tuple([int(size) for size in value])
    length = vector.static_shape
    return None if length is None or length[0] is None else (None,) * length[0]
