"""`World`: simulated machines on one virtual time, who of them runs next, and what befalls them."""

from __future__ import annotations

import asyncio
import gc
import math
import random
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from actorflow.testing.events import EventQueue, Trace
from actorflow.testing.files import FileFaults, SharedSimulatedFiles, SimulatedFiles
from actorflow.testing.host import Host, Job, Program
from actorflow.testing.loop import DAY, MOST_CALLS, Clock, Deadlock, VirtualLoop, waiting
from actorflow.testing.network import Link, Network

T = TypeVar("T")
OBSERVER = "main"
"""The machine that the main program runs on. Nothing befalls it by chance."""
_BURST = 8
"""The most callbacks that run on a machine before another machine that can run may do so,"""
_LONG_BURST = 64
"""and the same if there is no other."""
_CALLS_TO_COLLECTION = 500_000


class World:
    """The interface that the main program of a simulation is given. Names are those of machines; times are virtual
    seconds.

    Args:
        seed: whatever is drawn, is drawn from it.
        hosts: the names of the machines.
        link: what links are like that no one sets.
        file_faults: what goes wrong with files by chance.
        shuffle: whether the ready callbacks of a process run in any order.
        limit: a program that is not done after this number of seconds is taken for endless.
    """

    def __init__(
        self,
        seed: int,
        hosts: Iterable[str] = (),
        *,
        link: Link | None = None,
        file_faults: FileFaults | None = None,
        shuffle: bool = False,
        limit: float = DAY,
        trace: Trace | None = None,
    ) -> None:
        self.seed = seed
        self.random = random.Random(f"{seed}/program")
        self.trace = trace or Trace()
        self.now = 0.0
        """The virtual time in seconds."""
        self._clock = Clock()
        self._events = EventQueue()
        self.network = Network(self, random.Random(f"{seed}/network"), link=link, trace=self.trace)
        self.hosts: dict[str, Host] = {}
        self._awake: list[Host] = []
        """Those whose process runs, in the order of `hosts`."""
        self._limit = limit
        self._file_faults = file_faults
        self._scheduling = random.Random(f"{seed}/scheduling")
        self._shuffle = random.Random(f"{seed}/shuffle") if shuffle else None
        self._dead: list[VirtualLoop] = []
        self._loop: VirtualLoop | None = None
        """Whose turn it was last."""
        self._faults: list[BaseException] = []
        self._idle_calls = 0
        self._calls_to_collection = _CALLS_TO_COLLECTION
        for name in (OBSERVER, *hosts):
            self.add(name)

    # ---- time

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls back at a virtual second, outside of all processes."""
        self._events.add(when if when > self.now else self.now, callback, arguments)

    def call_later(self, seconds: float, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls back after `seconds`, outside of all processes."""
        self.call_at(self.now + seconds, callback, *arguments)

    # ---- machines

    def add(self, name: str) -> Host:
        """A new machine."""
        files = SimulatedFiles(faults=self._file_faults, chance=random.Random(f"{self.seed}/files {name}"))
        host = self.hosts[name] = Host(self, name, files)
        self.call_the_roll()
        return host

    def call_the_roll(self) -> None:
        """Looks whose process runs; called when one begins, ends, freezes or thaws."""
        self._awake = [host for host in self.hosts.values() if host.is_alive and not host.is_frozen]

    def host(self, name: str) -> Host:
        """The machine of that name. Raises ValueError if there is none."""
        if name not in self.hosts:
            raise ValueError(f"There is no machine {name!r}; there are: {', '.join(self.hosts)}.")
        return self.hosts[name]

    def files(self, name: str) -> SimulatedFiles:
        """The files of a machine."""
        return self.host(name).files

    def share_files(self, *names: str) -> None:
        """Gives these machines one file system, instead of one each."""
        shared: dict[str, Any] = {}
        for name in names:
            chance = random.Random(f"{self.seed}/shared files {name}")
            self.host(name).mount(SharedSimulatedFiles(shared, faults=self._file_faults, chance=chance))

    def spawn(self, name: str, program: Program[T], *arguments: Any, again: bool = True) -> Job[T]:
        """Runs `program(*arguments)` on a machine; with `again` also whenever it is restarted. `await` gives its result."""
        return self.host(name).spawn(program, *arguments, again=again)

    def crash(self, name: str, *, silent: bool = False, lose_files: bool = True) -> None:
        """The process of a machine dies between two callbacks: first its network and files are gone, then its tasks end.

        Peers are told after one delay of the network, unless `silent`, as when the power fails: then they find out. All
        that was not flushed is lost, in part, unless `lose_files` is false.
        """
        host = self.host(name)
        if name == OBSERVER:
            raise ValueError("The main program observes the simulation: its machine does not crash.")
        if not host.is_alive:
            return
        self.say(f"crash {name}{' silently' if silent else ''}")
        host.station.cut(silent=silent)
        host.files.stop()
        host.lose_files = lose_files
        self._dead.append(host.stop())

    def crash_after(self, name: str, calls: int) -> None:
        """The process of a machine dies after `calls` further callbacks: at any `await`, that is."""
        self.host(name).die_after(calls)

    def restart(self, name: str, after: float = 0.0) -> None:
        """Starts a process on a machine whose former process is dead; it has another incarnation."""
        self.call_later(after, self._restart, self.host(name))

    def freeze(self, name: str, seconds: float) -> None:
        """Stops the process of a machine for a while, as SIGSTOP does. Its kernel goes on taking what arrives."""
        host = self.host(name)
        if host.is_alive and not host.is_frozen:
            self.say(f"freeze {name} for {seconds:.6f}")
            host.is_frozen = host.station.is_frozen = True
            self.call_the_roll()
            self.call_later(seconds, self._thaw, host, host.incarnation)

    def slow(self, name: str, seconds_per_call: float) -> None:
        """Lets each callback of a machine's processes take so long."""
        self.say(f"slow {name} {seconds_per_call:g}")
        self.host(name).seconds_per_call = seconds_per_call

    def jump_clock(self, name: str, seconds: float) -> None:
        """Sets the wall clock of a machine forward, or back."""
        self.say(f"clock of {name} jumps by {seconds:.6f}")
        self.host(name).wall_jump += seconds

    # ---- links

    def partition(self, a: str, b: str, *, oneway: bool = False, seconds: float | None = None) -> None:
        """Nothing comes through between two machines, or from `a` to `b`; until `heal`, or for `seconds`."""
        self.network.partition(a, b, oneway=oneway)
        if seconds is not None:
            self.call_later(seconds, lambda: self.network.heal(a, b, oneway=oneway))

    def heal(self, a: str, b: str, *, oneway: bool = False) -> None:
        """Ends a partition."""
        self.network.heal(a, b, oneway=oneway)

    def reset(self, a: str, b: str) -> None:
        """Breaks all connections between two machines."""
        self.network.reset(a, b)

    def set_link(self, a: str, b: str, *, oneway: bool = False, **changes: float) -> None:
        """Changes a link; the arguments are those of `Link`."""
        self.network.set_link(a, b, oneway=oneway, **changes)

    def say(self, what: str) -> None:
        """Adds a line to the trace."""
        self.trace.add(self.now, what)

    # ---- the scheduler

    def make_loop(self) -> VirtualLoop:
        """An event loop on the world's time. A fault that no one catches in it ends the simulation."""
        loop = VirtualLoop(self._clock, shuffle=self._shuffle, limit=self._limit)
        loop.set_exception_handler(self._fault)
        return loop

    def run(self, main: Callable[[World], Coroutine[Any, Any, T]]) -> T:
        """Runs `main(world)` to its end, and everything else meanwhile."""
        job = self.spawn(OBSERVER, main, self, again=False)
        job.looked_at = True
        hooks = sys.get_asyncgen_hooks()
        try:
            while not job.done:
                self._advance()
            if job.error is None:
                self._check()
        finally:
            self._end()
            sys.set_asyncgen_hooks(*hooks)
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def _advance(self) -> None:
        """Lets one of the machines that can run do so for a while; if there is none, time passes."""
        if self._dead:
            self._bury()
        if self._faults:
            self._check()
        now = self.now
        able = [host for host in self._awake if host.ready and host.busy_until <= now]
        if not able:
            self._jump()
            return
        if len(able) == 1:
            host, calls = able[0], _LONG_BURST
        else:
            chance = self._scheduling.random
            host, calls = able[int(chance() * len(able))], 1 + int(chance() * _BURST)
        if host.seconds_per_call:
            calls = 1
        if host.calls_to_live is not None:
            calls = min(calls, host.calls_to_live)
        loop = host.loop
        before = loop.calls
        if loop is not self._loop:
            self._loop = loop
            loop.follow_generators()
        loop.turn(calls)
        done = loop.calls - before
        self._idle_calls += done
        self._calls_to_collection -= done
        if self._calls_to_collection < 0:  # at a moment that the seed fixes: what finalizers do must not come by chance
            self._calls_to_collection = _CALLS_TO_COLLECTION
            gc.collect()
        if self._idle_calls > MOST_CALLS:
            raise Deadlock(f"{MOST_CALLS:,} callbacks have run, and no time has passed.\n{self._waiting()}")
        if host.seconds_per_call:
            host.busy_until = now + done * host.seconds_per_call
        if host.calls_to_live is not None and host.is_alive:
            host.calls_to_live -= done
            if host.calls_to_live <= 0:
                host.death()

    def _jump(self) -> None:
        """No machine can run now: lets time pass up to the next timer or event, or until a machine is not busy any more."""
        soonest = math.inf
        for host in self._awake:
            when = host.busy_until if host.ready else host.loop.next_timer()
            if when < soonest:
                soonest = when
        moment = min(soonest, self._events.next_moment)
        if moment == math.inf:
            raise Deadlock(f"Nothing is ready, no timer runs, and the program is not done.\n{self._waiting()}")
        if moment > self.now:
            self.now = self._clock.now = moment
        self._idle_calls = 0
        if self.now > self._limit:
            raise Deadlock(f"The program is not done after {self._limit:g} virtual seconds.\n{self._waiting()}")
        self._events.run(self.now)
        if soonest <= moment:
            for host in self._awake:
                host.loop.ripen()

    def _restart(self, host: Host) -> None:
        if host.is_alive:
            return
        self._bury()
        self.say(f"restart {host.name}")
        host.files.reboot(lose=host.lose_files)
        host.start()

    def _thaw(self, host: Host, incarnation: int) -> None:
        if host.is_frozen and host.incarnation == incarnation:
            self.say(f"thaw {host.name}")
            host.is_frozen = False
            host.station.thaw()
            host.loop.ripen()  # behind what has arrived meanwhile, as where a process is stopped in earnest
            self.call_the_roll()

    def _bury(self) -> None:
        while self._dead:
            self._dead.pop().bury()
            self._loop = None

    def _fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self._faults.append(error if isinstance(error, BaseException) else RuntimeError(str(context.get("message"))))

    def _check(self) -> None:
        """Raises errors that nothing has caught."""
        faults = self._faults + [error for host in self.hosts.values() for error in host.failures()]
        if len(faults) == 1:
            raise faults[0]
        if faults:
            raise BaseExceptionGroup("several programs failed", faults)

    def _end(self) -> None:
        for host in self.hosts.values():
            if host.is_alive:
                host.station.cut(silent=True)
                host.files.stop()
                self._dead.append(host.stop())
        self._events.clear()
        self._bury()

    def _waiting(self) -> str:
        lines = [f"on {host.name}: {waiting(host.loop)}" for host in self.hosts.values() if host.is_alive]
        return "\n".join(lines)
