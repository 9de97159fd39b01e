"""`tensorflow.Summary` and `tensorflow.Event` messages: what TensorBoard shows, as bytes.

Each function gives one value of a summary; values joined in sequence are a `Summary` message. The bytes are those that
TensorFlow 1's ops of the same kinds give.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from actorflow.base.records.png import write_png
from actorflow.base.records.wire import (
    BYTES,
    BrokenMessageError,
    fields,
    typed,
    write_double,
    write_doubles,
    write_field,
    write_float,
    write_int,
    write_varint,
)
from actorflow.errors import InvalidArgumentError

FILE_VERSION = "brain.Event:2"
_LARGEST = np.finfo(np.float64).max
_TIME = struct.Struct("<Bd")
_VALUE = struct.Struct("<Bf")


def event(wall_time: float, step: int, field: int = 0, payload: bytes = b"") -> bytes:
    """An `Event`.

    Args:
        wall_time: seconds since 1970.
        step: the training step.
        field: which of the event's fields `payload` is (5 is a `Summary`); 0 for none.
        payload: its bytes.
    """
    head = _TIME.pack(0x09, wall_time)
    if step:
        head += b"\x10" + write_varint(step)
    return head + write_field(field, payload) if field else head


def first_event(wall_time: float) -> bytes:
    """The event with which each file begins."""
    version = write_field(3, FILE_VERSION.encode())
    return event(wall_time, 0) + version + write_field(10, write_field(1, b"actorflow"))


def scalar(tag: str, value: float) -> bytes:
    """A number, which becomes a float32 (`ScalarSummary`)."""
    return _scalar_with(_head(tag), value)


@functools.lru_cache(maxsize=4096)
def _head(tag: str) -> bytes:
    return write_field(1, tag.encode("utf-8", "surrogateescape")) if tag else b""


def _scalar_with(head: bytes, value: float) -> bytes:
    try:
        body = head + _VALUE.pack(0x15, value)
    except OverflowError:
        body = head + write_float(2, np.copysign(np.inf, value))
    size = len(body)
    return b"\x0a" + (bytes((size,)) if size < 128 else write_varint(size)) + body


def histogram(tag: str, values: Any) -> bytes:
    """The distribution of an array's elements over 1,551 buckets that grow by a tenth (`HistogramSummary`).

    Raises:
        ValueError: an element is NaN or infinite.
    """
    flat = np.asarray(values).reshape(-1).astype(np.float64)
    if not np.isfinite(flat).all():
        raise ValueError(f"Nan in summary histogram for: {tag}")
    limits = _limits()
    # A value beyond all limits counts in the last bucket.
    places = np.minimum(np.searchsorted(limits, flat, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits)).astype(np.float64)
    # A run of empty buckets is a single bucket, whose limit is its last.
    kept = (counts > 0) | np.append(counts[1:] > 0, True)
    body = b"".join(
        [
            _double(1, flat.min() if flat.size else _LARGEST),
            _double(2, flat.max() if flat.size else -_LARGEST),
            _double(3, flat.size),
            # From the front, value by value, as TensorFlow adds: np.sum adds in another order and gives other bits.
            _double(4, np.add.accumulate(flat)[-1] if flat.size else 0.0),
            _double(5, np.add.accumulate(flat * flat)[-1] if flat.size else 0.0),
            write_doubles(6, limits[kept]),
            write_doubles(7, counts[kept]),
        ]
    )
    return write_field(1, _head(tag) + write_field(5, body))


@functools.cache
def _limits() -> Any:
    grown, limit = [], 1e-12
    while limit < 1e20:
        grown.append(limit)
        limit *= 1.1
    grown.append(float(_LARGEST))
    return np.array([*(-limit for limit in reversed(grown)), 0.0, *grown])


def _double(number: int, value: float) -> bytes:
    """A float64 field; messages leave out the zero, but not the negative zero."""
    return write_double(number, value) if value or np.signbit(value) else b""


def _int(number: int, value: int) -> bytes:
    return write_int(number, value) if value else b""


def images(tag: str, batch: Any, most: int, bad_colour: tuple[int, ...] = (255, 0, 0, 255)) -> bytes:
    """Up to `most` images (`ImageSummary`).

    Args:
        tag: the values' tags are `tag/image` where `most` is 1, else `tag/image/0` and so on.
        batch: `[batch, height, width, channels]` with 1, 3 or 4 channels. uint8 stays as it is; floats are scaled, each image by
            itself, so that the largest becomes 255, or where some are negative, so that 0 becomes 128.
        most: how many images of the batch are written.
        bad_colour: the colour of pixels that are not finite.
    """
    values = []
    for number, image in enumerate(batch[:most]):
        pixels = image if image.dtype == np.uint8 else _scaled(image, bad_colour)
        height, width, channels = pixels.shape
        body = _int(1, height) + _int(2, width) + _int(3, channels) + write_field(4, write_png(pixels))
        name = f"{tag}/image" if most == 1 else f"{tag}/image/{number}"
        values.append(write_field(1, _head(name) + write_field(4, body)))
    return b"".join(values)


def _scaled(image: Any, bad_colour: tuple[int, ...]) -> Any:
    good = np.isfinite(image).all(axis=2)
    kind = image.dtype.type
    seen = image[good].astype(np.float32)
    low, high = (np.float32(seen.min()), np.float32(seen.max())) if seen.size else (np.float32(np.inf), np.float32(0))
    largest = max(abs(low), abs(high)) if low < 0 else high
    scale = kind(0 if largest < 1e-6 else np.float32(127.0 if low < 0 else 255.0) / largest)
    with np.errstate(invalid="ignore", over="ignore"):
        pixels = (image * scale + kind(128 if low < 0 else 0)).astype(np.uint8)
    pixels[~good] = np.array(bad_colour[: image.shape[2]], np.uint8)
    return pixels


def audio(tag: str, batch: Any, sample_rate: float, most: int) -> bytes:
    """Up to `most` clips as WAV files of 16 bits (`AudioSummaryV2`).

    Args:
        tag: the values' tags are `tag/audio` where `most` is 1, else `tag/audio/0` and so on.
        batch: float32 `[batch, frames]` or `[batch, frames, channels]`, from -1 to 1; what is beyond is cut off.
        sample_rate: frames a second.
        most: how many clips of the batch are written.
    """
    values = []
    for number, clip in enumerate(batch[:most]):
        frames, channels = clip.shape if clip.ndim == 2 else (len(clip), 1)
        body = write_float(1, sample_rate) + _int(2, channels) + _int(3, frames)
        body += write_field(4, write_wav(clip, sample_rate)) + write_field(5, b"audio/wav")
        name = f"{tag}/audio" if most == 1 else f"{tag}/audio/{number}"
        values.append(write_field(1, _head(name) + write_field(6, body)))
    return b"".join(values)


def write_wav(clip: Any, sample_rate: float) -> bytes:
    """A clip, `[frames]` or `[frames, channels]` from -1 to 1, as a WAV file of 16 bits."""
    channels = clip.shape[1] if clip.ndim == 2 else 1
    scaled = np.asarray(clip, np.float32) * np.float32(1 << 15)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)  # halves go away from zero
    data: bytes = np.clip(rounded, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    rate = round(float(sample_rate))
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


def tensor(tag: str, message: bytes, metadata: bytes | None = None, node_name: str = "") -> bytes:
    """A tensor (`TensorSummaryV2`).

    Args:
        tag: the value's tag; "" for a value without a tag (`TensorSummary`).
        message: a `TensorProto`.
        metadata: a `SummaryMetadata`: which of TensorBoard's pages shows it.
        node_name: the node that made it.
    """
    body = _head(tag) + (write_field(7, node_name.encode()) if node_name else b"") + write_field(8, message)
    return write_field(1, body if metadata is None else body + write_field(9, metadata))


def merge(summaries: Iterable[bytes]) -> bytes:
    """Several summaries as one (`MergeSummary`).

    Raises:
        InvalidArgumentError: a tag is there twice, or an element is no summary.
    """
    parts, seen = list(summaries), set()
    for part in parts:
        for tag in tags(part):
            if tag in seen:
                raise InvalidArgumentError(f"Duplicate tag {tag} found in summary inputs")
            seen.add(tag)
    return b"".join(parts)


def tags(summary: bytes) -> list[str]:
    """The tags of a summary's values that have a tag. Raises InvalidArgumentError if the bytes are no summary."""
    names = []
    try:
        for _, value in typed(summary, {1: BYTES}):
            names += [_text(text) for _, text in typed(value, {1: BYTES}) if text]
    except BrokenMessageError as error:
        raise InvalidArgumentError(f"Could not parse one of the summary inputs: {error}") from None
    return names


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def without_known_metadata(summary: bytes, known: set[str]) -> bytes:
    """A summary without the metadata of tags that are `known`, whose metadata readers have; its other tags become known."""
    if b"J" not in summary:  # the key of the field
        return summary
    values = []
    for number, value in typed(summary, {1: BYTES}):
        parts = list(typed(value, {1: BYTES, 9: BYTES}))
        tag = next((_text(part) for n, part in parts if n == 1), "")
        if tag in known and any(n == 9 for n, _ in parts):
            value = _without(value, 9)
        known.add(tag)
        values.append(write_field(number, value))
    return b"".join(values)


def _without(message: bytes, field: int) -> bytes:
    kept = []
    for number, kind, value in fields(message):
        if number != field:
            key = write_varint(number << 3 | kind)
            body = write_varint(len(value)) + value if kind == BYTES else write_varint(value) if kind == 0 else value
            kept.append(key + body)
    return b"".join(kept)
