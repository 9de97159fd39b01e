"""Batches of images: of another size by each method, cut, mirrored, turned, coloured, standardized."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((1, 8, 7, 3, 16), (4, 33, 45, 1, 28), (16, 64, 64, 3, 96), (32, 129, 100, 3, 64), (8, 300, 257, 3, 224))
"""Batch, height, width and channels of the images, and the side that they get."""


def _images(m: Model, batch: int, height: int, width: int, channels: int, dtype: str) -> tuple[Any, list[Any]]:
    lib, sizes = m.lib, (batch, height, width, channels)
    if dtype == "u1":
        made = [m.data.integers(0, 256, sizes).astype("u1") for _ in range(BATCHES)]
        return lib.placeholder(lib.uint8, sizes), made
    return lib.placeholder(lib.float32, sizes), m.floats(*sizes)


def resized(m: Model, method: int, batch: int, height: int, width: int, channels: int, side: int, dtype: str) -> Parts:
    """Another size, by one of the methods."""
    x, batches = _images(m, batch, height, width, channels, dtype)
    return (x,), (batches,), m.lib.image.resize_images(x, [side, side], method=method), None


def slopes(m: Model, method: int, batch: int, height: int, width: int, channels: int, side: int) -> Parts:
    """The gradient of another size."""
    lib = m.lib
    x, batches = _images(m, batch, height, width, channels, "f4")
    y = lib.image.resize_images(x, [side, side], method=method)
    return (x,), (batches,), lib.gradients(lib.reduce_sum(lib.square(y)), x)[0], None


def prepared(m: Model, batch: int, height: int, width: int, channels: int, side: int, dtype: str) -> Parts:
    """Floats, another size, cut, mirrored, standardized."""
    lib = m.lib
    x, batches = _images(m, batch, height, width, channels, dtype)
    y = lib.image.resize_images(lib.image.convert_image_dtype(x, lib.float32), [side, side])
    y = lib.image.resize_image_with_crop_or_pad(y, side - 4, side - 4)
    y = lib.image.flip_left_right(y)
    return (x,), (batches,), lib.image.per_image_standardization(y), None


def augmented(m: Model, batch: int, height: int, width: int, channels: int, side: int, dtype: str) -> Parts:
    """Cut, mirrored both ways, brighter, with more contrast."""
    lib = m.lib
    x, batches = _images(m, batch, height, width, channels, dtype)
    y = lib.image.central_crop(x, 0.75)
    y = lib.image.flip_up_down(lib.image.flip_left_right(y))
    y = lib.image.adjust_contrast(lib.image.adjust_brightness(lib.image.convert_image_dtype(y, lib.float32), 0.1), 1.2)
    return (x,), (batches,), y, None


def boxes(m: Model, batch: int, height: int, width: int, channels: int, side: int, dtype: str) -> Parts:
    """Parts of images, each of another size."""
    lib, np = m.lib, m.np
    x, batches = _images(m, batch, height, width, channels, dtype)
    corners = np.sort(m.data.random((2 * batch, 2, 2)), 1).reshape(2 * batch, 4).astype(np.float32)
    of = np.arange(2 * batch, dtype=np.int32) % batch
    return (x,), (batches,), lib.image.crop_and_resize(x, corners, of, [side, side]), None


def coloured(m: Model, batch: int, height: int, width: int, channels: int, side: int) -> Parts:
    """Hue and saturation of images of three channels, changed."""
    lib = m.lib
    x, batches = _images(m, batch, height, width, 3, "f4")
    return (x,), (batches,), lib.image.adjust_saturation(lib.image.adjust_hue(x, 0.1), 0.8), None


def cropped(m: Model, batch: int, height: int, width: int, channels: int, side: int) -> Parts:
    """The gradient of parts of images, for the images and for the corners."""
    lib, np = m.lib, m.np
    x, batches = _images(m, batch, height, width, channels, "f4")
    corners = lib.placeholder(lib.float32, [2 * batch, 4])
    y = lib.image.crop_and_resize(x, corners, np.arange(2 * batch, dtype=np.int32) % batch, [7, 9])
    of = [np.sort(m.data.random((2 * batch, 2, 2)), 1).reshape(2 * batch, 4).astype(np.float32) for _ in batches]
    return (x, corners), (batches, of), lib.gradients(lib.reduce_sum(lib.square(y)), [x, corners]), None


FLIPS = ((2, 16, 16, 3), (64, 64, 64, 3), (16, 224, 224, 3), (128, 112, 112, 4), (32, 256, 256, 1))
"""Batch, height, width and channels of images that are only mirrored or turned."""


def mirrored(m: Model, how: str, batch: int, height: int, width: int, channels: int, dtype: str) -> Parts:
    """Images, mirrored or turned."""
    x, batches = _images(m, batch, height, width, channels, dtype)
    return (x,), (batches,), getattr(m.lib.image, how)(x), None


METHODS = ("bilinear", "nearest", "bicubic", "area")


def _cases() -> list[Case]:
    made = []
    for batch, height, width, channels, side in RUNGS:
        sizes: dict[str, Any] = {"batch": batch, "height": height, "width": width, "channels": channels, "side": side}
        told = f"{batch}x{height}x{width}x{channels}"
        for dtype in ("f4", "u1"):
            for number, name in enumerate(METHODS):
                build = model(resized, method=number, dtype=dtype, **sizes)
                made.append(Case(f"{name}_{dtype}_{told}", f"{name} to {side}: {told}, {dtype}", build))
            for program in (prepared, augmented, boxes):
                build = model(program, dtype=dtype, **sizes)
                made.append(Case(f"{program.__name__}_{dtype}_{told}", f"{program.__name__}: {told}, {dtype}", build))
        for number, name in enumerate(METHODS[:3]):
            build = model(slopes, method=number, **sizes)
            made.append(Case(f"{name}_grad_{told}", f"gradient of {name} to {side}: {told}", build))
        for plain in (coloured, cropped):
            made.append(Case(f"{plain.__name__}_{told}", f"{plain.__name__}: {told}", model(plain, **sizes)))
    for batch, height, width, channels in FLIPS:
        told = f"{batch}x{height}x{width}x{channels}"
        for how in ("flip_left_right", "flip_up_down", "rot90", "transpose"):
            for dtype in ("f4", "u1"):
                build = model(
                    mirrored, how=how, batch=batch, height=height, width=width, channels=channels, dtype=dtype
                )
                made.append(Case(f"{how}_{dtype}_{told}", f"{how}: {told}, {dtype}", build))
    return made


CASES = tuple(_cases())
