"""PNG files as libpng writes them by default: rows filtered by the least sum of absolute differences, packed by zlib.

If both use the same zlib, the bytes are those of TensorFlow's `EncodePng` and `ImageSummary`.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}
_PIECE = 8192  # bytes of packed data in one chunk


def write_png(pixels: Any) -> bytes:
    """An image as a file.

    Args:
        pixels: uint8 `[height, width, channels]` of at least one pixel, with 1 (grey), 2 (grey, alpha), 3 (RGB) or 4
            channels (RGBA).
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    rows = _filtered(np.ascontiguousarray(pixels).reshape(height, width * channels), channels)
    packer = zlib.compressobj(-1, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    packed = _with_small_window(packer.compress(rows) + packer.flush(), len(rows))
    pieces = [packed[at : at + _PIECE] for at in range(0, len(packed), _PIECE)]
    chunks = [(b"IHDR", header), *((b"IDAT", piece) for piece in pieces), (b"IEND", b"")]
    return _SIGNATURE + b"".join([_chunk(kind, data) for kind, data in chunks])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _filtered(rows: Any, channels: int) -> bytes:
    """Each row by the filter that leaves the least sum of absolute differences; the first of equal filters."""
    above = np.vstack([np.zeros_like(rows[:1]), rows[:-1]])
    left = np.zeros_like(rows)
    left[:, channels:] = rows[:, :-channels]
    corner = np.zeros_like(rows)
    corner[:, channels:] = above[:, :-channels]
    a, b, c = left.astype(np.int16), above.astype(np.int16), corner.astype(np.int16)
    pa, pb, pc = np.abs(b - c), np.abs(a - c), np.abs(a + b - 2 * c)
    paeth = np.where((pa <= pb) & (pa <= pc), a, np.where(pb <= pc, b, c))
    guesses = (np.zeros_like(rows), left, above, ((a + b) >> 1).astype(np.uint8), paeth.astype(np.uint8))
    tried = np.stack([rows - guess for guess in guesses])
    costs = np.abs(tried.view(np.int8).astype(np.int64)).sum(axis=2)
    best = costs.argmin(axis=0)
    chosen = tried[best, np.arange(len(rows))]
    return np.concatenate([best.astype(np.uint8)[:, None], chosen], axis=1).tobytes()


def _with_small_window(packed: bytes, size: int) -> bytes:
    """The zlib header says the smallest window that holds the data, as libpng has it."""
    if size > 16384:
        return packed
    bits = max(8, (size - 1).bit_length())
    first = 8 | bits - 8 << 4
    flags = packed[1] & 0xE0
    flags += 31 - (first * 256 + flags) % 31
    return bytes((first, flags)) + packed[2:]
