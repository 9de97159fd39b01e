"""The local transport: inside a process a token is handed over as it is."""

from __future__ import annotations

import asyncio
from typing import Any

from actorflow.errors import AbortedError

_TAKEN = object()


class LocalTransport:
    """Carries tokens between devices of one process."""

    name = "local"

    def rendezvous(self, step: int) -> LocalRendezvous:
        """The meeting place of a step's nodes."""
        return LocalRendezvous()


class LocalRendezvous:
    """Tokens by key: whoever comes first, Send or Recv, leaves its half here. Nothing is copied."""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._error: BaseException | None = None

    def send(self, key: str, token: Any) -> None:
        """Hands `token` over. After an abort it is dropped. Raises AbortedError for a second token under one key."""
        if self._error is not None:
            return
        if key in self._entries:
            raise AbortedError(f"The edge {key} carried a second token in one step.")
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            self._entries[key] = token
        else:
            self._entries[key] = _TAKEN
            if not waiting.done():  # its Recv was cancelled
                waiting.set_result(token)

    async def recv(self, key: str) -> Any:
        """Waits for the token of `key`. Raises what the step was aborted with, AbortedError for a second Recv."""
        if self._error is not None:
            raise self._error
        if key in self._entries and self._entries[key] is not _TAKEN:
            token = self._entries[key]
            self._entries[key] = _TAKEN
            return token
        if key in self._entries or key in self._waiting:
            raise AbortedError(f"The edge {key} is received twice in one step.")
        waiting = self._waiting[key] = asyncio.get_running_loop().create_future()
        return await waiting

    def abort(self, error: BaseException) -> None:
        """Ends the step here: all that wait are woken with `error`, and what was handed over is dropped."""
        self._error = error
        waiting, self._waiting = self._waiting, {}
        self._entries.clear()
        for future in waiting.values():
            if not future.done():
                future.set_exception(error)
