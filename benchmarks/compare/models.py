"""The models of the comparison, as ONNX files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what it is, the sizes of a row, and what builds it."""

    about: str
    row: tuple[int, ...]
    build: Callable[[Any], tuple[Any, Any]]

    def rows(self) -> Any:
        """One row of noise."""
        return np.random.default_rng(1).random((1, *self.row), np.float32)


def _mlp(af: Any) -> tuple[Any, Any]:
    x = af.placeholder(af.float32, [None, 784], name="x")
    hidden = af.layers.dense(x, 128, activation=af.nn.relu)
    return x, af.nn.softmax(af.layers.dense(hidden, 10))


def _cnn(af: Any) -> tuple[Any, Any]:
    x = af.placeholder(af.float32, [None, 3, 32, 32], name="x")
    hidden = af.transpose(x, [0, 2, 3, 1])
    for units in (32, 64, 128):
        hidden = af.layers.conv2d(hidden, units, 3, padding="same", activation=af.nn.relu)
        hidden = af.layers.max_pooling2d(hidden, 2, 2)
    return x, af.nn.softmax(af.layers.dense(af.layers.flatten(hidden), 10))


MODELS: Mapping[str, Model] = {
    "mlp": Model("an MLP, 784-128-10", (784,), _mlp),
    "cnn": Model("three convolutions on 3 x 32 x 32 pixels, 10 million multiplications", (3, 32, 32), _cnn),
}


async def write(name: str, path: Path) -> None:
    """Writes a model's ONNX file, with the same values each time. All servers run this file."""
    import actorflow as af

    with af.Graph().as_default() as graph:
        af.set_random_seed(7)
        x, y = MODELS[name].build(af)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await af.onnx.save(path, session, {"y": y}, {"x": x})
