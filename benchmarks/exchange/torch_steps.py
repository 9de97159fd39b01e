"""Training steps beside PyTorch's eager mode on the CPU: models with the same weights, batches and optimizers.

Both sides run as their users write them. PyTorch's are modules, `backward`, a step of the optimizer, and the loss as a number.
Ours are the models of `benchmarks.models`, by a callable that gives the loss. Losses are compared after twenty steps.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Build, Call, Comparison
from benchmarks.harness.sides import ours
from benchmarks.models import attention, dense, recurrent, vision
from benchmarks.models.blocks import Model, model

Twin = Callable[["Modules"], tuple[Any, list[Any], list[Any]]]
"""Makes the same model of PyTorch's modules: the logits' module, and the batches of inputs and of labels."""


class Modules:
    """PyTorch's modules with the weights that `benchmarks.models.blocks.Model` draws, in the same order."""

    def __init__(self) -> None:
        self.torch: Any = importlib.import_module("torch")
        self.drawn = Model(SimpleNamespace(Variable=lambda value: value))

    def filled(self, module: Any, **arrays: Any) -> Any:
        """The module with these parameters."""
        with self.torch.no_grad():
            for name, array in arrays.items():
                getattr(module, name).copy_(self.torch.from_numpy(np.ascontiguousarray(array)))
        return module

    def linear(self, inputs: int, units: int) -> Any:
        weight, bias = self.drawn.weights(inputs, units), self.drawn.full(0.0, units)
        return self.filled(self.torch.nn.Linear(inputs, units), weight=weight.T, bias=bias)

    def conv(self, inputs: int, outputs: int) -> Any:
        weight = self.drawn.weights(3, 3, inputs, outputs).transpose(3, 2, 0, 1)
        return self.filled(self.torch.nn.Conv2d(inputs, outputs, 3, padding="same", bias=False), weight=weight)

    def module(self, forward: Callable[[Any], Any], *parts: Any) -> Any:
        """A module of these parts that computes `forward(x)`."""

        class Made(self.torch.nn.Module):  # type: ignore[misc,name-defined] # torch is not there for the checker
            def __init__(self) -> None:
                super().__init__()
                for number, part in enumerate(parts):
                    self.add_module(str(number), part)

            def forward(self, x: Any) -> Any:
                return forward(x)

        return Made()


def mlp(m: Modules, sizes: tuple[int, ...], batch: int) -> tuple[Any, list[Any], list[Any]]:
    nn, layers = m.torch.nn, []
    for inputs, units in itertools.pairwise(sizes):
        layers += [m.linear(inputs, units), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), m.drawn.floats(batch, sizes[0]), m.drawn.ints(sizes[-1], batch)


def vgg(m: Modules, batch: int, side: int = 32) -> tuple[Any, list[Any], list[Any]]:
    nn, layers, channels = m.torch.nn, [], 3
    for width in (16, 32, 64):
        for _ in range(2):
            layers += [m.conv(channels, width), nn.BatchNorm2d(width, eps=1e-3), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), m.linear(channels, 10)]
    images = [np.ascontiguousarray(x.transpose(0, 3, 1, 2)) for x in m.drawn.floats(batch, side, side, 3)]
    return nn.Sequential(*layers), images, m.drawn.ints(10, batch)


def lstm(m: Modules, batch: int, steps: int, units: int) -> tuple[Any, list[Any], list[Any]]:
    x = m.drawn.floats(steps, batch, units)
    kernel = m.drawn.weights(2 * units, 4 * units, scale=(2 * units) ** -0.5)
    inner, candidate, forget, outer = np.split(kernel, 4, 1)
    gates = np.concatenate([inner, forget, candidate, outer], 1).T
    bias = np.repeat(np.array([0, 1, 0, 0], np.float32), units)
    cell = m.filled(
        m.torch.nn.LSTM(units, units),
        weight_ih_l0=gates[:, :units],
        weight_hh_l0=gates[:, units:],
        bias_ih_l0=bias,
        bias_hh_l0=0 * bias,
    )
    cell.bias_hh_l0.requires_grad_(False)  # it would be the same bias once more
    last = m.linear(units, 10)
    return m.module(lambda x: last(cell(x)[0][-1]), cell, last), x, m.drawn.ints(10, batch)


def transformer(
    m: Modules, batch: int, steps: int, width: int = 64, heads: int = 4, layers: int = 2, words: int = 256
) -> tuple[Any, list[Any], list[Any]]:
    nn, functions = m.torch.nn, m.torch.nn.functional
    table = m.filled(nn.Embedding(words, width), weight=m.drawn.weights(words, width, scale=0.1))
    places = nn.Parameter(m.torch.from_numpy(m.drawn.weights(steps, width, scale=0.1)))

    def block() -> Any:
        query, key, value, joined = (m.linear(width, width) for _ in range(4))
        before, between = nn.LayerNorm(width), nn.LayerNorm(width)
        up, down = m.linear(width, 4 * width), m.linear(4 * width, width)

        def forward(x: Any) -> Any:
            normal = before(x)
            q, k, v = (
                one(normal).view(batch, steps, heads, width // heads).transpose(1, 2) for one in (query, key, value)
            )
            seen = functions.scaled_dot_product_attention(q, k, v)
            x = x + joined(seen.transpose(1, 2).reshape(batch, steps, width))
            return x + down(functions.relu(up(between(x))))

        return m.module(forward, query, key, value, joined, before, between, up, down)

    blocks = nn.Sequential(*(block() for _ in range(layers)), nn.LayerNorm(width))
    last = m.linear(width, words)
    whole = m.module(lambda tokens: last(blocks(table(tokens) + places).mean(1)), table, blocks, last)
    whole.register_parameter("places", places)
    return whole, m.drawn.ints(words, batch, steps), m.drawn.ints(words, batch)


@contextmanager
def theirs(twin: Twin, optimizer: str, rate: float) -> Iterator[Call]:
    """A step of PyTorch's."""
    m = Modules()
    m.torch.manual_seed(0)
    network, inputs, labels = twin(m)
    batches = itertools.cycle(
        [(m.torch.from_numpy(x), m.torch.from_numpy(y).long()) for x, y in zip(inputs, labels, strict=True)]
    )
    stepping = getattr(m.torch.optim, optimizer)(network.parameters(), lr=rate)
    loss_of = m.torch.nn.CrossEntropyLoss()

    def step() -> float:
        x, y = next(batches)
        stepping.zero_grad()
        loss = loss_of(network(x), y)
        loss.backward()
        stepping.step()
        return float(loss.item())

    yield step


def _compared(name: str, work: str, build: Build, twin: Twin, optimizer: str = "SGD", rate: float = 0.01) -> Comparison:
    return Comparison(name, work, ours=lambda: ours(build, "callable"), peer=lambda: theirs(twin, optimizer, rate))


_MLP: dict[str, Any] = {"sizes": (784, 256, 256, 10), "batch": 64}
_LSTM: dict[str, Any] = {"batch": 32, "steps": 20, "units": 64}
_TEXT: dict[str, Any] = {"batch": 8, "steps": 32}

BENCHMARKS = (
    _compared(
        "mlp",
        "MLP 784-256-256-10 by Adam, batch 64",
        model(dense.mlp, **_MLP, optimizer="adam"),
        functools.partial(mlp, **_MLP),
        "Adam",
        0.001,
    ),
    _compared(
        "cnn",
        "small VGG with batch norm, batch 16",
        model(vision.vgg, batch=16),
        functools.partial(vgg, batch=16),
    ),
    _compared(
        "lstm",
        "LSTM of 64 units, 20 steps, batch 32",
        model(recurrent.by_cell, **_LSTM),
        functools.partial(lstm, **_LSTM),
        rate=0.1,
    ),
    _compared(
        "lstm_by_hand",
        "the same, with a cell written by hand in a while_loop",
        model(recurrent.classifier, cell=recurrent.Lstm, **_LSTM),
        functools.partial(lstm, **_LSTM),
        rate=0.1,
    ),
    _compared(
        "transformer",
        "transformer encoder of 2 layers, batch 8",
        model(attention.transformer, **_TEXT),
        functools.partial(transformer, **_TEXT),
    ),
)
