"""`SlowTasks`: the tasks for whose logical workers the others wait longest (paper section 4.4, on stragglers).

A task that gathers gradients waits for each logical worker at the same time. So the time that it has waited for a task, by
logical worker, is the time that this task takes for each, with its way through the network. Nothing else is measured.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from statistics import median

import anyio

SPAN_SECONDS = 5.0
_LEAST_SHARE = 0.1
"""A task is no burden if others have waited for it for a smaller share of the time."""
_FLOOR = 0.01
"""The least share of the time that a task counts as waited for."""
Waits = Mapping[str, Mapping[str, float]]
"""The seconds that each task has waited for tokens of its peers since its start, by the name of the peer."""


class SlowTasks:
    """Compares tasks in one span of time after another. A task is slow if it was so in two spans in a row.

    Args:
        factor: a slow task takes at least this many times as long for a logical worker as the median of the other tasks.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._before: dict[str, dict[str, float]] = {}
        self._suspects: frozenset[str] = frozenset()

    def look(self, waits: Waits, replicas: Mapping[str, tuple[int, ...]], seconds: float) -> dict[str, float]:
        """The tasks that are slow, each with how many times as long it takes.

        Args:
            waits: the seconds so far.
            replicas: the logical workers of each task.
            seconds: the length of the span, which begins with the look before.
        """
        spans = {
            task: max(
                (self._waited(receiver, task, rows) for receiver, rows in waits.items() if receiver != task),
                default=0.0,
            )
            / len(numbers)
            for task, numbers in replicas.items()
            if numbers
        }
        self._before = {receiver: dict(rows) for receiver, rows in waits.items()}
        slow = {}
        for task, span in spans.items():
            others = [max(other, _FLOOR * seconds) for name, other in spans.items() if name != task]
            if others and span >= max(_LEAST_SHARE * seconds, self._factor * median(others)):
                slow[task] = span / median(others)
        former, self._suspects = self._suspects, frozenset(slow)
        return {task: factor for task, factor in slow.items() if task in former}

    def _waited(self, receiver: str, task: str, rows: Mapping[str, float]) -> float:
        """The seconds since the look before; a process that has started again counts from its start."""
        now, before = rows.get(task, 0.0), self._before.get(receiver, {}).get(task, 0.0)
        return now - before if now >= before else now


async def watch_speed(
    judge: SlowTasks,
    waits: Callable[[], Waits],
    replicas: Callable[[], Mapping[str, tuple[int, ...]]],
    tell: Callable[[str, float], Awaitable[object]],
) -> None:
    """Tells each task that is slow, once until it has kept up again. Without end."""
    reported: frozenset[str] = frozenset()
    while True:
        begun = anyio.current_time()
        await anyio.sleep(SPAN_SECONDS)
        slow = judge.look(waits(), replicas(), anyio.current_time() - begun)
        fresh, reported = slow.keys() - reported, frozenset(slow)
        for task in sorted(fresh):
            await tell(task, slow[task])
