"""`Reads`: the messages that arrive. Their time is bounded, and so is the number of those that arrive slowly."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio

from actorflow.errors import DeadlineExceededError, InvalidArgumentError, Overloaded

_PROMPT = 0.5
"""Seconds. A network of 10 Gbit/s brings some 600 MB in them, to all calls together."""


class Reads:
    """Reads the message of a call, in bounded time.

    gRPC counts the bytes of a message nowhere before it is whole, and holds them. So each message that does not arrive at once
    takes a place, as if it had the most bytes; further slow messages are refused. A message that arrives at once needs no place:
    slow clients keep no other client out.

    Args:
        places: how many messages may arrive slowly at a time.
        most_seconds: how long a message may take.
        prompt_seconds: how long a message may take without a place.
    """

    def __init__(self, places: int, most_seconds: float, prompt_seconds: float = _PROMPT) -> None:
        self._places, self._most_seconds = places, most_seconds
        self._prompt_seconds = prompt_seconds
        self.slow = 0
        """The messages that arrive slowly now."""

    async def message(self, context: Any) -> bytes:
        """The message of a call.

        Args:
            context: the call.

        Raises:
            DeadlineExceededError: the message did not arrive in time.
            InvalidArgumentError: the call has no message.
            Overloaded: the message is slow, and so are too many others.
        """
        has_place = is_refused = False
        data: Any = None

        def turn_slow() -> None:
            nonlocal has_place, is_refused
            if self.slow < self._places:
                self.slow += 1
                has_place = True
            else:
                is_refused = True
                scope.cancel()

        scope = anyio.CancelScope()
        timer = asyncio.get_running_loop().call_later(self._prompt_seconds, turn_slow)
        try:
            with anyio.move_on_after(self._most_seconds) as limit, scope:
                data = await context.read()
        finally:
            timer.cancel()
            self.slow -= has_place
        if limit.cancelled_caught:
            raise DeadlineExceededError(
                f"The message of the call did not arrive within {self._most_seconds:g} seconds."
            )
        if is_refused and data is None:
            raise Overloaded(
                f"The message arrives slowly, and {self._places} others do already: no more are read.", retry_after=1.0
            )
        if not isinstance(data, bytes):
            raise InvalidArgumentError("The call has no message.")
        return data
