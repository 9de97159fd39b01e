"""Kernels of ops that move elements between space and the batch or the channels, and of patches of images."""

from __future__ import annotations

from math import prod
from typing import Any

from actorflow.base.registry.kernel import kernel
from actorflow.graph.ops.array.space_batch import check_blocks, cropped, divided
from actorflow.graph.ops.nn.conv.geometry import WindowSpan, check_shape, span, taps

from ..strings.objects import moving_kernel


def _check(x: Any, block: Any, widths: Any, name: str) -> tuple[list[int], list[list[int]]]:
    if block.ndim != 1 or widths.shape != (len(block), 2):
        raise ValueError(f"Block sizes of shape {block.shape} don't fit {name.lower()} of shape {widths.shape}.")
    if x.ndim < len(block) + 1:
        raise ValueError(f"{len(block)} block sizes need {len(block) + 1} dimensions, but the shape is {x.shape}.")
    check_blocks(block, widths, name)
    return block.tolist(), widths.tolist()


def _outer(count: int) -> tuple[list[int], list[int]]:
    """Of space seen as (places, block) by turns: the dimensions of the places, those of the blocks."""
    return [1 + 2 * d for d in range(count)], [2 + 2 * d for d in range(count)]


@moving_kernel("SpaceToBatchND")
def space_to_batch_nd(xp: Any, x: Any, block: Any, paddings: Any) -> Any:
    sizes, widths = _check(x, block, paddings, "Paddings")
    count = len(sizes)
    space = x.shape[1 : 1 + count]
    rest = x.shape[1 + count :]
    padded = x
    if any(map(any, widths)):
        shape = (len(x), *(a + size + b for size, (a, b) in zip(space, widths)), *rest)
        padded = xp.full(shape, b"", object) if x.dtype == object else xp.zeros(shape, x.dtype)
        inner = tuple(slice(a, a + size) for size, (a, _) in zip(space, widths))
        padded[(slice(None), *inner)] = x
    places = [divided(size, b, "A padded dimension") for size, b in zip(padded.shape[1:], sizes)]
    pairs = [part for pair in zip(places, sizes) for part in pair]
    outer, inside = _outer(count)
    split = padded.reshape(len(x), *pairs, *rest)
    moved = split.transpose(*inside, 0, *outer, *range(1 + 2 * count, split.ndim))
    return _fresh(xp, moved).reshape(len(x) * prod(sizes), *places, *rest)


def _fresh(xp: Any, moved: Any) -> Any:
    """A copy in the order of memory, even of what lies so already."""
    result = xp.empty(moved.shape, moved.dtype)
    result[...] = moved
    return result


@moving_kernel("BatchToSpaceND")
def batch_to_space_nd(xp: Any, x: Any, block: Any, crops: Any) -> Any:
    sizes, widths = _check(x, block, crops, "Crops")
    count = len(sizes)
    batch = divided(len(x), prod(sizes), "A batch")
    places, rest = x.shape[1 : 1 + count], x.shape[1 + count :]
    for place, b, pair in zip(places, sizes, widths):
        cropped(place * b, sum(pair))
    split = x.reshape(*sizes, batch, *places, *rest)
    order = [part for d in range(count) for part in (count + 1 + d, d)]
    joined = split.transpose(count, *order, *range(2 * count + 1, split.ndim))
    space = [place * b for place, b in zip(places, sizes)]
    whole = _fresh(xp, joined).reshape(batch, *space, *rest)
    kept = tuple(slice(a, size - b) for size, (a, b) in zip(space, widths))
    return whole[(slice(None), *kept)]


def _rank_4(x: Any) -> None:
    if x.ndim != 4:
        raise ValueError(f"Images have four dimensions, but the shape is {x.shape}.")


@moving_kernel("SpaceToDepth")
def space_to_depth(xp: Any, x: Any, *, block_size: int, data_format: str) -> Any:
    _rank_4(x)
    b = block_size
    images = xp.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, height, width, channels = images.shape
    rows, columns = divided(height, b, "A spatial dimension"), divided(width, b, "A spatial dimension")
    split = images.reshape(batch, rows, b, columns, b, channels)
    order = (0, 2, 4, 5, 1, 3) if data_format == "NCHW" else (0, 1, 3, 2, 4, 5)
    places = (b * b * channels, rows, columns) if data_format == "NCHW" else (rows, columns, b * b * channels)
    return _fresh(xp, split.transpose(order)).reshape(batch, *places)


@moving_kernel("DepthToSpace")
def depth_to_space(xp: Any, x: Any, *, block_size: int, data_format: str) -> Any:
    _rank_4(x)
    b = block_size
    images = xp.moveaxis(x, 1, -1) if data_format == "NCHW" else x
    batch, rows, columns, deep = images.shape
    channels = divided(deep, b * b, "A depth")
    split = images.reshape(batch, rows, columns, b, b, channels)
    order = (0, 5, 1, 3, 2, 4) if data_format == "NCHW" else (0, 1, 3, 2, 4, 5)
    places = (channels, rows * b, columns * b) if data_format == "NCHW" else (rows * b, columns * b, channels)
    return _fresh(xp, split.transpose(order)).reshape(batch, *places)


# ---- patches


def _spans(shape: Any, ksizes: Any, strides: Any, rates: Any, padding: str) -> list[WindowSpan]:
    if len(shape) != 4:
        raise ValueError(f"Images have four dimensions, but the shape is {tuple(shape)}.")
    return [span(*of_axis, padding) for of_axis in zip(shape[1:3], ksizes[1:3], strides[1:3], rates[1:3])]


@kernel("ExtractImagePatches")
def extract_image_patches(
    xp: Any, x: Any, *, ksizes: Any, strides: Any, rates: Any, padding: str, out: Any = None
) -> Any:
    spans = _spans(x.shape, ksizes, strides, rates, padding)
    batch, channels = x.shape[0], x.shape[-1]
    places = [s.count for s in spans]
    shape = (batch, *places, channels * prod(ksizes[1:3]))
    y = xp.empty(shape, x.dtype) if out is None else out
    patches = y.reshape(batch, *places, *ksizes[1:3], channels)
    if any(s.padded for s in spans):
        patches[...] = 0
    for (row, column), at, into in taps(spans):
        patches[(slice(None), *at, row, column)] = x[(slice(None), *into)]
    return y


@kernel("ExtractImagePatchesGrad")
def extract_image_patches_grad(
    xp: Any, sizes: Any, dy: Any, *, ksizes: Any, strides: Any, rates: Any, padding: str
) -> Any:
    shape = sizes.tolist()
    spans = _spans(shape, ksizes, strides, rates, padding)
    places = [s.count for s in spans]
    check_shape("grad", dy.shape, (shape[0], *places, shape[3] * prod(ksizes[1:3])))
    patches = dy.reshape(shape[0], *places, *ksizes[1:3], shape[3])
    halves = dy.dtype.kind not in "iuc" and dy.dtype.itemsize == 2
    dx = xp.zeros(shape, xp.float32 if halves else dy.dtype)
    for (row, column), at, into in taps(spans):
        dx[(slice(None), *into)] += patches[(slice(None), *at, row, column)]
    return dx.astype(dy.dtype, copy=False)
