"""Kernels of images, which Pillow decodes and encodes on the host."""

from __future__ import annotations

import functools
import io
import math
import warnings
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, uint8, uint16
from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError, UnimplementedError, with_topic

from ..strings.objects import as_arrays

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_STILL = ("PNG", "JPEG", "GIF")
"""Formats that decode_png, decode_jpeg and decode_gif take alike: files have wrong names."""
_CHANNELS_OF = {"PNG": (1, 2, 4), "JPEG": (1,), "BMP": (1, 4)}
"""Channels that an image of a format may be given beside its own and 3."""
_CHANNELS = {"1": 1, "L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "I;16": 1, "I": 1, "CMYK": 3, "YCbCr": 3}


@functools.cache
def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnimplementedError(
            "Images need the package Pillow, which is not installed.",
            hint=with_topic("Install it with: pip install 'actorflow[images]'", "extra-missing"),
        ) from None
    return Image


def _decode(
    contents: Any,
    formats: tuple[str, ...],
    channels: int,
    dtype: DType,
    ratio: int = 1,
    truncated: bool = False,
    animated: bool = False,
) -> Any:
    """`[height, width, channels]`, or all frames of a GIF if it may be animated. Raises InvalidArgumentError for a string that
    is no image of these formats."""
    image = _opened(contents, formats, ratio, truncated)
    if channels not in (0, 3, *_CHANNELS_OF.get(image.format, ())):
        raise InvalidArgumentError(f"A {image.format} image has no form with {channels} channels; ask for 0 or 3.")
    if image.format == "GIF":
        frames = _frames(image)
        if not animated and len(frames) > 1:
            raise InvalidArgumentError(
                f"The GIF has {len(frames)} frames; decode_gif and decode_image take an animated one."
            )
        frames = frames if dtype is not uint16 else frames.astype(np.uint16) * 257
        return frames if animated else frames[0]
    if dtype is uint16 and _is_deep(as_arrays(contents).item()):
        raise UnimplementedError("PNG images of 16 bits with colours or alpha are decoded to uint8 only.")
    pixels = _pixels(image, channels, dtype)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _is_deep(data: bytes) -> bool:
    """Whether a PNG has 16 bits for each of several channels: Pillow keeps eight of them."""
    return data.startswith(b"\x89PNG") and len(data) > 25 and data[24] == 16 and data[25] != 0


def _frames(image: Any) -> Any:
    """All frames of a GIF."""
    frames: list[Any] = []
    most = _pillow().MAX_IMAGE_PIXELS or math.inf
    try:
        while True:
            if (len(frames) + 1) * image.width * image.height > most:
                raise InvalidArgumentError(f"The frames of the GIF have more than {most} pixels together.")
            frames.append(np.array(image.convert("RGB")))
            image.seek(len(frames))
    except EOFError:
        return np.stack(frames)
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"The frame {len(frames)} of the GIF can't be decoded: {error}.") from None


def _opened(contents: Any, formats: tuple[str, ...], ratio: int = 1, truncated: bool = False) -> Any:
    library, data = _pillow(), as_arrays(contents)
    if data.ndim:
        raise InvalidArgumentError(f"One image is decoded, but the shape is {data.shape}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", library.DecompressionBombWarning)
            image = library.open(io.BytesIO(data.item()), formats=formats)
            if ratio > 1:
                image.draft(None, (-(-image.width // ratio), -(-image.height // ratio)))
            image.load()
            return image
    except (
        OSError,
        SyntaxError,
        ValueError,
        library.DecompressionBombError,
        library.DecompressionBombWarning,
    ) as error:
        if not (truncated and isinstance(error, OSError) and "truncated" in str(error)):
            raise InvalidArgumentError(
                f"The string of {len(data.item())} bytes is no {' or '.join(formats)} image that can be decoded"
                + ("." if isinstance(error, library.UnidentifiedImageError) else f": {error}.")
            ) from None
        return _recovered(data.item(), formats)


def _recovered(data: bytes, formats: tuple[str, ...]) -> Any:
    """The present part of an image that is cut off; the rest is grey or black."""
    from PIL import ImageFile

    parser = ImageFile.Parser()
    parser.feed(data + b"\xff\xd9")  # the end that is missing
    image = parser.image
    if image is None or image.format not in formats:
        raise InvalidArgumentError(f"Nothing of the image of {len(data)} bytes can be decoded.")
    return image


def _pixels(image: Any, channels: int, dtype: DType) -> Any:
    if image.mode in ("I;16", "I") and image.format == "PNG":
        grey = np.asarray(image).astype(np.uint16)
        pixels = grey if dtype is uint16 else (grey >> 8).astype(np.uint8)
        if channels in (0, 1):
            return pixels
        opaque = [np.full_like(pixels, np.iinfo(pixels.dtype).max)] * (channels in (2, 4))
        return np.stack([pixels] * (channels - len(opaque)) + opaque, axis=-1)
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "L" and "transparency" in image.info:
        image = image.convert("LA")
    mode = _MODES[channels or _CHANNELS.get(image.mode, 3)]
    narrow = np.array(image if image.mode == mode else image.convert(mode))
    return narrow if dtype is not uint16 else narrow.astype(np.uint16) * 257


@kernel("DecodePng")
def decode_png(xp: Any, contents: Any, *, channels: int, dtype: DType) -> Any:
    return xp.asarray(_decode(contents, _STILL, channels, dtype))


@kernel("DecodeJpeg")
def decode_jpeg(xp: Any, contents: Any, *, channels: int, ratio: int, try_recover_truncated: bool) -> Any:
    if ratio not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"An image shrinks by 1, 2, 4 or 8, not {ratio}.")
    return xp.asarray(_decode(contents, _STILL, channels, uint8, ratio, try_recover_truncated))


@kernel("DecodeBmp")
def decode_bmp(xp: Any, contents: Any, *, channels: int) -> Any:
    return xp.asarray(_decode(contents, ("BMP",), channels, uint8))


@kernel("DecodeGif")
def decode_gif(xp: Any, contents: Any) -> Any:
    pixels = _decode(contents, _STILL, 3, uint8, animated=True)
    return xp.asarray(pixels if pixels.ndim == 4 else pixels[None])


@kernel("DecodeImage")
def decode_image(xp: Any, contents: Any, *, channels: int, dtype: DType, expand_animations: bool) -> Any:
    pixels = _decode(contents, (*_STILL, "BMP"), channels, dtype, animated=True)
    return xp.asarray(pixels if pixels.ndim == 3 or expand_animations else pixels[0])


@kernel("EncodePng")
def encode_png(xp: Any, image: Any, *, compression: int) -> Any:
    pixels = _host(image, (1, 2, 3, 4))
    if pixels.dtype == np.uint16 and pixels.ndim == 3:
        raise UnimplementedError("Images of 16 bits are encoded with one channel only.")
    if not -1 <= compression <= 9:
        raise InvalidArgumentError(f"compression is -1 to 9, but it is {compression}.")
    return _encode(pixels, "PNG", compress_level=6 if compression < 0 else compression)


@kernel("EncodeJpeg")
def encode_jpeg(
    xp: Any,
    image: Any,
    *,
    format: str,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density_unit: str,
    x_density: int,
    y_density: int,
    xmp_metadata: str,
) -> Any:
    channels = {"": (1, 3), "default": (1, 3), "grayscale": (1,), "rgb": (3,)}.get(format)
    if channels is None:
        raise InvalidArgumentError(f"A JPEG's format is '', 'grayscale' or 'rgb', not {format!r}.")
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"A JPEG's quality is 0 to 100, but it is {quality}.")
    units = {"in": 1.0, "cm": 2.54}.get(density_unit)  # the file tells pixels for each inch
    if units is None:
        raise InvalidArgumentError(f"The unit of a JPEG's densities is 'in' or 'cm', not {density_unit!r}.")
    return _encode(
        _host(image, channels),
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling="4:2:0" if chroma_downsampling else "4:4:4",
        dpi=(round(x_density * units), round(y_density * units)),
        **({"xmp": xmp_metadata.encode()} if xmp_metadata else {}),
    )


def _host(image: Any, channels: tuple[int, ...]) -> Any:
    pixels = np.asarray(image.get() if hasattr(image, "get") else image)
    if pixels.ndim != 3 or pixels.shape[2] not in channels or not pixels.size:
        raise InvalidArgumentError(
            f"An image to encode has the shape [height, width, channels], with {' or '.join(map(str, channels))} channels and "
            f"at least one pixel; this has {pixels.shape}."
        )
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _encode(pixels: Any, kind: str, **options: Any) -> Any:
    file = io.BytesIO()
    _pillow().fromarray(np.ascontiguousarray(pixels)).save(file, kind, **options)
    return as_arrays(file.getvalue())
