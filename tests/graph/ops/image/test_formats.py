"""Each decoder takes each format with each number of channels, as TensorFlow does: files have wrong names."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

import actorflow as af

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
RGB = np.random.default_rng(0).integers(0, 255, (2, 3, 3), np.uint8)
DEEP = np.array([[0, 256, 65535], [40000, 1, 300]], np.uint16)


def saved(image: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def deep_png(pixels: Any) -> bytes:
    """A PNG of 16 bits for each channel."""
    height, width, channels = pixels.shape
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


FRAMES = [Image.fromarray(np.full((2, 3, 3), 40 * n, np.uint8)) for n in range(3)]
FILES = {
    "PNG": saved(Image.fromarray(RGB), "PNG"),
    "JPEG": saved(Image.fromarray(RGB), "JPEG"),
    "BMP": saved(Image.fromarray(RGB), "BMP"),
    "GIF": saved(FRAMES[1], "GIF"),
    "animated GIF": saved(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]),
    "grey PNG of 16 bits": deep_png(DEEP[:, :, None]),
    "PNG of 16 bits": deep_png(np.stack([DEEP] * 3, axis=-1)),
}
OPS = {
    "decode_png": af.image.decode_png,
    "decode_jpeg": af.image.decode_jpeg,
    "decode_bmp": af.image.decode_bmp,
    "decode_image": af.image.decode_image,
    "first": lambda contents, **options: af.image.decode_image(contents, expand_animations=False, **options),
}
_GREY, _ANY, _ALPHA = (0, 1, 3), (0, 1, 3, 4), (0, 3, 4)
TAKEN = {
    **{(op, kind): _ANY for op in OPS for kind in FILES if "PNG" in kind},
    **{(op, "JPEG"): _GREY for op in OPS},
    **{(op, "GIF"): (0, 3) for op in OPS},
    **{(op, "animated GIF"): (0, 3) for op in ("decode_image", "first")},
    **{(op, "BMP"): _ANY for op in ("decode_bmp", "decode_image", "first")},
    **{("decode_bmp", kind): () for kind in FILES if kind != "BMP"},
}


@pytest.fixture
async def session(graph: af.Graph) -> AsyncIterator[af.Session]:
    async with af.Session() as opened:
        yield opened


@pytest.mark.parametrize("channels", [0, 1, 3, 4])
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("op", OPS)
async def test_each_decoder_of_each_format(session: af.Session, op: str, kind: str, channels: int) -> None:
    image = OPS[op](FILES[kind], channels=channels)
    if channels not in TAKEN.get((op, kind), ()):
        with pytest.raises(af.errors.InvalidArgumentError):
            await session.run(image)
        return
    pixels = await session.run(image)
    own = 1 if kind.startswith("grey") else 3
    frames = () if op != "decode_image" or "GIF" not in kind else (3,) if "animated" in kind else (1,)
    assert pixels.shape == (*frames, 2, 3, channels or own) and pixels.dtype == np.uint8
    if kind in ("PNG", "BMP") and channels != 1:
        np.testing.assert_array_equal(pixels[..., :3], RGB)
    if kind == "PNG of 16 bits" and channels != 1:
        np.testing.assert_array_equal(pixels[..., 0], DEEP >> 8)


@pytest.mark.parametrize("kind", FILES)
async def test_decode_gif_gives_frames(session: af.Session, kind: str) -> None:
    frames = af.image.decode_gif(FILES[kind])
    if kind == "BMP":
        with pytest.raises(af.errors.InvalidArgumentError):
            await session.run(frames)
    else:
        assert (await session.run(frames)).shape == (3 if "animated" in kind else 1, 2, 3, 3)


@pytest.mark.parametrize("dtype", [af.uint8, af.uint16])
@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
async def test_a_grey_png_of_16_bits_has_channels_that_are_equal(
    session: af.Session, channels: int, dtype: af.DType
) -> None:
    pixels = await session.run(af.image.decode_png(FILES["grey PNG of 16 bits"], channels=channels, dtype=dtype))
    wanted = DEEP if dtype is af.uint16 else (DEEP >> 8).astype(np.uint8)
    colours = channels - 1 if channels in (2, 4) else channels or 1
    np.testing.assert_array_equal(pixels[..., :colours], np.repeat(wanted[..., None], colours, axis=-1))
    assert channels not in (2, 4) or (pixels[..., -1] == np.iinfo(pixels.dtype).max).all()


async def test_colours_of_16_bits_are_refused_where_their_bits_would_be_lost(session: af.Session) -> None:
    with pytest.raises(af.errors.UnimplementedError, match="16 bits"):
        await session.run(af.image.decode_png(FILES["PNG of 16 bits"], dtype=af.uint16))


async def test_all_frames_of_a_gif_are_bounded(session: af.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12)
    with pytest.raises(af.errors.InvalidArgumentError, match="more than 12 pixels"):
        await session.run(af.image.decode_gif(FILES["animated GIF"]))
