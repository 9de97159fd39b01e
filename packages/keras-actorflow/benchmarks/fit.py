"""Steps of `fit` and calls of `predict_on_batch`, beside another backend of Keras.

python packages/keras-actorflow/benchmarks/fit.py                       # all models, beside TensorFlow
python packages/keras-actorflow/benchmarks/fit.py lstm vae --rounds 9

Keras has a backend for a process, so each backend has a process, and the two take turns. A round is some steps of each. The
figures are the medians over the rounds, in milliseconds of the processor and of the clock, and the ratio of the two backends.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH = 32
STEPS = 20
MODELS = ("mlp", "wide mlp", "cnn", "lstm", "transformer", "vae")


def _dense(units: int) -> tuple[Any, Any, Any]:
    import keras

    layers = keras.layers
    hidden = [layers.Dense(units, activation="relu"), layers.Dense(units, activation="relu")]
    model = keras.Sequential([keras.Input((units,)), *hidden, layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model, np.ones((BATCH, units), "float32"), np.zeros(BATCH, "int32")


def _convolutions() -> tuple[Any, Any, Any]:
    import keras

    layers = keras.layers
    parts = [layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu")]
    model = keras.Sequential(
        [keras.Input((28, 28, 1)), *parts, layers.MaxPooling2D(), layers.Flatten(), layers.Dense(10)]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, np.ones((BATCH, 28, 28, 1), "float32"), np.zeros(BATCH, "int32")


def _recurrent() -> tuple[Any, Any, Any]:
    import keras

    model = keras.Sequential([keras.Input((40, 16)), keras.layers.LSTM(64), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model, np.ones((BATCH, 40, 16), "float32"), np.ones((BATCH, 1), "float32")


def _transformer() -> tuple[Any, Any, Any]:
    import keras

    layers = keras.layers
    words = keras.Input((64,), dtype="int32")
    x = layers.Embedding(1000, 64)(words)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 16)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(64)(layers.Dense(128, activation="gelu")(x)))
    model = keras.Model(words, layers.Dense(2)(layers.GlobalAveragePooling1D()(x)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model, np.ones((BATCH, 64), "int32"), np.zeros(BATCH, "int32")


def _autoencoder() -> tuple[Any, Any, Any]:
    import keras

    layers, ops = keras.layers, keras.ops

    class Sampling(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seeds = keras.random.SeedGenerator(0)

        def call(self, mean: Any, spread: Any) -> Any:
            self.add_loss(-0.5 * ops.mean(1 + spread - ops.square(mean) - ops.exp(spread)))
            return mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)

    image = keras.Input((784,))
    x = layers.Dense(128, activation="relu")(image)
    code = Sampling()(layers.Dense(8)(x), layers.Dense(8)(x))
    model = keras.Model(image, layers.Dense(784)(layers.Dense(128, activation="relu")(code)))
    model.compile("adam", "mse")
    return model, np.ones((BATCH, 784), "float32"), np.ones((BATCH, 784), "float32")


BUILDERS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "mlp": lambda: _dense(64),
    "wide mlp": lambda: _dense(512),
    "cnn": _convolutions,
    "lstm": _recurrent,
    "transformer": _transformer,
    "vae": _autoencoder,
}


def _run(what: str, model: Any, x: Any, y: Any) -> None:
    if what == "fit":
        rows, answers = np.concatenate([x] * STEPS), np.concatenate([y] * STEPS)
        model.fit(rows, answers, batch_size=BATCH, shuffle=False, verbose=0)
    else:
        for _ in range(STEPS):
            model.predict_on_batch(x[:1])


def worker() -> None:
    """Answers orders of the standard input: a model's name and what is measured, with the seconds of processor and clock."""
    out = os.dup(1)
    os.dup2(2, 1)
    nets: dict[str, Any] = {}
    for line in sys.stdin:
        name, what = json.loads(line)
        if name not in nets:
            nets[name] = BUILDERS[name]()
        processor, clock = time.process_time(), time.perf_counter()
        _run(what, *nets[name])
        spent = (time.process_time() - processor, time.perf_counter() - clock)
        os.write(out, (json.dumps(spent) + "\n").encode())


def _started(backend: str) -> subprocess.Popen[str]:
    environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    code = "import keras_actorflow\n" if backend == "actorflow" else ""
    code += f"import runpy; runpy.run_path({__file__!r})['worker']()"
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _answer(process: subprocess.Popen[str], *order: str) -> tuple[float, float]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    processor, clock = json.loads(process.stdout.readline())
    return processor, clock


def main() -> None:
    """Prints a line for each model and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--beside", default="tensorflow")
    parser.add_argument("--measures", nargs="*", default=("fit", "predict"))
    arguments = parser.parse_args()
    processes = [_started("actorflow"), _started(arguments.beside)]
    for name in arguments.models:
        for what in arguments.measures:
            rounds = [[_answer(process, name, what) for process in processes] for _ in range(arguments.rounds + 1)][1:]
            ours, theirs = (
                [statistics.median(times[side][kind] for times in rounds) * 1e3 / STEPS for kind in (0, 1)]
                for side in (0, 1)
            )
            ratios = [statistics.median(times[0][kind] / times[1][kind] for times in rounds) for kind in (0, 1)]
            print(
                f"{name:12} {what:8} processor {ours[0]:7.2f} / {theirs[0]:7.2f} ms = {ratios[0]:5.2f}   "
                f"clock {ours[1]:7.2f} / {theirs[1]:7.2f} ms = {ratios[1]:5.2f}",
                flush=True,
            )
    for process in processes:
        process.terminate()


if __name__ == "__main__":
    main()
