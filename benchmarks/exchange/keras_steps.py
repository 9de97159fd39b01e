"""Keras on actorflow beside Keras on TensorFlow: steps of `fit`, `predict_on_batch` of one example, and the import.

Both sides are the same programs; the backend is that of the process. Models have the same weights and batches, and losses are
compared after twenty calls. A call of `fit` is an epoch of eight steps, with what `fit` does around them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Call, Comparison, Figure, Measurement, Options, Side

STEPS = 8
Made = tuple[Any, Any, Any]
"""A compiled model, its inputs and its targets for an epoch."""

BACKENDS: Mapping[Side, str] = {"ours": "actorflow", "peer": "tensorflow"}


def _keras(side: Side) -> Any:
    os.environ.update(KERAS_BACKEND=BACKENDS[side], CUDA_VISIBLE_DEVICES="")
    if side == "ours":
        importlib.import_module("keras_actorflow")
    return importlib.import_module("keras")


def missing() -> str:
    """A sentence if a package is not there."""
    if importlib.util.find_spec("keras_actorflow") is None:
        return "keras_actorflow is not installed: make test-keras installs it."
    if "BENCH_KERAS_PYTHON" not in os.environ and importlib.util.find_spec("tensorflow") is None:
        return "BENCH_KERAS_PYTHON names no interpreter with Keras and TensorFlow."
    return ""


class Data:
    """Numbers that are the same on both sides."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def floats(self, *shape: int) -> Any:
        return self._rng.normal(size=shape).astype(np.float32)

    def numbers(self, below: int, *shape: int) -> Any:
        return self._rng.integers(0, below, size=shape).astype(np.int32)


def _classified(keras: Any, model: Any, x: Any, classes: int, data: Data) -> Made:
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model, x, data.numbers(classes, len(x))


def mlp(keras: Any, data: Data, batch: int, units: int) -> Made:
    layers = keras.layers
    hidden = [layers.Dense(units, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((units,)), *hidden, layers.Dense(10)])
    return _classified(keras, model, data.floats(batch * STEPS, units), 10, data)


def cnn(keras: Any, data: Data, batch: int, side: int, width: int) -> Made:
    layers = keras.layers
    parts: list[Any] = []
    for channels in (width, 2 * width):
        parts += [layers.Conv2D(channels, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()]
        parts.append(layers.MaxPooling2D())
    model = keras.Sequential([keras.Input((side, side, 3)), *parts, layers.Flatten(), layers.Dense(10)])
    return _classified(keras, model, data.floats(batch * STEPS, side, side, 3), 10, data)


def lstm(keras: Any, data: Data, batch: int, steps: int, units: int) -> Made:
    layers = keras.layers
    model = keras.Sequential([keras.Input((steps, 16)), layers.LSTM(units), layers.Dense(10)])
    return _classified(keras, model, data.floats(batch * STEPS, steps, 16), 10, data)


def transformer(keras: Any, data: Data, batch: int, steps: int, width: int) -> Made:
    layers = keras.layers
    words = keras.Input((steps,), dtype="int32")
    x = layers.Embedding(1000, width)(words)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, width // 4)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(2 * width, activation="gelu")(x)))
    model = keras.Model(words, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))
    return _classified(keras, model, data.numbers(1000, batch * STEPS, steps), 2, data)


def vae(keras: Any, data: Data, batch: int, units: int, code: int) -> Made:
    layers, ops = keras.layers, keras.ops

    class Sampling(layers.Layer):  # type: ignore[misc,name-defined] # Keras is not there for the checker
        def __init__(self) -> None:
            super().__init__()
            self.seeds = keras.random.SeedGenerator(0)

        def call(self, mean: Any, spread: Any) -> Any:
            self.add_loss(-0.5 * ops.mean(1 + spread - ops.square(mean) - ops.exp(spread)))
            return mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)

    image = keras.Input((784,))
    x = layers.Dense(units, activation="relu")(image)
    sample = Sampling()(layers.Dense(code)(x), layers.Dense(code)(x))
    model = keras.Model(image, layers.Dense(784)(layers.Dense(units, activation="relu")(sample)))
    model.compile("adam", "mse")
    x = data.floats(batch * STEPS, 784)
    return model, x, x


@contextmanager
def opened(side: Side, build: Callable[..., Made], batch: int, predicts: bool) -> Iterator[Call]:
    """A call of `fit`, which gives the losses but for random models; or of `predict_on_batch`, which gives the outputs."""
    keras, data = _keras(side), Data()
    model, x, y = build(keras, data, batch)
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            variable.assign(0.05 * data.floats(*variable.shape))

    def fit() -> list[float] | None:
        history = model.fit(x, y, batch_size=batch, shuffle=False, verbose=0)
        return None if build.func is vae else history.history["loss"]  # type: ignore[attr-defined]

    yield (lambda: model.predict_on_batch(x[:1])) if predicts else fit


def _compared(
    name: str, work: str, build: Callable[..., Made], batch: int, predicts: bool = False, **sizes: int
) -> Comparison:
    made = functools.partial(build, **sizes)
    return Comparison(
        name,
        work,
        ours=lambda: opened("ours", made, batch, predicts),
        peer=lambda: opened("peer", made, batch, predicts),
    )


_IMPORT = """
import time
start = time.perf_counter()
import {modules}
print(time.perf_counter() - start, file=open({output!r}, "w"))
"""


def _imported(side: Side) -> Callable[[Options], Mapping[str, float]]:
    def measure(options: Options) -> Mapping[str, float]:
        environment = os.environ | {"KERAS_BACKEND": BACKENDS[side]}
        modules = "keras_actorflow, keras" if side == "ours" else "keras"
        with tempfile.NamedTemporaryFile("r") as output:
            command = [sys.executable, "-P", "-c", _IMPORT.format(modules=modules, output=output.name)]
            for _ in range(2):  # the first fills the caches of compiled modules and of the disk
                subprocess.run(
                    command, check=True, cwd=tempfile.gettempdir(), env=environment, stdout=subprocess.DEVNULL
                )
            return {"import_ms": 1e3 * float(output.read())}

    return measure


BENCHMARKS = (
    _compared("mlp_small", "MLP 64-64-64-10, batch 32, 8 steps", mlp, 32, units=64),
    _compared("mlp_middle", "MLP 512-512-512-10, batch 64, 8 steps", mlp, 64, units=512),
    _compared("cnn_small", "CNN of 8 and 16 channels, 16 x 16, batch 16, 8 steps", cnn, 16, side=16, width=8),
    _compared("cnn_middle", "CNN of 32 and 64 channels, 32 x 32, batch 32, 8 steps", cnn, 32, side=32, width=32),
    _compared("lstm_small", "LSTM of 32 units, 20 moments, batch 16, 8 steps", lstm, 16, steps=20, units=32),
    _compared("lstm_middle", "LSTM of 128 units, 40 moments, batch 32, 8 steps", lstm, 32, steps=40, units=128),
    _compared(
        "transformer_small", "transformer of width 32, 16 words, batch 8, 8 steps", transformer, 8, steps=16, width=32
    ),
    _compared(
        "transformer_middle",
        "transformer of width 64, 64 words, batch 32, 8 steps",
        transformer,
        32,
        steps=64,
        width=64,
    ),
    _compared("vae_small", "VAE of 64 units, batch 16, 8 steps", vae, 16, units=64, code=4),
    _compared("vae_middle", "VAE of 512 units, batch 64, 8 steps", vae, 64, units=512, code=16),
    _compared("predict_mlp", "`predict_on_batch` of one example by the MLP of 64", mlp, 32, True, units=64),
    _compared("predict_cnn", "`predict_on_batch` of one example by the small CNN", cnn, 16, True, side=16, width=8),
    Measurement(
        "import",
        ours=_imported("ours"),
        peer=_imported("peer"),
        figures=(Figure("import_ms", "import of Keras with its backend", "ms"),),
    ),
)
