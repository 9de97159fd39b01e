# `make names` writes this file from the marks in the sources.

from actorflow.ops.candidate_sampling import all_candidate_sampler as all_candidate_sampler
from actorflow.ops.candidate_sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from actorflow.ops.candidate_sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from actorflow.ops.candidate_sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from actorflow.ops.candidate_sampling import uniform_candidate_sampler as uniform_candidate_sampler
from actorflow.ops.random import multinomial as categorical
from actorflow.ops.random import multinomial as multinomial
from actorflow.ops.random import random_normal as normal
from actorflow.ops.random import random_shuffle as shuffle
from actorflow.ops.random import random_uniform as uniform
from actorflow.ops.random import set_random_seed as set_random_seed
from actorflow.ops.random import truncated_normal as truncated_normal
from actorflow.ops.random_distributions import random_gamma as gamma
from actorflow.ops.random_distributions import random_poisson as poisson
from actorflow.ops.stateless_random import stateless_multinomial as stateless_multinomial
from actorflow.ops.stateless_random import stateless_random_normal as stateless_normal
from actorflow.ops.stateless_random import stateless_random_uniform as stateless_uniform
from actorflow.ops.stateless_random import stateless_truncated_normal as stateless_truncated_normal

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
