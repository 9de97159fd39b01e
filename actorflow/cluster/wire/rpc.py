"""`Rpc`: requests and replies over the messages of a channel, in both directions.

[1, number, method, fields] is a request, [2, number, result] and [3, number, error] are its replies, [4, number] takes it
back: it is cancelled there, and replied to all the same.

A second, faster channel to the same peer may take over (`carry`). A reply goes over the channel that its request came by.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping
from types import CoroutineType, MappingProxyType
from typing import Any, Protocol

import anyio

from actorflow.cluster.wire.decoding import decode
from actorflow.cluster.wire.failures import decode_error, encode_error
from actorflow.cluster.wire.messages import Ping, Request
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.engine.runtime.event_loops.step_result import StepResult
from actorflow.engine.session.waiting.deadline import note, noted
from actorflow.engine.transport.base import Channel
from actorflow.errors import (
    CancelledError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
    with_topic,
)

_REQUEST, _RESULT, _ERROR, _CANCEL = 1, 2, 3, 4
DRAIN_SECONDS = 2.0
"""How long a cancelled call waits for the other side to have stopped, if that is there."""
PATIENCE_SECONDS = 0.05
"""How long it waits for a sign of it."""
MOST_CALLS = 16_384
"""The most requests of one peer that are answered at the same time."""

_TAKEN_BACK = "The request was taken back."
_REPLY_TO_CANCEL = encode_error(CancelledError(_TAKEN_BACK))

Handler = Callable[[Any], Any]
"""Answers a request: with the result or a `StepResult`, or with a coroutine that gives the result and gets a task of its own."""


class WaitingForReply(Protocol):
    """An object that is told the future of a call's reply."""

    reply: asyncio.Future[Any] | None


def interrupt(reply: asyncio.Future[Any], error: Exception) -> None:
    """Ends the call that waits for `reply`: it takes its request back, and raises `error`."""
    reply.set_result((None, error))


class Rpc:
    """The calls to one peer, and its calls here."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.asked_by = channel
        """The channel of the request for which a handler was called last; its reply goes there. A handler looks at it before it
        waits for anything, because other requests may come then."""
        self.ended: BaseException | None = None
        self._handlers: Mapping[str, Handler] = {}
        self._root: BackgroundTasks | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._serving: dict[int, asyncio.Task[Any]] = {}
        self._unwanted: set[int] = set()
        """Requests that were taken back before their tasks began."""
        self._loop = asyncio.get_running_loop()
        channel.on_end(self._end)

    def carry(self, channel: Channel) -> None:
        """Asks over `channel` from now on, and answers what comes by it. The end of either channel is the end of all calls."""
        self.channel = channel
        channel.on_end(self._end)
        channel.listen(lambda message: self._take(message, channel))

    def start(
        self, handlers: Mapping[str, Handler] = MappingProxyType({}), root: BackgroundTasks | None = None
    ) -> None:
        """Takes messages from now on. `handlers` answer the peer's requests, by method; their coroutines run under `root`."""
        self._handlers = handlers
        self._root = root
        channel = self.channel
        channel.listen(lambda message: self._take(message, channel))

    @property
    def peer(self) -> str:
        """The task at the other end."""
        return self.channel.peer.identity.task or self.channel.peer.address

    @property
    def answering(self) -> Collection[asyncio.Task[Any]]:
        """The tasks that answer the peer's requests now, and take their time."""
        return self._serving.values()

    # ---- to the peer

    async def call(
        self, request: Request, *, timeout: float | None = None, waiting: WaitingForReply | None = None
    ) -> Any:
        """Asks the peer, and gives its reply. Cancelled, it takes the request back and waits until the peer has stopped.

        Args:
            request: what is asked.
            timeout: seconds.
            waiting: gets the reply's future, by which others can `interrupt` the call.

        Raises:
            errors.UnavailableError: the peer is gone.
            errors.DeadlineExceededError: it has not replied within `timeout` seconds.
            Exception: what the peer replied, or the call was interrupted with.
        """
        if self.ended is not None:
            raise self.gone()
        number = next(self._numbers)
        reply = self._waiting[number] = self._loop.create_future()
        if waiting is not None:
            waiting.reply = reply
        try:
            self.channel.post([_REQUEST, number, request.method, request.encode()])
        except BaseException as fault:
            del self._waiting[number]
            if isinstance(fault, anyio.ClosedResourceError | anyio.BrokenResourceError):  # this side closes it
                raise self.gone() from fault
            raise
        try:
            if timeout is None:
                await reply
            else:
                with anyio.move_on_after(timeout) as scope:
                    await reply
                if scope.cancelled_caught:
                    raise DeadlineExceededError(f"{self.peer} has not answered {request.method} within {timeout:g} s.")
            result, error = reply.result()
            if error is not None:
                if number in self._waiting:  # nothing has come from the peer
                    note(error, await self._take_back(number, request.method))
                raise error
            return result
        except BaseException as fault:
            if number in self._waiting and (not reply.done() or reply.cancelled()):
                waited = await self._take_back(number, request.method)
                if isinstance(fault, DeadlineExceededError):
                    raise DeadlineExceededError(fault.message, details=waited) from None
                note(fault, waited)
            raise
        finally:
            self._waiting.pop(number, None)

    async def _take_back(self, number: int, method: str) -> list[str]:
        """Cancels a request, and waits for the reply that says that nothing of it goes on. A peer that does not answer at all is
        not waited for: it hears of it when it can. Gives what is known of what the request waited for."""
        if self.ended is not None:
            return []
        reply = self._waiting[number] = self._loop.create_future()
        ping = next(self._numbers)
        pong = self._waiting[ping] = self._loop.create_future()
        reply.add_done_callback(lambda _: None if pong.done() else pong.set_result(None))  # which is a sign of life too
        try:
            self.channel.post([_CANCEL, number])
            self.channel.post([_REQUEST, ping, Ping.method, []])
            with anyio.move_on_after(self._patience(), shield=True):
                await pong
            if not pong.done() or pong.cancelled():
                return [f"{self.peer} does not answer: its process hangs, is stopped, or can't be reached."]
            with anyio.move_on_after(DRAIN_SECONDS, shield=True):
                await reply
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, ResourceExhaustedError):
            return []  # the channel ends, and all that it asked for with it
        finally:
            self._waiting.pop(ping, None)
        error = reply.result()[1] if reply.done() and not reply.cancelled() else None
        return list(getattr(error, "details", ())) or [f"{self.peer} had not answered {method}."]

    def _patience(self) -> float:
        """How long a peer that is asked whether it is there may take."""
        return max(PATIENCE_SECONDS, 3 * (self.channel.statistics().round_trip or 0.0))

    # ---- from the peer

    def _take(self, message: Any, channel: Channel) -> None:
        """One message. A message of another kind ends the channel."""
        match message:
            case [int(1), int(number), method, values]:  # it may be an array, which can't be compared
                self._accept(number, method, values, channel)
            case [int(2), int(number), result]:
                self._settle(number, result, None)
            case [int(3), int(number), error]:
                self._settle(number, None, decode_error(error, self.peer))
            case [int(4), int(number)]:
                self._drop(number)
            case _:
                channel.close("a message that is neither request nor reply")

    def _settle(self, number: int, result: Any, error: Exception | None) -> None:
        reply = self._waiting.pop(number, None)
        if reply is not None and not reply.done():  # else its call is being cancelled, and has nothing to take back
            reply.set_result((result, error))

    def _drop(self, number: int) -> None:
        """Stops what answers a request. A task that is cancelled before it has begun would never begin, nor clean up."""
        task = self._serving.get(number)
        if task is None:
            return
        if inspect.getcoroutinestate(task.get_coro()) == inspect.CORO_CREATED:  # type: ignore[arg-type]
            self._unwanted.add(number)
        else:
            task.cancel()

    def _accept(self, number: int, method: Any, values: Any, channel: Channel) -> None:
        handler = self._handlers.get(method) if isinstance(method, str) else None
        try:
            if handler is None or self._root is None:
                what = repr(method[:60]) if isinstance(method, str) else f"a {type(method).__name__}"
                raise UnimplementedError(f"This task does not answer {what}.")
            if number in self._serving:
                raise InvalidArgumentError(f"The request {number} is being answered; another one needs another number.")
            if len(self._serving) >= MOST_CALLS:
                raise ResourceExhaustedError(f"{MOST_CALLS:,} requests of {self.peer} are being answered already.")
            if self._root.closed:
                return
            self.asked_by = channel
            answer = handler(decode(method, values))
        except Exception as error:
            self._reply([_ERROR, number, encode_error(error)], channel)
            return
        if isinstance(answer, StepResult) and answer.done:
            answer = answer.value
        if not isinstance(answer, CoroutineType | StepResult):
            self._reply([_RESULT, number, answer], channel)
            return
        task = self._root.start(self._serve(number, answer, channel))
        assert task is not None
        if isinstance(answer, CoroutineType):  # a task that is cancelled before it begins leaves it alone
            task.add_done_callback(lambda _: answer.close())
        self._serving[number] = task

    async def _serve(self, number: int, answer: Awaitable[Any], channel: Channel) -> None:
        reply: list[Any] = [_ERROR, number, _REPLY_TO_CANCEL]
        begins = True
        if number in self._unwanted:
            self._unwanted.remove(number)
            if isinstance(answer, CoroutineType):  # of which nothing has been done
                begins = False
            else:
                asyncio.current_task().cancel()  # type: ignore[union-attr]
        try:
            if begins:
                reply = [_RESULT, number, await answer]
        except Exception as error:
            reply = [_ERROR, number, encode_error(error)]
        except asyncio.CancelledError as error:
            if waited := noted(error):
                reply = [_ERROR, number, encode_error(CancelledError(_TAKEN_BACK, details=waited))]
            raise
        finally:
            self._serving.pop(number, None)
            self._reply(reply, channel)

    def _reply(self, reply: list[Any], channel: Channel) -> None:
        if self.ended is None:
            try:
                channel.post(reply)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                pass  # who asked is gone: no one waits for this reply
            except ResourceExhaustedError:
                channel.close("it takes no replies")
            except (TypeError, ValueError, OverflowError) as error:  # it has no form in msgpack, or is too long
                text = str(error).encode("ascii", "backslashreplace").decode()
                self._reply(
                    [_ERROR, reply[1], encode_error(InternalError(f"The reply can't be sent: {text}"))], channel
                )

    # ---- the end

    def _end(self, error: BaseException) -> None:
        if self.ended is not None:
            return
        self.ended = error
        for number in list(self._serving):
            self._drop(number)
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_result((None, self.gone()))

    def gone(self) -> UnavailableError:
        if isinstance(self.ended, anyio.EndOfStream):
            why = "it has closed the connection."
        else:
            why = f"{self.ended or 'the connection is being closed here'}".rstrip(".") + "."
        return UnavailableError(
            f"{self.peer} is lost: {why}",
            hint=with_topic(
                "Its process has ended, hangs, or can't be reached; the next run tries to reach it again.",
                "task-is-lost",
            ),
        )
