"""Images from byte strings, and back, by Pillow (`pip install actorflow[images]`)."""

from __future__ import annotations

from actorflow.base.dtypes import DTypeLike, as_dtype, int32, string, uint8, uint16
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.index import slice_
from actorflow.graph.ops.array.join import concat
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.math.logic import equal
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.ops.strings.elementwise import substr
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public

_WORK = 1_000_000  # of an image whose size is not known


def _decoded(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    if c.op.type == "DecodeGif":
        return (None, None, None, 3)
    channels, dtype = c.attrs["channels"], c.attrs.get("dtype", uint8)
    allowed = (0, 1, 2, 3, 4) if c.op.type == "DecodePng" else (0, 1, 3, 4)
    if channels not in allowed:
        raise ValueError(f"An image has {', '.join(map(str, allowed[1:]))} channels, or 0 for its own; not {channels}.")
    if dtype not in (uint8, uint16):
        raise TypeError(f"An image's elements are uint8 or uint16, not {dtype}.")
    return None if c.attrs.get("expand_animations") else (None, None, channels or None)


def _encoded(c: Inference) -> Shape:
    shape = require_rank(c, 0, 3)
    allowed = (1, 3) if c.op.type == "EncodeJpeg" else (1, 2, 3, 4)
    if shape is not None and shape[2] is not None and shape[2] not in allowed:
        raise ValueError(
            f"An image to encode has {' or '.join(map(str, allowed))} channels; its shape is {show(shape)}."
        )
    return ()


@public("af.io", "af.image")
@op("DecodePng", shape=_decoded, types={"contents": string}, result="dtype", gradient=None, work=_WORK)
def decode_png(contents: TensorLike, *, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None) -> Tensor:
    """A PNG image as `[height, width, channels]` (`tf.image.decode_png`).

    A JPEG, or a GIF with one frame, is taken too: files have wrong names. Images of 16 bits with colours are decoded to uint8
    only.

    Example:
        >>> png = af.image.encode_png(af.constant([[[7], [9]]], af.uint8))
        >>> af.image.decode_png(png)[:, :, 0]
        [[7 9]]

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 keeps the image's; 1 is grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
        dtype: uint8 or uint16.

    Raises:
        InvalidArgumentError: the string is not a PNG, in the run.
    """


@public("af.io", "af.image")
@op("DecodeJpeg", shape=_decoded, types={"contents": string}, result=uint8, gradient=None, work=_WORK)
def decode_jpeg(
    contents: TensorLike,
    *,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG image as uint8 `[height, width, channels]` (`tf.image.decode_jpeg`).

    A PNG, or a GIF with one frame, is taken too: files have wrong names. Values differ from TensorFlow's by a few units, because
    libraries round otherwise.

    Example:
        >>> jpeg = af.image.encode_jpeg(af.fill([8, 8, 3], af.constant(200, af.uint8)))
        >>> af.image.decode_jpeg(jpeg)[0, 0]
        [200 200 200]

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 keeps the image's; 1 is grey, 3 is RGB; 4, of a PNG alone, RGB and alpha.
        ratio: 1, 2, 4 or 8: the image is shrunk by it in both dimensions.
        fancy_upscaling, acceptable_fraction, dct_method: taken, and not used.
        try_recover_truncated: decodes what there is of a file that is cut off.

    Raises:
        InvalidArgumentError: the string is not a JPEG, or is cut off without `try_recover_truncated`, in the run.
    """


@public("af.io", "af.image")
@op("DecodeBmp", shape=_decoded, types={"contents": string}, result=uint8, gradient=None, work=_WORK)
def decode_bmp(contents: TensorLike, *, channels: int = 0, name: str | None = None) -> Tensor:
    """A BMP image as uint8 `[height, width, channels]` (`tf.image.decode_bmp`).

    Example:
        >>> import struct
        >>> head = struct.pack("<2sIHHI", b"BM", 58, 0, 0, 54) + struct.pack("<IiiHH6I", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
        >>> af.image.decode_bmp(head + bytes([3, 2, 1, 0]))  # blue, green, red, and a byte of padding
        [[[1 2 3]]]

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 keeps the image's; 1 is grey, 3 RGB, 4 RGB and alpha.

    Raises:
        InvalidArgumentError: the string is not a BMP, in the run.
    """


@public("af.io", "af.image")
@op("DecodeGif", shape=_decoded, types={"contents": string}, result=uint8, gradient=None, work=_WORK)
def decode_gif(contents: TensorLike, *, name: str | None = None) -> Tensor:
    """All frames of a GIF as uint8 `[frames, height, width, 3]` (`tf.image.decode_gif`); a PNG or JPEG is one frame.

    `contents` is a scalar string, the file's bytes. Raises InvalidArgumentError in the run for other files.

    Example:
        >>> frame = "2c00000000010001000002024401003b"
        >>> gif = bytes.fromhex("474946383961010001008001 00ff0000ffffff" + frame)  # a red pixel
        >>> af.image.decode_gif(gif)
        [[[[255   0   0]]]]
    """


@public("af.io", "af.image")
def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A rectangle of a JPEG image (`tf.image.decode_and_crop_jpeg`). The whole image is decoded for it.

    Example:
        >>> jpeg = af.image.encode_jpeg(af.zeros([16, 16, 3], af.uint8))
        >>> af.image.decode_and_crop_jpeg(jpeg, crop_window=[4, 4, 8, 2]).shape
        TensorShape([8, 2, 3])

    Args:
        contents: a scalar string, the file's bytes.
        crop_window: int32 `[4]`: the upper left corner (y, x), the height and the width.
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method: see `decode_jpeg`.

    Raises:
        InvalidArgumentError: the string is not a JPEG, or the window is not within the image, in the run.
    """
    with composite(name, "DecodeAndCropJpeg", contents, crop_window) as scope:
        whole = decode_jpeg(contents, channels=channels, ratio=ratio, try_recover_truncated=try_recover_truncated)
        window = convert_to_tensor(crop_window, int32)
        begin, size = concat([window[:2], [0]], 0), concat([window[2:], [-1]], 0)
        return slice_(whole, begin, size, name=scope)


@public("af.io", "af.image")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Whether a scalar string begins as a JPEG does, a bool scalar (`tf.image.is_jpeg`).

    Example:
        >>> af.image.is_jpeg(af.image.encode_jpeg(af.zeros([8, 8, 3], af.uint8))), af.image.is_jpeg("GIF89a")
        (True, False)
    """
    with composite(name, "is_jpeg", contents) as scope:
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=scope)


@op("DecodeImage", shape=_decoded, types={"contents": string}, result="dtype", gradient=None, work=_WORK)
def decode_image_op(
    contents: TensorLike,
    *,
    channels: int = 0,
    dtype: DTypeLike = uint8,
    expand_animations: bool = True,
    name: str | None = None,
) -> Tensor:
    """See `decode_image`."""


@public("af.io", "af.image")
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """A PNG, JPEG or BMP image as `[height, width, channels]`, or a GIF as `[frames, height, width, 3]`
    (`tf.image.decode_image`).

    The first bytes say which. The rank is known before the run with `expand_animations=False` only.

    Example:
        >>> png = af.image.encode_png(af.constant([[[7], [9]]], af.uint8))
        >>> af.image.decode_image(png)[:, :, 0]
        [[7 9]]

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 (or None) keeps the image's; 1 is grey, 3 RGB, 4 RGB and alpha.
        dtype: the element type of the result; uint8 or uint16.
        expand_animations: whether a GIF gives all frames; else it gives the first frame, without the dimension of frames.
    """
    return decode_image_op(
        contents,
        channels=channels or 0,
        dtype=as_dtype(dtype),
        expand_animations=expand_animations,
        name=name or "decode_image",
    )


@public("af.io", "af.image")
@op(
    "EncodePng",
    shape=_encoded,
    dtypes=frozenset((uint8, uint16)),
    result=string,
    gradient=None,
    work=_WORK,
)
def encode_png(image: TensorLike, *, compression: int = -1, name: str | None = None) -> Tensor:
    """`[height, width, channels]` as a PNG (`tf.image.encode_png`), a scalar string.

    1 to 4 channels of uint8, or a single channel of uint16. `compression` is zlib's level, -1 its default.

    Example:
        >>> png = af.image.encode_png(af.constant([[[7], [9]]], af.uint8))
        >>> af.substr(png, 1, 3)
        b'PNG'
    """


@public("af.io", "af.image")
@op("EncodeJpeg", shape=_encoded, dtypes=frozenset((uint8,)), result=string, gradient=None, work=_WORK)
def encode_jpeg(
    image: TensorLike,
    *,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """`[height, width, channels]` of uint8 as a JPEG (`tf.image.encode_jpeg`), a scalar string.

    Example:
        >>> jpeg = af.image.encode_jpeg(af.zeros([8, 8, 3], af.uint8), quality=80)
        >>> af.image.decode_jpeg(jpeg).shape
        TensorShape([8, 8, 3])

    Args:
        image: of 1 or 3 channels.
        format: "" goes by the channels; "grayscale" demands 1 channel, "rgb" demands 3.
        quality: 0 to 100; higher is better and larger.
        progressive: writes a file that shows the whole image before all of it is there.
        optimize_size: spends time on a smaller file of the same pixels.
        chroma_downsampling: keeps a quarter of the colours; without it the file is larger, and its colours are nearer.
        density_unit: of the densities: "in" or "cm".
        x_density, y_density: the pixels for each unit, which the file tells; 300 for an inch unless given.
        xmp_metadata: written into the file as it is; nothing unless given.
    """
