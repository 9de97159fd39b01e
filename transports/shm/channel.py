"""A channel over a unix socket and shared arenas."""

from __future__ import annotations

import array as arrays
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.engine.device.sharing import PeerMemory, PeerTensor, SharedTensor
from actorflow.engine.runtime.tokens import DEAD
from actorflow.engine.transport.base import Peer, ProcessIdentity, Reach
from actorflow.engine.transport.errors import PeerLost, ProtocolError

from ..channel import BaseChannel
from ..protocol.events import ArenaAnnounced
from ..protocol.frames import FRAME_LIMIT, follows, head_size
from ..protocol.leases import PeerLeases
from ..protocol.sender import INLINE, EnclosedTensor
from ..protocol.tensors import EncodedTensor, TensorForm, encode_in_place, encode_token, rounded, view_of
from .arena import MOST_DESCRIPTORS, ArenaBlock, PeerArenas

if TYPE_CHECKING:
    from .endpoint import ShmEndpoint

_CHUNK = 64 * 1024
_PACKET = FRAME_LIMIT + _CHUNK
_PER_TURN = 64
_COPY_PER_TURN = 4 << 20
_SIZE = int(socket.MSG_TRUNC)
"""Has the kernel say how large a packet was, whether or not there was room for all of it."""
_FDS_SPACE = socket.CMSG_SPACE(4 * MOST_DESCRIPTORS)


@dataclass(slots=True)
class _Copy:
    """A tensor on its way into the arena, a piece in each turn of the loop."""

    edge: int
    step: int
    tag: bytes
    encoded: EncodedTensor
    block: ArenaBlock
    epoch: int
    done: int = 0


class ShmChannel(BaseChannel):
    """A channel over a unix socket that keeps the borders of packets."""

    transport = "shm"
    reach = Reach.HOST
    endpoint: ShmEndpoint

    def __init__(
        self, endpoint: ShmEndpoint, wire: socket.socket, address: str, incarnation: int | None, *, server: bool = False
    ) -> None:
        super().__init__(endpoint, address, expects=incarnation, chunk=_CHUNK, map_handle=self._map)
        self._wire = wire
        self._server = server
        self._pid, uid = user_of(wire)
        self.peer = Peer(ProcessIdentity("", "", 0), address, f"uid:{uid}")
        self._arena_sent = endpoint.arena is None
        self._unsent: list[Any] = []
        self._writing = False
        self._copies: deque[_Copy] = deque()
        self._packet = bytearray(_PACKET)
        self._is_first = True
        """Whether the next packet is the first, with which a descriptor may come. The kernel drops those that come later."""
        self._peer_arenas = PeerArenas()
        self._leases = PeerLeases(self.loop, self._give_back)
        self._peer_done = self._said_done = self._reset = False
        self.fallbacks = 0
        self._peer_memory = PeerMemory()
        self.peer_memory = self._peer_memory
        self.loop.add_reader(wire.fileno(), self._readable)

    def announce(self) -> None:
        """Names this process's arena. Its descriptor goes with the first packet."""
        if self.endpoint.arena is not None:
            self.core.announce_arena(self.endpoint.arena.number, self.endpoint.arena.size)

    def hurry(self) -> None:
        """Ends a connection that has not said who it is."""
        if self.core.peer is None:
            self.close("no HELLO in time")

    # ---- out

    def send(self, edge: int, step: int, tag: bytes, token: Any, *, lossy: bool = False) -> None:
        self._check()
        core, arena = self.core, self.endpoint.arena
        if core.inbox.ended(core.epoch, step):
            return
        if lossy and token is not DEAD and token is not None:
            token = rounded(token)
        if type(token) is SharedTensor:
            core.sender.send_handle(
                core.epoch,
                edge,
                step,
                tag,
                encode_in_place(token),
                token.keep,
                token.description,
                token.offset,
                token.nbytes,
            )
            self.wake()
            return
        offset = self._offset(token)
        if arena is not None and offset is not None:
            described = encode_in_place(token)
            core.sender.send_handle(core.epoch, edge, step, tag, described, token, arena.number, offset, token.nbytes)
            self.wake()
            return
        encoded = encode_token(token, False)
        size = len(encoded.body)
        if encoded.keep is None or arena is None or size <= INLINE:
            core.send(edge, step, tag, encoded)
        elif (memory := arena.take(size)) is not None:
            core.sender.copies += encoded.copied
            self._copies.append(_Copy(edge, step, tag, encoded, ArenaBlock(arena, memory), core.epoch))
        else:
            self.fallbacks += 1
            core.send(edge, step, tag, encoded)
        self.wake()

    def enclosed(self, token: Any) -> EnclosedTensor | None:
        peer, arena, offset = self.core.peer, self.endpoint.arena, self._offset(token)
        if offset is None or arena is None or peer is None or not peer.takes_enclosed:
            return None
        return EnclosedTensor(token, arena.number, offset)

    def _offset(self, token: Any) -> int | None:
        """The offset in the arena at which a token lies; None if it does not lie there as the peer needs it."""
        arena = self.endpoint.arena
        if arena is None or type(token) is not np.ndarray or not token.flags.c_contiguous or not token.nbytes:
            return None
        return arena.offset_of(_address(token), token.nbytes) if token.dtype.isnative else None

    def abort(self, step: int, error: BaseException) -> None:
        self._copies = deque(copy for copy in self._copies if copy.step != step)
        super().abort(step, error)

    def _queued(self) -> int:
        return super()._queued() + len(self._copies)

    def _copy_in(self) -> None:
        """Copies a bounded part: memory is fast, but 100 MB still take 5 ms, which is long for others on the loop."""
        space = _COPY_PER_TURN
        while self._copies and space > 0:
            copy = self._copies[0]
            size = min(len(copy.encoded.body) - copy.done, space)
            end = copy.done + size
            np.copyto(
                np.frombuffer(copy.block.memory[copy.done : end], np.uint8),
                np.frombuffer(copy.encoded.body[copy.done : end], np.uint8),
            )
            copy.done = end
            space -= size
            if end == len(copy.encoded.body):
                self._copies.popleft()
                self.core.sender.copies += 1
                arena = self.endpoint.arena
                assert arena is not None
                if copy.epoch == self.core.epoch:
                    offset = arena.offset_of(_address(np.frombuffer(copy.block.memory, np.uint8)), 0)
                    assert offset is not None
                    self.core.sender.send_handle(
                        copy.epoch, copy.edge, copy.step, copy.tag, copy.encoded, copy.block, arena.number, offset
                    )

    def _transmit(self) -> bool:
        if self._unsent and not self._push():
            return False
        if self.ended is None:
            if self._leases.gone:
                self.core.release(self._leases.take())
            self._copy_in()
        for _ in range(_PER_TURN):
            frame = self.core.outbox.next_control()
            if frame is not None:
                self._unsent = [frame]
            else:
                chunk = self.core.outbox.next_bulk()
                if chunk is None:
                    return bool(self._copies)
                self._unsent = list(chunk)
            if not self._push():
                return False
        return True

    def _push(self) -> bool:
        """Sends the packet whose turn it is. False if it must wait, or if the peer is gone."""
        try:
            if self._arena_sent:
                self._wire.sendmsg(self._unsent)
            else:
                self._send_first()
        except BlockingIOError:
            if not self._writing and self.ended is None:
                self._writing = True
                self.loop.add_writer(self._wire.fileno(), self._writable)
            return False
        except OSError:  # the other end is closed, which reading tells too, with its last words
            self._unsent = []
            return False
        self._arena_sent = True
        self._unsent = []
        return True

    def _send_first(self) -> None:
        """Sends the first packet, and with it the descriptor of the arena."""
        arena, fds = self.endpoint.arena, arrays.array("i")
        if arena is not None and arena.fd >= 0:
            fds.append(arena.fd)
        self._wire.sendmsg(self._unsent, [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)] if fds else [])

    def _writable(self) -> None:
        self._writing = False
        self.loop.remove_writer(self._wire.fileno())
        self._turn()

    # ---- in

    def _readable(self) -> None:
        """Takes a packet, or several of a large tensor. Others take a turn each: to find out that there is none costs more, and
        whoever has much to say puts it into one packet."""
        for _ in range(_PER_TURN):
            if self.ended is not None:
                return
            try:
                size = self._receive_first() if self._is_first else self._wire.recv_into(self._packet, 0, _SIZE)
            except BlockingIOError:
                return
            except ProtocolError as error:
                self.lost(error)
                return
            except ConnectionResetError:  # comes before the last packets, where the peer left some of ours unread
                if not self._reset:
                    self._reset = True
                    continue
                self._peer_done = True
                self.lost(PeerLost(f"The connection to {self._who()} broke: process {self._pid} has ended."))
                return
            except OSError as error:
                self._peer_done = True
                self.lost(PeerLost(f"The connection to {self._who()} broke: {error}."))
                return
            if not size:
                self._peer_done = True
                self.lost(PeerLost(f"The connection to {self._who()} broke: process {self._pid} has ended."))
                return
            self.bytes_received += size
            if size > len(self._packet):
                self.lost(ProtocolError("A packet is larger than any may be."))
                return
            if not self._packet_came(memoryview(self._packet)[:size]):
                return

    def _receive_first(self) -> int:
        """Receives the first packet, and the descriptors that come with it. The size is that of the packet, more than there was
        room for where a part is missing. Raises ProtocolError where descriptors are."""
        size, ancillary, flags, _ = self._wire.recvmsg_into([self._packet], _FDS_SPACE, socket.MSG_CMSG_CLOEXEC)
        self._is_first = False
        self._peer_arenas.take_descriptors(ancillary)
        if flags & socket.MSG_CTRUNC:
            raise ProtocolError(
                f"Descriptors are missing that came with the first packet: {MOST_DESCRIPTORS} are the most, and this process "
                f"must have room for them among its open files."
            )
        return len(self._packet) + 1 if flags & socket.MSG_TRUNC else size

    def _packet_came(self, packet: memoryview) -> bool:
        """Whether it was a chunk of a large tensor."""
        if not follows(packet):
            was = self.core.peer
            self.handle(self.core.receive(packet))
            if self._server and was is None and self.core.peer is not None and self.ended is None:
                self.endpoint.greeted(self)
                self.endpoint.accepted(self)
            return False
        size = head_size(packet)
        view, events = self.core.receive_chunk(packet[:size])
        body = packet[size:]
        if events or not len(view):
            self.handle(events)
        elif len(body) != len(view):
            self.lost(ProtocolError(f"A chunk has {len(body):,} bytes, but its head said {len(view):,}."))
        else:
            view[:] = body
            del view
            self.handle(self.core.chunk_received())
        return True

    def _opened(self, event: Any) -> None:
        if self._server:
            self.announce()
        super()._opened(event)

    def _arena(self, event: ArenaAnnounced) -> None:
        try:
            self._peer_arenas.add(event.number, event.size)
        except ProtocolError as error:
            self.lost(error)

    def _map(self, form: TensorForm, arena: int | bytes, offset: int, lease: int) -> Any:
        """The array behind a handle. It keeps the arena mapped; its end gives the lease back."""
        if isinstance(arena, bytes):
            return self._leases.add(self._foreign(form, arena, offset), lease)
        memory = self._peer_arenas.get(arena)
        if memory is None or offset < 0 or offset + form.total > len(memory) or offset % max(form.dtype.size, 1):
            raise ProtocolError("A handle points to where no tensor can be.")
        return self._leases.add(view_of(form, memory[offset : offset + form.total]), lease)

    def _foreign(self, form: TensorForm, description: bytes, offset: int) -> PeerTensor:
        """A tensor in the memory of a peer's device, for a device here to copy."""
        if not self._peer_memory.inward:
            raise ProtocolError(
                "A handle to the memory of a device has come, and no device here said that it can read that."
            )
        return PeerTensor(
            form.shape, np.dtype(form.dtype.numpy_dtype), form.total, description, offset, self._peer_memory
        )

    def _give_back(self, leases: list[int]) -> None:
        if self.ended is not None:
            self._part()
        elif leases:
            self.core.release(leases)
            self.wake()

    # ---- ends

    def _release(self) -> None:
        """Lets go of all but the arrays that are lent: their memory must stay until the borrower is done, or dead."""
        self.endpoint.greeted(self)
        self.loop.remove_reader(self._wire.fileno())
        if self._writing:
            self.loop.remove_writer(self._wire.fileno())
        self._copies.clear()
        self._peer_memory.end()
        self._peer_arenas.close()
        self._packet = bytearray(1)
        if self._lends and not self._peer_done:
            self.loop.add_reader(self._wire.fileno(), self._listen_for_end)
        self._part()

    def _part(self) -> None:
        """Closes the socket in two steps: to the peer when nothing of its is used here, and wholly when it has done so."""
        if self._wire.fileno() < 0:
            return
        if not self._leases and not self._said_done:
            self._said_done = True
            try:
                self._wire.shutdown(socket.SHUT_WR)
            except OSError:  # there is no one any more
                self._peer_done = True
        if self._peer_done:
            self.core.sender.leases.clear()
            self._peer_memory.part()
        if self._said_done and not self._lends:
            self.part_now()
        else:
            self.endpoint.parting.add(self)

    @property
    def _lends(self) -> bool:
        """Whether the peer may look at something of this process."""
        return bool(self.core.sender.leases or self._peer_memory.kept)

    def _listen_for_end(self) -> None:
        try:
            self._peer_done = not self._wire.recvmsg_into([self._packet])[0]
        except BlockingIOError:
            return
        except OSError:
            self._peer_done = True
        self._part()

    def part_now(self) -> None:
        """Closes the socket. Memory that the peer may still see is never used again."""
        if self._lends:
            arena, lent = self.endpoint.arena, (self.core.sender.leases, self._peer_memory)
            (self.endpoint.abandoned.append if arena is None else arena.keep)(lent)
            self.core.sender.leases = {}
        if self._wire.fileno() >= 0:
            self.loop.remove_reader(self._wire.fileno())
            self._wire.close()
        self.endpoint.parting.discard(self)

    def _who(self) -> str:
        return self.peer.identity.task or self.peer.address or "a peer"


def user_of(wire: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end, as the kernel knows them."""
    pid, uid, _ = struct.unpack("3i", wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
