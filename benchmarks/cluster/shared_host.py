"""Training steps on a host that others use too: beside 2, 8 and 20 busy processes, each in a session of its own.

One thread gets the same share of the processors as many where sessions are scheduling groups (`sched_autogroup_enabled`).
A runtime loses more than that share if a piece of work waits for a thread without a core.
"""

from __future__ import annotations

from benchmarks import models
from benchmarks.harness.definitions import Case, Suite

_MODELS = ("lstm", "vgg", "transformer", "mlp_single")


def _beside(processes: int) -> Suite:
    cases = tuple(
        Case(f"{case.name}_beside_{processes}", f"{case.work}, beside {processes} busy processes", case.build)
        for case in models.TRAINING
        if case.name in _MODELS
    )
    return Suite(f"beside_{processes}", cases, summary=True, processes=3, beside=processes)


BENCHMARKS = tuple(_beside(processes) for processes in (2, 8, 20))
