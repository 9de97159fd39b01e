"""`Large`: large bodies and answers. Their bytes are counted, and threads do their work, in pieces, beside the event loop."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import anyio

from actorflow.base.process import machine
from actorflow.errors import CancelledError, DeadlineExceededError, Overloaded
from actorflow.frontends.http.answers import SMALL
from actorflow.frontends.serving.protocols.inference import InferenceHead
from actorflow.frontends.serving.protocols.pieces import Work

T = TypeVar("T")
_SMALL_BINARY = 1 << 20
"""Bytes of a body whose tensors are taken as they lie in it."""
_THREADS = 2
_TRIMMED = 32 << 20


class Large:
    """Counts the bytes of large bodies that are held, and lets threads work for them.

    Args:
        most_bytes: the most bytes of all bodies that arrive or wait for their answers, and of the arrays that they became.
            The first bytes of each, up to `SMALL`, are free: large bodies keep no small one out.
        most_elements: the most elements of the JSON of a body.
    """

    def __init__(self, most_bytes: int, most_elements: int) -> None:
        self.most_bytes, self._work = most_bytes, Work(most_elements)
        self._held = self._highest = 0
        self._threads: anyio.CapacityLimiter | None = None

    @property
    def held(self) -> int:
        """The bytes that are counted now."""
        return self._held

    def take(self, size: int) -> None:
        """Counts bytes. Raises Overloaded for too many bytes."""
        if self._held + size > self.most_bytes:
            raise Overloaded(
                f"The bodies of all requests together have more than {self.most_bytes} bytes.", retry_after=1.0
            )
        self._held += size
        self._highest = max(self._highest, self._held)

    def give(self, size: int) -> None:
        """Counts bytes no more. Memory goes back to the system when the last bytes are free."""
        self._held -= size
        if size and not self._held and self._highest > _TRIMMED:
            self._highest = 0
            machine.behind(_trim, at_once=True)

    async def run(self, work: Callable[[Work], T], deadline: float | None = None) -> T:
        """The result of `work` on a thread, which calls the check of its argument between pieces.

        Args:
            work: is called with the bounds of the work.
            deadline: the time of `time.perf_counter` at which the result has no use any more.

        Raises:
            DeadlineExceededError: there was no result in time.
            OpError: `work` has raised it.
        """
        ended = False

        def check() -> None:
            if ended:
                raise CancelledError("The request was given up.")
            if deadline is not None and time.perf_counter() > deadline:
                raise DeadlineExceededError("The request's deadline passed while its body was read.")

        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        left = None if deadline is None else deadline - time.perf_counter()
        try:
            with anyio.fail_after(left):
                async with self._threads:
                    return await machine.on_thread(work, replace(self._work, check=check), abandon_on_cancel=True)
        except TimeoutError as error:
            if isinstance(error, DeadlineExceededError):
                raise
            raise DeadlineExceededError("The request's deadline passed while its body was read.") from None
        finally:
            ended = True


def is_small(head: InferenceHead, body: bytes | list[bytes]) -> bool:
    """Whether the event loop may read a body itself: it takes a millisecond or so."""
    if head.encoding not in ("", "identity") or not isinstance(body, bytes):
        return False
    if len(body) <= SMALL:
        return True
    size = head.json_size
    return size is not None and size <= SMALL and len(body) <= _SMALL_BINARY and b"BYTES" not in body[:size]


def _trim() -> None:
    """Gives memory that is free back to the system, where its allocator keeps it."""
    if sys.platform == "linux":
        import ctypes  # seldom needed

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
