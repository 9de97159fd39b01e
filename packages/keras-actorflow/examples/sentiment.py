"""Trains a transformer that tells whether sentences praise, with Keras on actorflow.

python packages/keras-actorflow/examples/sentiment.py --epochs 6

The sentences are made here: an opinion among other words, which "not" turns into its opposite. So single words do not tell the
answer, and attention has to join them.
"""

from __future__ import annotations

import keras_actorflow  # noqa: F401  # isort: skip  (before Keras: it selects the backend)

import argparse

import keras
import numpy as np

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "dull", "poor")
OTHER = ("the", "film", "was", "and", "a", "story", "music", "with", "very", "it", "we", "saw")
WORDS = ("<none>", "not", *GOOD, *BAD, *OTHER)
LENGTH = 16


def sentences(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of words, [count, LENGTH], and whether each sentence praises."""
    rng = np.random.default_rng(seed)
    rows, praises = np.zeros((count, LENGTH), np.int32), np.zeros(count, np.int32)
    for row in range(count):
        good, negated = rng.integers(2), rng.integers(2)
        opinion = [str(rng.choice(GOOD if good else BAD))]
        opinion = ["not", *opinion] if negated else opinion
        filling = [str(word) for word in rng.choice(OTHER, rng.integers(6, LENGTH - 2))]
        at = rng.integers(len(filling))
        words = filling[:at] + opinion + filling[at:]
        rows[row, : len(words)] = [WORDS.index(word) for word in words]
        praises[row] = good ^ negated
    return rows, praises


def transformer(width: int = 32) -> keras.Model:
    """Embeddings of words and places, and two layers of attention; padding is masked."""
    layers = keras.layers
    words = keras.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(len(WORDS), width, mask_zero=True)(words)
    x = x + layers.Embedding(LENGTH, width)(keras.ops.arange(LENGTH))
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, width // 4)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(2 * width, activation="gelu")(x)))
    answer = layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(x))
    model = keras.Model(words, answer)
    model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["accuracy"])
    return model


def main(epochs: int) -> None:
    """Trains, and prints the accuracy over sentences that were not seen."""
    keras.utils.set_random_seed(0)
    model = transformer()
    model.fit(*sentences(2048, 1), epochs=epochs, batch_size=32, verbose=2)
    _, accuracy = model.evaluate(*sentences(512, 2), verbose=0)
    print(f"accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    main(parser.parse_args().epochs)
