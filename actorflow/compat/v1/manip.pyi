# `make names` writes this file from the marks in the sources.

from actorflow.ops.gathering import gather_nd as gather_nd
from actorflow.ops.gathering import scatter_nd as scatter_nd
from actorflow.ops.ordering import roll as roll
from actorflow.ops.padding import tile as tile
from actorflow.ops.shaping import reshape as reshape
from actorflow.ops.shaping import reverse as reverse
from actorflow.ops.spatial import batch_to_space_nd as batch_to_space_nd
from actorflow.ops.spatial import space_to_batch_nd as space_to_batch_nd

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
