"""Kullback-Leibler divergences, by pairs of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow as af
from actorflow.compat.names.distributions.continuous import Beta, Gamma, Normal
from actorflow.compat.names.distributions.discrete import Bernoulli, Categorical
from actorflow.compat.names.distributions.distribution import Distribution
from actorflow.compat.names.distributions.simplex import Dirichlet

_FUNCTIONS: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """A decorator of the function that computes the divergence of a class from another: `f(first, second, name=None)`.

    Raises ValueError for a pair that has a function, and TypeError for what is no function.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn!r:.60}")
        if self._key in _FUNCTIONS:
            names = ", ".join(kind.__name__ for kind in self._key)
            raise ValueError(f"KL({names}) has already been registered.")
        _FUNCTIONS[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Distribution, distribution_b: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """The Kullback-Leibler divergence of the second distribution from the first.

    Args:
        distribution_a: the distribution over which the mean is taken.
        distribution_b: the other.
        allow_nan_stats: whether NaN may come; otherwise it is an error of the run.
        name: a scope.

    Raises:
        NotImplementedError: no function is known for the two classes.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.distributions.kl_divergence(tf.distributions.Normal(0.0, 1.0), tf.distributions.Normal(1.0, 1.0))
        0.5
    """
    function = next(
        (
            _FUNCTIONS[first, second]
            for first in type(distribution_a).__mro__
            for second in type(distribution_b).__mro__
            if (first, second) in _FUNCTIONS
        ),
        None,
    )
    if function is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type {type(distribution_a).__name__} "
            f"and distribution_b type {type(distribution_b).__name__}; tf.distributions.RegisterKL registers a function."
        )
    with af.name_scope(name, "KullbackLeibler"):
        value = function(distribution_a, distribution_b, name=name)
        return value if allow_nan_stats else af.check_numerics(value, "KL divergence")


@RegisterKL(Normal, Normal)
def _normal(a: Any, b: Any, name: str | None = None) -> Any:
    ratio = af.square(a.scale) / af.square(b.scale)
    return af.square(a.loc - b.loc) / (2 * af.square(b.scale)) + 0.5 * (ratio - 1 - af.log(ratio))


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli(a: Any, b: Any, name: str | None = None) -> Any:
    zeros, ones = (
        af.nn.softplus(-b.logits) - af.nn.softplus(-a.logits),
        af.nn.softplus(b.logits) - af.nn.softplus(a.logits),
    )
    return af.sigmoid(a.logits) * zeros + af.sigmoid(-a.logits) * ones


@RegisterKL(Categorical, Categorical)
def _categorical(a: Any, b: Any, name: str | None = None) -> Any:
    difference = af.nn.log_softmax(a.logits) - af.nn.log_softmax(b.logits)
    return af.reduce_sum(af.nn.softmax(a.logits) * difference, -1)


@RegisterKL(Gamma, Gamma)
def _gamma(a: Any, b: Any, name: str | None = None) -> Any:
    return (
        (a.concentration - b.concentration) * af.digamma(a.concentration)
        + af.lgamma(b.concentration)
        - af.lgamma(a.concentration)
        + b.concentration * af.log(a.rate)
        - b.concentration * af.log(b.rate)
        + a.concentration * (b.rate / a.rate - 1)
    )


@RegisterKL(Beta, Beta)
def _beta(a: Any, b: Any, name: str | None = None) -> Any:
    total_a, total_b = a.total_concentration, b.total_concentration
    return (
        b.log_normalization()
        - a.log_normalization()
        - af.digamma(a.concentration1) * (b.concentration1 - a.concentration1)
        - af.digamma(a.concentration0) * (b.concentration0 - a.concentration0)
        + af.digamma(total_a) * (total_b - total_a)
    )


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet(a: Any, b: Any, name: str | None = None) -> Any:
    slopes = af.digamma(a.concentration) - af.digamma(a.total_concentration)[..., None]

    def log_beta(x: Any) -> Any:
        return af.reduce_sum(af.lgamma(x), -1) - af.lgamma(af.reduce_sum(x, -1))

    return (
        af.reduce_sum((a.concentration - b.concentration) * slopes, -1)
        - log_beta(a.concentration)
        + log_beta(b.concentration)
    )
