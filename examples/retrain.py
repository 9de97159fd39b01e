"""Retrains the last layer of a network: one that knows the digits 0 to 4 learns 5 to 9, and labels images.

python examples/retrain.py --steps 300 --output examples/out/retrain
actorflow run --jobs worker=2 --files examples/out examples/retrain.py

A small convolutional network is trained on scikit-learn's images of 0 to 4. Its layer before the last, the bottleneck, says what
is in an image. The bottlenecks of the other images are computed once and kept in a file, so that the new last layer is trained on
them alone: a step costs a small product instead of two convolutions. Outputs: the checkpoints of both, bottlenecks.npz, the
learning curve of each as a PNG, and labels.png with images of the test and what they are seen as.
"""

from __future__ import annotations

import argparse
import logging
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from learning_curve import draw
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "retrain"
CLASSES, BOTTLENECK, BATCH = 5, 128, 32


def network(features: Any, labels: Any, mode: str) -> af.estimator.EstimatorSpec:
    """Two convolutions, the bottleneck, and the last layer."""
    net = af.layers.conv2d(features["image"], 16, 3, padding="same", activation=af.nn.relu, name="conv_1")
    net = af.layers.max_pooling2d(net, 2, 2)
    net = af.layers.conv2d(net, 32, 3, padding="same", activation=af.nn.relu, name="conv_2")
    bottleneck = af.layers.dense(af.layers.flatten(net), BOTTLENECK, activation=af.nn.relu, name="bottleneck")
    spec = last_layer({"bottleneck": bottleneck}, labels, mode)
    if mode != af.estimator.ModeKeys.PREDICT:
        return spec
    return af.estimator.EstimatorSpec(mode, {**spec.predictions, "bottleneck": bottleneck})


def last_layer(features: Any, labels: Any, mode: str) -> af.estimator.EstimatorSpec:
    """The classes that follow from bottlenecks."""
    logits = af.layers.dense(features["bottleneck"], CLASSES, name="last_layer")
    head = af.estimator.MultiClassHead(CLASSES)
    return head.create_estimator_spec(features, mode, logits, labels, af.train.AdamOptimizer(0.005))


async def fit(name: str, model: Any, data: Any, steps: int, output: Path) -> tuple[af.estimator.Estimator, Any]:
    """An Estimator that was trained on the first part of some data, and its metrics on the second one."""
    key, (train_x, test_x, train_y, test_y) = data
    numpy_input_fn = af.estimator.inputs.numpy_input_fn
    train = numpy_input_fn({key: train_x}, train_y, BATCH, num_epochs=None, shuffle=True, seed=0)
    test = numpy_input_fn({key: test_x}, test_y, 128, shuffle=False)
    config = af.estimator.RunConfig(str(output / name), tf_random_seed=0, save_checkpoints_steps=50)
    estimator = af.estimator.Estimator(model, config=config)
    specs = af.estimator.TrainSpec(train, steps), af.estimator.EvalSpec(test, steps=None, every_steps=50)
    metrics, _ = await af.estimator.train_and_evaluate(estimator, *specs)
    draw(estimator.history, "accuracy", output / f"{name}.png")
    return estimator, metrics or await estimator.evaluate(test)


async def bottlenecks(estimator: af.estimator.Estimator, images: Any, file: Path) -> Any:
    """The bottleneck of each image: from the file, where they were computed before for this checkpoint."""
    path = str(estimator.latest_checkpoint())
    if await anyio.Path(file).exists():
        with np.load(file) as kept:
            if str(kept["checkpoint"]) == path:
                return kept["values"]
    asked = af.estimator.inputs.numpy_input_fn({"image": images}, batch_size=256, shuffle=False)
    values = np.stack([answer["bottleneck"] async for answer in estimator.predict(asked, "bottleneck")])
    np.savez(file, checkpoint=path, values=values)
    return values


def show(images: Any, seen: list[int], path: Path) -> None:
    """Draws images with what they are seen as, where matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, places = pyplot.subplots(1, len(seen), figsize=(len(seen), 1.4), layout="constrained")
    for place, image, digit in zip(places, images, seen, strict=True):
        place.imshow(image[..., 0], cmap="gray_r")
        place.set_title(str(digit))
        place.axis("off")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


async def main() -> None:
    parser = argparse.ArgumentParser(description="Retrains the last layer of a network.")
    parser.add_argument("--steps", type=int, default=300, help="steps of each training (300)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the results (examples/out/retrain)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)
    output: Path = options.output
    await anyio.Path(output).mkdir(parents=True, exist_ok=True)

    pixels, digits = load_digits(return_X_y=True)
    images = (pixels / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    old, new = digits < CLASSES, digits >= CLASSES
    split = {"test_size": 0.25, "random_state": 0}
    parts = train_test_split(images[old], digits[old], stratify=digits[old], **split)
    whole, metrics = await fit("network", network, ("image", parts), options.steps, output)
    print(f"the network, on 0 to 4: test accuracy {metrics['accuracy']:.2%}")

    values = await bottlenecks(whole, images[new], output / "bottlenecks.npz")
    classes = digits[new] - CLASSES
    parts = train_test_split(values, classes, stratify=classes, **split)
    last, metrics = await fit("last_layer", last_layer, ("bottleneck", parts), options.steps, output)
    print(f"its new last layer, on 5 to 9: test accuracy {metrics['accuracy']:.2%}")

    _, chosen = train_test_split(np.flatnonzero(new), stratify=classes, **split)
    seen = []
    async with whole.predictor("bottleneck") as look, last.predictor("class_ids") as label:
        for number in chosen[:8]:
            found = await label({"bottleneck": (await look({"image": images[number]}))["bottleneck"]})
            seen.append(int(found["class_ids"][0]) + CLASSES)
            print(f"a {digits[number]} is seen as {seen[-1]}")
    show(images[chosen[:8]], seen, output / "labels.png")


if __name__ == "__main__":
    anyio.run(main)
