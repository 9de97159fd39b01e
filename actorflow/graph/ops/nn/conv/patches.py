"""Patches: the window that a convolution would see at each place, as channels of that place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import INDEX, NUMERIC
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, merge
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.nn.conv.geometry import check_attributes, output_size
from actorflow.graph.ops.shape_rules import from_value, require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _check_patches(c: Inference) -> None:
    check_attributes(
        c.op.type,
        4,
        "NHWC",
        c.attrs["padding"],
        ksizes=c.attrs["ksizes"],
        strides=c.attrs["strides"],
        rates=c.attrs["rates"],
    )


def _patched(c: Inference, source: Shape) -> Shape:
    _check_patches(c)
    if source is None:
        return (None,) * 4
    windows = c.attrs["ksizes"][1:3]
    sizes = map(
        output_size, source[1:3], windows, c.attrs["strides"][1:3], c.attrs["rates"][1:3], [c.attrs["padding"]] * 2
    )
    return (source[0], *sizes, None if source[3] is None else source[3] * windows[0] * windows[1])


def _patches(c: Inference) -> Shape:
    return _patched(c, require_rank(c, 0, 4))


def _unpatched(c: Inference) -> Shape:
    target = from_value(0)(c)
    source = (None,) * 4 if target is None or len(target) != 4 else target
    merge(_patched(c, source), require_rank(c, 1, 4))
    return source


@op("ExtractImagePatches", shape=_patches, dtypes=NUMERIC, work=4)
def extract_image_patches_op(
    images: TensorLike,
    *,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The windows of images as their channels. See `extract_image_patches`."""


@op("ExtractImagePatchesGrad", shape=_unpatched, dtypes=NUMERIC, types={"sizes": INDEX}, work=4)
def extract_image_patches_grad(
    sizes: TensorLike,
    grad: TensorLike,
    *,
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The gradient of ExtractImagePatches: each patch added at the place it was taken from, in images of shape `sizes`."""


def _patch_attributes(node: Operation) -> dict[str, Any]:
    return {name: node.attrs[name] for name in ("ksizes", "strides", "rates", "padding")}


@extract_image_patches_op.gradient
def _(node: Operation, dy: Tensor) -> list[Any]:
    return [extract_image_patches_grad(shape(node.inputs[0]), dy, **_patch_attributes(node))]


@extract_image_patches_grad.gradient
def _(node: Operation, ddx: Tensor) -> list[Any]:
    return [None, extract_image_patches_op(ddx, **_patch_attributes(node))]


@public("af", "af.image")
def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """The windows of images, each as the channels of one element (`tf.image.extract_image_patches`).

    Example:
        >>> image = af.reshape(af.range_(9), [1, 3, 3, 1])
        >>> af.extract_image_patches(image, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")[0, 0]
        [[0 1 3 4]
         [1 2 4 5]]

    Args:
        images: a number, of shape [batch, height, width, channels].
        ksizes, sizes: the size of the window, [1, height, width, 1]; `sizes` is the newer name.
        strides: how far the window moves, [1, height, width, 1].
        rates: how far the elements of the window are from each other, [1, height, width, 1].
        padding: "SAME" (zeros around) or "VALID".

    Returns:
        A tensor of shape [batch, places, places, height · width of the window · channels].

    Raises:
        ValueError: the window does not fit in, or an argument can't be. InvalidArgumentError in the run.
    """
    window = ksizes if sizes is None else sizes
    if window is None or strides is None or rates is None or padding is None:
        raise ValueError("extract_image_patches needs ksizes, strides, rates and a padding.")
    return extract_image_patches_op(images, ksizes=window, strides=strides, rates=rates, padding=padding, name=name)
