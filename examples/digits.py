"""Trains a classifier of handwritten digits, and writes down how it went.

python examples/digits.py --epochs 30 --seed 0 --output examples/out/digits

The images are scikit-learn's, 1797 of 8 x 8 pixels; a quarter of them is kept back for the test. The folder of outputs
holds metrics.json (the settings, the history epoch by epoch, the result), predictions.npy (the digit that is seen in
each image of the test) and weights.npz (the trained variables by name).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import actorflow as af
from actorflow.estimator import Progress, StepMade, TrainingBegun, TrainingEnded

OUTPUT = Path(__file__).parent / "out" / "digits"
PIXELS, HIDDEN, CLASSES = 64, 128, 10
BATCH = 32


class Images(NamedTuple):
    """Pixels from 0 to 1, [count, 64] of float32, and the digit of each image, [count] of int64."""

    pixels: np.ndarray[Any, Any]
    digits: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Model:
    """The graph, and the parts of it that are run."""

    graph: af.Graph
    pixels: af.Tensor
    labels: af.Tensor
    digits: af.Tensor
    loss: af.Tensor
    accuracy: af.Tensor
    train: af.Operation
    initialize: af.Operation
    weights: dict[str, af.Variable]


@dataclass(frozen=True)
class Epoch:
    """One line of the history. The loss is the mean over the epoch's batches; the accuracy is that after it."""

    epoch: int
    loss: float
    train_accuracy: float
    seconds: float


@dataclass(frozen=True)
class Result:
    """The result of a training."""

    history: list[Epoch]
    test_accuracy: float
    predictions: np.ndarray[Any, Any]
    weights: dict[str, np.ndarray[Any, Any]]


def load(seed: int) -> tuple[Images, Images]:
    """The images to train with and those of the test."""
    pixels, digits = load_digits(return_X_y=True)
    parts = train_test_split(pixels, digits, test_size=0.25, random_state=seed, stratify=digits)
    train_pixels, test_pixels = ((part / 16).astype(np.float32) for part in parts[:2])
    return Images(train_pixels, parts[2].astype(np.int64)), Images(test_pixels, parts[3].astype(np.int64))


def batches(images: Images, rng: np.random.Generator) -> Iterator[Images]:
    """All images in random order, 32 at a time; the last batch may be smaller."""
    order = rng.permutation(len(images.digits))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        yield Images(images.pixels[chosen], images.digits[chosen])


def dense(inputs: af.Tensor, units: int, name: str) -> af.Tensor:
    """A fully connected layer."""
    with af.variable_scope(name):
        kernel = af.get_variable("kernel", [inputs.shape[-1], units], initializer=af.glorot_uniform_initializer())
        bias = af.get_variable("bias", [units], initializer=af.zeros_initializer())
        return af.matmul(inputs, kernel) + bias


def build(seed: int) -> Model:
    """A perceptron with one hidden layer, trained by Adam."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(seed)
        pixels = af.placeholder(af.float32, [None, PIXELS], name="pixels")
        labels = af.placeholder(af.int64, [None], name="labels")
        hidden = af.nn.relu(dense(pixels, HIDDEN, "hidden"))
        logits = dense(hidden, CLASSES, "logits")
        digits = af.argmax(logits, 1, name="digits")
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = af.reduce_mean(losses, name="loss")
        return Model(
            graph=graph,
            pixels=pixels,
            labels=labels,
            digits=digits,
            loss=loss,
            accuracy=af.reduce_mean(af.cast(af.equal(digits, labels), af.float32), name="accuracy"),
            train=af.train.AdamOptimizer(0.002).minimize(loss),
            initialize=af.global_variables_initializer(),
            weights={variable.op.name: variable for variable in af.trainable_variables()},
        )


async def fit(
    model: Model, train: Images, test: Images, progress: Progress, *, epochs: int, seed: int, coalesce: bool
) -> Result:
    """Trains in a session of its own, with a line for each epoch, and tries the test images at the end."""
    rng = np.random.default_rng(seed)
    history: list[Epoch] = []
    step, last_step = 0, epochs * -(-len(train.digits) // BATCH)
    async with af.Session(graph=model.graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        await session.run(model.initialize)
        progress(TrainingBegun(time.time(), step, last_step))
        for number in range(1, epochs + 1):
            begun = time.perf_counter()
            losses = []
            for batch in batches(train, rng):
                feeds = {model.pixels: batch.pixels, model.labels: batch.digits}
                loss, _ = await session.run([model.loss, model.train], feeds)
                losses.append(loss)
                step += 1
                progress(StepMade(time.time(), step, float(loss), step * BATCH, number))
            accuracy = await session.run(model.accuracy, {model.pixels: train.pixels, model.labels: train.digits})
            epoch = Epoch(number, float(np.mean(losses)), float(accuracy), time.perf_counter() - begun)
            history.append(epoch)
            progress.print(
                f"epoch {number:3}  loss {epoch.loss:.4f}  train accuracy {epoch.train_accuracy:7.2%}"
                f"  {1e3 * epoch.seconds:6.1f} ms"
            )
        progress(TrainingEnded(time.time(), step, "all epochs were made"))
        feeds = {model.pixels: test.pixels, model.labels: test.digits}
        predictions, accuracy = await session.run([model.digits, model.accuracy], feeds)
        weights = await session.run(model.weights)
    return Result(history, float(accuracy), predictions, weights)


def save(result: Result, folder: Path, settings: dict[str, Any]) -> None:
    """Writes metrics.json, predictions.npy and weights.npz."""
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {
        "settings": settings,
        "history": [asdict(epoch) for epoch in result.history],
        "test_accuracy": result.test_accuracy,
    }
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    np.save(folder / "predictions.npy", result.predictions)
    arrays: dict[str, Any] = {**result.weights}
    np.savez(folder / "weights.npz", **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a classifier of handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="rounds through the images (30)")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the initial weights and the order (0)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the results (examples/out/digits)")
    parser.add_argument("--no-coalesce", dest="coalesce", action="store_false", help="run node by node")
    options = parser.parse_args()

    begun = time.perf_counter()
    train, test = load(options.seed)
    print(f"{len(train.digits)} images to train with, {len(test.digits)} to test")
    model = build(options.seed)

    async def work() -> Result:
        with Progress() as progress:
            settings = {"epochs": options.epochs, "seed": options.seed, "coalesce": options.coalesce}
            return await fit(model, train, test, progress, **settings)

    result = anyio.run(work)
    settings = {"epochs": options.epochs, "seed": options.seed, "batch": BATCH, "coalesce": options.coalesce}
    save(result, options.output, settings)
    print(f"test accuracy {result.test_accuracy:.2%}, after {time.perf_counter() - begun:.1f} s")
    print(f"metrics.json, predictions.npy and weights.npz are in {options.output}")


if __name__ == "__main__":
    main()
