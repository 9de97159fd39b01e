"""The common helpers of functions of images: the check of the rank, a single image as a batch, and sizes as far as they are
known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.array.shape import expand_dims, reshape, shape, squeeze
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.tensor import Tensor, TensorLike


def image_of(image: TensorLike, what: str = "image") -> Tensor:
    """`image` as a tensor. Raises ValueError where its rank is known and less than 3."""
    tensor = convert_to_tensor(image)
    if tensor.static_shape is not None and len(tensor.static_shape) < 3:
        raise ValueError(f"{what!r} (shape {tensor.shape}) must be at least three-dimensional.")
    return tensor


def rank_of(image: Tensor, *ranks: int) -> int:
    """The rank. Raises ValueError for a rank that is not known, or not in `ranks`."""
    static_shape = image.static_shape
    if static_shape is None or len(static_shape) not in ranks:
        shown = " or ".join(map(str, ranks))
        raise ValueError(
            f"'image' (shape {image.shape}) must have either {shown} dimensions, and their number has to be known."
        )
    return len(static_shape)


def one_or_many(image: TensorLike) -> tuple[Tensor, int]:
    """`image` with its rank, 3 or 4; an image of unknown rank is a single image, as in TensorFlow. Raises ValueError for
    another rank."""
    tensor = convert_to_tensor(image)
    if tensor.static_shape is None:
        tensor = identity(tensor)
        tensor.set_shape((None, None, None))
    rank = len(tensor.static_shape or ())
    if rank not in (3, 4):
        raise ValueError(f"'image' must have either 3 or 4 dimensions. It has the shape {tensor.shape}.")
    return tensor, rank


def sizes_of(image: Tensor, rank: int) -> tuple[Any, Any, Any]:
    """Height, width and channels: known sizes as numbers, the others as tensors."""
    static_shape = image.static_shape or (None,) * rank
    dynamic: Any = shape(image) if None in static_shape[-3:] else None
    height, width, channels = (
        size if size is not None else dynamic[place] for place, size in zip(range(rank - 3, rank), static_shape[-3:])
    )
    return height, width, channels


def in_batches(image: Tensor, of_batch: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """`of_batch` of images of rank 4; one image is made a batch of one meanwhile."""
    if rank_of(image, 3, 4) == 4:
        return identity(of_batch(image), name=name)
    return squeeze(of_batch(expand_dims(image, 0)), [0], name=name)


def one_batch(image: Tensor, of_batch: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """The same for images of rank 3 or more: the first dimensions become one meanwhile."""
    static_shape = image.static_shape
    if static_shape is not None and len(static_shape) in (3, 4):
        return in_batches(image, of_batch, name)
    sizes = shape(image)
    batch = of_batch(reshape(image, concat([[-1], sizes[-3:]], 0)))
    return reshape(batch, concat([sizes[:-3], shape(batch)[1:]], 0), name=name)
