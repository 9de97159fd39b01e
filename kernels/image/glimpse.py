"""The kernel of glimpses."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import float32
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..random import philox
from ..random.distributions import stream


@kernel("ExtractGlimpse")
def extract_glimpse(
    xp: Any, images: Any, size: Any, offsets: Any, *, centered: bool, normalized: bool, noise: str, ctx: KernelContext
) -> Any:
    if images.ndim != 4 or size.shape != (2,) or offsets.shape != (len(images), 2):
        raise InvalidArgumentError(
            f"Glimpses need images [batch, height, width, channels], two sizes and an offset [batch, 2] for each image, but "
            f"the shapes are {images.shape}, {size.shape} and {offsets.shape}."
        )
    window = tuple(int(n) for n in size)
    if min(window) <= 0:
        raise InvalidArgumentError(f"A glimpse has a height and a width of one or more, not {list(window)}.")
    glimpses = xp.zeros((len(images), *window, images.shape[3]), images.dtype)
    source = None if noise == "zero" else stream(ctx, 0, 0)
    for image, offset, glimpse in zip(images, np.asarray(offsets), glimpses):
        begins = [_begin(float(o), *sizes, centered, normalized) for o, sizes in zip(offset, zip(image.shape, window))]
        spans = [_overlap(b, n, k) for b, n, k in zip(begins, image.shape, window)]
        if source is not None and image.size and any(hi - lo < k for (lo, hi), k in zip(spans, window)):
            glimpse[...] = _noise(xp, source, image, glimpse.shape, noise)
        (top, bottom), (left, right) = spans
        y, x = begins
        if top < bottom and left < right:
            glimpse[top:bottom, left:right] = image[y + top : y + bottom, x + left : x + right]
    return glimpses


def _begin(offset: float, size: int, window: int, centered: bool, normalized: bool) -> int:
    """The beginning of a window in its image, along one dimension."""
    at = offset * size if normalized else offset
    if centered:
        at = at / 2 + size / 2
    return int(np.float32(at - window / 2))


def _overlap(begin: int, size: int, window: int) -> tuple[int, int]:
    """The part of the window that lies in the image, counted in the window."""
    low = min(window, max(0, -begin))
    return low, max(low, min(window, size - begin))


def _noise(xp: Any, source: philox.PhiloxStream, image: Any, shape: Any, noise: str) -> Any:
    if noise == "uniform":
        low = float(image.min())
        values = low + philox.fill(source, philox.uniform(24), shape, float32) * (float(image.max()) - low)
    else:
        values = float(image.mean()) + philox.fill(source, philox.normal, shape, float32) * float(image.std())
    return xp.asarray(values.astype(np.float32))
