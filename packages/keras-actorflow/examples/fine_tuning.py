"""Fine-tunes a small network: it learns the digits 0 to 4, is saved, and its features then learn 5 to 9 from a few examples.

python packages/keras-actorflow/examples/fine_tuning.py --examples 100

First the features stay as they are and a new head learns; then all is trained, at a low rate.
"""

from __future__ import annotations

import keras_actorflow  # noqa: F401  # isort: skip  (before Keras: it selects the backend)

import argparse
import tempfile
from pathlib import Path

import keras
import numpy as np
from sklearn.datasets import load_digits


def features() -> keras.Model:
    """Two convolutions with batch normalization."""
    layers = keras.layers
    parts = []
    for width in (16, 32):
        parts += [layers.Conv2D(width, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU()]
    return keras.Sequential([keras.Input((8, 8, 1)), *parts, layers.GlobalAveragePooling2D()], name="features")


def classifier(backbone: keras.Model, rate: float) -> keras.Model:
    """A head of five classes on features."""
    model = keras.Sequential([keras.Input((8, 8, 1)), backbone, keras.layers.Dense(5)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    return model


def accuracy(model: keras.Model, images: np.ndarray, labels: np.ndarray) -> float:
    """The share of images whose class the model tells."""
    return float(model.evaluate(images, labels, verbose=0)[1])


def main(examples: int, epochs: int) -> None:
    """Prints the accuracies of the head alone, of the whole network, and of a network that begins from nothing."""
    keras.utils.set_random_seed(0)
    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[..., None]
    low = digits.target < 5
    source = classifier(features(), 3e-3)
    source.fit(images[low], digits.target[low], epochs=epochs, batch_size=64, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.keras"
        source.get_layer("features").save(path)
        backbone = keras.saving.load_model(path)
    x, y = images[~low], digits.target[~low] - 5
    train, test = slice(None, examples), slice(examples, None)

    backbone.trainable = False
    model = classifier(backbone, 1e-2)
    model.fit(x[train], y[train], epochs=2 * epochs, batch_size=32, verbose=0)
    print(f"the head alone: {accuracy(model, x[test], y[test]):.3f}")
    backbone.trainable = True
    model.compile(keras.optimizers.Adam(1e-3), model.loss, metrics=["accuracy"])
    model.fit(x[train], y[train], epochs=2 * epochs, batch_size=32, verbose=0)
    print(f"fine-tuned: {accuracy(model, x[test], y[test]):.3f}")
    fresh = classifier(features(), 1e-3)
    fresh.fit(x[train], y[train], epochs=4 * epochs, batch_size=32, verbose=0)
    print(f"from nothing: {accuracy(fresh, x[test], y[test]):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    main(arguments.examples, arguments.epochs)
