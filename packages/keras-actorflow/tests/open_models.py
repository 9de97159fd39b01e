"""Models that learn, are evaluated and predict with a smaller last batch, as traces and op by op.

python packages/keras-actorflow/tests/open_models.py dense attention      # or --list
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "actorflow"
import keras_actorflow  # noqa: F401  # isort: skip
import keras
import numpy as np
from keras import layers, ops

import actorflow as af

EXAMPLES = 22
IMAGE = (8, 8, 3)
DATA = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return DATA.uniform(size=(EXAMPLES, *shape)).astype("float32")


def _words(*shape: int) -> Any:
    return DATA.integers(0, 10, size=(EXAMPLES, *shape)).astype("int32")


def _row(*parts: Any, shape: tuple[int, ...], flat: bool = True, words: bool = False) -> tuple[Any, Any]:
    """A model of layers one after the other, and its inputs."""
    start = keras.Input(shape, dtype="int32" if words else None)
    net = keras.Sequential([start, *parts, *([layers.Flatten()] if flat else []), layers.Dense(4)])
    return net, _words(*shape) if words else _floats(*shape)


def _attention() -> tuple[Any, Any]:
    start = keras.Input((6, 8))
    x = layers.LayerNormalization()(start + layers.MultiHeadAttention(2, 4)(start, start, use_causal_mask=True))
    return keras.Model(start, layers.Dense(4)(layers.GlobalAveragePooling1D()(x))), _floats(6, 8)


def _two_inputs() -> tuple[Any, Any]:
    first, second = keras.Input((6, 8)), keras.Input((5, 8))
    x = layers.Attention(use_scale=True)([first, second])
    x = layers.AdditiveAttention()([x, first])
    x = layers.GroupQueryAttention(4, 4, 2)(x, second)
    return keras.Model([first, second], layers.Dense(4)(layers.Flatten()(x))), [_floats(6, 8), _floats(5, 8)]


def _masked() -> tuple[Any, Any]:
    start = keras.Input((6,), dtype="int32")
    x = layers.LSTM(5, return_sequences=True)(layers.Embedding(10, 8, mask_zero=True)(start))
    return keras.Model(start, layers.Dense(4)(layers.Bidirectional(layers.GRU(3))(x))), _words(6)


class Own(keras.Model):  # type: ignore[misc,name-defined] # Keras is not there for the checker
    """A model with a train step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.last = layers.Dense(4)

    def call(self, x: Any) -> Any:
        return self.last(x)

    def train_step(self, data: Any) -> Any:
        x, y, *_ = data
        with af.GradientTape() as tape:
            loss = self.compute_loss(y=y, y_pred=self(x, training=True)) * ops.cast(ops.shape(x)[0], "float32")
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, [weight.value for weight in weights]), weights)
        return {"loss": loss}


class Sizes(layers.Layer):  # type: ignore[misc,name-defined] # Keras is not there for the checker
    """A layer that computes with the number of examples."""

    def call(self, x: Any) -> Any:
        number = ops.shape(x)[0]
        rows = ops.reshape(x, (number * 2, -1))
        weights = ops.cast(ops.arange(number * 2), "float32") / ops.cast(number, "float32")
        return ops.reshape(rows * ops.expand_dims(weights, 1), ops.shape(x)) + ops.ones((number, 1))

    def compute_output_shape(self, shape: Any) -> Any:
        return shape


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "dense": lambda: _row(layers.Dense(16, activation="relu"), layers.Dropout(0.3, seed=1), shape=(8,)),
    "convolutions": lambda: _row(
        layers.Conv2D(4, 3, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
        layers.Conv2D(4, 3, strides=2), layers.AveragePooling2D(2, padding="same"), shape=IMAGE,
    ),
    "separable": lambda: _row(
        layers.DepthwiseConv2D(3), layers.SeparableConv2D(4, 3, dilation_rate=2, padding="same"),
        layers.Conv2DTranspose(4, 3, strides=2), layers.Conv2D(4, 3, groups=2), layers.GlobalMaxPooling2D(), shape=IMAGE,
    ),
    "one axis": lambda: _row(
        layers.Conv1D(4, 3), layers.Conv1DTranspose(4, 3), layers.MaxPooling1D(), layers.SeparableConv1D(4, 2), shape=(8, 4)
    ),
    "three axes": lambda: _row(
        layers.Conv3D(2, (1, 2, 1), padding="same"), layers.MaxPooling3D(), layers.Conv3DTranspose(2, 2), shape=(4, 4, 4, 2)
    ),
    "adaptive": lambda: _row(layers.AdaptiveAveragePooling2D(3), layers.AdaptiveMaxPooling2D(2), shape=IMAGE),
    "recurrent": lambda: _row(layers.LSTM(7, return_sequences=True), layers.GRU(5), shape=(6, 5)),
    "wrapped": lambda: _row(
        layers.SimpleRNN(7, return_sequences=True, go_backwards=True),
        layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        layers.TimeDistributed(layers.Dense(3)),
        layers.RNN([layers.LSTMCell(3), layers.GRUCell(4)]), shape=(6, 5),
    ),
    "maps": lambda: _row(layers.ConvLSTM2D(3, 3), shape=(3, 6, 6, 2)),
    "attention": _attention,
    "two inputs": _two_inputs,
    "masked": _masked,
    "embedding": lambda: _row(
        layers.Embedding(10, 8), layers.SpatialDropout1D(0.2, seed=3), layers.GlobalMaxPooling1D(), shape=(6,), words=True
    ),
    "normalized": lambda: _row(
        layers.Rescaling(2.0), layers.GroupNormalization(3), layers.LayerNormalization(), layers.RMSNormalization(),
        layers.UnitNormalization(), layers.SpectralNormalization(layers.Conv2D(4, 3)), shape=IMAGE,
    ),
    "turned": lambda: _row(
        layers.RandomFlip(seed=1), layers.RandomRotation(0.2, seed=2), layers.RandomZoom(0.2, seed=3),
        layers.RandomTranslation(0.2, 0.2, seed=4), layers.RandomCrop(6, 6, seed=7), layers.Resizing(5, 5), shape=IMAGE,
    ),
    "warped": lambda: _row(
        layers.RandomShear(0.2, 0.2, seed=1), layers.RandomPerspective(seed=2), layers.RandomElasticTransform(seed=3),
        layers.RandomGaussianBlur(seed=4), layers.RandomErasing(seed=5), layers.CenterCrop(6, 6), shape=IMAGE,
    ),
    "coloured": lambda: _row(
        layers.RandomContrast(0.2, seed=5), layers.RandomBrightness(0.2, seed=6), layers.RandomGrayscale(seed=6),
        layers.RandomHue(0.2, value_range=(0, 1), seed=1), layers.RandomSaturation(0.2, value_range=(0, 1), seed=2),
        layers.RandomSharpness(0.2, value_range=(0, 1), seed=2), layers.Solarization(value_range=(0, 1), seed=3), shape=IMAGE,
    ),
    "mixed": lambda: _row(
        layers.MixUp(seed=1), layers.CutMix(seed=2), layers.RandAugment(value_range=(0, 1), seed=3), shape=IMAGE
    ),
    "shapes": lambda: _row(
        layers.Permute((2, 1)), layers.Cropping1D(1), layers.ZeroPadding1D(1), layers.UpSampling1D(2),
        layers.Reshape((4, 12)), layers.Flatten(), layers.RepeatVector(2), layers.GaussianNoise(0.1, seed=1),
        layers.GaussianDropout(0.1, seed=2), layers.AlphaDropout(0.1, seed=2), layers.ActivityRegularization(0.1), shape=(4, 6),
    ),
    "own step": lambda: (Own(), _floats(8)),
    "sizes": lambda: _row(Sizes(), shape=(8,)),
}  # fmt: skip


def _metric() -> Any:
    return keras.metrics.SparseCategoricalCrossentropy(from_logits=True)


def outcome(name: str, eager: bool) -> tuple[list[Any], list[int]]:
    """The answers of a model after two epochs with 8, 8 and 6 examples; and how often its functions were traced."""
    global DATA
    DATA = np.random.default_rng(0)
    keras.utils.set_random_seed(3)
    net, x = MODELS[name]()
    y, weights = DATA.integers(0, 4, size=EXAMPLES), DATA.uniform(size=EXAMPLES).astype("float32")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = {} if name == "own step" else {"metrics": [_metric()], "weighted_metrics": [_metric()]}
    net.compile(keras.optimizers.Adam(0.01), loss, **metrics, run_eagerly=eager)
    history = net.fit(x, y, sample_weight=weights, batch_size=8, epochs=2, verbose=0, shuffle=False).history
    results: list[Any] = [value for values in history.values() for value in values]
    results += np.ravel(net.evaluate(x, y, batch_size=9, verbose=0)).tolist()
    results += [net.predict(x, batch_size=5, verbose=0), net.predict_on_batch(x)]
    counts = [function.trace_count for function in (net.train_function, net.test_function, net.predict_function)]
    return results, counts


def main(names: list[str]) -> None:
    """Compares models, and prints a line for each."""
    for name in names:
        (traced, counts), (plain, _) = outcome(name, False), outcome(name, True)
        for value, expected in zip(traced, plain, strict=True):
            np.testing.assert_allclose(value, expected, 1e-3, 1e-3, err_msg=name)
        assert counts == [1, 1, 1], f"{name} was traced {counts} times"
        print(f"{name}: the same values, a trace for each of fit, evaluate and predict", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(", ".join(MODELS))
    else:
        main(sys.argv[1:] or list(MODELS))
