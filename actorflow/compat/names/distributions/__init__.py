"""`tf.distributions`: draws, densities and divergences of distributions, over public ops. Gradients are those of these ops.

continuous.py    numbers: normal, Laplace, Student's t, uniform, gamma, exponential, beta
discrete.py      classes and counts: Bernoulli, categorical, multinomial
distribution.py  `Distribution`: what all distributions have in common
divergence.py    Kullback-Leibler divergences, by pairs of classes
simplex.py       vectors of probabilities: Dirichlet, and counts that are drawn with these
"""

from __future__ import annotations

from actorflow.compat.names.distributions.continuous import (
    Beta,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    StudentT,
    Uniform,
)
from actorflow.compat.names.distributions.discrete import Bernoulli, Categorical, Multinomial
from actorflow.compat.names.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from actorflow.compat.names.distributions.divergence import RegisterKL, kl_divergence
from actorflow.compat.names.distributions.simplex import Dirichlet, DirichletMultinomial
from actorflow.public import public

public("tf:distributions")

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "Gamma",
    "Laplace",
    "Multinomial",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]
