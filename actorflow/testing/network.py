"""`Network`: simulated machines and the links between them. It knows of bytes and delays, and nothing of the protocol.

A connection behaves as TCP does: what is lost is sent again, so loss means delay; a partition holds everything back until it
heals, or until somebody gives up. `drop`, `duplicate` and `reorder` of a link are what TCP never does: they harm whole frames, to
see that the protocol above notices.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from actorflow.testing.events import Trace

if TYPE_CHECKING:
    from actorflow.testing.wire import End, Listener

_RETRANSMIT = 0.2
_MOST_RETRANSMITS = 6
Way = tuple[str, str]
"""From which machine to which."""


class Scheduler(Protocol):
    """The keeper of the time."""

    @property
    def now(self) -> float: ...

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> object:
        """Calls back at a virtual second. Calls of the same second come in the order in which they were asked for."""


@dataclass(frozen=True, slots=True)
class Link:
    """One direction between two machines. Times in seconds, `bandwidth` in bytes per second, the rest are probabilities.

    Args:
        delay: what every packet takes.
        jitter: at most so much more, drawn for each.
        bandwidth: of each lane of each connection.
        loss: of a packet, which is then sent again after 0.2 s, 0.4 s and so on.
        drop, duplicate, reorder: of a frame of records or a chunk, without a word to anybody.
    """

    delay: float = 0.0005
    jitter: float = 0.0001
    bandwidth: float = 1e9
    loss: float = 0.0
    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0


class Station:
    """A machine's place in the network.

    Args:
        deliver: calls back within the machine's process, when that gets to it.
        clocks: the process's monotonic and wall clock in nanoseconds.
        random_bytes: where the process takes fresh names from.
    """

    def __init__(
        self,
        network: Network,
        name: str,
        deliver: Callable[[Callable[[], object]], object],
        clocks: Callable[[], tuple[int, int]],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.network = network
        self.name = name
        self.deliver = deliver
        self.clocks = clocks
        self.random_bytes = random_bytes
        self.is_up = True
        self.is_frozen = False
        self.life = 0
        """Counts the processes that the machine has had."""
        self.listeners: dict[int, Listener] = {}
        self.ends: dict[End, None] = {}
        self._next_port = 50_000

    def free_port(self) -> int:
        """A port that no process has had."""
        self._next_port += 1
        return self._next_port

    def cut(self, *, silent: bool) -> None:
        """The process is dead. Of what it has sent, a part still arrives; then its peers are told, unless `silent`."""
        self.is_up = not silent
        self.life += 1
        self.listeners.clear()
        ends, self.ends = self.ends, {}
        for end in ends:
            end.cut(silent=silent)

    def start(self) -> None:
        """The machine is up again, with a new process."""
        self.is_up = True
        self.is_frozen = False

    def thaw(self) -> None:
        """The process goes on: what has arrived meanwhile counts as heard now."""
        self.is_frozen = False
        for end in self.ends:
            end.heard = self.network.now


class Network:
    """Machines, links, and what is under way.

    Args:
        scheduler: keeps the time.
        chance: draws delays and faults.
        link: the properties of links that no caller has set.
    """

    def __init__(
        self, scheduler: Scheduler, chance: random.Random, *, link: Link | None = None, trace: Trace | None = None
    ) -> None:
        self.scheduler = scheduler
        self.chance = chance
        self.trace = trace or Trace()
        self.stations: dict[str, Station] = {}
        self.link = link or Link()
        self._links: dict[Way, Link] = {}
        self._closed: dict[Way, None] = {}
        self._held: dict[Way, list[Callable[[], object]]] = {}
        self._wires = 0

    def add(
        self,
        name: str,
        deliver: Callable[[Callable[[], object]], object],
        clocks: Callable[[], tuple[int, int]],
        random_bytes: Callable[[int], bytes],
    ) -> Station:
        """A new machine. Raises ValueError if there is a machine of that name."""
        if name in self.stations:
            raise ValueError(f"There is a machine {name!r} already.")
        station = self.stations[name] = Station(self, name, deliver, clocks, random_bytes)
        return station

    def say(self, what: str) -> None:
        """Adds to the trace."""
        self.trace.add(self.scheduler.now, what)

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self.scheduler.now

    def number_wire(self) -> int:
        """The number of the next connection."""
        self._wires += 1
        return self._wires

    # ---- links

    def link_of(self, way: Way) -> Link:
        """The present state of a way."""
        return self._links.get(way, self.link)

    def set_link(self, a: str, b: str, *, oneway: bool = False, **changes: float) -> None:
        """Changes the links between two machines, or that from `a` to `b`; the arguments are those of `Link`."""
        for way in self._ways(a, b, oneway):
            self._links[way] = replace(self.link_of(way), **changes)
            self.say(f"link {way[0]}>{way[1]} {changes}")

    def partition(self, a: str, b: str, *, oneway: bool = False) -> None:
        """Nothing comes through between two machines, or from `a` to `b`."""
        for way in self._ways(a, b, oneway):
            if way not in self._closed:
                self._closed[way] = None
                self.say(f"partition {way[0]}>{way[1]}")

    def heal(self, a: str, b: str, *, oneway: bool = False) -> None:
        """Ends a partition. Packets that were held back are sent again."""
        for way in self._ways(a, b, oneway):
            if way in self._closed:
                del self._closed[way]
                self.say(f"heal {way[0]}>{way[1]}")
                for again in self._held.pop(way, ()):
                    again()

    def is_open(self, way: Way) -> bool:
        """Whether something can come through."""
        return way not in self._closed

    def reset(self, a: str, b: str) -> None:
        """Breaks all connections between two machines, as a router that forgot them would."""
        self._ways(a, b, True)
        self.say(f"reset {a}-{b}")
        for end in [end for end in self.stations[a].ends if end.peer.station.name == b]:
            end.torn()

    def hold(self, way: Way, again: Callable[[], object]) -> None:
        """Keeps what can't come through until the way is open."""
        self._held.setdefault(way, []).append(again)

    def travel(self, way: Way) -> float:
        """The seconds that a packet takes, drawn again; with what is sent again."""
        source, target = way
        if source == target:
            return 0.0
        link, random = self.link_of(way), self.chance.random
        seconds = link.delay + link.jitter * random()
        attempt = 0
        while link.loss and random() < link.loss and attempt < _MOST_RETRANSMITS:
            seconds += _RETRANSMIT * 2**attempt
            attempt += 1
        return seconds

    def carry(self, way: Way, callback: Callable[[], object]) -> None:
        """Calls back when a packet has come through; not at all where the way is closed then."""
        self.scheduler.call_at(self.now + self.travel(way), self._arrive, way, callback)

    def _arrive(self, way: Way, callback: Callable[[], object]) -> None:
        if self.is_open(way):
            callback()

    def _ways(self, a: str, b: str, oneway: bool) -> list[Way]:
        for name in (a, b):
            if name not in self.stations:
                raise ValueError(f"There is no machine {name!r}; there are: {', '.join(self.stations)}.")
        return [(a, b)] if oneway else [(a, b), (b, a)]


def departure(free_at: float, now: float, size: int, link: Link) -> float:
    """When the last byte of `size` has left, over a lane that is busy until `free_at`."""
    start = max(free_at, now)
    return start if math.isinf(link.bandwidth) else start + size / link.bandwidth
