"""A process whose machine is as strange as can be. A simulation in it gives the results that it gives elsewhere.

`python strange_machine.py SEED messages|workload SEED...` prints the digest of the trace of each further seed, in a process with
a large or small number, clocks that jump as on a machine with much else to do, objects at other addresses, and garbage that is
collected at any moment. It has to be the first that a process imports: others keep the clocks that they find.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from typing import Any

_NUMBERS = (5, 200, 4000, 70_000, 4_000_000)


def make_strange(seed: int) -> list[Any]:
    """Makes the process strange. The result has to be kept for as long: it takes the places of objects in memory."""
    chance = random.Random(seed)
    now = 0

    def nanoseconds() -> int:
        nonlocal now
        now += int(chance.expovariate(10.0 ** -chance.randint(3, 8)))
        return now

    def seconds() -> float:
        return nanoseconds() / 1e9

    time.perf_counter_ns = time.monotonic_ns = time.time_ns = nanoseconds
    time.perf_counter = time.monotonic = time.time = seconds
    number = chance.choice(_NUMBERS)
    os.getpid = lambda: number
    gc.disable = lambda: None
    gc.set_threshold(chance.randint(20, 500))
    kept = [[object() for _ in range(chance.randint(1, 1000))] for _ in range(chance.randint(2, 200))]
    return kept[::2]


if __name__ == "__main__":
    places = make_strange(int(sys.argv[1]))
    if sys.argv[2] == "messages":
        from testing.counted_messages import digest
    else:
        from simulation.seeds import run_seed

        def digest(seed: int) -> str:
            return run_seed(seed).digest

    print("digests", *(digest(int(seed)) for seed in sys.argv[3:]))
