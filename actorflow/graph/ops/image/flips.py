"""Images turned over: mirrored, transposed, turned by right angles, at random too (`tf.image.flip_left_right`, ...)."""

from __future__ import annotations

from typing import Any

from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.shape import reshape, reverse, shape, transpose
from actorflow.graph.ops.building import composite, known_value
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.image.ranks import image_of, one_or_many
from actorflow.graph.ops.math.logic import equal, less, logical_or, where_v2
from actorflow.graph.ops.random.distributions import random_uniform
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


def _flipped(image: TensorLike, axis: int, name: str, scope: str | None = None) -> Tensor:
    with composite(scope, name, image_of(image)) as inner:
        source, rank = one_or_many(image)
        return reverse(source, [rank + axis], name=inner)


@public("af.image")
def flip_left_right(image: TensorLike) -> Tensor:
    """Images mirrored along their width (`tf.image.flip_left_right`).

    `image` is `[batch, height, width, channels]` or `[height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> af.image.flip_left_right([[[1], [2]], [[3], [4]]])[:, :, 0]
        [[2 1]
         [4 3]]
    """
    return _flipped(image, -2, "flip_left_right")


@public("af.image")
def flip_up_down(image: TensorLike) -> Tensor:
    """Images mirrored along their height (`tf.image.flip_up_down`).

    `image` is `[batch, height, width, channels]` or `[height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> af.image.flip_up_down([[[1], [2]], [[3], [4]]])[:, :, 0]
        [[3 4]
         [1 2]]
    """
    return _flipped(image, -3, "flip_up_down")


def _perhaps(image: TensorLike, axis: int, seed: int | None, name: str) -> Tensor:
    with composite(None, name, image_of(image)) as scope:
        source, rank = one_or_many(image)
        drawn = random_uniform([] if rank == 3 else shape(source)[:1], seed=seed)
        turned = less(drawn, 0.5) if rank == 3 else reshape(less(drawn, 0.5), [-1, 1, 1, 1])
        return where_v2(turned, reverse(source, [rank + axis]), source, name=scope)


@public("af.image")
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image mirrored along its width with a chance of one half (`tf.image.random_flip_left_right`).

    `image` is `[batch, height, width, channels]` or `[height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> flipped = af.image.random_flip_left_right([[[1], [2]]])
        >>> af.sort(flipped[0, :, 0])
        [1 2]
    """
    return _perhaps(image, -2, seed, "random_flip_left_right")


@public("af.image")
def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Each image mirrored along its height with a chance of one half (`tf.image.random_flip_up_down`).

    `image` is `[batch, height, width, channels]` or `[height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> flipped = af.image.random_flip_up_down([[[1]], [[2]]])
        >>> af.sort(flipped[:, 0, 0])
        [1 2]
    """
    return _perhaps(image, -3, seed, "random_flip_up_down")


@public("af.image", "af.image:transpose")
def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Height and width exchanged (`tf.image.transpose_image`).

    `image` is `[batch, height, width, channels]` or `[height, width, channels]`; ValueError is raised for another rank.

    Example:
        >>> af.image.transpose([[[1], [2]], [[3], [4]]])[:, :, 0]
        [[1 3]
         [2 4]]
    """
    with composite(name, "transpose", image_of(image)) as scope:
        source, rank = one_or_many(image)
        return transpose(source, [1, 0, 2] if rank == 3 else [0, 2, 1, 3], name=scope)


@public("af.image")
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Images turned counter-clockwise by right angles (`tf.image.rot90`).

    Example:
        >>> af.image.rot90([[[1], [2]], [[3], [4]]])[:, :, 0]
        [[2 4]
         [1 3]]

    Args:
        image: `[batch, height, width, channels]` or `[height, width, channels]`.
        k: by how many right angles, a scalar.

    Raises:
        ValueError: another rank.
    """
    source = image_of(image)
    with composite(name, "rot90", source) as scope:
        source, rank = one_or_many(source)
        height, width = rank - 3, rank - 2
        upright, swapped = ([0, 1, 2], [1, 0, 2]) if rank == 3 else ([0, 1, 2, 3], [0, 2, 1, 3])
        times = convert_to_tensor(k)
        turn = known_value(times)
        if turn is not None:
            turns: list[Any] = [
                lambda: source,
                lambda: reverse(transpose(source, swapped), [height]),
                lambda: reverse(source, [height, width]),
                lambda: transpose(reverse(source, [height]), swapped),
            ]
            return identity(turns[int(turn) % 4](), name=scope)
        quarter = times % 4
        once, twice, thrice = (equal(quarter, constant(number, times.dtype)) for number in (1, 2, 3))
        turned = transpose(source, where_v2(logical_or(once, thrice), swapped, upright))
        turned = where_v2(logical_or(once, twice), reverse(turned, [height]), turned)
        return where_v2(logical_or(twice, thrice), reverse(turned, [width]), turned, name=scope)
