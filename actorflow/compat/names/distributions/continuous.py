"""Distributions of numbers: normal, Laplace, Student's t, uniform, gamma, exponential, beta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.names.distributions.distribution import FULLY_REPARAMETERIZED, Scalar, positive


class _Located(Scalar):
    """A distribution with a place and a width."""

    _PARAMETERS: tuple[str, ...] = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str, parameters: Any, *others: Any
    ) -> None:
        with af.name_scope(name):
            self._loc = af.convert_to_tensor(loc)
            self._scale = positive(validate_args, af.convert_to_tensor(scale, self._loc.dtype))
        self._LISTED = (*others, self._loc, self._scale)
        super().__init__(
            self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, self._LISTED, name
        )

    @property
    def loc(self) -> Any:
        """The place."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The width."""
        return self._scale

    def _z(self, value: Any) -> Any:
        return (value - self._loc) / self._scale

    def _mean(self) -> Any:
        return self._whole(self._loc)

    def _mode(self) -> Any:
        return self._mean()


class Normal(_Located):
    """The normal distribution of mean `loc` and deviation `scale`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.distributions.Normal(0.0, 1.0).cdf([-1.0, 0.0, 1.0])
        [0.1587 0.5    0.8413]
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return af.random_normal(self._drawn(n), dtype=self.dtype, seed=seed) * self._scale + self._loc

    def _log_prob(self, value: Any) -> Any:
        return -0.5 * af.square(self._z(value)) - 0.5 * math.log(2 * math.pi) - af.log(self._scale)

    def _cdf(self, value: Any) -> Any:
        return 0.5 * af.erfc(-self._z(value) / math.sqrt(2))

    def _log_cdf(self, value: Any) -> Any:
        return _log_ndtr(self._z(value))

    def _survival_function(self, value: Any) -> Any:
        return 0.5 * af.erfc(self._z(value) / math.sqrt(2))

    def _log_survival_function(self, value: Any) -> Any:
        return _log_ndtr(-self._z(value))

    def _quantile(self, value: Any) -> Any:
        return math.sqrt(2) * af.math.erfinv(2 * value - 1) * self._scale + self._loc

    def _entropy(self) -> Any:
        return self._whole(0.5 * math.log(2 * math.pi * math.e) + af.log(self._scale))

    def _stddev(self) -> Any:
        return self._whole(self._scale)

    def _variance(self) -> Any:
        return af.square(self._stddev())


def _log_ndtr(z: Any) -> Any:
    """The logarithm of the normal distribution function; far to the left by the first terms of its asymptotic series."""
    far = z < -5.0 if z.dtype is af.float32 else z < -20.0
    left, near = af.where(far, z, -af.ones_like(z) * 30.0), af.where(far, af.zeros_like(z), z)
    square = 1.0 / af.square(left)
    series = 1.0 + square * (-1.0 + square * (3.0 + square * (-15.0 + square * (105.0 - 945.0 * square))))
    tail = -0.5 * af.square(left) - af.log(-left) - 0.5 * math.log(2 * math.pi) + af.log(series)
    return af.where(far, tail, af.log(0.5 * af.erfc(-near / math.sqrt(2))))


class Laplace(_Located):
    """The Laplace distribution around `loc`, of the width `scale`."""

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        least = np.nextafter(self.dtype.as_numpy_dtype(-1), self.dtype.as_numpy_dtype(0))
        drawn = af.random_uniform(self._drawn(n), least, 1, self.dtype, seed)
        return self._loc - self._scale * af.sign(drawn) * af.log1p(-af.abs(drawn))

    def _log_prob(self, value: Any) -> Any:
        return -af.abs(self._z(value)) - math.log(2) - af.log(self._scale)

    def _cdf(self, value: Any) -> Any:
        z = self._z(value)
        return 0.5 - 0.5 * af.sign(z) * af.expm1(-af.abs(z))

    def _log_cdf(self, value: Any) -> Any:
        z = self._z(value)
        return af.where(z < 0, z - math.log(2), af.log1p(-0.5 * af.exp(-af.abs(z))))

    def _log_survival_function(self, value: Any) -> Any:
        z = self._z(value)
        return af.where(z > 0, -z - math.log(2), af.log1p(-0.5 * af.exp(-af.abs(z))))

    def _entropy(self) -> Any:
        return self._whole(math.log(2) + 1 + af.log(self._scale))

    def _stddev(self) -> Any:
        return self._whole(math.sqrt(2) * self._scale)

    def _variance(self) -> Any:
        return af.square(self._stddev())


class StudentT(_Located):
    """Student's t distribution of `df` degrees of freedom around `loc`, of the width `scale`."""

    _PARAMETERS: tuple[str, ...] = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        loc = af.convert_to_tensor(loc)
        self._df = positive(validate_args, af.convert_to_tensor(df, loc.dtype))
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, parameters, self._df)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        normal = af.random_normal(self._drawn(n), dtype=self.dtype, seed=seed)
        df = self._whole(self._df)
        gamma = af.random_gamma([n], 0.5 * df, 0.5, self.dtype, None if seed is None else seed + 1)
        return normal * af.rsqrt(gamma / df) * self._scale + self._loc

    def _log_prob(self, value: Any) -> Any:
        return -0.5 * (self._df + 1) * af.log1p(af.square(self._z(value)) / self._df) - self._normalization()

    def _normalization(self) -> Any:
        half = 0.5 * self._df
        return (
            af.log(af.abs(self._scale))
            + 0.5 * af.log(self._df)
            + 0.5 * math.log(math.pi)
            + af.lgamma(half)
            - af.lgamma(half + 0.5)
        )

    def _cdf(self, value: Any) -> Any:
        z = self._z(value)
        df = self._df * af.ones_like(z)
        tail = 0.5 * af.betainc(0.5 * df, 0.5 * af.ones_like(z), df / (df + af.square(z)))
        return af.where(z < 0, tail, 1 - tail)

    def _entropy(self) -> Any:
        half = 0.5 * self._whole(self._df)
        beta = af.lgamma(half) + math.lgamma(0.5) - af.lgamma(half + 0.5)
        slope = (half + 0.5) * (af.digamma(half + 0.5) - af.digamma(half))
        return af.log(af.abs(self._scale)) + 0.5 * af.log(2 * half) + beta + slope

    def _mean(self) -> Any:
        return self._undefined(self._whole(self._df) > 1, self._whole(self._loc), "mean")

    def _variance(self) -> Any:
        df = self._whole(self._df)
        safe = af.where(df > 2, df - 2, af.ones_like(df))
        finite = self._whole(af.square(self._scale)) * df / safe
        value = af.where(df > 2, finite, af.fill(af.shape(df), self.dtype.as_numpy_dtype(np.inf)))
        return self._undefined(df > 1, value, "variance")

    def _mode(self) -> Any:
        return self._whole(self._loc)


class Uniform(Scalar):
    """The uniform distribution from `low` to below `high`."""

    _PARAMETERS: tuple[str, ...] = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        with af.name_scope(name):
            self._low = af.convert_to_tensor(low)
            self._high = af.convert_to_tensor(high, self._low.dtype)
            if validate_args:
                check = af.assert_less(self._low, self._high, message="uniform not defined when low >= high.")
                with af.control_dependencies([check]):
                    self._low, self._high = af.identity(self._low), af.identity(self._high)
        self._LISTED = (self._low, self._high)
        super().__init__(
            self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, self._LISTED, name
        )

    @property
    def low(self) -> Any:
        """The least number."""
        return self._low

    @property
    def high(self) -> Any:
        """The number that is not reached."""
        return self._high

    def range(self, name: str = "range") -> Any:
        """`high` less `low`."""
        return self._high - self._low

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return self._low + self.range() * af.random_uniform(self._drawn(n), dtype=self.dtype, seed=seed)

    def _prob(self, value: Any) -> Any:
        value = value * af.ones(self.batch_shape_tensor(), self.dtype)
        width = af.ones_like(value) * self.range()
        inside = af.logical_and(value >= self._low, value < self._high)
        return af.where(af.is_nan(value), value, af.where(inside, 1 / width, af.zeros_like(value)))

    def _cdf(self, value: Any) -> Any:
        return af.clip_by_value((value - self._low) / self.range(), 0.0, 1.0)

    def _quantile(self, value: Any) -> Any:
        return (1 - value) * self._low + value * self._high

    def _entropy(self) -> Any:
        return af.log(self.range())

    def _mean(self) -> Any:
        return (self._low + self._high) / 2

    def _variance(self) -> Any:
        return af.square(self.range()) / 12

    def _stddev(self) -> Any:
        return self.range() / math.sqrt(12)


class Gamma(Scalar):
    """The gamma distribution of the shape `concentration` and the inverse width `rate`."""

    _PARAMETERS: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
        _parameters: Any = None,
    ) -> None:
        parameters = dict(locals()) if _parameters is None else _parameters
        parameters.pop("_parameters", None)
        with af.name_scope(name):
            self._concentration = positive(validate_args, af.convert_to_tensor(concentration))
            self._rate = positive(validate_args, af.convert_to_tensor(rate, self._concentration.dtype))
        self._LISTED = (self._concentration, self._rate)
        kind = self._concentration.dtype
        super().__init__(kind, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, self._LISTED, name)

    @property
    def concentration(self) -> Any:
        """The shape."""
        return self._concentration

    @property
    def rate(self) -> Any:
        """The inverse width."""
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return af.random_gamma([n], self._concentration, self._rate, self.dtype, seed)

    def _log_prob(self, value: Any) -> Any:
        shape, rate = self._concentration, self._rate
        return (shape - 1) * af.log(value) - rate * value - (af.lgamma(shape) - shape * af.log(rate))

    def _cdf(self, value: Any) -> Any:
        return af.igamma(self._concentration, self._rate * value)

    def _entropy(self) -> Any:
        shape = self._concentration
        return shape - af.log(self._rate) + af.lgamma(shape) + (1 - shape) * af.digamma(shape)

    def _mean(self) -> Any:
        return self._concentration / self._rate

    def _variance(self) -> Any:
        return self._concentration / af.square(self._rate)

    def _stddev(self) -> Any:
        return af.sqrt(self._concentration) / self._rate

    def _mode(self) -> Any:
        mode = (self._concentration - 1) / self._rate
        return self._undefined(self._whole(self._concentration) > 1, mode, "mode")


class Exponential(Gamma):
    """The exponential distribution of the inverse mean `rate`."""

    _PARAMETERS: tuple[str, ...] = ("rate",)

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        parameters = dict(locals())
        rate = af.convert_to_tensor(rate)
        super().__init__(af.ones([], rate.dtype), rate, validate_args, allow_nan_stats, name, parameters)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        return -af.log(af.random_uniform(self._drawn(n), least, 1, self.dtype, seed)) / self._rate

    def _quantile(self, value: Any) -> Any:
        return -af.log1p(-value) / self._rate


class Beta(Scalar):
    """The beta distribution of numbers between 0 and 1."""

    _PARAMETERS: tuple[str, ...] = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        with af.name_scope(name):
            self._concentration1 = positive(validate_args, af.convert_to_tensor(concentration1))
            kind = self._concentration1.dtype
            self._concentration0 = positive(validate_args, af.convert_to_tensor(concentration0, kind))
        self._LISTED = (self._concentration1, self._concentration0)
        super().__init__(kind, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, self._LISTED, name)

    @property
    def concentration1(self) -> Any:
        """The weight of 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        """The weight of 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Any:
        """Both weights together."""
        return self._concentration1 + self._concentration0

    def log_normalization(self) -> Any:
        """The logarithm of the beta function."""
        a, b = self._LISTED
        return af.lgamma(a) + af.lgamma(b) - af.lgamma(a + b)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        first = af.random_gamma([n], self._whole(self._concentration1), dtype=self.dtype, seed=seed)
        following = None if seed is None else seed + 1
        second = af.random_gamma([n], self._whole(self._concentration0), dtype=self.dtype, seed=following)
        return first / (first + second)

    def _log_prob(self, value: Any) -> Any:
        a, b = self._LISTED
        return (a - 1) * af.log(value) + (b - 1) * af.log1p(-value) - self.log_normalization()

    def _cdf(self, value: Any) -> Any:
        whole = value * af.ones(self.batch_shape_tensor(), self.dtype)
        ones = af.ones_like(whole)
        return af.betainc(self._concentration1 * ones, self._concentration0 * ones, whole)

    def _entropy(self) -> Any:
        a, b = self._LISTED
        slopes = (a - 1) * af.digamma(a) + (b - 1) * af.digamma(b) - (a + b - 2) * af.digamma(a + b)
        return self.log_normalization() - slopes

    def _mean(self) -> Any:
        return self._concentration1 / self.total_concentration

    def _variance(self) -> Any:
        return self._mean() * (1 - self._mean()) / (1 + self.total_concentration)

    def _mode(self) -> Any:
        mode = (self._concentration1 - 1) / (self.total_concentration - 2)
        defined = af.logical_and(self._whole(self._concentration1) > 1, self._whole(self._concentration0) > 1)
        return self._undefined(defined, mode, "mode")
