"""The common part of all channels: a `ProtocolConnection`, its waiters, and the turns of the event loop."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from actorflow.engine.device.sharing import PeerMemory
from actorflow.engine.transport.base import Callback, Peer, ProcessIdentity, Reach
from actorflow.engine.transport.errors import PeerLost, ProtocolError
from actorflow.engine.transport.statistics import ChannelStatistics
from actorflow.errors import AbortedError, OpError

from .protocol.connection import ProtocolConnection
from .protocol.events import ArenaAnnounced, ConnectionEnded, ConnectionOpened, Event, KeyReceived, MessageReceived
from .protocol.handshake import CloseReason, make_hello
from .protocol.receiver import MapHandle
from .protocol.tensors import encode_token

if TYPE_CHECKING:
    from .endpoint import BaseEndpoint

CLOSE_SECONDS = 1.0
"""So long a channel that is closed in good order waits for a sign that its peer takes what is left."""
_LATE_SECONDS = 0.5
"""A wait that ends so much too late says that this process stood still: what has come meanwhile is yet to be read."""


_OVER = AbortedError("The step is over.")


class BaseChannel(ABC):
    """A channel over a `ProtocolConnection`. A transport says how frames leave (`_transmit`) and what it lets go (`_release`)."""

    transport: str
    reach = Reach.ANY
    peer_memory: PeerMemory | None = None

    def __init__(
        self,
        endpoint: BaseEndpoint,
        address: str,
        *,
        expects: int | None = None,
        chunk: int | None = None,
        map_handle: MapHandle | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.loop = asyncio.get_running_loop()
        self.peer = Peer(ProcessIdentity("", "", 0), address, None)
        hello = make_hello(
            endpoint.me,
            endpoint.epoch,
            endpoint.limits,
            expects,
            endpoint.seals,
            endpoint.sealed_port,
            map_handle is not None,
        )
        options: dict[str, Any] = {} if chunk is None else {"chunk": chunk}
        self.core = ProtocolConnection(
            hello, endpoint.limits, endpoint.clock, allocate=endpoint.allocate, map_handle=map_handle, **options
        )
        self.opened: asyncio.Future[None] = self.loop.create_future()
        self.ended: BaseException | None = None
        self._messages: deque[tuple[Any, int]] = deque()
        self._listener: Callable[[Any], object] | None = None
        self._reader: asyncio.Future[None] | None = None
        self._flushing = self._posted = self._closing = False
        self._flushed: list[asyncio.Future[None]] = []
        self._closed: list[asyncio.Future[None]] = []
        self._ends: list[Callable[[BaseException], object]] = []
        self._waits = 0
        self._wait_seconds = 0.0
        self.bytes_received = 0
        endpoint.starting[self] = None

    # ---- what a transport does

    @abstractmethod
    def _transmit(self) -> bool:
        """Sends what the connection has ready. True where more could leave in another turn of the loop."""

    @abstractmethod
    def _release(self) -> None:
        """Lets sockets go. Called once, when the channel has ended."""

    # ---- tokens

    @property
    def epoch(self) -> int:
        return self.core.epoch

    def send(self, edge: int, step: int, tag: bytes, token: Any, *, lossy: bool = False) -> None:
        self._check()
        if not self.core.inbox.ended(self.core.epoch, step):
            self.core.send(edge, step, tag, encode_token(token, lossy))
            self.wake()

    def enclosed(self, token: Any) -> Any:
        return None

    def expect(self, edge: int, step: int, tag: bytes, callback: Callback) -> Callable[[], None]:
        started: float | None = None

        def guarded(token: Any, error: BaseException | None) -> None:
            if started is not None and error is None:
                self.core.receiver.waited(edge, self.loop.time() - started)
            try:
                callback(token, error)
            except Exception as fault:
                self._report(fault)

        take_back = self.core.inbox.expect(self.core.epoch, step, (edge, tag), guarded)
        started = self.loop.time()
        return take_back

    async def recv(self, edge: int, step: int, tag: bytes = b"") -> Any:
        message = self.core.inbox.take(self.core.epoch, step, (edge, tag))
        if message is not None:
            return message
        future: asyncio.Future[Any] = self.loop.create_future()

        def come(token: Any, error: BaseException | None) -> None:
            if future.done():  # it was cancelled
                return
            if error is None:
                future.set_result((token, None))
            else:
                future.set_result((None, error))  # as a result, so that no one warns when it is never looked at

        take_back = self.expect(edge, step, tag, come)
        if not future.done():
            self._waits += 1
            started = self.loop.time()
            try:
                await future
            finally:
                take_back()
                self._wait_seconds += self.loop.time() - started
        token, error = future.result()
        if error is not None:
            # A copy, because a traceback would keep the caller's frames as long as the step is remembered.
            raise error.located() if isinstance(error, OpError) else error.with_traceback(None)
        return token

    def abort(self, step: int, error: BaseException) -> None:
        self.core.abort(step, error)
        self.wake()

    def finish(self, step: int) -> None:
        self.core.inbox.abort(step, _OVER)  # which no one raises: only copies of it

    def forget(self, edge: int) -> None:
        self.core.sender.sent.pop(edge, None)
        self.core.receiver.received.pop(edge, None)

    def waiting_tokens(self) -> list[int]:
        return self.core.inbox.waiting_tokens()

    def set_epoch(self, epoch: int) -> None:
        self.core.set_epoch(epoch)
        self.wake()

    # ---- messages

    def post(self, message: Any) -> None:
        self._check()
        self.core.post(message)
        if self._posted:
            self.wake()
            return
        # The first since something arrived leaves at once, with the tokens before it; others leave together.
        self._posted = True
        if self._transmit() or self._flushed or not self.core.outbox.empty:
            self.wake()

    async def receive(self) -> Any:
        if self._reader is not None or self._listener is not None:
            raise anyio.BusyResourceError("receiving from")
        while not self._messages:
            if self.ended is not None:
                raise self.ended.with_traceback(None)
            self._reader = self.loop.create_future()
            try:
                # It only wakes: a message stays here until it is taken, so a cancellation loses none.
                await self._reader
            finally:
                self._reader = None
        message, size = self._messages.popleft()
        self._take(size)
        return message

    def listen(self, callback: Callable[[Any], object] | None) -> None:
        if callback is not None and self._reader is not None:
            raise anyio.BusyResourceError("receiving from")
        self._listener = callback
        while self._listener is not None and self._messages:
            message, size = self._messages.popleft()
            self._take(size)
            self._listener(message)

    def _take(self, size: int) -> None:
        self.core.taken(size)
        if not self.core.outbox.empty:
            self.wake()

    # ---- ends

    async def flush(self) -> None:
        self._check()
        await self._drained()
        self._check()

    async def _drained(self) -> None:
        while self._queued() and self.ended is None:
            future: asyncio.Future[None] = self.loop.create_future()
            self._flushed.append(future)
            await future

    async def wait_closed(self) -> BaseException:
        while self.ended is None:
            future: asyncio.Future[None] = self.loop.create_future()
            self._closed.append(future)
            await future
        return self.ended

    def on_end(self, callback: Callable[[BaseException], object]) -> None:
        if self.ended is None:
            self._ends.append(callback)
        else:
            callback(self.ended)

    async def aclose(self) -> None:
        if self.ended is not None:
            return
        self._closing = True
        try:
            waits = True
            while waits and self.ended is None:
                left, begun = self._left(), self.loop.time()
                with anyio.move_on_after(CLOSE_SECONDS):
                    await self._drained()
                    self.core.close(CloseReason.NORMAL, "")
                    self.wake()
                    await self.wait_closed()
                is_late = self.loop.time() - begun > CLOSE_SECONDS + _LATE_SECONDS
                waits = is_late or self._left() != left
        finally:
            self.close()

    def _left(self) -> tuple[int, ...]:
        """The bytes that have still to leave, and those that the peer has taken: it changes as long as a close in good order
        goes on.
        """
        outbox = self.core.outbox
        return (
            outbox.messages,
            outbox.message_bytes,
            outbox.tensors,
            outbox.bulk_sent,
            outbox.data_credit,
            outbox.control_credit,
        )

    def close(self, reason: str = "closed", code: CloseReason = CloseReason.GONE) -> None:
        if self.ended is None:
            self.core.close(code, reason)
            self._transmit()
            self._finish(anyio.ClosedResourceError(*[reason] * (reason != "closed")), keep=False)
        self.core.inbox.clear()
        self._messages.clear()

    def lost(self, error: BaseException) -> None:
        """The wire is broken, or the peer dead."""
        self.handle(self.core.broken(error))

    def handle(self, events: list[Event]) -> None:
        """The events that the connection made of arrived bytes."""
        self._posted = False
        for event in events:
            if self.ended is not None:  # a listener has closed it, and no one would take the rest
                return
            if type(event) is MessageReceived:
                if self._listener is not None:
                    self._take(event.size)
                    try:
                        self._listener(event.message)
                    except Exception as fault:
                        self._report(fault)
                else:
                    self._messages.append((event.message, event.size))
                    if self._reader is not None and not self._reader.done():
                        self._reader.set_result(None)
            elif type(event) is ConnectionOpened:
                self._opened(event)
            elif type(event) is ConnectionEnded:
                self._transmit()  # a last word
                self._finish(event.error or anyio.EndOfStream(), keep=True)
            elif type(event) is ArenaAnnounced:
                self._arena(event)
            elif type(event) is KeyReceived:
                self._keyed(event)
        if not self.core.outbox.empty:
            self.wake()

    def _report(self, fault: Exception) -> None:
        """A callback failed. Records that have arrived behind it must still be handled."""
        self.loop.call_exception_handler({"message": "a callback of a channel failed", "exception": fault})

    def _opened(self, event: ConnectionOpened) -> None:
        self.peer = Peer(event.peer.identity, self.peer.address, self.peer.key)
        self.core.set_epoch(max(self.core.epoch, self.endpoint.epoch))
        if not self.opened.done():
            self.opened.set_result(None)
        self.endpoint.starting.pop(self, None)
        self.endpoint.channels.append(self)

    def _arena(self, event: ArenaAnnounced) -> None:
        self.lost(PeerLost(f"{self.peer.identity.task} names an arena over a transport that has none."))

    def _keyed(self, event: KeyReceived) -> None:
        self.lost(ProtocolError(f"{self.peer.identity.task} hands over a key, but this transport seals nothing."))

    def _finish(self, error: BaseException, *, keep: bool) -> None:
        if self.ended is not None:
            return
        if self._closing:
            error, keep = anyio.ClosedResourceError(), False
        self.ended = error
        self.core.inbox.close(error, keep=keep)
        self.core.broken(error)
        if not keep:
            self._messages.clear()
            self._listener = None
        if not self.opened.done():
            self.opened.set_exception(error)
            self.opened.exception()  # looked at here, so that no one warns where no one waits
        for future in [self._reader, *self._flushed, *self._closed]:
            if future is not None and not future.done():
                future.set_result(None)
        self._flushed, self._closed = [], []
        self.endpoint.starting.pop(self, None)
        if self in self.endpoint.channels:
            self.endpoint.channels.remove(self)
        self._release()
        ends, self._ends = self._ends, []
        for callback in ends:
            try:
                callback(error)
            except Exception as fault:
                self._report(fault)

    def _check(self) -> None:
        if self._closing:
            raise anyio.ClosedResourceError
        if self.ended is None:
            if self.core.peer is None:
                raise PeerLost(f"The channel to {self.peer.address} is not open yet.")
            return
        if isinstance(self.ended, anyio.ClosedResourceError | anyio.BrokenResourceError):
            raise self.ended.with_traceback(None)
        raise PeerLost(f"{self.peer.identity.task} has closed the channel.")

    # ---- the loop

    def _queued(self) -> int:
        return self.core.outbox.tensors + self.core.outbox.messages

    def wake(self) -> None:
        """Sends what is ready in the next turn of the loop, together with what else is queued in this turn."""
        if not self._flushing and self.ended is None:
            self._flushing = True
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._flushing = self._posted = False
        if self.ended is None and self._transmit():
            self.wake()
        if self._flushed and not self._queued():
            flushed, self._flushed = self._flushed, []
            for future in flushed:
                if not future.done():
                    future.set_result(None)

    def statistics(self) -> ChannelStatistics:
        core = self.core
        clocks = core.beats.estimate()
        return ChannelStatistics(
            transport=self.transport,
            bytes_sent=core.outbox.bytes,
            bytes_received=self.bytes_received,
            queued_tensors=core.outbox.tensors,
            queued_messages=core.outbox.messages,
            credit=core.outbox.data_credit,
            handles_sent=core.sender.handles,
            handles_out=len(core.sender.leases),
            copies=core.sender.copies,
            dropped_old=core.receiver.dropped_old,
            dropped_twice=core.dropped_twice,
            waits=self._waits,
            wait_seconds=self._wait_seconds,
            last_heard=core.beats.last_heard / 1e9,
            round_trip=clocks.round_trip,
            clock_offset=clocks.clock_offset,
            clock_error=clocks.clock_error,
            wall_offset=clocks.wall_offset,
            sent=core.sender.sent,
            received=core.receiver.received,
        )
