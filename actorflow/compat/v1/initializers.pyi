# `make names` writes this file from the marks in the sources.

from actorflow.graph.variables.collections import global_variables_initializer as global_variables
from actorflow.graph.variables.collections import local_variables_initializer as local_variables
from actorflow.graph.variables.collections import variables_initializer as variables
from actorflow.graph.variables.initializers import Constant as constant
from actorflow.graph.variables.initializers import GlorotNormal as glorot_normal
from actorflow.graph.variables.initializers import GlorotUniform as glorot_uniform
from actorflow.graph.variables.initializers import Identity as identity
from actorflow.graph.variables.initializers import Ones as ones
from actorflow.graph.variables.initializers import Orthogonal as orthogonal
from actorflow.graph.variables.initializers import RandomNormal as random_normal
from actorflow.graph.variables.initializers import RandomUniform as random_uniform
from actorflow.graph.variables.initializers import TruncatedNormal as truncated_normal
from actorflow.graph.variables.initializers import UniformUnitScaling as uniform_unit_scaling
from actorflow.graph.variables.initializers import VarianceScaling as variance_scaling
from actorflow.graph.variables.initializers import Zeros as zeros
from actorflow.graph.variables.initializers import he_normal as he_normal
from actorflow.graph.variables.initializers import he_uniform as he_uniform
from actorflow.graph.variables.initializers import lecun_normal as lecun_normal
from actorflow.graph.variables.initializers import lecun_uniform as lecun_uniform
from actorflow.models.lookup.tables import tables_initializer as tables_initializer

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
