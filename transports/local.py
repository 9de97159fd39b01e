"""The local transport: inside a process a token is handed over as it is."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import numpy as np

from actorflow.engine.transport.base import Callback
from actorflow.errors import AbortedError

TokenKey: TypeAlias = "tuple[str, bytes]"


_TAKEN, _NONE = object(), object()


class LocalTransport:
    """Carries tokens between devices of one process."""

    name = "local"

    def rendezvous(self, step: int) -> LocalRendezvous:
        """The meeting place of a step's nodes."""
        return LocalRendezvous()


class LocalRendezvous:
    """Tokens by key and tag: whoever comes first, Send or Recv, leaves its half here. Nothing is copied, unless an edge is
    lossy."""

    is_local = True

    def __init__(self) -> None:
        self._entries: dict[TokenKey, Any] = {}
        self._waiting: dict[TokenKey, Callback] = {}
        self._error: BaseException | None = None

    def send(self, key: str, token: Any, tag: bytes = b"", *, lossy: bool = False) -> None:
        """Hands `token` over. After an abort it is dropped. Raises AbortedError for a second token of a key and tag."""
        if self._error is not None:
            return
        token_key = (key, tag)
        if token_key in self._entries:
            raise AbortedError(f"The edge {_shown(token_key)} carried a second token in one step.")
        if lossy and isinstance(token, (np.ndarray, np.float32)):
            from .protocol.tensors import rounded

            token = rounded(token)
        waiting = self._waiting.pop(token_key, None)
        if waiting is None:
            self._entries[token_key] = token
        else:
            self._took(token_key)
            waiting(token, None)

    async def recv(self, key: str, tag: bytes = b"") -> Any:
        """Waits for the token of `key` and `tag`. Raises what the step was aborted with, AbortedError for a second Recv."""
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def come(token: Any, error: BaseException | None) -> None:
            if waiting.done():  # this Recv was cancelled
                return
            if error is None:
                waiting.set_result(token)
            else:
                waiting.set_exception(error)

        self.expect(key, tag, come)
        return await waiting

    def expect(self, key: str, tag: bytes, callback: Callback) -> None:
        """Calls `callback` with the token of `key` and `tag` as soon as it is there, or with what `recv` raises."""
        token_key = (key, tag)
        token = self._entries.get(token_key, _NONE)
        if self._error is not None:
            callback(None, self._error)
        elif token is _TAKEN or token_key in self._waiting:
            callback(None, AbortedError(f"The edge {_shown(token_key)} is received twice in one step."))
        elif token is _NONE:
            self._waiting[token_key] = callback
        else:
            self._took(token_key)
            callback(token, None)

    def _took(self, token_key: TokenKey) -> None:
        if token_key[1]:  # a loop may go on for long, so nothing is kept of its iterations
            self._entries.pop(token_key, None)
        else:
            self._entries[token_key] = _TAKEN

    def abort(self, error: BaseException) -> None:
        """Ends the step here: all that wait are woken with `error`, and what was handed over is dropped."""
        self._error = error
        waiting, self._waiting = self._waiting, {}
        self._entries.clear()
        for callback in waiting.values():
            callback(None, error)


def _shown(token_key: TokenKey) -> str:
    key, tag = token_key
    numbers = [str(int.from_bytes(tag[at : at + 8], "little")) for at in range(0, len(tag), 8)]
    return f"{key} (iteration {'/'.join(numbers)})" if numbers else key
