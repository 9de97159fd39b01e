"""`Transport`: how the edges that cross from one device to another are carried."""

from __future__ import annotations

from typing import Any, Protocol


class Rendezvous(Protocol):
    """Where the Send and Recv nodes of one step meet, by the key of their edge (paper section 3.2.2).

    Send never waits, and may come before its Recv or after it. Each key carries one token a step.
    """

    def send(self, key: str, token: Any) -> None:
        """Hands `token` (a value or DEAD) over; after an abort it is dropped. Raises AbortedError for a second token."""

    async def recv(self, key: str) -> Any:
        """Waits for the token of `key`. Raises the error with which the step was aborted."""

    def abort(self, error: BaseException) -> None:
        """Wakes all that wait, and fails all that come, with `error`."""


class Transport(Protocol):
    """A way for tokens from one device to another."""

    name: str

    def rendezvous(self, step: int) -> Rendezvous:
        """The meeting place of a step's nodes."""
