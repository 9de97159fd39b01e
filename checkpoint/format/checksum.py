"""Checksums of tensors, CRC-32: each burst of 32 bits is seen, and other damage but for one time in 2**32. They are no protection
against somebody who wants to deceive."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from actorflow.base.process import machine

from .layout import CHUNK, chunks

Checksum = Callable[[memoryview, int], int]


@functools.cache
def fastest() -> Checksum:
    """`crc32(content, value)` as zlib has it: ISA-L's where the extra `checksums` is installed, at a fifth of zlib's time."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib.crc32
    checksum: Checksum = isal_zlib.crc32
    return checksum


class Checksums:
    """Computes checksums of what is written meanwhile. To be entered and left.

    If that costs far less than to write, it is done just before, so that the writer finds the bytes in the cache, and
    one thread has all the work; else on a second thread."""

    def __init__(self) -> None:
        self._crc32 = fastest()
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

    def __enter__(self) -> Checksums:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
