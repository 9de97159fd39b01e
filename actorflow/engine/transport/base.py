"""`Channel` and `Endpoint`: what a transport is made of, which carries edges and messages from process to process.

Inside a process the nodes of a step meet at a `Rendezvous`. Between processes each has an `Endpoint`, and a `Channel` to
each peer, over which edges travel by the ids and tags that both sides agreed on when the graph was registered. The core finds
them through the record of their transport, a `TransportFactory` (factory.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from actorflow.engine.device.sharing import PeerMemory
from actorflow.engine.transport.statistics import ChannelStatistics

Callback = Callable[[Any, BaseException | None], object]
"""Takes a token, or else the error for which there will be none."""


class Reach(Enum):
    """Which peers a transport brings together."""

    PROCESS = "the same event loop"
    HOST = "the same host"
    ANY = "any host"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """The identity of a process. A task that is started again has another incarnation, so it is never taken for its
    former self."""

    cluster: str
    task: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class PeerLimits:
    """The limits of what a peer may take of this process, in bytes. A sender stops when a window is used up, until it
    is given back."""

    data_window: int = 32 << 20
    control_window: int = 4 << 20
    message: int = 256 << 20
    queued_messages: int = 512 << 20
    tensor: int = 1 << 36


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end. `key` is the public key that it proved to have, or the user id of its process."""

    identity: ProcessIdentity
    address: str
    key: str | None


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
    """The name of the transport."""
    reach: Reach
    peer_memory: PeerMemory | None
    """The memory that devices at both ends share; None if tokens are always bytes. With shared memory, `send` takes a
    `SharedTensor` too, and what comes for it is a `PeerTensor`."""

    @property
    def epoch(self) -> int:
        """The epoch that what is sent now belongs to."""

    def send(self, edge: int, step: int, tag: bytes, token: Any, *, lossy: bool = False) -> None:
        """Queues an array, DEAD, or None (a control edge). Never waits and never copies; the array must not change.

        `tag` tells iterations and frames apart. `lossy` sends the upper 16 bits of float32, and ignores other types.
        """

    def enclosed(self, token: Any) -> Any:
        """The form of a tensor within a message: it arrives as the array, and is not copied. None if it has to be sent as a
        token."""

    def expect(self, edge: int, step: int, tag: bytes, callback: Callback) -> Callable[[], None]:
        """Calls `callback(token, None)` or `callback(None, error)`, once, on the loop. The result takes it back."""

    async def recv(self, edge: int, step: int, tag: bytes = b"") -> Any:
        """Waits for a token. Raises what the step was aborted with, or how the channel ended."""

    def abort(self, step: int, error: BaseException) -> None:
        """Ends the step at both ends: what waits is woken with `error`, what is queued or comes later is dropped."""

    def finish(self, step: int) -> None:
        """The step is over here: what no one took is dropped. To be called once for each step, in whatever way it ended."""

    def forget(self, edge: int) -> None:
        """Nothing goes over the edge any more: `statistics` do not tell of it."""

    def waiting_tokens(self) -> list[int]:
        """The steps for which tokens have come that no caller has asked for yet."""

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

        To be called for channels that have ended by themselves too: it lets go of what has come and no one took.
        """

    def statistics(self) -> ChannelStatistics: ...


class Endpoint(Protocol):
    """The mouth of a process for one transport: it is connected to, and connects to others."""

    name: str
    address: str
    """The address that peers connect to, or "" if it does not listen."""

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
        """A channel to the peer at `address`, which may start later. With `incarnation`, to this incarnation or to none.

        `key` is the public key that the peer must prove to have; without it, ours, which a cluster may share.
        `progress` is told "resolved", "connected", "authenticated", "accepted", each once it is so.

        Raises:
            InvalidArgumentError: `address` has another form than the addresses of this transport.
            UnavailableError: no one answered in time, or the host is unknown; says how far it came.
            HandshakeRejected: somebody answered, and it is no use to try again: key, version, cluster, incarnation.
        """

    async def aclose(self) -> None:
        """Closes all channels in good order, and then the endpoint."""

    def close(self) -> None:
        """Closes all at once."""
