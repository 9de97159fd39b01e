"""Looks for a good placement of a graph on several devices, tries it, and asks what other machines would do.

python examples/find_a_placement.py --devices 3 --seconds 2 --picture find_a_placement.svg

`work` stands for a kernel that keeps an accelerator busy: it takes time of its device, and the graph does not tell how much.
So the first plan guesses. Then runs have shown what nodes cost, and a search finds a better placement by simulated steps.
The program's next steps run by both placements in turns, and the faster one stays.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike

BATCH = np.ones(64, np.float32)


@af.op("ExampleWork", shape=unchanged, gradient=None, work=lambda c: 4e8)
def work(x: TensorLike, *, seconds: float, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """`x` after some seconds of its device. The op's work, the same for all, says only that it is not for the event loop."""


@af.kernel("ExampleWork")
def work_kernel(xp: Any, x: Any, *, seconds: float) -> Any:
    time.sleep(seconds)
    return x + 0


def build(count: int, seed: int) -> tuple[af.Graph, Tensor, Tensor]:
    """A graph of `count` pieces of 2 to 12 ms, each after one or two others; its input and its result."""
    chance = random.Random(seed)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [64], name="x")
        made: list[Tensor] = []
        for i in range(count):
            needs = chance.sample(made[-8:], min(len(made), chance.choice((1, 2)))) if i > 3 else []
            value = af.add_n(needs) if needs else x
            made.append(work(value, seconds=chance.choice((0.002, 0.003, 0.005, 0.008, 0.012)), name=f"piece{i}"))
        return graph, x, af.add_n(made, name="total")


async def timed(session: af.Session, total: Tensor, x: Tensor, steps: int) -> float:
    """The median of some steps, in seconds."""
    took = []
    for _ in range(steps):
        begun = time.perf_counter()
        await session.run(total, {x: BATCH})
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


async def find(devices: int, seconds: float, trials: int | None, draw: bool = False) -> str:
    """Runs, searches, tries, and tells; the timelines as SVG, if wanted."""
    graph, x, total = build(30, seed=5)
    async with af.Session(graph=graph, devices={"CPU": devices}) as session:
        print(f"by guesses:      {1e3 * await timed(session, total, x, 9):.1f} ms")
        await session.replan()
        print(f"by measurements: {1e3 * await timed(session, total, x, 9):.1f} ms")
        before = await session.study_placement()
        print(
            f"                 {1e3 * before.seconds:.1f} ms as simulated, no placement below {1e3 * before.bound:.1f} ms"
        )

        trial = await session.replan(search=seconds, trials=trials)
        while trial.adopted is None:  # the program's own steps decide
            await session.run(total, {x: BATCH})
        print(f"by a search:     {1e3 * await timed(session, total, x, 9):.1f} ms. {trial.verdict}")

        after = await session.study_placement()
        print(after)
        wider = after.what_if(workers=2).search(seconds, trials=trials)
        print(f"with two more workers: {1e3 * wider.seconds:.1f} ms")
        return before.svg(after, wider, titles=["before", "as found", "two more workers"]) if draw else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Looks for a good placement of a graph on several devices.")
    parser.add_argument("--devices", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to search")
    parser.add_argument("--trials", type=int, help="how many placements to simulate, in place of seconds")
    parser.add_argument("--picture", type=Path, help="where to write the timelines, as SVG")
    arguments = parser.parse_args()
    drawn = anyio.run(find, arguments.devices, arguments.seconds, arguments.trials, arguments.picture is not None)
    if arguments.picture is not None:
        arguments.picture.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
