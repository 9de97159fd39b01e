"""Rows of glimpses and of images of another element type."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.ops.arrays import EITHER, i32
from graph.ops.table import Array, Case, Literal, Reject

from actorflow.graph.ops.image.convert import convert_image_dtype
from actorflow.graph.ops.image.glimpse import extract_glimpse_op

IMAGES = np.arange(60, dtype=np.float32).reshape(2, 5, 6, 1)
SIZE = i32(2, 3)


def offsets(*pairs: Any) -> Any:
    return np.array(pairs, np.float32)


EXAMPLES = [((2, 4, 5, 2), i32(3, 2), offsets([2, 2], [0, 5])), ((1, 3, 3, 1), i32(5, 5), offsets([1, 1]))]


def cut(images: Any, size: Any, at: Any) -> Any:
    """Each window pixel by pixel; zero outside. The centres are pixels."""
    (height, width), made = size, np.zeros((len(images), *size, images.shape[3]))
    for n, y, x in np.ndindex(len(images), height, width):
        row, column = int(at[n, 0] - height / 2) + y, int(at[n, 1] - width / 2) + x
        if 0 <= row < images.shape[1] and 0 <= column < images.shape[2]:
            made[n, y, x] = images[n, row, column]
    return made


def glimpses(note: str, centered: bool, normalized: bool, at: Any, literal: Any) -> Case:
    return Case(
        "ExtractGlimpse",
        lambda x, s, o: extract_glimpse_op(x, s, o, centered=centered, normalized=normalized, noise="zero"),
        None if centered or normalized else cut,
        EXAMPLES,
        Literal((IMAGES, SIZE, offsets(*at)), np.array(literal, np.float32)[..., None]),
        dtypes="float32",
        gradient=0,
        note=note,
        rejects=[
            Reject(EITHER, (IMAGES[0], SIZE, offsets(*at))),
            Reject(EITHER, (IMAGES, i32(0, 3), offsets(*at))),
            Reject(EITHER, (IMAGES, SIZE, offsets([0, 0]))),
        ],
    )


PIXELS: Array = np.array([0, 1, 100, 127], np.uint8)
SHARES: Array = np.array([0, 0.25, 0.5, 0.999, 1.0, -0.1], np.float32)


def converted(to: str, note: str, literal: Literal, saturate: bool = False) -> Case:
    return Case(
        "",
        lambda x: convert_image_dtype(x, to, saturate),
        None,
        [literal.inputs],
        literal,
        gradient=None,
        note=f"convert_image_dtype {note}",
    )


CASES = [
    glimpses(
        "centered shares",
        True,
        True,
        ([0, 0], [0.2, -0.3]),
        [[[7, 8, 9], [13, 14, 15]], [[42, 43, 44], [48, 49, 50]]],
    ),
    glimpses(
        "shares",
        False,
        True,
        ([0.5, 0.5], [0.4, 0.6]),
        [[[7, 8, 9], [13, 14, 15]], [[38, 39, 40], [44, 45, 46]]],
    ),
    glimpses(
        "centered pixels", True, False, ([0, 1], [1, 0]), [[[8, 9, 10], [14, 15, 16]], [[43, 44, 45], [49, 50, 51]]]
    ),
    glimpses("pixels", False, False, ([2, 3], [2.5, 2.2]), [[[7, 8, 9], [13, 14, 15]], [[36, 37, 38], [42, 43, 44]]]),
    converted("float32", "to floats", Literal((PIXELS,), np.float32([0, 1 / 255, 100 / 255, 127 / 255]))),
    converted("uint16", "to wider", Literal((PIXELS,), np.uint16([0, 256, 25600, 32512]))),
    converted("uint8", "to narrower", Literal((np.int32([0, 1 << 23, 1 << 30]),), np.uint8([0, 1, 128]))),
    converted("uint8", "wraps", Literal((SHARES,), np.uint8([0, 63, 127, 255, 255, 231]))),
    converted("uint8", "saturates", Literal((SHARES,), np.uint8([0, 63, 127, 255, 255, 0])), True),
    converted("float16", "to other floats", Literal((SHARES,), np.float16(SHARES))),
    converted("uint8", "of one type", Literal((PIXELS,), PIXELS)),
]
