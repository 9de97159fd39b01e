"""Graphs whose memory is known, and devices that count it, for the tests of what saves it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from poison import PoisonAllocator

import actorflow as af
from actorflow.devices.simulated import SimulatedDevice
from actorflow.engine.runtime import actors

UNITS = 16
WEIGHTS = UNITS * UNITS * 4
SIM = "/job:localhost/replica:0/task:0/device:{}:{}"


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel runs on the loop, however long it took on a busy machine: so the order of nodes is that of the queue."""
    monkeypatch.setattr(actors, "INLINE_LIMIT_NS", 1e15)


def simulated(budget: int | None = None, *, kind: str = "SIM", index: int = 0, threshold: int = 256) -> SimulatedDevice:
    """A device that counts tensors from `threshold` bytes on."""
    device = SimulatedDevice(SIM.format(kind, index), kind=kind)
    device.allocator = PoisonAllocator(budget, threshold=threshold, owner=device.name)
    if budget is None:
        device.allocator.budget = None
    return device


class MLP:
    """A training step of `layers` layers of 16 units over `rows` rows: activations are what it takes memory for."""

    def __init__(self, layers: int = 8, rows: int = 64, optimizer: Any = None, open_batch: bool = False) -> None:
        self.layers = layers
        self.activation = rows * UNITS * 4
        self.graph = af.Graph()
        rng = np.random.default_rng(5)
        with self.graph.as_default():
            batch = None if open_batch else rows
            x = af.placeholder(af.float32, [batch, UNITS])
            wanted = af.placeholder(af.float32, [batch, UNITS])
            h = self._forward(x, rng)
            self.loss = af.reduce_mean(af.square(h - wanted))
            self.train = (optimizer or af.train.GradientDescentOptimizer(0.5)).minimize(self.loss)
            self.initializer = af.global_variables_initializer()
            self.variables = [v.value() for v in af.trainable_variables()]
        self.feeds = {x: rng.normal(size=(rows, UNITS)).astype("f"), wanted: rng.normal(size=(rows, UNITS)).astype("f")}

    def _forward(self, x: Any, rng: np.random.Generator) -> Any:
        h = x
        for _ in range(self.layers):
            h = self._layer(h, rng)
        return h

    def _layer(self, h: Any, rng: np.random.Generator) -> Any:
        w = af.Variable(rng.normal(size=(UNITS, UNITS)).astype(np.float32) / 4)
        b = af.Variable(np.zeros(UNITS, np.float32))
        return af.tanh(af.nn.bias_add(af.matmul(h, w), b))


def wide(seed: int, size: int = 40) -> tuple[af.Graph, Any, Any]:
    """A graph in which many large tensors could be made at once, its input and its result: tensors of 256 bytes to 4 KiB, some of
    which are used much later."""
    rng = random.Random(seed)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [64])
        values: list[Any] = [x]
        for _ in range(size):
            match rng.randrange(5):
                case 0 | 1:
                    values.append(af.tile(rng.choice(values)[:64], [rng.randint(1, 16)]))
                case 2:
                    values.append(af.tanh(rng.choice(values[-6:])))
                case 3:
                    values.append(rng.choice(values[-8:]) * af.reduce_sum(rng.choice(values)))
                case 4:
                    values.append(rng.choice(values[-8:])[:64] + rng.choice(values)[:64])
        return graph, x, af.add_n([af.reduce_sum(value) for value in values])
