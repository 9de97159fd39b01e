"""Unpacking of zlib and gzip streams piece by piece, with all that comes before damage."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any

from actorflow.errors import InvalidArgumentError, ResourceExhaustedError

_MOST_UNPACKED = 256 << 20
_PIECE = 16 << 10
"""Packed bytes that are unpacked at a time, to 16 MiB at most."""
_READ = 256 << 10
"""Packed bytes that are read at a time."""


def most_unpacked() -> int:
    """The most bytes to which a string, or a record of a packed file, may unpack: ACTORFLOW_MAX_UNPACKED_BYTES, or 256 MiB.

    Raises:
        InvalidArgumentError: the variable is no number.
    """
    value = os.environ.get("ACTORFLOW_MAX_UNPACKED_BYTES", str(_MOST_UNPACKED))
    if not (value.isascii() and value.isdecimal()):
        raise InvalidArgumentError(f"ACTORFLOW_MAX_UNPACKED_BYTES has to be a number of bytes, not {value!r}.")
    return int(value)


WBITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


def check_unpacked(size: int, where: str) -> None:
    """Raises ResourceExhaustedError for more unpacked bytes than there may be at a time.

    Args:
        size: how many there are.
        where: what they are of, as an error says it.
    """
    most = most_unpacked()
    if size > most:
        raise ResourceExhaustedError(
            f"{where} unpacks to more than {most} bytes, which is the most.",
            hint="If it is to be trusted, set ACTORFLOW_MAX_UNPACKED_BYTES to a larger number.",
        )


class Unpacker:
    """The unpacked form of a stream of at least one member; `packing` is "ZLIB" or "GZIP".

    Packed bytes are fed as they come, and unpacked as they are wanted: a few may unpack to a thousand times as many.
    """

    def __init__(self, packing: str) -> None:
        self._wbits = WBITS[packing]
        self._member: Any = zlib.decompressobj(self._wbits)
        self._fed = 0
        self._packed, self._at = b"", 0
        """Packed bytes, and how many of them are unpacked."""
        self._is_whole = False
        self.damage: str | None = None
        """The fault of the stream, once that is seen; no more is unpacked then."""

    def copy(self) -> Unpacker:
        """A copy that goes on from here by itself."""
        twin = object.__new__(Unpacker)
        twin.__dict__.update(self.__dict__, _member=self._member.copy())
        return twin

    @property
    def has_ended(self) -> bool:
        """Whether there are no more unpacked bytes: all are taken, or the stream is damaged."""
        return self.damage is not None or self._is_whole and self._at == len(self._packed)

    def feed(self, packed: bytes) -> None:
        """Gives the next packed bytes. Empty bytes tell the end of the stream, which may be too early."""
        self._packed, self._at = self._packed[self._at :] + packed, 0
        self._is_whole = not packed

    def take_from(self, read: Callable[[int], bytes], want: int) -> bytes:
        """The next unpacked bytes, `want` or some more, or all that there are.

        Args:
            read: gives the next packed bytes, up to a number of them; empty bytes at the end.
            want: how many are wanted.
        """
        parts: list[bytes] = []
        while want > 0 and not self.has_ended:
            if self._at == len(self._packed):
                self.feed(read(_READ))
            parts.append(self.take(want))
            want -= len(parts[-1])
        return b"".join(parts)

    def take(self, most: int) -> bytes:
        """The next unpacked bytes: no more, or not many more, than `most`, and all that there are if fewer are left."""
        parts: list[bytes] = []
        while most > 0 and self._at < len(self._packed) and self.damage is None:
            if self._member.eof:
                self._member = zlib.decompressobj(self._wbits)
            piece = self._packed[self._at : self._at + _PIECE]
            parts.append(self._decompress(piece))
            left: bytes = self._member.unused_data if self._member.eof else b""
            used = len(piece) - len(left)
            self._fed += used
            self._at += used
            most -= len(parts[-1])
        if self.has_ended and self._fed and not self._member.eof and self.damage is None:
            self.damage = f"the compressed data is cut off after {self._fed} bytes"
        return b"".join(parts)

    def _decompress(self, packed: bytes) -> bytes:
        """On damage halves the bytes until the wrong byte is found, because zlib keeps what it has unpacked before."""
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
