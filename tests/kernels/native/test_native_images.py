"""Images in C against numpy: other sizes by each method, their gradients, and parts of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorflow.base.dtypes import float32
from actorflow.errors import InvalidArgumentError
from actorflow.kernels.image import colors, regions, resize
from actorflow.kernels.native.batches import images
from actorflow.kernels.native.library import loaded

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

METHODS = [
    ("resize_bilinear", {"align_corners": False, "half_pixel_centers": False}),
    ("resize_bilinear", {"align_corners": True, "half_pixel_centers": False}),
    ("resize_bilinear", {"align_corners": False, "half_pixel_centers": True}),
    ("resize_bicubic", {"align_corners": False, "half_pixel_centers": False}),
    ("resize_bicubic", {"align_corners": True, "half_pixel_centers": False}),
    ("resize_bicubic", {"align_corners": False, "half_pixel_centers": True}),
    ("resize_area", {"align_corners": False}),
    ("resize_area", {"align_corners": True}),
]
TRIES = 25


def some(rng: np.random.Generator, dtype: str, least: int = 1) -> Any:
    sizes = (rng.integers(1, 4), rng.integers(least, 14), rng.integers(least, 14), rng.choice([1, 2, 3, 4, 5, 17]))
    return (rng.normal(size=sizes) * 50).astype(dtype)


def close(result: Any, reference: Any) -> None:
    assert (result.dtype, result.shape) == (reference.dtype, reference.shape)
    np.testing.assert_allclose(result, reference, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize(("name", "options"), METHODS)
@pytest.mark.parametrize("dtype", ["f4", "u1", "f8", "f2", "i4"])
def test_sizes_are_numpys(name: str, options: dict[str, bool], dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        x, size = some(rng, dtype), rng.integers(1, 20, 2).astype("i4")
        for view in (x, x[:, ::-1], x.swapaxes(1, 2), x[..., :1]):
            arguments = np, view, size
            close(getattr(images, name)(*arguments, **options), getattr(resize, name)(*arguments, **options))


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_gradients_of_sizes_are_numpys(name: str, options: dict[str, bool], seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(TRIES):
        for dtype in ("f4", "f8"):
            x = some(rng, dtype)
            slopes = rng.normal(size=(len(x), *rng.integers(1, 20, 2), x.shape[3])).astype("f4")
            arguments = np, slopes, x
            close(
                getattr(images, f"{name}_grad")(*arguments, **options),
                getattr(resize, f"{name}_grad")(*arguments, **options),
            )
        sizes = np.array(x.shape[1:3], "i4")
        nearest: dict[str, Any] = {"align_corners": bool(rng.integers(2)), "half_pixel_centers": False}
        close(
            images.resize_nearest_neighbor_grad(np, slopes, sizes, **nearest),
            resize.resize_nearest_neighbor_grad(np, slopes, sizes, **nearest),
        )


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", ["f4", "u1", "f8"])
def test_parts_are_numpys(method: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for attempt in range(TRIES):
        x, count = some(rng, dtype), int(rng.integers(0, 6))
        boxes = (rng.random((count, 4)) * 1.6 - 0.3).astype("f4")
        if attempt % 4 == 0 and count:
            boxes[0, rng.integers(4)] = rng.choice([np.nan, np.inf, 1e30])
        if attempt % 5 == 0 and count:
            boxes[-1] = [0, 0, 1, 1]
        numbers, size = rng.integers(0, len(x), count).astype("i4"), rng.integers(1, 9, 2).astype("i4")
        arguments, options = (np, x, boxes, numbers, size), {"method": method, "extrapolation_value": -3.5}
        with np.errstate(all="ignore"):
            reference, result = (module.crop_and_resize(*arguments, **options) for module in (regions, images))
        close(result, reference)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", ["f4", "u1", "f8"])
def test_gradients_of_parts_are_numpys(method: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for attempt in range(TRIES):
        x, count = some(rng, dtype), int(rng.integers(0, 6))
        boxes = (rng.random((count, 4)) * 1.6 - 0.3).astype("f4")
        if attempt % 5 == 0 and count:
            boxes[-1] = [0, 0, 1, 1]
        numbers = rng.integers(0, len(x), count).astype("i4")
        slopes = rng.normal(size=(count, *rng.integers(1, 9, 2), x.shape[3])).astype("f4")
        size = np.array(x.shape, "i4")
        reference, result = (
            (
                module.crop_and_resize_grad_image(np, slopes, boxes, numbers, size, T=float32, method=method),
                module.crop_and_resize_grad_boxes(np, slopes, x, boxes, numbers, method="bilinear"),
            )
            for module in (regions, images)
        )
        for ours, numpys in zip(result, reference, strict=True):
            close(ours, numpys)


def test_slopes_of_parts_that_do_not_fit_are_errors() -> None:
    slopes, boxes = np.zeros((1, 2, 2, 1), "f4"), np.zeros((1, 4), "f4")
    for numbers, size in (([2], [2, 4, 4, 1]), ([0], [2, 4, 4, 3]), ([0], [2, 0, 4, 1]), ([0], [2**40, 2**40, 4, 1])):
        with pytest.raises((InvalidArgumentError, MemoryError, ValueError)):
            images.crop_and_resize_grad_image(
                np, slopes, boxes, np.array(numbers, "i4"), np.array(size), T=float32, method="bilinear"
            )


@pytest.mark.parametrize("axis", [1, 2])
def test_parts_of_images_whose_places_are_no_whole_floats_are_left_to_numpy(axis: int) -> None:
    """The last row of 2**24 + 4 has no float of its own: it is rounded to the row behind it."""
    shape = [1, 1, 1, 1]
    shape[axis] = (1 << 24) + 4
    x, boxes, numbers = np.zeros(shape, "u1"), np.ones((1, 4), "f4"), np.zeros(1, "i4")
    slopes = np.ones((1, 1, 1, 1), "f4")
    calls = {
        "boxes": (x, boxes, numbers, 1, 1, False, 0.0),
        "crops_to_images": (slopes, boxes, numbers, *shape, False),
        "crops_to_boxes": (slopes, x, boxes, numbers),
    }
    for name, arguments in calls.items():
        assert getattr(images, f"_{name}")(*arguments) is None


@pytest.mark.parametrize("name", ["rgb_to_hsv", "hsv_to_rgb"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_colours_are_numpys(name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for attempt in range(TRIES):
        x = rng.random((*rng.integers(0, 40, rng.integers(0, 3)), 3)).astype(dtype)
        if attempt % 3 == 0:
            x = (rng.integers(-1, 3, x.shape) / 2).astype(dtype)
        if attempt % 4 == 0 and x.size:
            x.reshape(-1)[rng.integers(0, x.size, 2)] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
        with np.errstate(all="ignore"):
            for view in (x, x[..., ::-1]):
                close(getattr(images, name)(np, view), getattr(colors, name)(np, view))
                out = np.empty(x.shape, dtype)
                assert getattr(images, name)(np, view, out=out) is out
                close(out, getattr(colors, name)(np, view))


@pytest.mark.parametrize("name", ["resized", "resized_back", "boxes", "crops_to_images", "crops_to_boxes", "hues"])
def test_a_result_does_not_depend_on_threads(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, 40, 30, 3)).astype("f4")
    there, back = (
        images._tables("Bicubic", old, new, False, True) for old, new in (((40, 30), (25, 50)), ((25, 50), (40, 30)))
    )
    boxes = rng.random((9, 4)).astype("f4"), rng.integers(0, 5, 9).astype("i4"), 20, 21, False, 0.0
    corners, numbers = boxes[:2]
    slopes = rng.normal(size=(9, 6, 7, 3)).astype("f4")
    arguments: dict[str, tuple[Any, ...]] = {
        "resized": there,
        "resized_back": (25, 50, *back),
        "boxes": boxes,
        "hues": (),
    }
    if name.startswith("crops"):
        arguments["crops_to_images"] = corners, numbers, *x.shape, False
        arguments["crops_to_boxes"] = x, corners, numbers
        x = slopes
    alone, shared = (loaded().call(name, threads, x, *arguments[name]) for threads in (1, 3))
    np.testing.assert_array_equal(alone, shared)


@pytest.mark.parametrize(("height", "width"), [(1, 5), (5, 1), (1, 1), (1, 4)])
def test_areas_of_a_side_of_one_pixel_align_as_any(height: int, width: int) -> None:
    x = np.arange(1, height * width + 1, dtype="f4").reshape(1, height, width, 1)
    for module in (resize, images):
        for size in ((3, 4), (1, 2)):
            result = module.resize_area(np, x, np.array(size), align_corners=True)
            assert result.shape == (1, *size, 1)
            assert x.min() - 1e-5 <= result.min() <= result.max() <= x.max() + 1e-5


def test_nan_spreads_as_far_as_weights_do() -> None:
    x = np.zeros((1, 8, 8, 1), "f4")
    x[0, 3, 4] = np.nan
    options = {"align_corners": False, "half_pixel_centers": True}
    result, reference = (module.resize_bilinear(np, x, np.array([4, 4]), **options) for module in (images, resize))
    np.testing.assert_array_equal(np.isnan(result), np.isnan(reference))


@pytest.mark.parametrize("size", [[0, 3], [3, -1], [3]])
def test_sizes_that_are_none_are_errors(size: list[int]) -> None:
    x = np.zeros((1, 4, 4, 1), "f4")
    with pytest.raises(InvalidArgumentError, match="one or more"):
        images.resize_bilinear(np, x, np.array(size), align_corners=False, half_pixel_centers=False)
    with pytest.raises(InvalidArgumentError, match="one or more"):
        images.crop_and_resize(
            np, x, np.zeros((1, 4), "f4"), np.zeros(1, "i4"), np.array(size), method="bilinear", extrapolation_value=0.0
        )


def test_numbers_of_no_image_are_errors() -> None:
    x, boxes, size = np.zeros((2, 4, 4, 1), "f4"), np.zeros((1, 4), "f4"), np.array([2, 2])
    for number in (-1, 2):
        with pytest.raises(InvalidArgumentError, match="box_index"):
            images.crop_and_resize(
                np, x, boxes, np.array([number], "i4"), size, method="bilinear", extrapolation_value=0.0
            )


@pytest.mark.parametrize("place", [-1, 4])
def test_places_outside_are_not_read(place: int) -> None:
    x, places, weights = np.zeros((1, 4, 4, 1), "f4"), np.array([[place]]), np.ones((1, 1), "f4")
    inside = np.zeros_like(places)
    for tables in ((places, weights, inside, weights), (inside, weights, places, weights)):
        assert loaded().call("resized", 1, x, *tables) is NotImplemented
        assert loaded().call("resized_back", 1, x[:, :1, :1], 4, 4, *tables) is NotImplemented
