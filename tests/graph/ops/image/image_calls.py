"""Calls of `tf.image` for a module that has its names, and TensorFlow's answers to them.

python tests/graph/ops/image/image_calls.py        # with TensorFlow 2.15; writes tests/graph/ops/image/answers.npz
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).with_name("answers.npz")
_RNG = np.random.default_rng(7)
COLOUR = _RNG.uniform(0, 1, (2, 5, 6, 3)).astype(np.float32)
BYTES = _RNG.integers(0, 256, (2, 5, 6, 3)).astype(np.uint8)
GREY = _RNG.uniform(0, 1, (1, 4, 7, 1)).astype(np.float32)
LARGE = _RNG.uniform(0, 1, (2, 16, 14, 2)).astype(np.float32)
BOXES = np.array(
    [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8], [0.9, 0.8, 0.2, 0.1], [-0.3, 0.4, 0.5, 1.4], [0.5, 0.5, 0.5, 0.5]], np.float32
)
NUMBERS = np.array([0, 1, 1, 0, 1], np.int32)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)
PLACES = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1], [0, 100, 1, 101]],
    np.float32,
)
Call = Callable[[Any], Any]


def _gradient(tf: Any, made: Callable[[Any], Any], *sources: Any) -> Any:
    """The value, and the gradients of the sources for slopes that count up."""
    tensors = [tf.constant(source) for source in sources]
    y = made(*tensors)
    shape = y.shape.as_list()
    slopes = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape) / 7
    return [y, *tf.gradients(y, tensors, tf.cast(tf.constant(slopes), y.dtype))]


def _resizes() -> Iterator[tuple[str, Call]]:
    modes = ({}, {"align_corners": True}, {"half_pixel_centers": True})
    for size in ([3, 4], [9, 13], [5, 6], [1, 1]):
        for method in ("bilinear", "bicubic", "nearest_neighbor"):
            for number, options in enumerate(modes):
                yield (
                    f"resize_{method} {size} {number}",
                    lambda tf, m=method, s=size, o=options: _gradient(
                        tf, lambda x: getattr(tf.image, f"resize_{m}")(x, s, **o), COLOUR
                    ),
                )
        for align in (False, True):
            yield f"resize_area {size} {align}", lambda tf, s=size, a=align: tf.image.resize_area(COLOUR, s, a)


def calls() -> Iterator[tuple[str, Call]]:
    """Each call with its name."""
    yield from _resizes()
    for kind in (np.uint8, np.int32, np.float64, np.float16):
        values = (COLOUR * 200).astype(kind)
        for method in range(4):
            yield (
                f"resize_images {kind.__name__} {method}",
                lambda tf, v=values, m=method: tf.image.resize_images(v, [4, 8], m),
            )
    yield "resize_images one", lambda tf: tf.image.resize_images(COLOUR[0], [3, 9])
    yield "resize in proportion", lambda tf: tf.image.resize_images(COLOUR, [10, 9], preserve_aspect_ratio=True)
    yield "resize_image_with_pad", lambda tf: tf.image.resize_image_with_pad(tf.constant(COLOUR), 8, 7)
    for method in ("bilinear", "nearest"):
        for crop in ([3, 4], [1, 2], [2, 1]):
            yield (
                f"crop_and_resize {method} {crop}",
                lambda tf, m=method, c=crop: tf.image.crop_and_resize(COLOUR, BOXES, NUMBERS, c, m, 0.5),
            )
    for crop in ([3, 4], [1, 2]):
        yield (
            f"gradients of crop_and_resize {crop}",
            lambda tf, c=crop: _gradient(
                tf, lambda x, b: tf.image.crop_and_resize(x, b, NUMBERS, c), COLOUR, BOXES * np.float32(0.83)
            ),
        )
    for name, image in (("one", COLOUR[1]), ("batch", COLOUR)):
        yield f"flip_left_right {name}", lambda tf, x=image: tf.image.flip_left_right(x)
        yield f"flip_up_down {name}", lambda tf, x=image: tf.image.flip_up_down(x)
        yield f"transpose_image {name}", lambda tf, x=image: tf.image.transpose_image(x)
        yield f"rot90 {name}", lambda tf, x=image: [tf.image.rot90(tf.constant(x), k) for k in (-1, 0, 1, 2, 3)]
        yield (
            f"central_crop {name}",
            lambda tf, x=image: [tf.image.central_crop(tf.constant(x), f) for f in (0.3, 0.5, 0.8, 1.0)],
        )
        yield f"crop_to_bounding_box {name}", lambda tf, x=image: tf.image.crop_to_bounding_box(x, 1, 2, 3, 4)
        yield f"pad_to_bounding_box {name}", lambda tf, x=image: tf.image.pad_to_bounding_box(x, 1, 2, 8, 9)
        yield (
            f"crop or pad {name}",
            lambda tf, x=image: [
                tf.image.resize_image_with_crop_or_pad(x, *s) for s in ((3, 9), (8, 3), (2, 2), (9, 9), (5, 6))
            ],
        )
        yield f"total_variation {name}", lambda tf, x=image: tf.image.total_variation(tf.constant(x))
        yield f"per_image_standardization {name}", lambda tf, x=image: tf.image.per_image_standardization(x)
    yield "standardized bytes", lambda tf: tf.image.per_image_standardization(BYTES)
    for name, image in (("floats", COLOUR), ("bytes", BYTES)):
        yield f"brightness {name}", lambda tf, x=image: [tf.image.adjust_brightness(x, d) for d in (0.2, -0.4)]
        yield f"contrast {name}", lambda tf, x=image: [tf.image.adjust_contrast(x, f) for f in (0.4, 2.0)]
        yield f"gamma {name}", lambda tf, x=image: [tf.image.adjust_gamma(tf.constant(x), g, 0.9) for g in (0.5, 2.0)]
        yield f"hue {name}", lambda tf, x=image: [tf.image.adjust_hue(x, d) for d in (0.3, -0.7)]
        yield f"saturation {name}", lambda tf, x=image: [tf.image.adjust_saturation(x, f) for f in (0.4, 2.0)]
        yield f"grey {name}", lambda tf, x=image: tf.image.rgb_to_grayscale(x)
    yield "grayscale_to_rgb", lambda tf: tf.image.grayscale_to_rgb(tf.constant(GREY))
    for name in ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb"):
        yield name, lambda tf, n=name: getattr(tf.image, n)(tf.constant(COLOUR))
    corners = np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [1, 0, 1]], np.float32)
    yield "hsv of corners", lambda tf: tf.image.rgb_to_hsv(corners)
    for limit, overlap, least in ((3, 0.5, None), (30, 0.5, None), (3, 0.5, 0.55), (6, 1.0, None), (6, 0.0, None)):
        options = {} if least is None else {"score_threshold": least}
        yield (
            f"non_max_suppression {limit} {overlap} {least}",
            lambda tf, n=limit, i=overlap, o=options: tf.image.non_max_suppression(PLACES, SCORES, n, i, **o),
        )
    several = np.stack([BOXES, BOXES[::-1]])
    for name, images in (("colours", COLOUR), ("grey", np.repeat(GREY, 2, 0))):
        yield f"draw_bounding_boxes {name}", lambda tf, x=images: tf.image.draw_bounding_boxes(x, several)
    paint = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]], np.float32)
    yield "draw in own colours", lambda tf: tf.image.draw_bounding_boxes(COLOUR, several, colors=paint)
    yield "psnr", lambda tf: [tf.image.psnr(COLOUR, COLOUR[::-1], 1.0), tf.image.psnr(BYTES, BYTES[::-1], 255)]
    yield "ssim", lambda tf: tf.image.ssim(LARGE, LARGE[::-1] * np.float32(0.9), 1.0)
    yield "image_gradients", lambda tf: tf.image.image_gradients(tf.constant(COLOUR))
    yield "sobel_edges", lambda tf: tf.image.sobel_edges(tf.constant(COLOUR))


def answers(tf: Any) -> dict[str, list[Any]]:
    """The answers of a module to each call, as arrays."""
    with tf.Graph().as_default():
        made = {name: call(tf) for name, call in calls()}
        fetched = {name: list(found) if isinstance(found, (list, tuple)) else [found] for name, found in made.items()}
        with tf.Session() as session:
            found: dict[str, list[Any]] = session.run(fetched)
    return found


def stored() -> dict[str, list[Any]]:
    """TensorFlow's answers."""
    found: dict[str, list[Any]] = {}
    with np.load(ANSWERS) as file:
        for key in file.files:
            found.setdefault(key.rpartition("/")[0], []).append(file[key])
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    np.savez_compressed(
        ANSWERS, **{f"{name}/{i}": array for name, some in answers(tensorflow).items() for i, array in enumerate(some)}
    )
