# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import categorical as categorical
from actorflow.compat.names.functions import stateless_categorical as stateless_categorical
from actorflow.graph.ops.nn.candidate_sampling import all_candidate_sampler as all_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from actorflow.graph.ops.nn.candidate_sampling import uniform_candidate_sampler as uniform_candidate_sampler
from actorflow.graph.ops.random.distributions import get_seed as get_seed
from actorflow.graph.ops.random.distributions import multinomial as multinomial
from actorflow.graph.ops.random.distributions import random_normal as normal
from actorflow.graph.ops.random.distributions import random_shuffle as shuffle
from actorflow.graph.ops.random.distributions import random_uniform as uniform
from actorflow.graph.ops.random.distributions import set_random_seed as set_random_seed
from actorflow.graph.ops.random.distributions import truncated_normal as truncated_normal
from actorflow.graph.ops.random.gamma_poisson import random_gamma as gamma
from actorflow.graph.ops.random.gamma_poisson import random_poisson as poisson
from actorflow.graph.ops.random.stateless import stateless_multinomial as stateless_multinomial
from actorflow.graph.ops.random.stateless import stateless_random_normal as stateless_normal
from actorflow.graph.ops.random.stateless import stateless_random_uniform as stateless_uniform
from actorflow.graph.ops.random.stateless import stateless_truncated_normal as stateless_truncated_normal

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
