"""`Stream`: the tokens of a request as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from actorflow.frontends.generation.request import Request
from actorflow.frontends.generation.text import Text
from actorflow.public import public


@public("af.generation")
class Token(NamedTuple):
    """A token of an answer.

    Example:
        >>> af.generation.Token(104, "h").text
        'h'

    Args:
        id: its number; -1 for the rest of a text behind the last token.
        text: the text that is certain now; empty for a model of bare tokens, and in the midst of a letter of several bytes.
    """

    id: int
    text: str


@public("af.generation")
class Stream:
    """The tokens of an answer, for `async for`. `Model.generate` makes it.

    A request whose reader leaves the loop, is cancelled, or lets go of the stream, is cancelled at once, and its blocks are free.

    Example:
        >>> decoding = af.generation.Decoding(context=32, vocabulary=4)
        >>> _ = decoding.choose(decoding.last(af.one_hot(decoding.tokens, 4)))
        >>> await af.generation.save(session, "models/echo/1", decoding)
        >>> async with af.generation.Model("models/echo/1") as model:
        ...     stream = model.generate([3], max_tokens=2, temperature=0.0)
        ...     print([token.id async for token in stream], stream.reason)
        [3, 3] length

    Args:
        request: the request.
        text: turns tokens into text.
        end: cancels the request.
        taken: is called when tokens were taken from a request that rests.
    """

    def __init__(self, request: Request, text: Text, end: Callable[[Request], None], taken: Callable[[], None]) -> None:
        self._request, self._text, self._end, self._taken = request, text, end, taken
        self._ready = asyncio.Event()
        self._is_done = False
        request.wake = self._ready.set

    @property
    def reason(self) -> str:
        """Why the answer has ended: `stop`, `length` or `cancelled`; empty before."""
        return "stop" if self._text.is_stopped else self._request.reason

    @property
    def prompt_tokens(self) -> int:
        """How many tokens the prompt has."""
        return len(self._request.prompt)

    @property
    def answer_tokens(self) -> int:
        """How many tokens were chosen."""
        return len(self._request.answer)

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Token:
        request = self._request
        while not self._is_done:
            if request.unread:
                token = request.unread.popleft()
                if request.stalled is not None:
                    self._taken()
                text = self._text.add(token)
                if self._text.is_stopped:
                    self.close()
                    if not text:
                        break
                return Token(token, text)
            if request.is_ended:
                self._is_done = True
                if request.error is not None:
                    raise request.error
                if rest := self._text.rest():
                    return Token(-1, rest)
                break
            self._ready.clear()
            try:
                await self._ready.wait()
            except BaseException:
                self.close()
                raise
        raise StopAsyncIteration

    async def whole(self) -> list[Token]:
        """All tokens that are still to come.

        Raises:
            OpError: the request failed, was too slow, or the model was closed.
        """
        return [token async for token in self]

    def close(self) -> None:
        """Cancels the request, unless it has ended."""
        self._is_done = True
        self._end(self._request)

    async def aclose(self) -> None:
        """The same, as asynchronous generators have it."""
        self.close()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        request = getattr(self, "_request", None)  # a stream whose making failed has none
        if request is not None and not request.is_ended:
            self._end(request)
