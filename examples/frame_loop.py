"""Keeps 60 frames a second in the event loop in which a model trains.

python examples/frame_loop.py --seconds 5

Each frame moves a few hundred particles, as a game or an instrument's display would. Its lateness is the time from when
it was due until it began. Steps of the model share the loop: their small kernels run in slices of at most 2 ms, their
large ones on a thread. OPENBLAS_NUM_THREADS=1 in the environment keeps numpy's own threads from taking the processor from
the loop.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af

RATE = 60
BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 256, 10

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Model:
    """The graph, and the parts of it that are run."""

    graph: af.Graph
    inputs: af.Tensor
    labels: af.Tensor
    loss: af.Tensor
    train: af.Operation
    initialize: af.Operation


class World:
    """Particles that fall and bounce in a box of size 1."""

    def __init__(self, count: int = 300) -> None:
        self._rng = np.random.default_rng(0)
        self.places = self._rng.random((count, 2))
        self.speeds = self._rng.normal(0, 0.5, (count, 2))

    def advance(self, seconds: float) -> None:
        """Moves them all."""
        self.speeds[:, 1] -= 9.81 * seconds
        self.places += self.speeds * seconds
        outside = (self.places < 0) | (self.places > 1)
        self.speeds[outside] *= -0.9
        np.clip(self.places, 0, 1, out=self.places)


def build() -> Model:
    """A perceptron with one hidden layer."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(0)
        inputs = af.placeholder(af.float32, [BATCH, INPUTS], name="inputs")
        labels = af.placeholder(af.int64, [BATCH], name="labels")
        w1 = af.Variable(af.random_normal([INPUTS, HIDDEN], stddev=INPUTS**-0.5), name="w1")
        b1 = af.Variable(af.zeros([HIDDEN]), name="b1")
        w2 = af.Variable(af.random_normal([HIDDEN, CLASSES], stddev=HIDDEN**-0.5), name="w2")
        b2 = af.Variable(af.zeros([CLASSES]), name="b2")
        logits = af.matmul(af.nn.relu(af.matmul(inputs, w1) + b1), w2) + b2
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = af.train.GradientDescentOptimizer(0.05).minimize(loss)
        return Model(graph, inputs, labels, loss, train, af.global_variables_initializer())


def dataset() -> tuple[Array, Array]:
    """Random inputs, [count, 784], and their classes by a random projection, [count]."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(64 * BATCH, INPUTS)).astype(np.float32)
    return inputs, np.argmax(inputs @ rng.normal(size=(INPUTS, CLASSES)), axis=1)


async def learn(session: af.Session, model: Model, data: tuple[Array, Array], losses: list[Any]) -> None:
    """Trains until it is cancelled."""
    inputs, labels = data
    while True:
        start = len(losses) * BATCH % len(inputs)
        batch = slice(start, start + BATCH)
        loss, _ = await session.run(
            [model.loss, model.train], {model.inputs: inputs[batch], model.labels: labels[batch]}
        )
        losses.append(loss)


async def render(world: World, seconds: float) -> list[float]:
    """Makes frames, and gives the lateness of each in seconds. A frame that is late does not move the next one."""
    lateness = []
    begun = anyio.current_time()
    for frame in range(round(seconds * RATE)):
        due = begun + frame / RATE
        await anyio.sleep_until(due)
        lateness.append(anyio.current_time() - due)
        world.advance(1 / RATE)
    return lateness


async def main(seconds: float) -> None:
    model = build()
    data = dataset()  # made here, because it takes longer than a frame
    losses: list[Any] = []
    async with af.Session(graph=model.graph) as session:
        await session.run(model.initialize)
        await session.warmup([model.loss, model.train], [model.inputs, model.labels])  # plans before frames are due
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(learn, session, model, data, losses)
            lateness = await render(World(), seconds)
            tasks.cancel_scope.cancel()  # stops the step that is running, too

    p50, p99, latest = 1e3 * np.percentile(lateness, [50, 99, 100])
    in_time = np.mean(np.array(lateness) < 1 / RATE)
    print(f"{len(losses)} training steps, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    print(f"{len(lateness)} frames, {in_time:.1%} of them begun before the next one was due")
    print(f"lateness p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {latest:.2f} ms; a frame has {1e3 / RATE:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Keeps 60 frames a second while a model trains.")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long (5)")
    anyio.run(main, parser.parse_args().seconds)
