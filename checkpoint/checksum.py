"""Checksums of tensors, CRC-32: each burst of 32 bits is seen, and other damage but for one time in 2**32. They are no protection
against somebody who wants to deceive."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from actorflow import machine

from .layout import CHUNK


class Beside:
    """Computes checksums of large tensors on a thread, while the one that asks writes them. To be entered and left."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def checksum(self, content: memoryview) -> Callable[[], int]:
        """Begins with it; what is returned waits for the result. `content` has to stay as it is until then."""
        if content.nbytes < CHUNK or not machine.current().is_real:
            value = zlib.crc32(content)
            return lambda: value
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, "actorflow checksums")
        return self._threads.submit(zlib.crc32, content).result

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
