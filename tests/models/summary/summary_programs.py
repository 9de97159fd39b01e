"""Programs whose summaries TensorFlow has made too. Each takes `tf` (or `actorflow.compat.v1`) and gives a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def noise(seed: int, *shape: int, dtype: Any = np.float32) -> Any:
    """Normal numbers, the same for both."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def pixels(seed: int, *shape: int, most: int = 256) -> Any:
    """uint8 below `most`."""
    return np.random.default_rng(seed).integers(0, most, shape, np.uint8)


def spoilt(image: Any) -> Any:
    """An image with pixels that are not finite."""
    image[0, 0, 0, 0], image[0, 1, 1, -1], image[0, 1, 0, 0] = np.nan, np.inf, -np.inf
    return image


SPREAD = 10.0 ** np.arange(-14, 22, 0.7)
EDGES = np.array([0.0, -0.0, 1e-12, -1e-12, 1e20, -1e20, 1e300, -1e300, 5e-324, 3.4e38])


def described(tf: Any) -> Any:
    metadata = tf.SummaryMetadata(plugin_data=tf.SummaryMetadata.PluginData(plugin_name="mine", content=b"\x01"))
    return tf.summary.tensor_summary(
        "shown", tf.constant([[1, 2], [3, 4]]), "A *text*.", summary_metadata=metadata, display_name="Shown"
    )


def in_scopes(tf: Any) -> Any:
    with tf.name_scope("outer"):
        tf.summary.scalar("loss", 0.5)
        tf.summary.scalar("loss", 0.25)
        tf.summary.scalar("a b:c/d", 1.0)
        tf.summary.scalar("x", 2.0, family="fam ily")
        tf.summary.scalar("x", 3.0, family="fam ily")
    tf.summary.scalar("apart", 9.0, collections=["others"])
    return tf.summary.merge_all()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "scalar": lambda tf: tf.summary.scalar("loss", 1.5),
    "scalar zero": lambda tf: tf.summary.scalar("loss", 0.0),
    "scalar of an integer": lambda tf: tf.summary.scalar("steps", tf.constant(2**40 + 1, tf.int64)),
    "scalar beyond float32": lambda tf: tf.summary.scalar("huge", tf.constant(-1e300, tf.float64)),
    "scalar nan": lambda tf: tf.summary.scalar("nan", float("nan")),
    "scalar with a long tag": lambda tf: tf.summary.scalar("long" * 50, 1.0),
    "histogram": lambda tf: tf.summary.histogram("h", noise(1, 1000)),
    "histogram of many": lambda tf: tf.summary.histogram("h", noise(2, 30, 40, dtype=np.float64) * 1e3),
    "histogram of integers": lambda tf: tf.summary.histogram("h", np.arange(-5, 60, dtype=np.int64) ** 2),
    "histogram of bytes": lambda tf: tf.summary.histogram("h", pixels(3, 99)),
    "histogram of nothing": lambda tf: tf.summary.histogram("h", np.zeros(0, np.float32)),
    "histogram of zeros": lambda tf: tf.summary.histogram("h", np.zeros(7, np.float32)),
    "histogram of one": lambda tf: tf.summary.histogram("h", 3.25),
    "histogram of all sizes": lambda tf: tf.summary.histogram("h", np.concatenate([SPREAD, -SPREAD])),
    "histogram of edges": lambda tf: tf.summary.histogram("h", EDGES),
    "image": lambda tf: tf.summary.image("i", noise(4, 2, 5, 6, 3)),
    "image alone": lambda tf: tf.summary.image("i", np.abs(noise(5, 2, 5, 6, 1)), max_outputs=1),
    "image of pixels": lambda tf: tf.summary.image("i", pixels(6, 1, 40, 30, 4), max_outputs=1, family="f"),
    "image of few colours": lambda tf: tf.summary.image("i", pixels(7, 1, 140, 140, 1, most=4)),
    "image of one colour": lambda tf: tf.summary.image("i", pixels(7, 1, 300, 200, 3, most=1)),
    "image of nothing much": lambda tf: tf.summary.image("i", np.full((1, 2, 3, 3), 1e-7, np.float32)),
    "image with spoilt pixels": lambda tf: tf.summary.image("i", spoilt(noise(8, 1, 4, 3, 3))),
    "image with spoilt pixels, grey": lambda tf: tf.summary.image("i", spoilt(np.abs(noise(9, 1, 4, 3, 1)))),
    "image of doubles": lambda tf: tf.summary.image("i", noise(10, 1, 9, 8, 4, dtype=np.float64)),
    "image of halves": lambda tf: tf.summary.image("i", noise(11, 1, 9, 8, 3, dtype=np.float16)),
    "audio": lambda tf: tf.summary.audio("a", noise(12, 2, 50) / 2, 44100.0),
    "audio alone": lambda tf: tf.summary.audio("a", noise(13, 1, 20, 2) * 2, 8000, max_outputs=1),
    "audio of halves": lambda tf: tf.summary.audio("a", np.arange(-9, 9, dtype=np.float32)[None] / 65536, 11025.5),
    "text": lambda tf: tf.summary.text("t", tf.constant([["**a**", "b"], ["", "ü"]])),
    "tensor": lambda tf: tf.summary.tensor_summary("t", tf.constant([True, False])),
    "tensor, described": described,
    "scopes": in_scopes,
    "merge": lambda tf: tf.summary.merge([tf.summary.scalar("a", 1.0), tf.summary.histogram("b", [1.0, 2.0])]),
}
