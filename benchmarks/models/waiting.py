"""Many steps that wait at one queue: what each of them holds while it waits."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from benchmarks.engine.memory import resident
from benchmarks.harness.definitions import Options
from benchmarks.harness.sides import our_library

COUNT = 10_000


def threads_now() -> int:
    """Threads of this process, those of libraries too (Linux)."""
    return len(os.listdir("/proc/self/task"))


async def blocked_dequeues(options: Options) -> Mapping[str, float]:
    """Starts the dequeues of an empty queue, waits until all of them wait, fills the queue, and waits for their ends."""
    import anyio
    import numpy as np

    af = our_library()
    graph = af.Graph()
    with graph.as_default():
        queue = af.FIFOQueue(COUNT, [af.int32], shapes=[[]])
        element = queue.dequeue()
        values = af.placeholder(af.int32, [None])
        fill = queue.enqueue_many([values])
    begun = 0
    taken: list[int] = []
    async with af.Session(
        graph=graph, limits=af.SessionLimits(max_inflight_steps=COUNT + 2, max_waiting_steps=COUNT)
    ) as session:

        async def take() -> None:
            nonlocal begun
            begun += 1
            taken.append(int(await session.run(element)))

        async def until_all_wait(count: int) -> None:
            await anyio.wait_all_tasks_blocked()
            if begun < count:
                raise RuntimeError(f"Of {count} dequeues only {begun} have begun.")

        async with anyio.create_task_group() as group:  # one first, which plans
            group.start_soon(take)
            await session.run(fill, {values: np.zeros(1, np.int32)})
        begun = 0
        taken.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await until_all_wait(1)
            threads, memory = threads_now(), resident()
            for _ in range(COUNT - 1):
                group.start_soon(take)
            await until_all_wait(COUNT)
            figures = {
                "blocked_threads": float(threads_now() - threads),
                "blocked_kb": (resident() - memory) / 1024 / (COUNT - 1),
            }
            start = time.perf_counter()
            await session.run(fill, {values: np.arange(COUNT, dtype=np.int32)})
        seconds = time.perf_counter() - start
    if sorted(taken) != list(range(COUNT)):
        raise ValueError(f"Of {COUNT} elements {len(set(taken))} arrived.")
    return {**figures, "blocked_us": 1e6 * seconds / COUNT}
