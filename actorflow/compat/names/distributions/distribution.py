"""`Distribution`: what all distributions have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af


class ReparameterizationType:
    """Whether the gradient of a draw with respect to parameters is known."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


def _refusal(self: Any, what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} is not implemented: {type(self).__name__}")


class Distribution:
    """The base of distributions. A class of one's own gives `_batch_shape`, `_sample_n`, `_log_prob` or `_prob` and others.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> half = tf.distributions.Normal(loc=[0.0, 1.0], scale=1.0)
        >>> half.batch_shape.as_list(), half.sample(3).shape.as_list()
        ([2], [3, 2])
        >>> half.prob(0.0), half.stddev()
        ([0.3989 0.242 ], [1. 1.])
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Mapping[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        """
        Args:
            dtype: the type of draws.
            reparameterization_type: whether draws have a gradient with respect to parameters.
            validate_args: whether parameters and values are checked in the run.
            allow_nan_stats: whether statistics that are not defined are NaN; otherwise they raise an error in the run.
            parameters: the arguments of the class, for `copy`.
            graph_parents: the tensors of which the distribution is made.
            name: the name.
        """
        self._dtype = af.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._graph_parents = list(graph_parents or ())
        self._parameters = {
            key: value for key, value in (parameters or {}).items() if key != "self" and not key.startswith("__")
        }
        self._name = f"{(name or type(self).__name__).removesuffix('/')}/"

    @property
    def name(self) -> str:
        """The name, as a scope."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The type of draws."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the class."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether draws have a gradient with respect to parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether statistics that are not defined are NaN."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether parameters and values are checked."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A distribution of the same arguments but those given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, Any]:
        """The static shapes of parameters for draws of a shape. Raises ValueError for an unknown shape."""
        shape = af.TensorShape(sample_shape)
        if not shape.is_fully_defined():
            raise ValueError("sample_shape must be fully defined to give shapes of parameters.")
        return {name: shape for name in cls._PARAMETERS}

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Any]:
        """The shapes of parameters for draws of a shape."""
        with af.name_scope(name):
            return {parameter: af.convert_to_tensor(sample_shape, af.int32) for parameter in cls._PARAMETERS}

    _PARAMETERS: tuple[str, ...] = ()
    """The names of the parameters that are numbers."""

    # Shapes

    @property
    def batch_shape(self) -> Any:
        """The static shape of the parameters together."""
        return af.TensorShape(self._batch_shape())

    @property
    def event_shape(self) -> Any:
        """The static shape of a draw of a single distribution."""
        return af.TensorShape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape of the parameters together."""
        static = self.batch_shape
        return af.constant(static.as_list(), af.int32) if static.is_fully_defined() else self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """The shape of a draw of a single distribution."""
        static = self.event_shape
        return af.constant(static.as_list(), af.int32) if static.is_fully_defined() else self._event_shape_tensor()

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Whether a draw is a number."""
        return af.equal(af.size(self.event_shape_tensor()), 0)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Whether the parameters are numbers."""
        return af.equal(af.size(self.batch_shape_tensor()), 0)

    def _batch_shape(self) -> Any:
        return None

    def _event_shape(self) -> Any:
        return af.TensorShape([])

    def _batch_shape_tensor(self) -> Any:
        raise _refusal(self, "batch_shape_tensor")

    def _event_shape_tensor(self) -> Any:
        raise _refusal(self, "event_shape_tensor")

    # Draws

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Draws of shape `sample_shape`, the shape of the batch and that of an event.

        Args:
            sample_shape: how many draws.
            seed: makes the draws the same in every session.
            name: a scope.
        """
        with af.name_scope(f"{self.name}{name}"):
            shape = af.reshape(af.convert_to_tensor(sample_shape, af.int32), [-1])
            drawn = self._sample_n(af.reduce_prod(shape), seed)
            result = af.reshape(drawn, af.concat([shape, af.shape(drawn)[1:]], 0))
            static = af.constant_value_as_shape(shape) if hasattr(af, "constant_value_as_shape") else None
            if static is None and not isinstance(sample_shape, af.Tensor):
                sizes = sample_shape if isinstance(sample_shape, (list, tuple)) else [sample_shape]
                static = af.TensorShape([each if isinstance(each, int) else None for each in sizes])
            if static is not None:
                result.set_shape(static.concatenate(self.batch_shape).concatenate(self.event_shape))
            return result

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        raise _refusal(self, "sample")

    # Densities and statistics

    def _value(self, value: Any) -> Any:
        return af.convert_to_tensor(value, self.dtype)

    def log_prob(self, value: Any, name: str = "log_prob") -> Any:
        """The logarithm of the density, or of the probability, at `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._log_prob(self._value(value))

    def prob(self, value: Any, name: str = "prob") -> Any:
        """The density, or the probability, at `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._prob(self._value(value))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Any:
        """The logarithm of the probability of a draw of at most `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._log_cdf(self._value(value))

    def cdf(self, value: Any, name: str = "cdf") -> Any:
        """The probability of a draw of at most `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._cdf(self._value(value))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Any:
        """The logarithm of the probability of a draw above `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._log_survival_function(self._value(value))

    def survival_function(self, value: Any, name: str = "survival_function") -> Any:
        """The probability of a draw above `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._survival_function(self._value(value))

    def quantile(self, value: Any, name: str = "quantile") -> Any:
        """The number that draws exceed with probability 1 - `value`."""
        with af.name_scope(f"{self.name}{name}"):
            return self._quantile(self._value(value))

    def entropy(self, name: str = "entropy") -> Any:
        """The entropy, in nats."""
        with af.name_scope(f"{self.name}{name}"):
            return self._entropy()

    def mean(self, name: str = "mean") -> Any:
        """The mean."""
        with af.name_scope(f"{self.name}{name}"):
            return self._mean()

    def variance(self, name: str = "variance") -> Any:
        """The variance."""
        with af.name_scope(f"{self.name}{name}"):
            return self._variance()

    def stddev(self, name: str = "stddev") -> Any:
        """The standard deviation."""
        with af.name_scope(f"{self.name}{name}"):
            return self._stddev()

    def covariance(self, name: str = "covariance") -> Any:
        """The matrix of covariances of an event that is a vector."""
        with af.name_scope(f"{self.name}{name}"):
            return self._covariance()

    def mode(self, name: str = "mode") -> Any:
        """The value of the greatest density."""
        with af.name_scope(f"{self.name}{name}"):
            return self._mode()

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """The entropy plus the divergence of another distribution from this."""
        with af.name_scope(f"{self.name}{name}"):
            return self._entropy() + self.kl_divergence(other)

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """The Kullback-Leibler divergence of `other` from this distribution."""
        from actorflow.compat.names.distributions.divergence import kl_divergence

        with af.name_scope(f"{self.name}{name}"):
            return kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def _log_prob(self, value: Any) -> Any:
        if type(self)._prob is Distribution._prob:
            raise _refusal(self, "log_prob")
        return af.log(self._prob(value))

    def _prob(self, value: Any) -> Any:
        if type(self)._log_prob is Distribution._log_prob:
            raise _refusal(self, "prob")
        return af.exp(self._log_prob(value))

    def _log_cdf(self, value: Any) -> Any:
        if type(self)._cdf is Distribution._cdf:
            raise _refusal(self, "log_cdf")
        return af.log(self._cdf(value))

    def _cdf(self, value: Any) -> Any:
        if type(self)._log_cdf is Distribution._log_cdf:
            raise _refusal(self, "cdf")
        return af.exp(self._log_cdf(value))

    def _log_survival_function(self, value: Any) -> Any:
        return af.log(self._survival_function(value))

    def _survival_function(self, value: Any) -> Any:
        return 1 - self._cdf(value)

    def _stddev(self) -> Any:
        return af.sqrt(self._variance())

    def _quantile(self, value: Any) -> Any:
        raise _refusal(self, "quantile")

    def _entropy(self) -> Any:
        raise _refusal(self, "entropy")

    def _mean(self) -> Any:
        raise _refusal(self, "mean")

    def _variance(self) -> Any:
        raise _refusal(self, "variance")

    def _covariance(self) -> Any:
        raise _refusal(self, "covariance")

    def _mode(self) -> Any:
        raise _refusal(self, "mode")

    def _undefined(self, defined: Any, value: Any, what: str) -> Any:
        """`value` at its defined entries; at the others NaN, or an error of the run."""
        if self.allow_nan_stats:
            return af.where(defined, value, af.fill(af.shape(value), self.dtype.as_numpy_dtype(float("nan"))))
        check = af.Assert(af.reduce_all(defined), [f"{what} not defined for some parameters of {self.name}"])
        with af.control_dependencies([check]):
            return af.identity(value)

    def __repr__(self) -> str:
        return (
            f"<tf.distributions.{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )


def positive(checked: bool, value: Any) -> Any:
    """`value`, which has to be above 0 in the run where that is checked."""
    if not checked:
        return value
    with af.control_dependencies([af.assert_positive(value)]):
        return af.identity(value)


class Scalar(Distribution):
    """A distribution of numbers, whose batch has the shape of its parameters together."""

    _LISTED: tuple[Any, ...]

    def _batch_shape(self) -> Any:
        shape = af.TensorShape([])
        for parameter in self._LISTED:
            shape = af.broadcast_static_shape(shape, parameter.shape)
        return shape

    def _batch_shape_tensor(self) -> Any:
        shape = af.shape(self._LISTED[0])
        for parameter in self._LISTED[1:]:
            shape = af.broadcast_dynamic_shape(shape, af.shape(parameter))
        return shape

    def _whole(self, value: Any) -> Any:
        """`value` in the shape of the batch."""
        return value * af.ones(self.batch_shape_tensor(), self.dtype)

    def _drawn(self, n: Any) -> Any:
        """The shape of `n` draws."""
        return af.concat([[n], self.batch_shape_tensor()], 0)
