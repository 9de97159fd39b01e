"""A training that grows and shrinks while it runs, and ends with the bits of a training that never changed.

python examples/elastic.py --steps 40
python examples/elastic.py --steps 4000 --control workers.txt   # and in another terminal: echo 5 > workers.txt

Eight logical workers (`af.train.Replicas`) have a shard of the batch each: points that are a function of the shard's number and
of the step. The gradients are added by a tree over the numbers. So the result does not depend on the number of tasks, or on the
tasks that compute the shards.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af

REPLICAS, ROWS, INPUTS = 8, 16, 8


@dataclass(frozen=True)
class Model:
    graph: af.Graph
    loss: af.Tensor
    train: Any
    weights: af.Variable


def build() -> Model:
    """A line through points: parameters on the server, eight shards wherever there are workers."""
    graph = af.Graph()
    with graph.as_default(), af.device("/job:ps"):
        step = af.train.get_or_create_global_step()
        slope = af.constant(np.linspace(-1, 1, INPUTS, dtype=np.float32)[:, None])

        def tower() -> tuple[af.Tensor, af.Operation]:
            weights = af.get_variable("weights", [INPUTS, 1], initializer=af.zeros_initializer())
            points = af.random_normal([ROWS, INPUTS])  # others for each logical worker and step
            loss = af.reduce_mean(af.square(af.matmul(points, weights) - af.matmul(points, slope)))
            return loss, af.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)

        loss, train = af.train.Replicas(REPLICAS).build(tower)
        (weights,) = af.trainable_variables()
    return Model(graph, loss, train, weights)


def requested(control: Path | None, plan: dict[int, int], step: int) -> int | None:
    """The number of workers that the plan says at this step, or that a file says."""
    if control is None:
        return plan.get(step)
    text = control.read_text().strip() if control.exists() else ""
    return min(int(text), REPLICAS) if text.isdecimal() and int(text) else None


async def train(steps: int, plan: dict[int, int], control: Path | None = None) -> tuple[float, bytes]:
    """Trains, with other numbers of workers on the way. Gives the last loss, and the weights."""
    model, loss, workers = build(), float("nan"), 1
    with tempfile.TemporaryDirectory() as folder:
        async with (
            af.LocalCluster({"ps": 1, "worker": workers}) as cluster,
            af.Supervisor(cluster, model.graph, checkpoint_dir=folder, replicas=REPLICAS) as supervisor,
        ):
            begun, first = time.perf_counter(), 0
            async for attempt in supervisor.steps(until=steps):
                async with attempt as step:
                    loss, _ = await supervisor.run([model.loss, model.train])
                number = requested(control, plan, step)
                if number not in (None, workers):
                    rate = (step + 1 - first) / (time.perf_counter() - begun)
                    print(f"step {step:5}  {'#' * workers:8}  {rate:6.1f} steps/s  loss {loss:.6f}", flush=True)
                    await supervisor.scale(worker=number)
                    print(f"            from {workers} to {number} workers", flush=True)
                    workers, begun, first = number, time.perf_counter(), step + 1
            rate = (steps - first) / max(time.perf_counter() - begun, 1e-9)
            print(f"step {steps:5}  {'#' * workers:8}  {rate:6.1f} steps/s  loss {loss:.6f}", flush=True)
            weights = await supervisor.run(model.weights)
    return float(loss), weights.tobytes()


async def main(steps: int, control: Path | None) -> None:
    plan = {steps // 4: 3, steps // 2: 2, steps * 3 // 4: 1}
    print("with other numbers of workers:")
    _, changed = await train(steps, plan, control)
    print("with one worker:")
    _, fixed = await train(steps, {})
    print(f"the same weights, bit by bit: {changed == fixed}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--control", type=Path, metavar="FILE", help="a file with the number of workers that you want")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)  # this program tells the changes itself
    anyio.run(main, arguments.steps, arguments.control)
