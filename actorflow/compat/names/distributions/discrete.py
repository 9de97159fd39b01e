"""Distributions of classes and counts: Bernoulli, categorical, multinomial."""

from __future__ import annotations

from typing import Any

import actorflow as af
from actorflow.compat.names.distributions.distribution import NOT_REPARAMETERIZED, Distribution


def _either(logits: Any, probs: Any, several: bool) -> tuple[Any, Any]:
    """Logarithms of odds and probabilities, from the argument that is not None. Raises ValueError if both or none are None."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if logits is not None:
        logits = af.convert_to_tensor(logits)
        return logits, af.nn.softmax(logits) if several else af.sigmoid(logits)
    probs = af.convert_to_tensor(probs)
    return (af.log(probs) if several else af.log(probs) - af.log1p(-probs)), probs


class _Probable(Distribution):
    """A distribution by probabilities or the logarithms of odds."""

    _SEVERAL = True
    _PARAMETERS = ("logits",)

    def __init__(
        self, logits: Any, probs: Any, dtype: Any, validate: bool, allow_nan: bool, name: str, parameters: Any
    ) -> None:
        with af.name_scope(name):
            self._logits, self._probs = _either(logits, probs, self._SEVERAL)
        kind = self._logits.dtype if dtype is None else dtype
        super().__init__(kind, NOT_REPARAMETERIZED, validate, allow_nan, parameters, [self._logits, self._probs], name)

    @property
    def logits(self) -> Any:
        """The logarithms of odds, or of probabilities up to a constant."""
        return self._logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._probs

    def _batch_shape(self) -> Any:
        return self._logits.shape[:-1] if self._SEVERAL else self._logits.shape

    def _batch_shape_tensor(self) -> Any:
        shape = af.shape(self._logits)
        return shape[:-1] if self._SEVERAL else shape


class Bernoulli(_Probable):
    """1 with the probability `probs`, else 0.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> coin = tf.distributions.Bernoulli(probs=[0.5, 0.9])
        >>> coin.prob([1, 0]), coin.entropy()
        ([0.5 0.1], [0.6931 0.3251])
    """

    _SEVERAL = False

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = af.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        super().__init__(logits, probs, dtype, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = af.concat([[n], self.batch_shape_tensor()], 0)
        return af.cast(af.random_uniform(shape, dtype=self._probs.dtype, seed=seed) < self._probs, self.dtype)

    def _value(self, value: Any) -> Any:
        return af.cast(value, self._logits.dtype)

    def _log_prob(self, value: Any) -> Any:
        logits = self._logits + af.zeros_like(value)
        return -af.nn.sigmoid_cross_entropy_with_logits(labels=value + af.zeros_like(logits), logits=logits)

    def _entropy(self) -> Any:
        return -self._logits * (af.sigmoid(self._logits) - 1) + af.nn.softplus(-self._logits)

    def _mean(self) -> Any:
        return af.identity(self._probs)

    def _variance(self) -> Any:
        return self._probs * (1 - self._probs)

    def _mode(self) -> Any:
        return af.cast(self._probs > 0.5, self.dtype)


class Categorical(_Probable):
    """The number of a class, by the classes' probabilities."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = af.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        super().__init__(logits, probs, dtype, validate_args, allow_nan_stats, name, dict(locals()))

    @property
    def event_size(self) -> Any:
        """The number of classes."""
        return af.shape(self._logits)[-1]

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        rows = af.reshape(self._logits, [-1, self.event_size])
        drawn = af.transpose(af.multinomial(rows, n, seed=seed, output_dtype=af.int64))
        shaped = af.reshape(drawn, af.concat([[n], self.batch_shape_tensor()], 0))
        return af.cast(shaped, self.dtype)

    def _value(self, value: Any) -> Any:
        return af.cast(value, af.int32)

    def _log_prob(self, value: Any) -> Any:
        shape = af.broadcast_dynamic_shape(af.shape(value), self.batch_shape_tensor())
        labels = value + af.zeros(shape, af.int32)
        logits = self._logits + af.zeros(af.concat([shape, [1]], 0), self._logits.dtype)
        return -af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, value: Any) -> Any:
        shape = af.broadcast_dynamic_shape(af.shape(value), self.batch_shape_tensor())
        counted = af.range_(self.event_size) <= af.expand_dims(value + af.zeros(shape, af.int32), -1)
        # The distribution function of TensorFlow 1.15 leaves out the class itself.
        counted = af.logical_and(
            counted, af.not_equal(af.range_(self.event_size), af.expand_dims(value + af.zeros(shape, af.int32), -1))
        )
        return af.reduce_sum(self._probs * af.cast(counted, self._probs.dtype), -1)

    def _entropy(self) -> Any:
        return -af.reduce_sum(af.nn.log_softmax(self._logits) * af.nn.softmax(self._logits), -1)

    def _mode(self) -> Any:
        return af.cast(af.argmax(self._logits, -1), self.dtype)


class Multinomial(_Probable):
    """How often each class is drawn in `total_count` draws."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        super().__init__(logits, probs, None, validate_args, allow_nan_stats, name, parameters)
        self._total_count = af.cast(total_count, self._logits.dtype)

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    def _batch_shape(self) -> Any:
        return af.broadcast_static_shape(self._total_count.shape, self._logits.shape[:-1])

    def _batch_shape_tensor(self) -> Any:
        return af.broadcast_dynamic_shape(af.shape(self._total_count), af.shape(self._logits)[:-1])

    def _event_shape(self) -> Any:
        return self._logits.shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return af.shape(self._logits)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return counts(n, self._total_count, self._logits, self.batch_shape_tensor(), seed)

    def _log_prob(self, value: Any) -> Any:
        return log_ways(self._total_count, value) + af.reduce_sum(value * af.nn.log_softmax(self._logits), -1)

    def _mean(self) -> Any:
        return self._probs * self._total_count[..., None]

    def _covariance(self) -> Any:
        probs = self._probs * af.ones_like(self._total_count)[..., None]
        outer = -af.matmul(self._mean()[..., None], probs[..., None, :])
        return af.matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        mean = self._mean()
        return mean - mean * self._probs


def log_ways(total: Any, value: Any) -> Any:
    """The logarithm of the number of orders in which counts can come."""
    return af.lgamma(total + 1.0) - af.reduce_sum(af.lgamma(value + 1.0), -1)


def counts(n: Any, total: Any, logits: Any, batch: Any, seed: int | None) -> Any:
    """`n` draws of the counts of classes, `[n, ..., classes]`; all numbers of draws are as large as the largest, then cut."""
    classes = af.shape(logits)[-1]
    rows = af.reshape(logits + af.zeros(af.concat([batch, [1]], 0), logits.dtype), [-1, classes])
    totals = af.reshape(total + af.zeros(batch, total.dtype), [-1])
    most = af.cast(af.reduce_max(totals), af.int32)
    drawn = af.reshape(af.multinomial(rows, n * most, seed=seed, output_dtype=af.int32), [-1, n, most])
    counted = af.cast(af.range_(most), total.dtype) < totals[:, None, None]
    places = af.one_hot(drawn, classes, dtype=logits.dtype) * af.cast(counted, logits.dtype)[..., None]
    sums = af.transpose(af.reduce_sum(places, 2), [1, 0, 2])
    return af.reshape(sums, af.concat([[n], batch, [classes]], 0))
