"""Unpacking of zlib and gzip streams piece by piece, with all that comes before damage."""

from __future__ import annotations

import os
import zlib
from typing import Any

from actorflow.errors import InvalidArgumentError

_MOST_UNPACKED = 256 << 20


def most_unpacked() -> int:
    """The most bytes to which a string may unpack: ACTORFLOW_MAX_UNPACKED_BYTES, or 256 MiB.

    Raises:
        InvalidArgumentError: the variable is no number.
    """
    value = os.environ.get("ACTORFLOW_MAX_UNPACKED_BYTES", str(_MOST_UNPACKED))
    if not (value.isascii() and value.isdecimal()):
        raise InvalidArgumentError(f"ACTORFLOW_MAX_UNPACKED_BYTES has to be a number of bytes, not {value!r}.")
    return int(value)


WBITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


class Unpacker:
    """The unpacked form of a stream of one or more members; `packing` is "ZLIB" or "GZIP"."""

    def __init__(self, packing: str) -> None:
        self._wbits = WBITS[packing]
        self._member: Any = zlib.decompressobj(self._wbits)
        self._fed = 0
        self.damage: str | None = None
        """The fault of the stream, once that is seen; no more is unpacked then."""

    def copy(self) -> Unpacker:
        """One that goes on from here by itself."""
        twin = object.__new__(Unpacker)
        twin._wbits, twin._member, twin._fed, twin.damage = self._wbits, self._member.copy(), self._fed, self.damage
        return twin

    def feed(self, packed: bytes) -> bytes:
        """The bytes to which the next ones unpack. Empty bytes tell the end of the stream, which may be too early."""
        if not packed and self._fed and not self._member.eof and self.damage is None:
            self.damage = f"the compressed data is cut off after {self._fed} bytes"
        parts: list[bytes] = []
        while packed and self.damage is None:
            if self._member.eof:
                self._member = zlib.decompressobj(self._wbits)
            parts.append(self._decompress(packed))
            left: bytes = self._member.unused_data if self._member.eof else b""
            self._fed += len(packed) - len(left)
            packed = left
        return b"".join(parts)

    def _decompress(self, packed: bytes) -> bytes:
        """On damage halves the bytes until the wrong one is found, because zlib keeps what it has unpacked before."""
        before = self._member.copy()
        try:
            return self._member.decompress(packed)  # type: ignore[no-any-return]
        except zlib.error as error:
            if len(packed) == 1:
                self.damage = f"the compressed data is damaged ({error})"
                return b""
            self._member = before
            first = self._decompress(packed[: len(packed) // 2])
            return first if self.damage is not None else first + self._decompress(packed[len(packed) // 2 :])
