# `make names` writes this file from the marks in the sources.

from actorflow.graph.ops.array.gather import gather_nd as gather_nd
from actorflow.graph.ops.array.pad_tile import tile as tile
from actorflow.graph.ops.array.reverse import roll as roll
from actorflow.graph.ops.array.scatter import scatter_nd as scatter_nd
from actorflow.graph.ops.array.shape import reshape as reshape
from actorflow.graph.ops.array.shape import reverse as reverse
from actorflow.graph.ops.array.space_batch import batch_to_space_nd as batch_to_space_nd
from actorflow.graph.ops.array.space_batch import space_to_batch_nd as space_to_batch_nd

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
