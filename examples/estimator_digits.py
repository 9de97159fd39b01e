"""Trains an Estimator on handwritten digits, evaluates it beside the training, and asks it for single images.

python examples/estimator_digits.py --steps 1000 --output examples/out/estimator_digits
actorflow run --jobs worker=2 --files examples/out examples/estimator_digits.py

A second run goes on from the checkpoint of the first. The learning curve is in learning_curve.png. With `actorflow run`
the training runs on a cluster, whose tasks write checkpoints below the folder that `--files` allows.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

import anyio
import numpy as np
from learning_curve import draw
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "estimator_digits"


async def main() -> None:
    parser = argparse.ArgumentParser(description="Trains an Estimator on handwritten digits.")
    parser.add_argument("--steps", type=int, default=1000, help="global step to end at (1000)")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder of checkpoints (examples/out/estimator_digits)"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)

    pixels, digits = load_digits(return_X_y=True)
    parts = train_test_split((pixels / 16).astype(np.float32), digits, test_size=0.25, random_state=0, stratify=digits)
    train_pixels, test_pixels, train_digits, test_digits = parts
    numpy_input_fn = af.estimator.inputs.numpy_input_fn
    train = numpy_input_fn({"pixels": train_pixels}, train_digits, 32, num_epochs=None, shuffle=True, seed=0)
    test = numpy_input_fn({"pixels": test_pixels}, test_digits, 128, shuffle=False)

    config = af.estimator.RunConfig(str(options.output), tf_random_seed=0, save_checkpoints_steps=200)
    columns = [af.feature_column.numeric_column("pixels", shape=(64,))]
    estimator = af.estimator.DNNClassifier([128], columns, n_classes=10, optimizer="Adam", config=config)
    metrics, _ = await af.estimator.train_and_evaluate(
        estimator,
        af.estimator.TrainSpec(train, options.steps),
        af.estimator.EvalSpec(test, steps=None, every_steps=200),
    )
    draw(estimator.history, "accuracy", options.output / "learning_curve.png")
    if metrics is None:  # this many steps were made before
        metrics = await estimator.evaluate(test)
    print(f"step {metrics['global_step']}: test accuracy {metrics['accuracy']:.2%}")

    async with estimator.predictor("class_ids") as predict:
        for image, digit in zip(test_pixels[:5], test_digits[:5]):
            answer = await predict({"pixels": image})
            print(f"a {digit} is seen as {answer['class_ids'][0]}")


if __name__ == "__main__":
    anyio.run(main)
