"""The first values of variables: constants, random draws, and draws scaled to the size of a layer.

An initializer is called with a shape (all sizes known) and a type, and gives a tensor. The names and defaults are
TensorFlow 1.15's, and so are the formulas.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32, float64
from actorflow.graph.ops.array.constant import constant, ones, zeros
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.ops.array.shape import reshape, transpose
from actorflow.graph.ops.linalg.matrix import cholesky, matrix_inverse
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.random.distributions import random_normal, random_uniform, truncated_normal
from actorflow.graph.tensor import Tensor
from actorflow.public import public

# The standard deviation of a normal distribution of deviation 1 that is cut at 2.
_TRUNCATED = 0.87962566103423978


class Initializer:
    """The base of all: `initializer(shape, dtype=None)`; a dtype that is given there goes before its own."""

    floating = False
    """Whether it draws or scales numbers that are no integers."""

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype = as_dtype(dtype)
        if self.floating and not self.dtype.is_floating:
            raise ValueError(f"Expected floating point type, got {self.dtype}: {type(self).__name__} gives no other.")

    def __call__(self, shape: Sequence[int], dtype: DTypeLike | None = None, partition_info: Any = None) -> Tensor:
        """The initial value, a tensor of this shape and type.

        `partition_info` says which slice of what larger variable it is (see `PartitionInfo`): the scale of draws goes by
        the size of the whole."""
        sizes, kind = [int(size) for size in shape], self.dtype if dtype is None else as_dtype(dtype)
        return self._make(sizes, kind) if partition_info is None else self._make_slice(sizes, kind, partition_info)

    def get_config(self) -> dict[str, Any]:
        """The arguments of another initializer like this initializer, for `from_config`.

        Example:
            >>> af.random_normal_initializer(stddev=0.5).get_config()
            {'mean': 0.0, 'stddev': 0.5, 'seed': None, 'dtype': 'float32'}
        """
        names = list(inspect.signature(type(self)).parameters)
        config = {name: getattr(self, name) for name in names if name not in ("dtype", "verify_shape")}
        return config | {"dtype": self.dtype.name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The initializer of which another of this class gave the arguments by `get_config`.

        Args:
            config: the arguments by their names.

        Example:
            >>> af.constant_initializer.from_config({"value": 2.0})([2])
            [2. 2.]
        """
        return cls(**config)

    def _make_slice(self, shape: list[int], dtype: DType, info: Any) -> Tensor:
        """The slice of this shape. Most initializers don't care what it is a slice of."""
        return self._make(shape, dtype)

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        raise NotImplementedError


@public("af:zeros_initializer", "tf.initializers:zeros")
class Zeros(Initializer):
    """Zeros (False, empty strings).

    Example:
        >>> af.zeros_initializer()([2], dtype=af.int32)
        [0 0]
    """

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return zeros(shape, dtype)


@public("af:ones_initializer", "tf.initializers:ones")
class Ones(Initializer):
    """The number 1 everywhere (True).

    Example:
        >>> af.ones_initializer()([2])
        [1. 1.]
    """

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return ones(shape, dtype)


@public("af:constant_initializer", "tf.initializers:constant")
class Constant(Initializer):
    """A fixed value.

    Example:
        >>> af.constant_initializer(0.5)([2, 2])
        [[0.5 0.5]
         [0.5 0.5]]

    Args:
        value: a number, or a list or array, which is filled up to the shape with its last element.
        dtype: the type of the value where `get_variable` gives none.
        verify_shape: whether a list or array has to have the variable's shape.

    Raises:
        TypeError: `value` is of another kind; or, at a use, `verify_shape` is true and the shape differs.
        ValueError: at a use: the value has more elements than the shape.
    """

    def __init__(self, value: Any = 0, dtype: DTypeLike = float32, verify_shape: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or numpy array)."
            )
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return constant(self.value, dtype, shape, verify_shape=self.verify_shape)


@public("af:random_uniform_initializer", "tf.initializers:random_uniform")
class RandomUniform(Initializer):
    """Uniform draws from [minval, maxval).

    Example:
        >>> drawn = af.random_uniform_initializer(-1.0, 1.0)([1000])
        >>> af.reduce_max(af.abs(drawn)) <= 1.0
        True

    Args:
        minval: the lower bound, a number or a scalar tensor.
        maxval: the upper bound; 1 unless given. It has to be given for integers.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        super().__init__(dtype)
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


@public("af:random_normal_initializer", "tf.initializers:random_normal")
class RandomNormal(Initializer):
    """Normal draws.

    Example:
        >>> drawn = af.random_normal_initializer(mean=5.0, stddev=0.1)([1000])
        >>> af.abs(af.reduce_mean(drawn) - 5.0) < 0.1
        True

    Args:
        mean, stddev: the mean and the standard deviation, numbers or scalar tensors.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.
    """

    floating = True

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


@public("af:truncated_normal_initializer", "tf.initializers:truncated_normal")
class TruncatedNormal(RandomNormal):
    """Normal draws; a draw more than two standard deviations from the mean is drawn again.

    Example:
        >>> drawn = af.truncated_normal_initializer(stddev=0.1)([1000])
        >>> af.reduce_max(af.abs(drawn)) <= 0.2
        True

    Args:
        mean, stddev: the mean and the standard deviation before the cut, numbers or scalar tensors.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.
    """

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


@public("af:uniform_unit_scaling_initializer", "tf.initializers:uniform_unit_scaling")
class UniformUnitScaling(Initializer):
    """Uniform draws that keep the variance of a layer's input: from ±factor · √(3 / number of inputs).

    Example:
        >>> drawn = af.uniform_unit_scaling_initializer()([300, 100])
        >>> af.reduce_max(af.abs(drawn)) <= (3 / 300) ** 0.5
        True

    Args:
        factor: a factor of the bounds, 1 for a linear layer.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.
    """

    floating = True

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.factor = factor
        self.seed = seed

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return self._scaled(shape, dtype, shape)

    def _make_slice(self, shape: list[int], dtype: DType, info: Any) -> Tensor:
        return self._scaled(shape, dtype, info.full_shape)

    def _scaled(self, shape: list[int], dtype: DType, whole: list[int]) -> Tensor:
        bound = math.sqrt(3 / max(1.0, math.prod(whole[:-1]))) * self.factor
        return RandomUniform(-bound, bound, self.seed)(shape, dtype)


@public("af:variance_scaling_initializer", "tf.initializers:variance_scaling")
class VarianceScaling(Initializer):
    """Draws of variance scale / n, where n is the number of a layer's inputs, its outputs, or their mean.

    Example:
        >>> drawn = af.variance_scaling_initializer(mode="fan_avg", distribution="uniform")([300, 100])
        >>> af.reduce_max(af.abs(drawn)) <= (3 / 200) ** 0.5
        True

    Args:
        scale: a factor of the variance, above 0.
        mode: the number n: `fan_in` (inputs), `fan_out` (outputs) or `fan_avg` (their mean).
        distribution: `truncated_normal` (or `normal`, the same), `untruncated_normal` or `uniform`.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.

    Raises:
        ValueError: `scale` is not positive, or `mode` or `distribution` is unknown.
    """

    floating = True

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        super().__init__(dtype)
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        return self._scaled(shape, dtype, shape)

    def _make_slice(self, shape: list[int], dtype: DType, info: Any) -> Tensor:
        return self._scaled(shape, dtype, info.full_shape)

    def _scaled(self, shape: list[int], dtype: DType, whole: list[int]) -> Tensor:
        inputs, outputs = fans(whole)
        count = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, count)
        if self.distribution == "uniform":
            bound = math.sqrt(3.0 * variance)
            return RandomUniform(-bound, bound, self.seed)(shape, dtype)
        if self.distribution == "untruncated_normal":
            return RandomNormal(0.0, math.sqrt(variance), self.seed)(shape, dtype)
        return TruncatedNormal(0.0, math.sqrt(variance) / _TRUNCATED, self.seed)(shape, dtype)


@public("af:orthogonal_initializer", "tf.initializers:orthogonal")
class Orthogonal(Initializer):
    """A matrix of orthonormal rows or columns (whichever are fewer), times `gain`; leading dimensions are flattened.

    Example:
        >>> q = af.orthogonal_initializer()([2, 5])
        >>> af.matmul(q, q, transpose_b=True)
        [[1. 0.]
         [0. 1.]]

    Args:
        gain: the factor.
        seed: makes the draws the same in each session.
        dtype: the type of the value where `get_variable` gives none.

    Raises:
        ValueError: at a use: the shape has fewer than two dimensions.
    """

    floating = True

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.gain = gain
        self.seed = seed

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = RandomNormal(seed=self.seed)([max(rows, columns), min(rows, columns)], float64)
        # Twice, because the first time leaves an error that grows with the square of the matrix's condition.
        q = _orthonormal(_orthonormal(drawn))
        matrix = reshape(transpose(q) if rows < columns else q, shape)
        return cast(matrix * self.gain, dtype)


def _orthonormal(a: Tensor) -> Tensor:
    """Q of A = QR with a positive diagonal of R, which is the Cholesky factor of AᵀA."""
    factor = cholesky(matmul(a, a, transpose_a=True))
    return matmul(a, matrix_inverse(factor), transpose_b=True)


@public("af:identity_initializer", "tf.initializers:identity")
class Identity(Initializer):
    """The identity matrix times `gain`. Raises ValueError for a shape that is none of a matrix.

    Example:
        >>> af.identity_initializer(gain=2.0)([2, 3])
        [[2. 0. 0.]
         [0. 2. 0.]]
    """

    floating = True

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def _make(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        return constant(np.eye(*shape, dtype=dtype.numpy_dtype) * np.asarray(self.gain, dtype.numpy_dtype))

    def _make_slice(self, shape: list[int], dtype: DType, info: Any) -> Tensor:
        return slice_(self._make(list(info.full_shape), dtype), list(info.var_offset), shape)


@public("af:glorot_uniform_initializer", "tf.initializers:glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Glorot and Bengio 2010: uniform from ±√(6 / (inputs + outputs)).

    Example:
        >>> drawn = af.glorot_uniform_initializer()([300, 100])
        >>> af.reduce_max(af.abs(drawn)) <= (6 / 400) ** 0.5
        True
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


@public("af:glorot_normal_initializer", "tf.initializers:glorot_normal")
class GlorotNormal(VarianceScaling):
    """Glorot and Bengio 2010: truncated normal of deviation √(2 / (inputs + outputs)).

    Example:
        >>> af.get_variable("kernel", [300, 100], initializer=af.glorot_normal_initializer()).shape
        TensorShape([300, 100])
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@public("af", "tf.initializers")
def he_normal(seed: int | None = None) -> VarianceScaling:
    """He et al. 2015: truncated normal of deviation √(2 / inputs).

    Example:
        >>> drawn = af.he_normal()([200, 1000])
        >>> af.abs(af.math.reduce_std(drawn) - (2 / 200) ** 0.5) < 0.01
        True
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@public("af", "tf.initializers")
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """He et al. 2015: uniform from ±√(6 / inputs).

    Example:
        >>> drawn = af.he_uniform()([200, 1000])
        >>> af.reduce_max(af.abs(drawn)) <= (6 / 200) ** 0.5
        True
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


@public("af", "tf.initializers")
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """LeCun 1998: truncated normal of deviation √(1 / inputs).

    Example:
        >>> drawn = af.lecun_normal()([200, 1000])
        >>> af.abs(af.math.reduce_std(drawn) - (1 / 200) ** 0.5) < 0.01
        True
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@public("af", "tf.initializers")
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """LeCun 1998: uniform from ±√(3 / inputs).

    Example:
        >>> drawn = af.lecun_uniform()([200, 1000])
        >>> af.reduce_max(af.abs(drawn)) <= (3 / 200) ** 0.5
        True
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """The numbers of inputs and outputs of a layer with weights of this shape: a matrix, or a convolution's filter."""
    if len(shape) < 2:
        return (float(shape[0]), float(shape[0])) if shape else (1.0, 1.0)
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def default_initializer(name: str, dtype: DType) -> Initializer:
    """The initializer that `get_variable` takes if none is given. Raises ValueError for a type that has none."""
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.kind == "S":
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")
