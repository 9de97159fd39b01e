"""Data parallel training without a server: each device has all parameters, and gradients are summed around a ring.

python examples/ring_all_reduce.py --devices 4 --steps 40

The devices are tasks of one graph. They sum their gradients by `af.train.ring_all_reduce`, in which each sends 2 (k - 1) / k
times the gradients' size, and make the same update, so that their parameters stay equal. Beside it the same training with
the parameters on one server, which has to send and receive all of them for each device.

On a cluster, which has to have as many workers, and a ps task:

actorflow run --jobs ps=1,worker=4 examples/ring_all_reduce.py
"""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.base.registry import plugins

INPUTS, HIDDEN, BATCH = 32, 64, 16


@dataclass(frozen=True)
class Training:
    """A graph and what is run of it. `parameters` has those of each device that keeps some, as one vector each."""

    graph: af.Graph
    examples: list[af.Tensor]
    answers: list[af.Tensor]
    initialize: af.Operation
    train: af.Operation
    loss: af.Tensor
    parameters: list[af.Tensor]


def network(x: af.Tensor, y: af.Tensor, weights: list[af.Variable]) -> af.Tensor:
    """The mean square error of a network with one hidden layer."""
    hidden = af.tanh(af.matmul(x, weights[0]))
    return af.reduce_mean(af.square(af.squeeze(af.matmul(hidden, weights[1]), [1]) - y))


def make_weights(name: str) -> list[af.Variable]:
    """Weights that are the same wherever they are made."""
    rng = np.random.default_rng(0)
    shapes = [INPUTS, HIDDEN], [HIDDEN, 1]
    return [
        af.Variable(rng.normal(size=shape) / math.sqrt(shape[0]), name=f"{name}/weights_{i}")
        for i, shape in enumerate(shapes)
    ]


def build(devices: int, ring: bool) -> Training:
    """The graph: one tower on each worker, and the way their gradients come together."""
    graph = af.Graph()
    places = [f"/job:worker/task:{i}" for i in range(devices)]
    with graph.as_default():
        examples, answers, losses, towers = [], [], [], []
        with af.device("/job:ps/task:0"):
            shared = [] if ring else make_weights("shared")
        for i, place in enumerate(places):
            with af.device(place), af.name_scope(f"tower_{i}"):
                examples.append(af.placeholder(af.float64, [BATCH, INPUTS]))
                answers.append(af.placeholder(af.float64, [BATCH]))
                weights = make_weights("own") if ring else shared
                losses.append(network(examples[-1], answers[-1], weights))
                towers.append((weights, af.gradients(losses[-1], weights)))
        if ring:
            updates = []
            sums = [af.train.ring_all_reduce(list(parts), places) for parts in zip(*(grads for _, grads in towers))]
            for i, (weights, _) in enumerate(towers):
                with af.device(places[i]):
                    means = [total[i] / devices for total in sums]
                    updates.append(af.train.GradientDescentOptimizer(0.2).apply_gradients(zip(means, weights)))
            train = af.group(*updates)
        else:
            with af.device("/job:ps/task:0"):
                means = [af.add_n(list(parts)) / devices for parts in zip(*(grads for _, grads in towers))]
                train = af.train.GradientDescentOptimizer(0.2).apply_gradients(zip(means, shared))
        kept = [weights for weights, _ in towers] if ring else [shared]
        with af.device("/job:worker/task:0"):
            loss = af.add_n(losses) / devices
        flat = [af.concat([af.reshape(v, [-1]) for v in weights], 0) for weights in kept]
        return Training(graph, examples, answers, af.global_variables_initializer(), train, loss, flat)


def traffic(training: Training) -> Counter[str]:
    """How many bytes each task sends in a step of training: what goes to another one, once for each that wants it."""
    needed, waiting = set(), [training.train]
    while waiting:
        operation = waiting.pop()
        if operation not in needed:
            needed.add(operation)
            waiting += [*operation.control_inputs, *(tensor.op for tensor in operation.inputs)]
    sent: Counter[str] = Counter()
    crossing = {(t, o.device) for o in needed for t in o.inputs if t.op.device and o.device not in ("", t.op.device)}
    for tensor, _ in crossing:
        if tensor.op.type != "Const":
            sent[tensor.op.device] += (tensor.shape.num_elements() or 0) * tensor.dtype.size
    return sent


def open_session(target: str, graph: af.Graph, devices: int) -> af.Session:
    """A session of the cluster, or of this process with devices that are named as the cluster's."""
    if target:
        return af.Session(target, graph=graph)
    make = plugins.load("devices", "CPU")
    tasks = ["/job:ps/replica:0/task:0", *(f"/job:worker/replica:0/task:{i}" for i in range(devices))]
    return af.Session(graph=graph, devices=[make(f"{task}/device:CPU:0") for task in tasks])


async def main(target: str, devices: int, steps: int) -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=INPUTS) / math.sqrt(INPUTS)
    data = rng.normal(size=(steps, devices, BATCH, INPUTS))
    ends: dict[str, Any] = {}
    for name, ring in (("ring", True), ("server", False)):
        training = build(devices, ring)
        size = (training.parameters[0].shape.num_elements() or 0) * 8
        async with open_session(target, training.graph, devices) as session:
            await session.run(training.initialize)
            losses = []
            for batches in data:
                feeds = {
                    **dict(zip(training.examples, batches)),
                    **dict(zip(training.answers, np.sin(batches @ truth))),
                }
                losses.append((await session.run([training.loss, training.train], feeds))[0])
            found = await session.run(training.parameters)
        ends[name] = found[0]
        sent = traffic(training)
        worker, server = sent["/job:worker/task:1"], sent["/job:ps/task:0"]
        print(f"{name:6}  loss {losses[0]:.4f} -> {losses[-1]:.4f}  parameters of {size:,} bytes")
        print(f"        a worker sends {worker / size:.2f} of that in a step, the server {server / size:.2f}")
        if ring:
            print(f"        2 (k - 1) / k = {2 * (devices - 1) / devices:.2f}")
            print(f"        all devices have the same parameters: {all((found[0] == other).all() for other in found)}")
    print(f"ring and server differ by {np.abs(ends['ring'] - ends['server']).max():.1e} at most")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Sums gradients around a ring.")
    target = os.environ.get("ACTORFLOW_TARGET", "")  # that of `actorflow run`
    parser.add_argument("--target", default=target, help="a cluster; devices of this process unless given")
    parser.add_argument("--devices", type=int, default=4, help="in the ring, two or more (4)")
    parser.add_argument("--steps", type=int, default=40, help="of training (40)")
    options = parser.parse_args()
    anyio.run(main, options.target, options.devices, options.steps)
