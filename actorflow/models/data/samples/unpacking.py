"""`unpacked`: the bytes of a file that may be packed with gzip, bzip2 or xz, whose sums are checked up to the last byte."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, cast

_PART = 64 << 10
_XZ = (b"\xfd7zXZ\x00", b"\x5d\x00\x00\x80")
"""The first bytes of a file of xz, and those of the older form `lzma`."""
DAMAGES = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
"""The errors of the libraries for bytes that they can't unpack."""


def unpacked(file: io.BufferedReader) -> tuple[IO[bytes], str]:
    """The bytes of a file, and by what it is packed: "gzip", "bzip2", "xz", or "" for a plain file.

    A read raises an error of `DAMAGES` for a stream that is cut off or damaged, and for bytes behind it that are neither zeros
    nor a stream. There `bz2.open` and `lzma.open` end in silence.

    Args:
        file: the file at its beginning; it need not be seekable.
    """
    begin = file.peek(6)
    if begin.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file)), "gzip"
    if begin.startswith(b"BZh"):
        return io.BufferedReader(_Streams(file, bz2.BZ2Decompressor), _PART), "bzip2"
    if begin.startswith(_XZ):
        return io.BufferedReader(_Streams(file, lzma.LZMADecompressor), _PART), "xz"
    return file, ""


class _Streams(io.RawIOBase):
    """The bytes of packed streams that follow each other in a file.

    Args:
        file: the streams.
        new: makes the decompressor of a stream.
    """

    def __init__(self, file: io.BufferedReader, new: Callable[[], Any]) -> None:
        self._file, self._new = file, new
        self._stream: Any = new()
        self._packed = b""
        """Bytes of the stream that were read already."""

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills a part of a buffer. Raises an error of `DAMAGES`."""
        while not self._stream.eof or self._begins():
            packed, self._packed = self._packed, b""
            if self._stream.needs_input and not packed and not (packed := self._file.read1(_PART)):
                raise EOFError("it is cut off")
            if data := self._stream.decompress(packed, len(buffer)):
                buffer[: len(data)] = data
                return len(data)
        return 0

    def _begins(self) -> bool:
        """Whether there is another stream, which begins; zeros may stand before it."""
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed:
            if not (part := self._file.read1(_PART)):
                return False
            packed = part.lstrip(b"\0")
        self._stream, self._packed = self._new(), packed
        return True
