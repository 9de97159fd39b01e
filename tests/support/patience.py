"""Time as a busy machine gives it: what tests compare with their limits, so that none of them depends on being quick.

A process that nine others keep from the processor makes a tenth of the progress, and none of that is its fault. So
the limit of a test, and each bound that a test sets on real time, is compared with the wall clock less the time in
which the test's own threads and processes were ready to run and had no processor. A test that waits for what never
comes is as late as ever: it waits for no processor.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

PATIENCE = 600.0  # seconds that a test waits for what must come: as many as the longest that a test of a minute's limit may take
BACKSTOP = 10  # a test ends after this multiple of its limit by the wall clock, whatever the machine did
LOOKS = 8  # looks at the processes of a test before its limit; of one that has ended, what it did since the last look is not seen


class MachineTime:
    """The seconds that this machine gave to this process and to those below it, from now on.

    Linux says of each thread how long it ran and how long it was ready and did not run. If it does not say that,
    these are seconds of the wall clock.
    """

    def __init__(self) -> None:
        self._at, self._seen, self._seconds = time.monotonic(), dict(_threads(os.getpid())), 0.0

    def seconds(self) -> float:
        """Never more than the wall clock's, and never less than one processor's share of what ran."""
        at, seen = time.monotonic(), dict(_threads(os.getpid()))
        wall, ran, waited = at - self._at, 0.0, 0.0
        for thread, (has_run, has_waited) in seen.items():
            run_before, waited_before = self._seen.get(thread, (0.0, 0.0))
            ran += max(0.0, has_run - run_before)
            waited += max(0.0, has_waited - waited_before)
        self._at, self._seen = at, seen
        self._seconds += min(wall, max(ran, wall - waited))
        return self._seconds


def watch(limit: float, expired: Callable[[], None]) -> Callable[[], None]:
    """Calls `expired` on the main thread when the machine has given `limit` seconds. Returns what ends the watch.

    Args:
        limit: Seconds of MachineTime; BACKSTOP times as many of the wall clock are the end in any case.
        expired: Is called between two instructions of what the main thread does; what it raises is raised there.
    """
    given, begun = MachineTime(), time.monotonic()

    def look(number: int, frame: object) -> None:
        left = limit - given.seconds()
        if left <= 0 or time.monotonic() - begun >= BACKSTOP * limit:
            expired()
        else:
            signal.setitimer(signal.ITIMER_REAL, max(min(left, limit / LOOKS), 0.001))

    def end() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, limit / LOOKS)
    return end


def _threads(process: int) -> Iterator[tuple[int, tuple[float, float]]]:
    """Of each thread of a process and of those below it: its number, and the seconds that it ran and that it waited to run."""
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/schedstat", "rb") as file:
                ran, waited, *_ = map(int, file.read().split())
            yield int(thread), (ran / 1e9, waited / 1e9)
            with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                children = file.read().split()
            for child in children:
                yield from _threads(int(child))
    except OSError:  # it has just ended, or the system does not say
        return
