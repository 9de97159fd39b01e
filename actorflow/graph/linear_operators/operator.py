"""`LinearOperator`: all methods of linear operators, and how they are computed where a class knows nothing better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.shapes import Shape, TensorShape, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import name_scope
from actorflow.graph.linear_operators.shapes import Hints, in_one_batch, sizes
from actorflow.graph.ops.array.shape import expand_dims, squeeze
from actorflow.graph.ops.flow.asserts import assert_less, assert_near
from actorflow.graph.ops.linalg.decompose import svd
from actorflow.graph.ops.linalg.diagonal import matrix_diag_part
from actorflow.graph.ops.linalg.functions import adjoint as adjoint_of
from actorflow.graph.ops.linalg.matrix import cholesky, eye, matrix_determinant, matrix_solve
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.math.reduction import reduce_max, reduce_min, reduce_sum
from actorflow.graph.structure.module import Module
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


@public("af.linalg")
class LinearOperator(Module):
    """A batch of matrices [..., rows, columns] that need not be there as tensors (`tf.linalg.LinearOperator`).

    A class of one's own gives `_shape`, `_shape_tensor` and `_matmul`; all else has a way over the whole matrix. The hints say
    what is known of the matrix. They decide whether `solve`, `determinant` and `cholesky` are allowed. Runs check them only by
    the methods `assert_*`.

    Example:
        >>> tril = af.linalg.LinearOperatorLowerTriangular([[2.0, 0.0], [1.0, 4.0]])
        >>> tril.matmul([[1.0], [1.0]])
        [[2.]
         [5.]]
        >>> tril.matvec([1.0, 1.0]), tril.solvevec([2.0, 5.0])
        ([2. 5.], [1. 1.])
        >>> tril.solve([[2.0], [5.0]])
        [[1.]
         [1.]]
        >>> tril.determinant(), tril.log_abs_determinant(), tril.trace(), tril.diag_part()
        (8.0, 2.0794, 6.0, [2. 4.])
        >>> tril.adjoint().to_dense()
        [[2. 1.]
         [0. 4.]]
        >>> tril.inverse().to_dense()
        [[ 0.5    0.   ]
         [-0.125  0.25 ]]
        >>> tril.add_to_tensor([[1.0, 1.0], [1.0, 1.0]])
        [[3. 1.]
         [2. 5.]]
        >>> print(tril.shape, tril.batch_shape, tril.tensor_rank, tril.domain_dimension, tril.range_dimension)
        (2, 2) () 2 2 2
        >>> tril.shape_tensor(), tril.batch_shape_tensor(), tril.tensor_rank_tensor()
        ([2 2], [], 2)
        >>> tril.domain_dimension_tensor(), tril.range_dimension_tensor()
        (2, 2)
        >>> af.linalg.LinearOperatorDiag([4.0, 9.0], is_positive_definite=True).cholesky().diag_part()
        [2. 3.]
        >>> ready = [tril.assert_non_singular()]
        >>> spd = af.linalg.LinearOperatorDiag([4.0, 9.0], is_self_adjoint=True)
        >>> ready += [spd.assert_positive_definite(), spd.assert_self_adjoint()]

    Args:
        dtype: the element type.
        graph_parents: the tensors of which the operator is made.
        is_non_singular: whether the matrix has an inverse.
        is_self_adjoint: whether it is its own conjugate transpose.
        is_positive_definite: whether x^H A x has a positive real part for each x that is not 0.
        is_square: whether it has as many columns as rows.
        name: the scope of the nodes, the class's name unless given.

    Raises:
        ValueError: hints contradict each other.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._dtype = as_dtype(dtype).base_dtype
        self._parents = list(graph_parents or ())
        self._hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square).implied()
        self._name = name or type(self).__name__

    def _searched(self) -> list[tuple[str, Any]]:
        return [*super()._searched(), ("arguments", self._arguments)]  # variables are read when the operator is made

    # The matrix as a class knows it

    def _shape(self) -> Shape:
        raise NotImplementedError(f"{type(self).__name__} has no _shape.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _shape_tensor.")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no _matmul.")

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        right = adjoint_of(rhs) if adjoint_arg else rhs
        matrix, right = in_one_batch(self.to_dense(), right)
        return matrix_solve(matrix, right, adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        size = self.shape_tensor()
        batch = self.batch_shape.as_list() if self.batch_shape.is_fully_defined() else size[:-2]
        columns = _static(self._shape(), -1)
        unit = eye(size[-1] if columns is None else columns, batch_shape=batch, dtype=self.dtype)
        return self._matmul(unit)

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), -1)

    def _determinant(self) -> Tensor:
        return matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self.is_self_adjoint and self.is_positive_definite:
            return 2 * reduce_sum(log(magnitude(matrix_diag_part(cholesky(self.to_dense())))), -1)
        return log(magnitude(matrix_determinant(self.to_dense())))

    def _adjoint(self) -> LinearOperator:
        from actorflow.graph.linear_operators.derived import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self)

    def _inverse(self) -> LinearOperator:
        from actorflow.graph.linear_operators.derived import LinearOperatorInversion

        return LinearOperatorInversion(self)

    def _cholesky(self) -> LinearOperator:
        from actorflow.graph.linear_operators.matrices import LinearOperatorLowerTriangular

        return LinearOperatorLowerTriangular(cholesky(self.to_dense()), is_non_singular=True, is_square=True)

    def _assert_non_singular(self) -> Operation:
        values = svd(self.to_dense(), compute_uv=False)
        largest, smallest = reduce_max(values, -1), reduce_min(values, -1)
        rows = cast(self.shape_tensor()[-1], values.dtype)
        return assert_less(
            largest * rows * _epsilon(values.dtype), smallest, message="Singular matrix up to precision epsilon."
        )

    def _assert_self_adjoint(self) -> Operation:
        matrix = self.to_dense()
        return assert_near(matrix, adjoint_of(matrix), message="Matrix was not equal to its adjoint.")

    def _assert_positive_definite(self) -> Operation:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                "assert_positive_definite is not implemented for an operator that may not be self-adjoint."
            )
        return cholesky(self.to_dense()).op

    # Facts

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors of which the operator is made."""
        return list(self._parents)

    @property
    def is_non_singular(self) -> bool | None:
        return self._hints.is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        return self._hints.is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        return self._hints.is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrix is square: by its static shape, else by the hint. Raises ValueError where the two differ."""
        rows, columns = _static(self._shape(), -2), _static(self._shape(), -1)
        if rows is None or columns is None:
            return self._hints.is_square
        if self._hints.is_square is not None and self._hints.is_square is not (rows == columns):
            raise ValueError(
                f"The hint is_square={self._hints.is_square} is wrong for a shape of {show(self._shape())}."
            )
        return rows == columns

    @property
    def shape(self) -> TensorShape:
        """The static shape, [batch, rows, columns]."""
        return TensorShape(self._shape())

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without rows and columns."""
        static_shape = self._shape()
        return TensorShape(None if static_shape is None else static_shape[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions, those of the batch among them."""
        static_shape = self._shape()
        return None if static_shape is None else len(static_shape)

    @property
    def domain_dimension(self) -> Any:
        """The number of columns as far as it is static."""
        return TensorShape([_static(self._shape(), -1)])[0]

    @property
    def range_dimension(self) -> Any:
        """The number of rows as far as it is static."""
        return TensorShape([_static(self._shape(), -2)])[0]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as an int32 vector."""
        with self._scope(name):
            static_shape = self.shape
            return (
                convert_to_tensor(static_shape.as_list(), "int32")
                if static_shape.is_fully_defined()
                else self._shape_tensor()
            )

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch as an int32 vector."""
        return self.shape_tensor(name)[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of dimensions as a tensor."""
        return sizes(self.shape_tensor(name))[0]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns as a tensor."""
        return self.shape_tensor(name)[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows as a tensor."""
        return self.shape_tensor(name)[-2]

    # Products and solutions

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with matrices [..., columns, k]; an operator for an operator.

        Args:
            x: a tensor of the operator's type, or a `LinearOperator`.
            adjoint: takes the conjugate transpose of the operator.
            adjoint_arg: takes that of `x`.
            name: the scope of the nodes.

        Raises:
            ValueError: the sizes do not fit.
            TypeError: the types do not.
        """
        if isinstance(x, LinearOperator):
            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            _check_sizes(left._shape(), right._shape())
            return product(left, right)
        with self._scope(name):
            value = self._argument(x, "x")
            _check_sizes(_turned(self._shape(), adjoint), _turned(value.static_shape, adjoint_arg))
            return self._matmul(value, adjoint, adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with vectors [..., columns].

        Args:
            x: a tensor of the operator's type.
            adjoint: takes the conjugate transpose of the operator.
            name: the scope of the nodes.
        """
        with self._scope(name):
            return squeeze(self.matmul(expand_dims(self._argument(x, "x"), -1), adjoint), [-1])

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The matrices X with A X = `rhs`; an operator for an operator.

        Args:
            rhs: a tensor of the operator's type, [..., rows, k], or a `LinearOperator`.
            adjoint: takes the conjugate transpose of the operator.
            adjoint_arg: takes that of `rhs`.
            name: the scope of the nodes.

        Raises:
            NotImplementedError: the hints say that the operator is singular, or not square.
        """
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if self.is_square is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")
        if isinstance(rhs, LinearOperator):
            left, right = self.adjoint() if adjoint else self, rhs.adjoint() if adjoint_arg else rhs
            _check_sizes(left._shape(), right._shape())
            return product(left.inverse(), right)
        with self._scope(name):
            value = self._argument(rhs, "rhs")
            _check_sizes(_turned(self._shape(), not adjoint), _turned(value.static_shape, adjoint_arg))
            return self._solve(value, adjoint, adjoint_arg)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The vectors x with A x = `rhs`.

        Args:
            rhs: a tensor of the operator's type, [..., rows].
            adjoint: takes the conjugate transpose of the operator.
            name: the scope of the nodes.
        """
        with self._scope(name):
            return squeeze(self.solve(expand_dims(self._argument(rhs, "rhs"), -1), adjoint), [-1])

    # Numbers and parts

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The whole matrices as a tensor."""
        with self._scope(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals, [..., min(rows, columns)]."""
        with self._scope(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sums of the diagonals."""
        with self._scope(name):
            return self._trace()

    def determinant(self, name: str = "det") -> Tensor:
        """The determinants. Raises NotImplementedError where the operator is not square."""
        self._require_square("Determinant")
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithms of the determinants' magnitudes. Raises NotImplementedError where the operator is not square."""
        self._require_square("Determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The matrices plus `x`, which is of their type and broadcasts to them."""
        with self._scope(name):
            return self.to_dense() + self._argument(x, "x")

    # Other operators

    @property
    def H(self) -> LinearOperator:
        """The conjugate transpose."""
        return self.adjoint()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The conjugate transpose: the operator itself if it is self-adjoint."""
        with self._scope(name):
            return self if self.is_self_adjoint else self._adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse. Raises ValueError where the hints say that there is none."""
        if self.is_square is False:
            raise ValueError("Cannot take the Inverse: This operator represents a non square matrix.")
        if self.is_non_singular is False:
            raise ValueError("Cannot take the Inverse: This operator represents a singular matrix.")
        with self._scope(name):
            return self._inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangle L with L L^H = A. Raises ValueError unless hints say that A is positive definite
        and self-adjoint."""
        if not (self.is_positive_definite and self.is_self_adjoint):
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._scope(name):
            return self._cholesky()

    # Assertions

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that raises InvalidArgumentError in the run where a matrix is singular within its precision."""
        self._require_square("assert_non_singular")
        with self._scope(name):
            return self._assert_non_singular()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that raises InvalidArgumentError in the run where a matrix is not its conjugate transpose."""
        with self._scope(name):
            return self._assert_self_adjoint()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that raises InvalidArgumentError in the run where a matrix is not positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    # Helpers

    def _scope(self, name: str) -> Any:
        return name_scope(f"{self.name.rstrip('/').rpartition('/')[2]}/{name}/".strip("/"))

    def _argument(self, value: Any, what: str) -> Tensor:
        tensor = convert_to_tensor(value, dtype=None if isinstance(value, Tensor) else self.dtype)
        if tensor.dtype.base_dtype is not self.dtype:
            raise TypeError(
                f"Expected argument {what!r} to have dtype {self.dtype}. Found: {tensor.dtype} in tensor {tensor!r}."
            )
        return tensor

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(f"{what} not implemented for an operator that is expected to not be square.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} shape={show(self._shape())} dtype={self.dtype}>"


def product(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The operator of a product: of the simplest class that has it."""
    from actorflow.graph.linear_operators.composition import LinearOperatorComposition
    from actorflow.graph.linear_operators.diagonal import LinearOperatorDiag
    from actorflow.graph.linear_operators.identity import LinearOperatorIdentity

    if isinstance(left, LinearOperatorIdentity):
        return right
    if isinstance(right, LinearOperatorIdentity):
        return left
    if isinstance(left, LinearOperatorDiag) and isinstance(right, LinearOperatorDiag):
        return LinearOperatorDiag(left.diag * right.diag)
    return LinearOperatorComposition([left, right])


def multiplied(matrix: Tensor, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
    """The product of matrices, whose batches are broadcast."""
    left, right = in_one_batch(matrix, x)
    return matmul(left, right, adjoint_a=adjoint, adjoint_b=adjoint_arg)


def _static(shape: Shape, axis: int) -> int | None:
    return None if shape is None else shape[axis]


def _turned(shape: Shape, adjoint: bool) -> Shape:
    return shape if shape is None or not adjoint or len(shape) < 2 else (*shape[:-2], shape[-1], shape[-2])


def _check_sizes(left: Shape, right: Shape) -> None:
    """Raises ValueError where matrices of these shapes have no product."""
    if right is not None and len(right) < 2:
        raise ValueError(f"The argument is a matrix or a batch of them, but it has the shape {show(right)}.")
    inner = _static(left, -1), _static(right, -2)
    if None not in inner and inner[0] != inner[1]:
        raise ValueError(
            f"Dimensions {inner[0]} and {inner[1]} are not compatible: the shapes are {show(left)} and {show(right)}."
        )


def _epsilon(dtype: DType) -> float:
    return 2.0 ** {"float16": -10, "float32": -23}.get(dtype.name, -52)
