"""`Transport`: how the edges that cross from one device to another are carried.

Inside a process the nodes of a step meet at a `Rendezvous`. Between processes each has an `Endpoint`, and a `Channel` to
each peer, over which edges travel by the ids and tags that both sides agreed on when the graph was registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from actorflow.device.sharing import Border

Callback = Callable[[Any, BaseException | None], object]
"""Takes a token, or else the error for which there will be none."""


class Rendezvous(Protocol):
    """Where the Send and Recv nodes of one step meet, by the key of their edge (paper section 3.2.2) and a tag.

    The tag tells the iterations of loops apart, and is empty outside of them. Send never waits, and may come before its
    Recv or after it. Each key and tag carry one token a step.
    """

    @property
    def is_local(self) -> bool:
        """Whether all that may come here is sent by this process."""

    def send(self, key: str, token: Any, tag: bytes = b"", *, lossy: bool = False) -> None:
        """Hands `token` (a value or DEAD) over; after an abort it is dropped. Raises AbortedError for a second token.

        `lossy` brings float32 with its upper 16 bits only, the rest zeros, whatever the transport; other types as they are.
        """

    async def recv(self, key: str, tag: bytes = b"") -> Any:
        """Waits for the token of `key` and `tag`. Raises the error with which the step was aborted."""

    def expect(self, key: str, tag: bytes, callback: Callback) -> object:
        """`recv` without a task: calls `callback(token, None)` or `callback(None, error)` once, maybe before it returns."""

    def abort(self, error: BaseException) -> None:
        """Wakes all that wait, and fails all that come, with `error`."""


class Transport(Protocol):
    """A way for tokens from one device to another of the same process."""

    name: str

    def rendezvous(self, step: int) -> Rendezvous:
        """The meeting place of a step's nodes."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is. A task that is started again has another incarnation, so it is never taken for its former self."""

    cluster: str
    task: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What a peer may take of this process, in bytes. A sender stops when a window is used up, until it is given back."""

    data_window: int = 32 << 20
    control_window: int = 4 << 20
    message: int = 256 << 20
    queued_messages: int = 512 << 20
    tensor: int = 1 << 36


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end. `key` is the public key that it proved to have, or the user id of its process."""

    identity: Identity
    address: str
    key: str | None


@dataclass(slots=True)
class EdgeCount:
    """What one edge carried over a channel so far; `bytes` are those of its tensors on the wire, none for a handle. Where it
    ends, `waits` are tokens that were wanted before they came, and `wait_seconds` how long, in all."""

    tokens: int = 0
    bytes: int = 0
    waits: int = 0
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """A channel's life so far. `clock_offset` is the peer's monotonic clock less ours, in seconds, and `clock_error` by how much
    that may be wrong; both are 0 where the two processes read one clock, and None before the beats have told."""

    transport: str
    bytes_sent: int
    bytes_received: int
    queued_tensors: int
    queued_messages: int
    credit: int
    handles_sent: int
    handles_out: int
    copies: int
    dropped_old: int
    dropped_twice: int
    waits: int
    wait_seconds: float
    last_heard: float
    round_trip: float | None
    clock_offset: float | None
    clock_error: float | None
    wall_offset: float | None
    sent: dict[int, EdgeCount] = field(default_factory=dict)
    received: dict[int, EdgeCount] = field(default_factory=dict)


Allocate = Callable[[int, tuple[int, ...], Any], Any]
"""`(edge, shape, numpy's dtype) -> array`: where a tensor that arrives is put. ResourceExhaustedError fails its step."""


class Channel(Protocol):
    """The connection to one peer. Its methods belong to the thread of the event loop.

    Errors are anyio's: ClosedResourceError (this side closed it), EndOfStream (the peer closed it in good order),
    BrokenResourceError (`PeerLost`, `ProtocolError`), BusyResourceError (two tasks wait for the same thing).
    Messages arrive in order among themselves, tokens whenever they are complete: a message may overtake a tensor.
    """

    peer: Peer
    transport: str
    border: Border | None
    """What devices at both ends have of each other's memory; None where tokens are always bytes. With one, `send` takes a
    `Shared` too, and what comes for it is a `Foreign`."""

    @property
    def epoch(self) -> int:
        """The epoch that what is sent now belongs to."""

    def send(self, edge: int, step: int, tag: bytes, token: Any, *, lossy: bool = False) -> None:
        """Queues an array, DEAD, or None (a control edge). Never waits and never copies; the array must not change.

        `tag` tells iterations and frames apart. `lossy` sends the upper 16 bits of float32, and ignores other types.
        """

    def expect(self, edge: int, step: int, tag: bytes, callback: Callback) -> Callable[[], None]:
        """Calls `callback(token, None)` or `callback(None, error)`, once, on the loop. The result takes it back."""

    async def recv(self, edge: int, step: int, tag: bytes = b"") -> Any:
        """Waits for a token. Raises what the step was aborted with, or how the channel ended."""

    def abort(self, step: int, error: BaseException) -> None:
        """Ends the step at both ends: what waits is woken with `error`, what is queued or comes later is dropped."""

    def finish(self, step: int) -> None:
        """The step is over here: what nobody took is dropped. To be called once for each step, in whatever way it ended."""

    def forget(self, edge: int) -> None:
        """Nothing goes over the edge any more: `statistics` do not tell of it."""

    def waiting_tokens(self) -> list[int]:
        """The steps for which tokens have come that nobody has asked for yet."""

    def post(self, message: Any) -> None:
        """Queues a message of msgpack's types. Raises ResourceExhaustedError when the peer takes none for too long."""

    async def receive(self) -> Any:
        """Waits for the next message."""

    def listen(self, callback: Callable[[Any], object] | None) -> None:
        """Calls `callback` with each message instead of keeping it for `receive`; with those already here too."""

    async def flush(self) -> None:
        """Waits until nothing is queued: all has left under the peer's credit."""

    async def wait_closed(self) -> BaseException:
        """Waits for the end of the channel, and says how it ended."""

    def on_end(self, callback: Callable[[BaseException], object]) -> None:
        """Calls `callback` with how the channel ended, once it has."""

    async def aclose(self) -> None:
        """Sends what is queued, tells the peer, and ends. Cancelled, or after a second in which the peer took nothing, it ends as
        `close` does."""

    def close(self, reason: str = "closed") -> None:
        """Ends at once, with a word to the peer if one leaves; whatever waits here is woken with ClosedResourceError.

        To be called for channels that have ended by themselves too: it lets go of what has come and nobody took.
        """

    def statistics(self) -> ChannelStatistics: ...


class Endpoint(Protocol):
    """The mouth of a process for one transport: it is connected to, and connects to others."""

    name: str
    address: str
    """What peers connect to, or "" where it does not listen."""

    epoch: int
    """Of the cluster, as far as this process knows."""

    @property
    def channels(self) -> Sequence[Channel]:
        """Those that are open."""

    def set_epoch(self, epoch: int) -> None:
        """A new epoch, from the chief: what belongs to a former one fails here, and is dropped when it arrives."""

    async def connect(
        self,
        address: str,
        incarnation: int | None = None,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        progress: Callable[[str], object] | None = None,
    ) -> Channel:
        """A channel to the peer at `address`, which may start later. With `incarnation`, to this one or to none.

        `key` is the public key that the peer must prove to have; without it, ours, which a cluster may share.
        `progress` is told "resolved", "connected", "authenticated", "accepted", each once it is so.

        Raises:
            UnavailableError: nobody answered in time, or the host is unknown; says how far it came.
            HandshakeRejected: somebody answered, and it is no use to try again: key, version, cluster, incarnation.
        """

    async def aclose(self) -> None:
        """Closes all channels in good order, and then the endpoint."""

    def close(self) -> None:
        """Closes all at once."""
