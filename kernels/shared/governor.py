"""`Governor`: how many threads take a piece of work, by what its calls cost on one thread and on several.

Two things decide. Whether the work pays to be divided is its own nature: each kind of work has a `Governor`, which tries
several numbers of threads and stays with the fastest. Whether the cores are free is the machine's state, which changes from
one moment to the next and is the same for all work: all governors tell one account of `Gains` what their divided calls have
gained or lost. The account is soon empty if other programs take the cores away. Then all work stays on one thread for some
milliseconds.

To ask and to tell takes longer than some work in C does. So a governor that has decided may grant the next calls, in memory
that the function in C reads: how many, and on how many threads. That counts and measures them. When the calls are used up, or a
call takes longer than it does on one thread, the call comes to the governor, which takes the measurements in and grants the
next calls. A pause ends all grants.
"""

from __future__ import annotations

import statistics
import struct
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import TypeVar

from actorflow.engine.runtime.codegen.background import background

T = TypeVar("T")

# ---- the machine

_MOST_GAINED, _CREDIT = 6_000_000.0, 1_000_000.0
"""Nanoseconds that the account holds at most, and after a pause: so much may be lost before the next pause."""
_MOST_LOST = 4_000_000.0
"""Nanoseconds that one call loses at most: a slice of the system's time. A longer time has other causes."""
_PAUSE, _MOST_PAUSE = 2_000_000, 64_000_000
"""Nanoseconds of a pause. Each is twice as long as the last, until dividing pays again."""


class Gains:
    """The time that was gained lately by dividing work, in all calls of the process. When it is used up, there is a pause.

    Args:
        clock: nanoseconds that pass by themselves.
    """

    __slots__ = ("_balance", "_clock", "_ends", "_pause", "granting", "pauses")

    def __init__(self, clock: Callable[[], int] = perf_counter_ns) -> None:
        self._clock = clock
        self._balance = _MOST_GAINED
        self._pause = _PAUSE
        self._ends = 0
        self.pauses = 0
        """How many there have been."""
        self.granting: weakref.WeakSet[Governor] = weakref.WeakSet()
        """The governors that have granted calls since the last pause."""

    @property
    def paused(self) -> bool:
        """Whether nothing should be divided now."""
        return self._ends > 0 and self._clock() < self._ends

    def add(self, gained: float) -> None:
        """Takes in what a divided call has gained against one thread, in nanoseconds; less than 0 for a loss."""
        balance = self._balance + max(gained, -_MOST_LOST)
        ended: list[Governor] = []
        if balance < 0:
            self._ends = self._clock() + self._pause
            self._pause = min(2 * self._pause, _MOST_PAUSE)
            self.pauses += 1
            balance = _CREDIT
            ended = list(self.granting)
            self.granting.clear()
        elif balance > _MOST_GAINED:
            self._pause = _PAUSE
            balance = _MOST_GAINED
        self._balance = balance
        for grant in ended:
            grant.end_grant()


OF_PROCESS = Gains()

# ---- a kind of work

_WEIGHT = 0.1
_SHARE = 0.9
"""The part of one thread's time that several may take. They cost others their cores."""
_STALL = 2.0
"""How many times that of one thread a measurement counts at most. A thread that has lost its core in the middle of a piece keeps
the others waiting for it; that says something of the machine, and little of the work."""
_REST, _MOST_RESTS, _MOST_OF_PROVEN = 2_000_000.0, 16, 4
"""Nanoseconds of the work that one thread does after several did not pay. With each disappointment that doubles, but less often
for work that has paid before: it will again."""
_LOSSES = 60.0
"""A rest takes at least this number times what the trial before it has lost."""
_GOOD = 32
"""Divided calls that paid, and make up for one disappointment."""
_FIRST, _TRIAL, _LONGEST = 4, 3, 256
_FRESH = 600_000.0
"""Nanoseconds of divided calls that come before those of a trial: threads start, their cores wake up, and the data move
there."""
_GRANT = struct.Struct("=6q")
"""As `native/src/primitives.c` has it: how many threads, how many calls may still begin, and from how many nanoseconds on a
call ends the grant. The grant's number, the calls that are over, and their nanoseconds follow."""
_GRANTED, _NEVER = 16, 2**62


class Governor:
    """The costs of some work on one thread and on several, which say how many take the next call.

    It begins with one thread, and then tries all that there are, half of them, a quarter and so on. The fastest number
    stays, as long as it pays. A core may be taken away from a thread at any time, so a trial goes by its median and later
    calls by their average. Several threads may ask and tell it at the same time: a measurement may be lost then.

    Args:
        most: how many threads there are.
        gains: the account of what it gains to divide work on this machine at present.
    """

    __slots__ = (
        "__weakref__",
        "_alone",
        "_begun",
        "_best",
        "_calls",
        "_gains",
        "_grant",
        "_grants",
        "_last",
        "_left",
        "_lost",
        "_most",
        "_one",
        "_patience",
        "_pauses",
        "_proven",
        "_rest",
        "_several",
        "_tried",
    )

    def __init__(self, most: int, gains: Gains = OF_PROCESS) -> None:
        self._most = most
        self._gains = gains
        self._one = self._several = 0.0
        self._last: tuple[float, ...] = ()
        self._tried: tuple[float, ...] = ()
        self._alone = 0
        self._rest = 0
        self._patience = 1
        self._proven = False
        self._grant: bytearray | None = None
        self._grants = 0
        self._begin_trial()

    def _begin_trial(self) -> None:
        self._left = tuple(_counts(self._most))
        self._best = self._left[-1] if self._left else 1
        self._several = 0.0
        self._begun = self._lost = 0.0
        self._tried = ()
        self._calls = 0
        self._pauses = self._gains.pauses

    def threads(self) -> int:
        """How many threads should do it next."""
        if self._most < 2:
            return 1
        if self._rest > 0:
            self._rest -= 1
            return 1
        if self._alone < _FIRST or self._calls >= _LONGEST or self._gains.paused:
            return 1
        left = self._left
        return left[-1] if left else self._best

    def run(self, work: Callable[[int], T]) -> T:
        """Calls `work` with a number of threads, and measures it.

        As long as a compiler keeps a core busy, which tells nothing of later calls, there is one thread.
        """
        granting = self._grant is not None
        if granting:
            self.end_grant()
        if self._most < 2 or not background.idle:
            return work(1)
        threads = self.threads()
        begun = perf_counter_ns()
        result = work(threads)
        self.add(threads, perf_counter_ns() - begun)
        if granting:
            self._allow()
        return result

    def add(self, threads: int, nanoseconds: int) -> None:
        """Takes a measurement in."""
        left = self._left
        if threads == 1:
            self._add_alone(nanoseconds)
        elif left:
            if threads == left[-1]:  # other threads may have ended its trial meanwhile
                self._add_trial(left, nanoseconds)
        else:
            self._add_several(1, nanoseconds)

    def _add_several(self, calls: int, nanoseconds: float) -> None:
        """Takes in a number of calls of several threads, each of which took these nanoseconds."""
        before = self._calls
        self._calls += calls
        self._gains.add(calls * (self._one - nanoseconds))
        self._several += (self._bounded(nanoseconds) - self._several) * (1.0 - (1.0 - _WEIGHT) ** calls)
        self._judge(before // _GOOD != self._calls // _GOOD)

    def _add_alone(self, nanoseconds: int) -> None:
        self._alone += 1
        if self._calls >= _LONGEST:
            self._calls = 0
        # The first one makes what the others find, and a single slow one tells nothing.
        self._last = (*self._last[-2:], float(nanoseconds)) if self._alone > 1 else ()
        self._one = statistics.median_low(self._last or (float(nanoseconds),))

    def _bounded(self, nanoseconds: float) -> float:
        return min(nanoseconds, _STALL * self._one)

    def _add_trial(self, left: tuple[int, ...], nanoseconds: int) -> None:
        self._lost += self._bounded(nanoseconds) - self._one
        if self._begun < _FRESH:
            self._begun += nanoseconds
            return
        self._gains.add(self._one - nanoseconds)
        tried = self._tried = (*self._tried, float(nanoseconds))
        if len(tried) < _TRIAL:
            return
        median = statistics.median_low(tried)
        if not self._several or median < self._several:
            self._several, self._best = median, left[-1]
        self._tried, self._left = (), left[:-1]
        if not self._left:
            self._judge()

    def _judge(self, good: bool = False) -> None:
        """Whether several threads still pay. `good`: they have done so for some time."""
        if self._several > _SHARE * self._one:
            self._rest = 1 + int(max(self._patience * _REST, _LOSSES * self._lost) / (1 + self._one))
            if self._pauses == self._gains.pauses:  # other programs had no part in it
                self._patience = min(2 * self._patience, _MOST_OF_PROVEN if self._proven else _MOST_RESTS)
            self._begin_trial()
        elif good:
            self._proven = True
            self._patience = max(1, self._patience - 1)

    # ---- calls that C does by itself

    def granted(self) -> bytearray:
        """The memory in which this governor grants calls from now on (`_GRANT`)."""
        if self._grant is None:
            self._grant = bytearray(_GRANT.size)
        return self._grant

    def end_grant(self) -> None:
        """Lets no more calls begin. Those that are over count."""
        assert self._grant is not None
        threads, _, slow, _, calls, spent = _GRANT.unpack_from(self._grant)
        self._grants += 1
        _GRANT.pack_into(self._grant, 0, threads, 0, slow, self._grants, 0, 0)
        if not calls:
            return
        if threads == 1:
            self._rest = max(0, self._rest - calls)
            self._add_alone(spent // calls)
        elif not self._left:
            self._add_several(calls, spent / calls)

    def _allow(self) -> None:
        """Grants the next calls, if it is clear how many threads do them."""
        assert self._grant is not None
        if self._rest > 0:
            threads, calls, slow = 1, self._rest, _NEVER
        elif self._alone < _FIRST or self._left or self._gains.paused:
            return
        else:
            threads, calls, slow = self._best, _LONGEST - self._calls, int(self._one)
        if calls > 0:
            self._gains.granting.add(self)
            self._grants += 1
            _GRANT.pack_into(self._grant, 0, threads, min(calls, _GRANTED), slow, self._grants, 0, 0)


def _counts(most: int) -> list[int]:
    """Numbers of threads that are tried, the largest last: `most`, half of it, a quarter and so on."""
    counts = []
    while most > 1:
        counts.append(most)
        most = -(-most // 2) if most > 2 else 1
    return counts[::-1]
