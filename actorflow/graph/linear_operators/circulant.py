"""Circulant operators: convolutions that go round, in 1 to 3 dimensions. Fourier transforms make them diagonal."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

from actorflow.base.dtypes import DTypeLike, as_dtype, complex64, complex128, float64
from actorflow.base.shapes import Shape, TensorShape, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.linear_operators.composition import transposed_if
from actorflow.graph.linear_operators.operator import LinearOperator
from actorflow.graph.linear_operators.shapes import certain, joined, sizes
from actorflow.graph.ops.array.constant import ones
from actorflow.graph.ops.array.shape import expand_dims, reshape
from actorflow.graph.ops.flow.asserts import assert_less, assert_near, assert_positive
from actorflow.graph.ops.linalg.matrix import matrix_transpose
from actorflow.graph.ops.math.cast import cast, conj, imag, real
from actorflow.graph.ops.math.elementwise import abs as magnitude
from actorflow.graph.ops.math.elementwise import log
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_prod, reduce_sum
from actorflow.graph.ops.signal.fft import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}


class _Circulant(LinearOperator):
    """The operator F^-1 D F, whose D has the spectrum, and whose F is a transform of `depth` dimensions."""

    depth = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        """Takes the spectrum.

        Raises:
            ValueError: it has too few dimensions, or hints are wrong.
        """
        self._spectrum = convert_to_tensor(spectrum)
        static_shape = self._spectrum.static_shape
        if static_shape is not None and len(static_shape) < self.depth:
            raise ValueError(
                f"Argument spectrum must have at least {self.depth} dimensions, but it has the shape {show(static_shape)}."
            )
        certain("is_square", is_square, True, "a circulant operator is square")
        if not self._spectrum.dtype.is_complex:
            is_self_adjoint = certain(
                "is_self_adjoint", is_self_adjoint, True, "a real spectrum makes a self-adjoint operator"
            )
        hints = is_non_singular, is_self_adjoint, is_positive_definite, True
        super().__init__(as_dtype(input_output_dtype), [self._spectrum], *hints, name=name)

    @property
    def spectrum(self) -> Tensor:
        """The spectrum, [batch, block shape]."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of dimensions of a block."""
        return self.depth

    @property
    def block_shape(self) -> TensorShape:
        """The static shape of a block."""
        static_shape = self._spectrum.static_shape
        return TensorShape(None if static_shape is None else static_shape[-self.depth :])

    def block_shape_tensor(self) -> Tensor:
        """The shape of a block as a tensor."""
        return sizes(self._spectrum)[-self.depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first column of the matrix, in the shape of a block."""
        with self._scope(name):
            return self._output(_TRANSFORMS[self.depth][1](self._complex(self._spectrum)))

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """An operation that raises InvalidArgumentError in the run unless the convolution kernel is real."""
        with self._scope(name):
            part = imag(_TRANSFORMS[self.depth][1](self._complex(self._spectrum)))
            return assert_near(part, part * 0, message="Spectrum was not Hermitian")

    def _shape(self) -> Shape:
        static_shape = self._spectrum.static_shape
        if static_shape is None:
            return None
        block = static_shape[-self.depth :]
        total = None if None in block else reduce(mul, block)
        return (*static_shape[: -self.depth], total, total)

    def _shape_tensor(self) -> Tensor:
        size = sizes(self._spectrum)
        total = reduce_prod(size[-self.depth :])
        return joined(size[: -self.depth], [total], [total])

    def _complex(self, x: Tensor) -> Tensor:
        wide = self._spectrum.dtype in (float64, complex128) or self.dtype in (float64, complex128)
        return cast(x, complex128 if wide else complex64)

    def _output(self, x: Tensor) -> Tensor:
        return cast(x if self.dtype.is_complex or not x.dtype.is_complex else real(x), self.dtype)

    def _filtered(self, x: Tensor, spectrum: Tensor) -> Tensor:
        """`x`, [..., rows, k], with the spectrum applied to the transform of each column."""
        there, back = _TRANSFORMS[self.depth]
        columns = matrix_transpose(self._complex(x))
        blocks = reshape(columns, joined(sizes(columns)[:-1], self.block_shape_tensor()))
        filtered = back(there(blocks) * expand_dims(spectrum, -self.depth - 1))
        flat = reshape(filtered, joined(sizes(filtered)[: -self.depth], [-1]))
        return self._output(matrix_transpose(flat))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        spectrum = self._complex(self._spectrum)
        return self._filtered(transposed_if(x, adjoint_arg), conj(spectrum) if adjoint else spectrum)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        spectrum = self._complex(self._spectrum)
        return self._filtered(transposed_if(rhs, adjoint_arg), 1 / (conj(spectrum) if adjoint else spectrum))

    def _axes(self) -> list[int]:
        return list(range(-self.depth, 0))

    def _determinant(self) -> Tensor:
        return self._output(reduce_prod(self._complex(self._spectrum), self._axes()))

    def _log_abs_determinant(self) -> Tensor:
        log_sum = reduce_sum(log(magnitude(self._spectrum)), self._axes())
        return cast(log_sum, real(ones([], self.dtype)).dtype)

    def _trace(self) -> Tensor:
        return self._output(reduce_sum(self._complex(self._spectrum), self._axes()))

    def _diag_part(self) -> Tensor:
        mean = self._output(reduce_mean(self._complex(self._spectrum), self._axes()))
        return expand_dims(mean, -1) * ones([self.range_dimension_tensor()], self.dtype)

    def _adjoint(self) -> LinearOperator:
        return type(self)(conj(self._spectrum), self.dtype, self.is_non_singular, None, self.is_positive_definite)

    def _inverse(self) -> LinearOperator:
        return type(self)(1 / self._spectrum, self.dtype, True, self.is_self_adjoint, self.is_positive_definite)

    def _assert_non_singular(self) -> Operation:
        size = magnitude(self._spectrum)
        return assert_less(size * 0, size, message="Singular operator: the spectrum contained zero values.")

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(
            real(self._spectrum), message="Not positive definite: the spectrum has a real part <= 0."
        )

    def _assert_self_adjoint(self) -> Operation:
        part: Any = imag(self._spectrum) if self._spectrum.dtype.is_complex else self._spectrum * 0
        return assert_near(part, part * 0, message="Not self-adjoint: the spectrum contained values that are not real.")


@public("af.linalg")
class LinearOperatorCirculant(_Circulant):
    """Matrices whose product is a convolution that goes round in one dimension (`tf.linalg.LinearOperatorCirculant`).

    Example:
        >>> af.linalg.LinearOperatorCirculant([6.0, 0.0, 0.0], "float32").to_dense()
        [[2. 2. 2.]
         [2. 2. 2.]
         [2. 2. 2.]]

    Args:
        spectrum: the transforms of the convolution kernels, [..., n].
        input_output_dtype: the type of arguments and results.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: the spectrum has too few dimensions, or hints are wrong.
    """

    depth = 1

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, input_output_dtype, *hints, name=name)


@public("af.linalg")
class LinearOperatorCirculant2D(_Circulant):
    """Matrices whose product is a convolution that goes round in two dimensions (`tf.linalg.LinearOperatorCirculant2D`).

    Example:
        >>> af.linalg.LinearOperatorCirculant2D([[4.0, 0.0]], "float32").to_dense()
        [[2. 2.]
         [2. 2.]]

    Args:
        spectrum: the transforms of the convolution kernels, [..., n0, n1].
        input_output_dtype: the type of arguments and results.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: the spectrum has too few dimensions, or hints are wrong.
    """

    depth = 2

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, input_output_dtype, *hints, name=name)


@public("af.linalg")
class LinearOperatorCirculant3D(_Circulant):
    """Matrices whose product is a convolution that goes round in three dimensions (`tf.linalg.LinearOperatorCirculant3D`).

    Example:
        >>> af.linalg.LinearOperatorCirculant3D([[[4.0, 2.0]]], "float32").to_dense()
        [[3. 1.]
         [1. 3.]]

    Args:
        spectrum: the transforms of the convolution kernels, [..., n0, n1, n2].
        input_output_dtype: the type of arguments and results.
        is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known of the matrix; see `LinearOperator`.
        name: the scope of the nodes.

    Raises:
        ValueError: the spectrum has too few dimensions, or hints are wrong.
    """

    depth = 3

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, input_output_dtype, *hints, name=name)
