"""Glimpses: windows around given points of images, which may lie partly outside (`tf.image.extract_glimpse`)."""

from __future__ import annotations

from actorflow.base.dtypes import float32, int32
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

NOISES = ("uniform", "gaussian", "zero")


def _glimpse(c: Inference) -> Shape:
    images, offsets = require_rank(c, 0, 4), require_rank(c, 2, 2)
    merge(offsets, (None, 2))
    batch = merge(None if images is None else images[:1], None if offsets is None else offsets[:1])
    merge(require_rank(c, 1, 1), (2,))
    sizes = c.shape_value(1) or (None, None)
    if any(size is not None and size <= 0 for size in sizes):
        raise ValueError(f"A glimpse has a height and a width of one or more, not {list(sizes)}.")
    if c.attrs["noise"] not in NOISES:
        raise ValueError(f"The noise is {', '.join(NOISES)}, not {c.attrs['noise']!r}.")
    return (None if batch is None else batch[0], *sizes, None if images is None else images[3])


@op(
    "ExtractGlimpse",
    shape=_glimpse,
    types={"input": float32, "size": int32, "offsets": float32},
    result=float32,
    gradient=None,
    stateful=True,
    work=10,
)
def extract_glimpse_op(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    *,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """See `extract_glimpse`. It draws fresh noise in each run."""


@public("af.image")
def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image around a point of its own (`tf.image.extract_glimpse`). Pixels outside are random noise.

    Example:
        >>> image = af.reshape(af.range_(16.0), [1, 4, 4, 1])
        >>> af.image.extract_glimpse(image, [2, 2], [[0.0, 0.0]])[0, :, :, 0]
        [[ 5.  6.]
         [ 9. 10.]]

    Args:
        input: images, float32 `[batch, height, width, channels]`.
        size: int32 `[2]`: the height and the width of the windows.
        offsets: float32 `[batch, 2]`: y and x of each window's centre.
        centered: whether the offsets count from the image's centre; otherwise from its upper left corner.
        normalized: whether offsets are shares of the image; otherwise they are pixels. With `centered`, the share (-1, -1)
            is the upper left corner, and (1, 1) is the lower right corner.
        uniform_noise: whether the noise is uniform over the range of the image; otherwise it is normal, with the
            image's mean and deviation.

    Returns:
        float32 `[batch, size[0], size[1], channels]`. It has no gradient.

    Raises:
        ValueError: other ranks or sizes. InvalidArgumentError in the run, where shapes are known only then.
    """
    noise = "uniform" if uniform_noise else "gaussian"
    return extract_glimpse_op(
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        noise=noise,
        name=name,
    )
