"""Trains a convolutional classifier of handwritten digits with Keras on actorflow, in a running event loop.

python packages/keras-actorflow/examples/digits.py --epochs 10 --seconds 60

The images are scikit-learn's, 1797 of 8 x 8 pixels; a quarter of them is kept back for the test. A deadline ends the training
between two steps, and the model that was reached then is tested.
"""

from __future__ import annotations

import keras_actorflow  # isort: skip  (before Keras: it selects the backend)

import argparse

import anyio
import keras
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def classifier() -> keras.Model:
    """Two convolutions, and a layer of the ten digits."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    return model


async def main(epochs: int, seconds: float) -> None:
    """Trains, and prints the accuracy over the images that were kept back."""
    keras.utils.set_random_seed(0)
    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[..., None]
    train_x, test_x, train_y, test_y = train_test_split(images, digits.target, test_size=0.25, random_state=0)
    model = classifier()
    with anyio.move_on_after(seconds):
        await keras_actorflow.fit(model, train_x, train_y, epochs=epochs, batch_size=32, verbose=2)
    _, accuracy = await keras_actorflow.evaluate(model, test_x, test_y, verbose=0)
    print(f"{model.optimizer.iterations.numpy()} steps, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=600.0)
    arguments = parser.parse_args()
    anyio.run(main, arguments.epochs, arguments.seconds)
