"""Training steps to place, of our own ops: an RNN language model, translation with attention, Inception, ResNet, a transformer,
wide and deep. Nothing of them runs: static estimates say what a node costs. The devices are accelerators of one task, so each may
have any node and any variable.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.registry import plugins
from actorflow.engine.placement.choose import Posed
from actorflow.engine.placement.place import place
from actorflow.engine.placement.ranking import needed_by
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.simulation.link_costs import LinkCosts
from actorflow.graph.device_spec import DeviceSpec
from benchmarks.harness.sides import our_library
from benchmarks.models.attention import transformer
from benchmarks.models.blocks import Model, Parts
from benchmarks.models.embeddings import wide_and_deep
from benchmarks.models.recurrent import Lstm, run, translator
from benchmarks.models.vision import resnet


class _Blank(Model):
    """A model whose weights are zeros: they are never used, and normal numbers take their time."""

    def weights(self, *shape: int, scale: float | None = None) -> Any:
        return self.full(0.0, *shape)


def rnnlm(m: Model, batch: int = 64, steps: int = 20, units: int = 512, words: int = 4000, layers: int = 4) -> Parts:
    """Layers of unrolled LSTM cells that predict the next word."""
    lib = m.lib
    source, target = lib.placeholder(lib.int32, [steps, batch]), lib.placeholder(lib.int32, [steps * batch])
    value = lib.gather(m.weights(words, units), source)
    for _ in range(layers):
        value = run(m, Lstm(m, units, units), value, steps, batch, unrolled=True)
    loss = m.classified(m.dense(lib.reshape(value, [steps * batch, units]), units, words), target)
    return (source, target), (), loss, m.descent(loss)


def inception(m: Model, batch: int = 32, side: int = 35) -> Parts:
    """The blocks of Inception-v3 behind its stem, with the paper's channels: three at 35 × 35, four at 17 × 17, two at 8 × 8."""
    lib = m.lib
    x = value = lib.placeholder(lib.float32, [batch, side, side, 192])
    labels = lib.placeholder(lib.int32, [batch])
    channels = 192

    def conv(value: Any, inputs: int, outputs: int, high: int, wide: int, stride: int = 1) -> Any:
        kernel = m.weights(high, wide, inputs, outputs)
        value = lib.nn.conv2d(value, kernel, strides=[1, stride, stride, 1], padding="SAME")
        return lib.nn.relu(m.norm(value, outputs))

    def branch(value: Any, *layers: tuple[int, int, int], stride: int = 1) -> Any:
        """Convolutions of these channels, heights and widths, the last one with the stride."""
        inputs = channels
        for k, (outputs, high, wide) in enumerate(layers):
            value = conv(value, inputs, outputs, high, wide, stride if k == len(layers) - 1 else 1)
            inputs = outputs
        return value

    def pooled(value: Any, outputs: int) -> Any:
        return branch(lib.nn.avg_pool(value, [1, 3, 3, 1], [1, 1, 1, 1], "SAME"), (outputs, 1, 1))

    def halved(value: Any) -> Any:
        return lib.nn.max_pool(value, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")

    for pool in (32, 64, 64):
        value = lib.concat(
            [
                branch(value, (64, 1, 1)),
                branch(value, (48, 1, 1), (64, 5, 5)),
                branch(value, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
                pooled(value, pool),
            ],
            3,
        )
        channels = 224 + pool
    ends = [branch(value, (384, 3, 3), stride=2), branch(value, (64, 1, 1), (96, 3, 3), (96, 3, 3), stride=2)]
    value = lib.concat([*ends, halved(value)], 3)
    channels += 480
    for n in (128, 160, 160, 192):
        value = lib.concat(
            [
                branch(value, (192, 1, 1)),
                branch(value, (n, 1, 1), (n, 1, 7), (192, 7, 1)),
                branch(value, (n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)),
                pooled(value, 192),
            ],
            3,
        )
        channels = 768
    ends = [branch(value, (192, 1, 1), (320, 3, 3), stride=2)]
    ends.append(branch(value, (192, 1, 1), (192, 1, 7), (192, 7, 1), (192, 3, 3), stride=2))
    value = lib.concat([*ends, halved(value)], 3)
    channels += 512
    for _ in range(2):
        stem = branch(value, (384, 1, 1))
        deep = branch(value, (448, 1, 1), (384, 3, 3))
        split = [conv(one, 384, 384, *size) for one in (stem, deep) for size in ((1, 3), (3, 1))]
        value = lib.concat([branch(value, (320, 1, 1)), *split, pooled(value, 192)], 3)
        channels = 2048
    loss = m.classified(m.dense(lib.reduce_mean(value, [1, 2]), channels, 1000), labels)
    return (x, labels), (), loss, m.descent(loss)


MODELS: Mapping[str, tuple[str, Callable[..., Parts]]] = {
    "rnnlm": ("four layers of LSTM cells, 20 steps", rnnlm),
    "translation": (
        "translation with attention, 20 steps",
        functools.partial(translator, batch=64, steps=20, units=512, words=4000, unrolled=True),
    ),
    "inception_ops": ("the nine blocks of Inception-v3", inception),
    "resnet": ("a ResNet of 30 convolutions", functools.partial(resnet, batch=64, blocks=5)),
    "transformer": (
        "a transformer of 6 layers",
        functools.partial(transformer, batch=16, steps=64, width=512, heads=8, layers=6, words=4000),
    ),
    "wide_and_deep": (
        "wide and deep on 32 fields",
        functools.partial(wide_and_deep, batch=512, fields=32, values=20000, width=64),
    ),
}
"""The words for a step, and what adds it to the default graph."""


@dataclass(frozen=True, slots=True)
class _Accelerator:
    """A device that has kernels as the CPU has them, and its own queue for each of them."""

    name: str
    spec: DeviceSpec
    budget: float | None
    type: str = "CPU"
    asynchronous: bool = True


@functools.cache
def step(name: str) -> tuple[Any, set[str]]:
    """The graph of a model, and the names of the nodes that its training step needs."""
    lib = our_library()
    graph = lib.Graph()
    with graph.as_default():
        *_, loss, train = MODELS[name][1](_Blank(lib))
    return graph, needed_by([loss.op.name, train.name], graph.nodes)


def model_problem(name: str, devices: int, links: LinkCosts, budget: float | None = None) -> SearchProblem:
    """The question where the nodes of a model's training step go.

    Args:
        budget: the part of the bytes of all variables that each device has room for, or else the largest that must be on one,
            besides the largest output of a node. None is without bounds.
    """
    plugins.load_kernels()
    graph, needed = step(name)
    free = _posed(graph, needed, devices, links, None)
    if budget is None:
        return free
    held = [0.0] * len(free.grouping.options)
    for state, g in zip(free.work.state, free.grouping.group):
        held[g] += state
    return _posed(graph, needed, devices, links, max(budget * sum(held), max(held)) + max(free.work.output))


def _posed(graph: Any, needed: set[str], count: int, links: LinkCosts, budget: float | None) -> SearchProblem:
    names = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(count)]
    devices = [_Accelerator(name, DeviceSpec.parse(name), budget) for name in names]
    posed = Posed(needed)
    place(graph.nodes, devices, {}, {}, links=links, posed=posed)
    assert posed.problem is not None
    return posed.problem
