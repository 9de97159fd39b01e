"""`End`: one end of a simulated connection, with two lanes that keep their order, heartbeats, and all the ways to end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from actorflow.engine.transport.heartbeat import Heartbeat
from actorflow.testing.network import Station, departure

Frame = tuple[Any, ...]
_LANES = 2


@dataclass(frozen=True, slots=True)
class Listener:
    """The owner of a port, which takes its connections. `admit(key, expected)` gives a reason to refuse; `accept(end,
    key)` takes a connection."""

    station: Station
    port: int
    heartbeat: Heartbeat
    admit: Callable[[str | None, str | None], str | None]
    accept: Callable[[End, str | None], object]


@dataclass(slots=True)
class _Lane:
    """One direction of a lane: when it is free to send, when the last frame arrives, how many were sent and came."""

    free_at: float = 0.0
    last_arrival: float = 0.0
    sent: int = 0
    arrived: int = 0
    cut_at: int | None = None
    again: set[int] = field(default_factory=set)
    """The frames that are held back, or sent again. None behind them comes before them."""


class End:
    """One end. `take(lane, frame)` is called with what arrives, `broke()` when the connection is over, both in its process."""

    def __init__(self, station: Station, target: str, number: int, heartbeat: Heartbeat) -> None:
        self.station = station
        self.way = (station.name, target)
        self.number = number
        self.heartbeat = heartbeat
        self.peer: End
        self.take: Callable[[int, Frame], object] | None = None
        self.broke: Callable[[], object] | None = None
        self.is_open = True
        self._network = network = station.network
        self._name = f"#{number} {station.name}>{target}"
        self.heard = network.now
        self._lanes = [_Lane() for _ in range(_LANES)]
        self._inbox: deque[tuple[int, Frame] | None] = deque()
        station.ends[self] = None
        network.scheduler.call_at(self.heard + heartbeat.seconds, self._tick)

    def __repr__(self) -> str:
        return self._name

    # ---- out

    def send(self, lane: int, frame: Frame) -> None:
        """Sends a frame, of a single part or several; it is not copied, and must not change. Nothing happens after the end."""
        if not self.is_open:
            return
        network = self._network
        link, chance, state = network.link_of(self.way), network.chance, self._lanes[lane]
        state.free_at = departure(state.free_at, network.now, sum(map(len, frame)), link)
        state.sent += 1
        index = state.sent
        arrival = max(state.free_at + network.travel(self.way), state.last_arrival)
        if link.drop and chance.random() < link.drop:
            network.say(f"drop {self} lane {lane} frame {index}")
            return
        if link.reorder and chance.random() < link.reorder:
            network.say(f"reorder {self} lane {lane} frame {index}")
            network.scheduler.call_at(arrival + (2 + 8 * chance.random()) * link.delay, self._land, lane, index, frame)
            return
        state.last_arrival = arrival
        network.scheduler.call_at(arrival, self._land, lane, index, frame)
        if link.duplicate and chance.random() < link.duplicate:
            network.say(f"duplicate {self} lane {lane} frame {index}")
            network.scheduler.call_at(arrival + chance.random() * link.delay, self._land, lane, index, frame)

    def close(self) -> None:
        """Closes this end. All that was sent arrives; then the peer is told."""
        if self.is_open:
            self._leave()
            self._tell_end(self._last_arrival())

    def cut(self, *, silent: bool) -> None:
        """The process of this end is dead: of each lane the last frames that are under way are lost."""
        self.is_open = False
        self._inbox.clear()
        for lane in self._lanes:
            lane.cut_at = self._network.chance.randint(lane.arrived, max(lane.sent, lane.arrived))
        if not silent:
            self._tell_end()

    def torn(self) -> None:
        """The connection breaks for both ends, now."""
        for end in (self, self.peer):
            if end.is_open:
                end._leave()
                end._end_here()

    # ---- in

    def _land(self, lane: int, index: int, frame: Frame) -> None:
        """A frame of this end is at the peer's machine."""
        network, peer, state = self._network, self.peer, self._lanes[lane]
        state.again.discard(index)
        if state.cut_at is not None and index > state.cut_at:
            return
        if not network.is_open(self.way):
            state.again.add(index)
            network.hold(self.way, lambda: self._again(lane, index, frame))
            return
        if state.again and min(state.again) < index:  # a frame in front of it is sent again
            self._again(lane, index, frame)
            return
        if index > state.arrived:
            state.arrived = index
        if not peer.is_open:
            if peer.station.is_up and self.is_open:  # no one there knows this connection any more
                peer._tell_end(peer._last_arrival())
            return
        peer.heard = network.now
        network.say(f"deliver {self._name} lane {lane} frame {index} bytes {sum(map(len, frame))}")
        peer._put((lane, frame))

    def _again(self, lane: int, index: int, frame: Frame) -> None:
        state, network = self._lanes[lane], self._network
        arrival = max(network.now + network.travel(self.way), state.last_arrival)
        state.last_arrival = arrival
        state.again.add(index)
        network.scheduler.call_at(arrival, self._land, lane, index, frame)

    def _put(self, item: tuple[int, Frame] | None) -> None:
        """Keeps what has arrived until the process looks. One queue, so that its order is kept whatever the loop's is."""
        self._inbox.append(item)
        self.station.deliver(self._next)

    def _next(self) -> None:
        if not self._inbox:  # what was behind the end
            return
        item = self._inbox.popleft()
        if item is None:
            self._inbox.clear()
            if self.broke is not None:
                self.broke()
        elif self.take is not None:
            self.take(*item)

    # ---- ends

    def _leave(self) -> None:
        self.is_open = False
        self.station.ends.pop(self, None)

    def _end_here(self) -> None:
        self._network.say(f"broken {self}")
        self._put(None)

    def _last_arrival(self) -> float:
        return max(lane.last_arrival for lane in self._lanes)

    def _tell_end(self, not_before: float = 0.0) -> None:
        """The last packet of this end. Packets that arrive behind it are not looked at."""
        network = self._network
        when = max(network.now + network.travel(self.way), not_before)

        def arrive() -> None:
            if not self.peer.is_open:
                return
            if network.is_open(self.way):
                self.peer._leave()
                self.peer._end_here()
            else:
                network.hold(self.way, lambda: self._tell_end(self._last_arrival()))

        network.scheduler.call_at(when, arrive)

    def _tick(self) -> None:
        """A heartbeat, on a thread of the transport's own: it stops only with the whole process."""
        if not self.is_open:
            return
        network, now = self._network, self._network.now
        if not self.station.is_frozen:
            if self.heartbeat.is_lost(self.heard, now):
                network.say(f"heartbeat of {self.peer} is lost")
                self._leave()
                self._tell_end(self._last_arrival())
                self._end_here()
                return
            network.carry(self.way, self._beat)
        network.scheduler.call_at(now + self.heartbeat.seconds, self._tick)

    def _beat(self) -> None:
        if self.peer.is_open:
            self.peer.heard = self._network.now
        elif self.is_open and self.peer.station.is_up:
            self.peer._tell_end(self.peer._last_arrival())


def dial(
    station: Station,
    target: str,
    port: int,
    heartbeat: Heartbeat,
    key: str | None,
    expected: str | None,
    done: Callable[[End | str | None], object],
) -> Callable[[], None]:
    """Asks for a connection; the result gives it up.

    `done` is called in the process with this end, with the reason of a refusal, or with None where no one listens; never,
    where nothing comes back.
    """
    network, life = station.network, station.life
    there = network.stations.get(target)
    ends: list[End] = []
    given_up = False

    def answer(result: End | str | None) -> None:
        def come() -> None:
            if station.life == life:
                station.deliver(tell)

        def tell() -> None:
            if not given_up and station.life == life:
                ends.clear()
                done(result)

        network.carry((target, station.name), come)

    def arrive() -> None:
        if there is None or not there.is_up or station.life != life or given_up:
            return
        listener = there.listeners.get(port)
        if listener is None:
            answer(None)
            return
        reason = listener.admit(key, expected)
        if reason is not None:
            network.say(f"refuse {station.name}>{target}:{port}")
            answer(reason)
            return
        number = network.number_wire()
        mine = End(station, target, number, heartbeat)
        theirs = End(there, station.name, number, listener.heartbeat)
        mine.peer, theirs.peer = theirs, mine
        network.say(f"connect #{number} {station.name}>{target}:{port}")
        ends.append(mine)
        there.deliver(lambda: listener.accept(theirs, key) if theirs.is_open else None)
        answer(mine)

    def give_up() -> None:
        nonlocal given_up
        given_up = True
        for end in ends:
            end.close()

    network.carry((station.name, target), arrive)
    return give_up
