"""The memory of a peer that this process uses: each token's end gives its lease back."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

_RELEASE_SECONDS = 0.01
"""So long after its end at the latest a lease goes back, where nothing else is said to the peer meanwhile."""


class _TokenLease(weakref.ref[Any]):
    """A weak reference to a token in the peer's memory that knows its lease."""

    __slots__ = ("number",)
    number: int


class PeerLeases:
    """Tokens in a peer's memory that are in use here. The leases of those that are not any more are there to `take`; what is not
    taken within 10 ms `give_back` is called with, on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, give_back: Callable[[list[int]], object]) -> None:
        self._loop = loop
        self._call = give_back
        self._leases: dict[int, _TokenLease] = {}
        self.gone: deque[_TokenLease] = deque()
        """Those that have ended."""
        self._is_called = False

    def __bool__(self) -> bool:
        return bool(self._leases)

    def add(self, token: Any, lease: int) -> Any:
        """`token`, whose end gives `lease` back."""
        reference = _TokenLease(token, self._ended)
        reference.number = lease
        self._leases[lease] = reference
        return token

    def _ended(self, lease: _TokenLease) -> None:
        """A token is not used any more. Called on any thread, and in the middle of garbage collection."""
        self.gone.append(lease)
        if not self._is_called:
            self._is_called = True
            try:
                self._loop.call_soon_threadsafe(self._soon)
            except RuntimeError:  # the loop is closed, and the channel with it
                pass

    def _soon(self) -> None:
        self._loop.call_later(_RELEASE_SECONDS, self._give_back)

    def take(self) -> list[int]:
        """The leases that have ended, to be given back."""
        leases = []
        while self.gone:
            lease = self.gone.popleft()
            self._leases.pop(lease.number, None)
            leases.append(lease.number)
        return leases

    def _give_back(self) -> None:
        self._is_called = False
        self._call(self.take())
