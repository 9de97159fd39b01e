"""Images from byte strings, and back, by Pillow (`pip install actorflow[images]`)."""

from __future__ import annotations

from actorflow.dtypes import DTypeLike, as_dtype, string, uint8, uint16
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.declare import op
from actorflow.ops.shape_rules import require_rank
from actorflow.public import public
from actorflow.registry.opdef import Inference
from actorflow.shapes import Shape, show

_WORK = 1_000_000  # of an image whose size is not known


def _decoded(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    channels, dtype = c.attrs["channels"], c.attrs.get("dtype", uint8)
    allowed = (0, 1, 3) if c.op.type == "DecodeJpeg" else (0, 1, 2, 3, 4) if c.op.type == "DecodePng" else (0, 1, 3, 4)
    if channels not in allowed:
        raise ValueError(f"An image has {', '.join(map(str, allowed[1:]))} channels, or 0 for its own; not {channels}.")
    if dtype not in (uint8, uint16):
        raise TypeError(f"An image's elements are uint8 or uint16, not {dtype}.")
    return (None, None, channels or None)


def _encoded(c: Inference) -> Shape:
    shape = require_rank(c, 0, 3)
    allowed = (1, 3) if c.op.type == "EncodeJpeg" else (1, 2, 3, 4)
    if shape is not None and shape[2] is not None and shape[2] not in allowed:
        raise ValueError(
            f"An image to encode has {' or '.join(map(str, allowed))} channels; its shape is {show(shape)}."
        )
    return ()


@public("af.io")
@op("DecodePng", shape=_decoded, types={"contents": string}, result="dtype", gradient=None, work=_WORK)
def decode_png(contents: TensorLike, *, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None) -> Tensor:
    """A PNG image as `[height, width, channels]` (`tf.image.decode_png`).

    Images of 16 bits with colours are not supported.

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 keeps the image's; 1 is grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
        dtype: uint8 or uint16.

    Raises:
        InvalidArgumentError: the string is not a PNG, in the run.
    """


@public("af.io")
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

    Values differ from TensorFlow's by a few units, because libraries round otherwise.

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 keeps the image's; 1 is grey, 3 is RGB.
        ratio: 1, 2, 4 or 8: the image is shrunk by it in both dimensions.
        fancy_upscaling, acceptable_fraction, dct_method: taken, and not used.
        try_recover_truncated: decodes what there is of a file that is cut off.

    Raises:
        InvalidArgumentError: the string is not a JPEG, or is cut off without `try_recover_truncated`, in the run.
    """


@op("DecodeImage", shape=_decoded, types={"contents": string}, result="dtype", gradient=None, work=_WORK)
def decode_image_op(
    contents: TensorLike, *, channels: int = 0, dtype: DTypeLike = uint8, name: str | None = None
) -> Tensor:
    """See `decode_image`."""


@public("af.io")
def decode_image(
    contents: TensorLike, channels: int | None = None, dtype: DTypeLike = uint8, name: str | None = None
) -> Tensor:
    """A PNG, JPEG, GIF or BMP image, by its first bytes, as `[height, width, channels]` (`tf.image.decode_image`).

    Of an animated GIF the first frame, as with `expand_animations=False`.

    Args:
        contents: a scalar string, the file's bytes.
        channels: 0 (or None) keeps the image's; 1 is grey, 3 RGB, 4 RGB and alpha.
        dtype: the element type of the result; uint8 or uint16.
    """
    return decode_image_op(contents, channels=channels or 0, dtype=as_dtype(dtype), name=name or "decode_image")


@public("af.io")
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

    1 to 4 channels of uint8, or one of uint16. `compression` is zlib's level, -1 its default.
    """


@public("af.io")
@op("EncodeJpeg", shape=_encoded, dtypes=frozenset((uint8,)), result=string, gradient=None, work=_WORK)
def encode_jpeg(
    image: TensorLike, *, format: str = "", quality: int = 95, progressive: bool = False, name: str | None = None
) -> Tensor:
    """`[height, width, channels]` of uint8 as a JPEG (`tf.image.encode_jpeg`), a scalar string.

    Args:
        image: of one or three channels.
        format: "" goes by the channels; "grayscale" and "rgb" demand one and three.
        quality: 0 to 100; higher is better and larger.
        progressive: writes a file that shows the whole image before all of it is there.
    """
