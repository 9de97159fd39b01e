"""Random parts of a tensor."""

from __future__ import annotations

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.building import composite
from actorflow.ops.control import Assert, with_dependencies
from actorflow.ops.indexing import slice_
from actorflow.ops.logic import greater_equal
from actorflow.ops.random import random_uniform
from actorflow.ops.reduction import reduce_all
from actorflow.ops.shaping import shape
from actorflow.public import public


@public("af")
def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of `value` of the sizes in the vector `size`, at a place drawn uniformly in each run (`tf.random_crop`).

    `seed` makes the places the same in every session. Raises InvalidArgumentError in the run where a size is larger than
    the tensor's.
    """
    with composite(name, "random_crop", value, size) as scope:
        source = convert_to_tensor(value)
        wanted = convert_to_tensor(size, preferred_dtype="int32", graph=source.graph)
        whole = shape(source, out_type=wanted.dtype)
        fits = Assert(reduce_all(greater_equal(whole, wanted)), ["Need value.shape >= size, got", whole, wanted])
        room = with_dependencies([fits], whole) - wanted + 1
        drawn = random_uniform(shape(whole), dtype=wanted.dtype, maxval=wanted.dtype.max, seed=seed)
        return slice_(source, drawn % room, wanted, name=scope)
