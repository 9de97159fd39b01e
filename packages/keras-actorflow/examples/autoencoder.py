"""Trains a variational autoencoder of handwritten digits, with a train step of its own, and draws digits that it invents.

python packages/keras-actorflow/examples/autoencoder.py --epochs 30
"""

from __future__ import annotations

import keras_actorflow  # noqa: F401  # isort: skip  (before Keras: it selects the backend)

import argparse
from typing import Any

import keras
import numpy as np
from sklearn.datasets import load_digits

import actorflow as af

ops = keras.ops


class Autoencoder(keras.Model):
    """Digits as points of a normal distribution, and back (Kingma and Welling, 2013)."""

    def __init__(self, code: int = 4) -> None:
        super().__init__()
        layers = keras.layers
        self.code = code
        self.encoder = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(2 * code)])
        self.decoder = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(64, activation="sigmoid")])
        self.seeds = keras.random.SeedGenerator(0)
        self.error = keras.metrics.Mean(name="error")
        self.divergence = keras.metrics.Mean(name="divergence")

    @property
    def metrics(self) -> list[Any]:
        return [self.error, self.divergence]

    def call(self, images: Any) -> Any:
        mean, spread = ops.split(self.encoder(images), 2, axis=-1)
        return (
            self.decoder(mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean), seed=self.seeds)),
            mean,
            spread,
        )

    def train_step(self, images: Any) -> dict[str, Any]:
        with af.GradientTape() as tape:
            drawn, mean, spread = self(images, training=True)
            count, pixels = images.shape
            error = ops.sum(keras.losses.binary_crossentropy(images, drawn)) * pixels / count
            divergence = -0.5 * ops.sum(1 + spread - ops.square(mean) - ops.exp(spread)) / count
            loss = error + divergence
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)
        self.error.update_state(error)
        self.divergence.update_state(divergence)
        return {metric.name: metric.result() for metric in self.metrics}


def main(epochs: int) -> None:
    """Trains, and prints the last error and two digits that were drawn at random."""
    keras.utils.set_random_seed(0)
    images = (load_digits().data / 16.0).astype("float32")
    model = Autoencoder()
    model.compile(keras.optimizers.Adam(3e-3))
    history = model.fit(images, epochs=epochs, batch_size=64, verbose=2).history
    points = np.random.default_rng(0).normal(size=(2, model.code)).astype("float32")
    for image in np.asarray(model.decoder(points)).reshape(2, 8, 8):
        print("\n".join("".join(" .:*#"[int(4.99 * pixel)] for pixel in row) for row in image), end="\n\n")
    print(f"error {history['error'][0]:.1f} at first, {history['error'][-1]:.1f} at last")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    main(parser.parse_args().epochs)
