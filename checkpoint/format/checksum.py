"""Checksums of tensors, CRC-32: each burst of 32 bits is seen, and other damage but for one time in 2**32. They are no protection
against somebody who wants to deceive."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from actorflow import machine

from .folding import Checksum, folding
from .layout import CHUNK, chunks

MUCH = 1 << 26
"""Bytes for which it pays to load a compiler."""


def fastest(size: int) -> Checksum:
    """What computes the CRC-32 of `size` bytes in all, as `zlib.crc32(content, value)` does."""
    fast = folding() if size >= MUCH and machine.current().is_real else None
    return zlib.crc32 if fast is None else fast


class Sums:
    """Computes checksums of what is written meanwhile. To be entered and left.

    Where that costs far less than writing it is done just before, so that who writes finds the bytes in the cache, and one
    thread has all the work; else on a second thread."""

    def __init__(self, size: int) -> None:
        """`size` is that of all contents."""
        self._crc32 = fastest(size)
        self._threads: ThreadPoolExecutor | None = None
        self._found: list[Callable[[], int]] = []

    def through(self, content: memoryview) -> Iterator[memoryview]:
        """The bytes in chunks, uncopied. They have to stay as they are until the results are there."""
        if self._crc32 is not zlib.crc32:
            value = 0
            for chunk in chunks(content):
                value = self._crc32(chunk, value)
                yield chunk
            self._found.append(lambda: value)
            return
        if content.nbytes < CHUNK or not machine.current().is_real:
            alone = zlib.crc32(content)
            self._found.append(lambda: alone)
        else:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(1, "actorflow checksums")
            self._found.append(self._threads.submit(zlib.crc32, content).result)
        yield from chunks(content)

    def results(self) -> list[int]:
        """The checksums of all that went through, in its order."""
        return [result() for result in self._found]

    def __enter__(self) -> Sums:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
