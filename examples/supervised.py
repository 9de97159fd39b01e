"""Training that goes on across deaths (paper section 3.3): tasks are killed on the way, and the result is the same, bit by bit.

python examples/supervised.py --steps 60 --kills 3

A parameter server and two workers are processes of this machine. Each worker computes the gradient of its half of the batch.
The supervisor sees a death, stops the step on all tasks, starts the lost one again, restores the last checkpoint, and lets the
loop go on from the restored step. The loop itself has no word of that: the batch goes by the step that it is given.
"""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.supervisor import CheckpointSaved, Restored, WorkerLost

BATCH, INPUTS = 32, 8


@dataclass(frozen=True)
class Model:
    graph: af.Graph
    points: af.Tensor
    wanted: af.Tensor
    loss: af.Tensor
    train: Any
    weights: af.Variable


def build() -> Model:
    """A line through points: parameters on the server, a half of each batch on each worker."""
    graph = af.Graph()
    with graph.as_default():
        points = af.placeholder(af.float32, [BATCH, INPUTS])
        wanted = af.placeholder(af.float32, [BATCH])
        with af.device("/job:ps/task:0"):
            step = af.train.get_or_create_global_step()
            weights = af.get_variable("weights", [INPUTS], initializer=af.zeros_initializer())
        losses = []
        for worker, (some, theirs) in enumerate(zip(af.split(points, 2), af.split(wanted, 2))):
            with af.device(f"/job:worker/task:{worker}"):
                losses.append(af.reduce_mean(af.square(af.reduce_sum(some * weights, 1) - theirs)))
        loss = af.add_n(losses) / 2.0
        train = af.train.MomentumOptimizer(0.02, 0.9).minimize(loss, global_step=step)
    return Model(graph, points, wanted, loss, train, weights)


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of a step: the same ones whenever it is made."""
    points = np.random.default_rng(step).normal(size=(BATCH, INPUTS)).astype(np.float32)
    return points, points @ np.linspace(-1, 1, INPUTS, dtype=np.float32)


async def tell(supervisor: af.Supervisor) -> None:
    """Prints what happens, as it happens."""
    async for event in supervisor.events():
        match event:
            case WorkerLost(_, task, report):
                print(f"  {task} is lost: {report.how}", flush=True)
            case Restored(_, path, step, epoch):
                what = "initial values" if path is None else f"checkpoint of step {step}"
                print(f"  epoch {epoch} begins with the {what}", flush=True)


async def train(steps: int, kills: list[int], every: int) -> tuple[float, bytes]:
    """Trains, while a task is killed at each of the steps `kills`. Gives the last loss, and the weights."""
    model, loss = build(), float("nan")
    tasks = ["/job:worker/task:1", "/job:ps/task:0", "/job:worker/task:0"]
    with tempfile.TemporaryDirectory() as folder:
        async with (
            af.LocalCluster({"ps": 1, "worker": 2}) as cluster,
            anyio.create_task_group() as group,
            af.Supervisor(cluster, model.graph, checkpoint_dir=folder, save_steps=every) as supervisor,
        ):
            group.start_soon(tell, supervisor)
            waiting = sorted(kills)
            async for attempt in supervisor.steps(until=steps):
                async with attempt as step:
                    if waiting and step >= waiting[0]:
                        waiting.pop(0)
                        task = tasks[len(waiting) % len(tasks)]
                        print(f"step {step}: kill {task}", flush=True)
                        cluster.processes[task].signal(9)
                    points, wanted = batch(step)
                    loss, _ = await supervisor.run(
                        [model.loss, model.train], {model.points: points, model.wanted: wanted}
                    )
            weights = await supervisor.run(model.weights)
        saved = [event.step for event in supervisor.history if isinstance(event, CheckpointSaved)]
        print(f"checkpoints at {sorted(set(saved))}")
    return float(loss), weights.tobytes()


async def main(steps: int, kills: int, every: int, seed: int) -> None:
    chosen = random.Random(seed).sample(range(steps), kills)
    print("undisturbed:")
    undisturbed, there = await train(steps, [], every)
    print(f"with {kills} deaths:")
    loss, weights = await train(steps, chosen, every)
    print(f"loss {loss:.6f} after {steps} steps with {kills} deaths, {undisturbed:.6f} without")
    print(f"the same weights, bit by bit: {weights == there}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--every", type=int, default=10, help="steps between two checkpoints")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)  # this program tells the events itself
    anyio.run(main, arguments.steps, arguments.kills, arguments.every, arguments.seed)
