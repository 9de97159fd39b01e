"""Distributions of vectors of probabilities: Dirichlet, and counts that are drawn with such probabilities."""

from __future__ import annotations

from typing import Any

import actorflow as af
from actorflow.compat.names.distributions.discrete import counts, log_ways
from actorflow.compat.names.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
    positive,
)


def _log_beta(x: Any) -> Any:
    return af.reduce_sum(af.lgamma(x), -1) - af.lgamma(af.reduce_sum(x, -1))


class _Concentrated(Distribution):
    """A distribution over vectors, by the weight of each place."""

    _PARAMETERS = ("concentration",)
    _KIND: ReparameterizationType = FULLY_REPARAMETERIZED

    def __init__(
        self, concentration: Any, validate_args: bool, allow_nan_stats: bool, name: str, parameters: Any
    ) -> None:
        with af.name_scope(name):
            self._concentration = positive(validate_args, af.convert_to_tensor(concentration))
        self._total = af.reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype,
            self._KIND,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._concentration],
            name,
        )

    @property
    def concentration(self) -> Any:
        """The weights of places."""
        return self._concentration

    @property
    def total_concentration(self) -> Any:
        """The weights of all places together."""
        return self._total

    def _batch_shape(self) -> Any:
        return self._total.shape

    def _batch_shape_tensor(self) -> Any:
        return af.shape(self._total)

    def _event_shape(self) -> Any:
        return self._concentration.shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return af.shape(self._concentration)[-1:]


class Dirichlet(_Concentrated):
    """The Dirichlet distribution of vectors of probabilities.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.distributions.Dirichlet([1.0, 3.0]).mean()
        [0.25 0.75]
    """

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ) -> None:
        super().__init__(concentration, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = af.random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)
        return drawn / af.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, value: Any) -> Any:
        return af.reduce_sum((self._concentration - 1) * af.log(value), -1) - _log_beta(self._concentration)

    def _entropy(self) -> Any:
        classes = af.cast(af.shape(self._concentration)[-1], self.dtype)
        slopes = af.reduce_sum((self._concentration - 1) * af.digamma(self._concentration), -1)
        return _log_beta(self._concentration) + (self._total - classes) * af.digamma(self._total) - slopes

    def _mean(self) -> Any:
        return self._concentration / self._total[..., None]

    def _variance(self) -> Any:
        mean = self._mean()
        return mean * (1 - mean) / (1 + self._total)[..., None]

    def _covariance(self) -> Any:
        mean = self._mean()
        scale = (1 / (1 + self._total))[..., None, None]
        outer = -af.matmul((mean * scale[..., 0])[..., None], mean[..., None, :])
        return af.matrix_set_diag(outer, self._variance())

    def _mode(self) -> Any:
        classes = af.cast(af.shape(self._concentration)[-1], self.dtype)
        mode = (self._concentration - 1) / (self._total - classes)[..., None]
        defined = af.reduce_all(self._concentration > 1, -1, keepdims=True)
        return self._undefined(af.logical_and(defined, af.ones_like(mode, af.bool)), mode, "mode")


class DirichletMultinomial(_Concentrated):
    """How often each class is drawn in `total_count` draws, with probabilities drawn of a Dirichlet distribution."""

    _KIND = NOT_REPARAMETERIZED

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        super().__init__(concentration, validate_args, allow_nan_stats, name, dict(locals()))
        self._total_count = af.cast(total_count, self._concentration.dtype)

    @property
    def total_count(self) -> Any:
        """The number of draws."""
        return self._total_count

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        gamma = af.random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)
        batch = af.concat([[n], self.batch_shape_tensor()], 0)
        drawn = counts(1, self._total_count, af.log(gamma), batch, None if seed is None else seed + 1)
        return drawn[0]

    def _log_prob(self, value: Any) -> Any:
        both = self._concentration + value
        return _log_beta(both) - _log_beta(self._concentration) + log_ways(self._total_count, value)

    def _mean(self) -> Any:
        return self._total_count[..., None] * (self._concentration / self._total[..., None])

    def _factor(self) -> Any:
        total = self._total[..., None]
        return af.sqrt((1 + total / self._total_count[..., None]) / (1 + total))

    def _covariance(self) -> Any:
        x = self._factor() * self._mean()
        outer = -af.matmul(x[..., None], x[..., None, :])
        return af.matrix_set_diag(outer, self._variance())

    def _variance(self) -> Any:
        x = self._factor() * self._mean()
        return x * (self._total_count[..., None] * self._factor() - x)
