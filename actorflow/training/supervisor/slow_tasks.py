"""`SlowTasks`: the tasks for whose logical workers the others wait longest (paper section 4.4, on stragglers).

A task waits for each tensor of its peers from the beginning of its part of a step. So the mean wait for a task's tensors tells
when they come. The first to come tell how long the task takes for its logical workers, with the way through the network. If the
task itself waits for other workers about as long, as an inner task of a tree does, the delay is not its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import anyio

SPAN_SECONDS = 5.0
_LEAST_SHARE = 0.1
"""A task is no burden if others have waited for it for a smaller share of the time."""


@dataclass(frozen=True, slots=True)
class TaskWaits:
    """How a task has waited for tokens since its start.

    Args:
        steps: its steps.
        tokens: how many tokens of each peer it has waited for, by the name of the peer.
        seconds: how long, in all. Waits for several tokens at a time are counted for each.
    """

    steps: int
    tokens: Mapping[str, int]
    seconds: Mapping[str, float]


_NOTHING = TaskWaits(0, {}, {})


class SlowTasks:
    """Compares tasks in one span of time after another. A task is slow if it was so in two spans in a row.

    Args:
        factor: a slow task takes at least this many times as long for a logical worker as the median of the other tasks.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._before: Mapping[str, TaskWaits] = {}
        self._suspects: frozenset[str] = frozenset()

    def look(
        self, waits: Mapping[str, TaskWaits], replicas: Mapping[str, tuple[int, ...]], seconds: float
    ) -> dict[str, float]:
        """The tasks that are slow, each with how many times as long it takes.

        Args:
            waits: the waits of all tasks so far.
            replicas: the logical workers of each task.
            seconds: the length of the span, which begins with the look before.
        """
        means, steps = {}, {}
        for task, now in waits.items():
            before = self._before.get(task, _NOTHING)
            means[task], steps[task] = _span(now, before if before.steps <= now.steps else _NOTHING)
        self._before = waits
        taken = {task: _first(task, means) / len(numbers) for task, numbers in replicas.items() if numbers}
        held = {task for task in taken if self._is_held(task, taken[task] * len(replicas[task]), means, replicas)}
        slow = {}
        for task, own in taken.items():
            usual = _usual([taken[other] for other in taken if other != task and other not in held])
            usual = usual or _usual([taken[other] for other in taken if other != task])
            is_burden = own * len(replicas[task]) * steps.get(task, 0) >= _LEAST_SHARE * seconds
            if usual and is_burden and task not in held and own >= self._factor * usual:
                slow[task] = own / usual
        former, self._suspects = self._suspects, frozenset(slow)
        return {task: factor for task, factor in slow.items() if task in former}

    def _is_held(
        self, task: str, first: float, means: Mapping[str, Mapping[str, float]], workers: Collection[str]
    ) -> bool:
        """Whether the delay of a task may be that of another worker, for which it waits."""
        waits = [mean for peer, mean in means.get(task, {}).items() if peer in workers and peer != task]
        return max(waits, default=0.0) * self._factor >= first


def _usual(seconds: Sequence[float]) -> float:
    return median(seconds) if seconds else 0.0


def _first(task: str, means: Mapping[str, Mapping[str, float]]) -> float:
    """The seconds until the first of the tasks that wait for a task's tensors has them; 0 if none waits."""
    return min((row[task] for receiver, row in means.items() if receiver != task and task in row), default=0.0)


def _span(now: TaskWaits, before: TaskWaits) -> tuple[dict[str, float], int]:
    """The mean seconds for which a task has waited for a token of each peer since a time before, and its steps since."""
    means = {}
    for peer, tokens in now.tokens.items():
        fresh = tokens - before.tokens.get(peer, 0)
        if fresh > 0:
            means[peer] = max(0.0, now.seconds[peer] - before.seconds.get(peer, 0.0)) / fresh
    return means, now.steps - before.steps


async def watch_speed(
    judge: SlowTasks,
    waits: Callable[[], Mapping[str, TaskWaits]],
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
