# `make names` writes this file from the marks in the sources.

from actorflow.graph.ops.math.logic import bitwise_and as bitwise_and
from actorflow.graph.ops.math.logic import bitwise_or as bitwise_or
from actorflow.graph.ops.math.logic import bitwise_xor as bitwise_xor
from actorflow.graph.ops.math.logic import invert as invert
from actorflow.graph.ops.math.logic import left_shift as left_shift
from actorflow.graph.ops.math.logic import right_shift as right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
