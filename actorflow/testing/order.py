"""The order in which anyio cancels nested scopes: they lie in sets, whose order depends on addresses in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio._backends import _asyncio


class OrderedSet(dict[Any, None]):
    """What anyio does with a set of scopes, in the order in which they came."""

    def add(self, entry: Any) -> None:
        self[entry] = None

    def remove(self, entry: Any) -> None:
        del self[entry]

    def discard(self, entry: Any) -> None:
        self.pop(entry, None)


@contextmanager
def ordered_scopes() -> Iterator[None]:
    """Scopes that are made on virtual loops meanwhile keep their children in order."""
    from actorflow.testing.loop import VirtualLoop

    real = _asyncio.CancelScope.__init__

    def init(scope: Any, *arguments: Any, **options: Any) -> None:
        real(scope, *arguments, **options)
        if isinstance(asyncio._get_running_loop(), VirtualLoop):
            scope._child_scopes = OrderedSet()

    _asyncio.CancelScope.__init__ = init  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        _asyncio.CancelScope.__init__ = real  # type: ignore[method-assign]
