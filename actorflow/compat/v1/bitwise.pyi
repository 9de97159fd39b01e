# `make names` writes this file from the marks in the sources.

from actorflow.ops.bitwise import bitwise_and as bitwise_and
from actorflow.ops.bitwise import bitwise_or as bitwise_or
from actorflow.ops.bitwise import bitwise_xor as bitwise_xor
from actorflow.ops.bitwise import invert as invert
from actorflow.ops.bitwise import left_shift as left_shift
from actorflow.ops.bitwise import right_shift as right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
