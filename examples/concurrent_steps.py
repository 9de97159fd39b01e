"""Overlaps steps that wait: a graph with an asynchronous op, run many times at once in one session.

python examples/concurrent_steps.py --steps 48 --concurrent 12

`lookup` stands for a request to another service. Its kernel is an `async def`, so a step that waits in it holds neither
a thread nor the event loop, and steps that wait overlap.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.graph.tensor import Tensor, TensorLike

LATENCY = 0.02


class Service:
    """The service that asks the kernel. `most` is the largest number of requests that were open at once."""

    def __init__(self) -> None:
        self.open = self.most = 0

    async def fetch(self, key: int) -> float:
        """Takes its time, and gives a number."""
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await anyio.sleep(LATENCY)
            return 10.0 * key
        finally:
            self.open -= 1


service = Service()


@af.op(
    "ExampleLookup",
    shape=lambda c: c.shapes[0],
    dtypes=frozenset({af.int64}),
    result=af.float32,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def lookup(key: TensorLike, *, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """The service's value for `key`, an int64 scalar: a float32 scalar."""


@af.kernel("ExampleLookup")
async def lookup_kernel(xp: Any, key: Any) -> Any:
    return xp.float32(await service.fetch(int(key)))


async def main(steps: int, concurrent: int) -> None:
    graph = af.Graph()
    with graph.as_default():
        key = af.placeholder(af.int64, [], name="key")
        answer = af.sqrt(lookup(key)) + 1

    async with af.Session(graph=graph) as session:
        expected = [np.sqrt(10.0 * number) + 1 for number in range(steps)]

        async def work(numbers: Iterable[int]) -> None:
            for number in numbers:
                found[number] = await session.run(answer, {key: number})

        for workers in (1, concurrent):
            found: dict[int, Any] = {}
            service.most = 0
            numbers = iter(range(steps))  # shared: each worker takes the next number
            begun = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for _ in range(workers):
                    tasks.start_soon(work, numbers)
            elapsed = time.perf_counter() - begun
            np.testing.assert_allclose([found[number] for number in range(steps)], expected, rtol=1e-6)
            print(f"{workers:3} at once: {steps / elapsed:6.1f} steps/s, up to {service.most} requests open")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Overlaps steps that wait.")
    parser.add_argument("--steps", type=int, default=48, help="how many (48)")
    parser.add_argument("--concurrent", type=int, default=12, help="how many at once (12)")
    options = parser.parse_args()
    anyio.run(main, options.steps, options.concurrent)
