# `make names` writes this file from the marks in the sources.

"""Sets of numbers or strings, in the last dimension of tensors (`tf.sets`)."""

from actorflow.graph.ops.sparse.sets import set_difference as difference
from actorflow.graph.ops.sparse.sets import set_difference as set_difference
from actorflow.graph.ops.sparse.sets import set_intersection as intersection
from actorflow.graph.ops.sparse.sets import set_intersection as set_intersection
from actorflow.graph.ops.sparse.sets import set_size as set_size
from actorflow.graph.ops.sparse.sets import set_size as size
from actorflow.graph.ops.sparse.sets import set_union as set_union
from actorflow.graph.ops.sparse.sets import set_union as union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
