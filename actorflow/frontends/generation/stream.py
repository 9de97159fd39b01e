"""`Stream`: the tokens of a request as they come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import NamedTuple

from actorflow.frontends.generation.request import GenerationRequest
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
    A stream that is let go without `close` counts from the next turn of the event loop on.

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

    def __init__(
        self,
        request: GenerationRequest,
        text: Text,
        end: Callable[[GenerationRequest], None],
        taken: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._request, self._text, self._end, self._taken = request, text, end, taken
        self._ready = asyncio.Event()
        self._is_done = False
        self._count = 0
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
        """How many tokens were taken."""
        return self._count

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Token:
        while (token := self._take()) is None:
            self._ready.clear()
            try:
                await self._ready.wait()
            except BaseException:
                self.close()
                raise
        return token

    def _take(self) -> Token | None:
        """The next token, or None while it is still to come. Raises StopAsyncIteration at the end."""
        request = self._request
        if self._is_done:
            raise StopAsyncIteration
        if request.unread:
            token = request.unread.popleft()
            self._count += 1
            if request.stalled is not None:
                self._taken()
            text = self._text.add(token)
            if self._text.is_stopped:
                self.close()
                if not text:
                    raise StopAsyncIteration
            return Token(token, text)
        if not request.is_ended:
            return None
        self._is_done = True
        if request.error is not None:
            raise request.error
        if rest := self._text.rest():
            return Token(-1, rest)
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
        if request is None or request.is_ended:
            return
        # The collector of cycles may run in any thread, and in the midst of a step's preparation, which reads the requests.
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the model with it
            self._loop.call_soon_threadsafe(self._end, request)


async def merged(streams: Sequence[Stream]) -> AsyncGenerator[tuple[int, Token | None], None]:
    """The tokens of several streams as they come, each with the place of its stream; None is the end of a stream.

    A stream that waits holds up no other: the streams that have tokens give a token each, in turn.

    Args:
        streams: the streams, which nothing else reads meanwhile.

    Raises:
        OpError: a request failed.
    """
    ready = asyncio.Event()
    for stream in streams:
        stream._ready = ready
        stream._request.wake = ready.set
    left = dict(enumerate(streams))
    while left:
        ready.clear()
        is_at_rest = True
        for index, stream in list(left.items()):
            try:
                token = stream._take()
            except StopAsyncIteration:
                del left[index]
                yield index, None
                continue
            if token is not None:
                is_at_rest = False
                yield index, token
        if left and is_at_rest:
            await ready.wait()
