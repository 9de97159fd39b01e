"""Random pipelines of datasets, for TensorFlow's `tf` and for ours: 16 families, each with a stage of its own among others.

A program is a list of stages, drawn by a seed. `build` makes the dataset of it with a module that has TensorFlow's names, and
`outcome` runs it: the elements in their order, errors at their places, and the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

FAMILIES = (
    "map", "filter", "batch", "padded_batch", "unbatch", "window", "shuffle", "repeat",
    "take_skip", "shard", "zip", "concatenate", "interleave", "flat_map", "cache", "errors",
)  # fmt: skip
SEEDS = 12
MOST = 400
"""The number of elements that are looked at: repetitions may be without end."""


def program(family: str, seed: int) -> list[tuple[Any, ...]]:
    """The stages of a pipeline: the source, some others, the one of the family, and others again."""
    rng = random.Random(f"{family}/{seed}")
    stages: list[tuple[Any, ...]] = [("range", rng.randrange(3), rng.randrange(4, 30), rng.choice([1, 1, 2]))]
    for _ in range(rng.randrange(3)):
        stages.append(_stage(rng.choice(_COMMON), rng))
    stages.append(_stage(family, rng))
    for _ in range(rng.randrange(3)):
        stages.append(_stage(rng.choice(_COMMON), rng))
    return stages


_COMMON = ("map", "filter", "shuffle", "repeat", "take_skip", "shard", "cache", "enumerate", "prefetch", "concatenate")


def _stage(kind: str, rng: random.Random) -> tuple[Any, ...]:
    small = rng.randrange(1, 6)
    numbers: dict[str, tuple[Any, ...]] = {
        "map": (rng.randrange(-3, 4), rng.randrange(5), rng.choice([None, 1, 3, -1])),
        "filter": (rng.randrange(2, 5), rng.randrange(2)),
        "batch": (small, rng.random() < 0.5, rng.random() < 0.5),
        "padded_batch": (small, rng.choice([None, 12]), rng.choice([None, -1])),
        "unbatch": (small,),
        "window": (small, rng.choice([None, 1, 2, 7]), rng.choice([1, 1, 2]), rng.random() < 0.5),
        "shuffle": (rng.choice([1, 2, 5, 100]), rng.randrange(1000), rng.choice([None, True, False])),
        "repeat": (rng.choice([0, 1, 2, 3, -1, None]),),
        "take_skip": (rng.choice([-1, 0, 2, 9]), rng.choice([0, 1, 3])),
        "shard": (small, rng.randrange(small)),
        "zip": (rng.randrange(30),),
        "concatenate": (rng.randrange(6),),
        "interleave": (rng.randrange(1, 5), rng.randrange(1, 4), rng.randrange(1, 5), rng.choice([None, -1])),
        "flat_map": (rng.randrange(4),),
        "cache": (rng.randrange(1, 4),),
        "errors": (rng.randrange(2, 5), rng.choice([None, 2])),
        "enumerate": (rng.randrange(3),),
        "prefetch": (rng.choice([1, 3, -1]),),
    }
    return (kind, *numbers[kind])


def build(tf: Any, stages: list[tuple[Any, ...]]) -> Any:
    """The dataset of a program, made with the module `tf`."""
    data = tf.data.Dataset
    kind, *given = stages[0]
    dataset = data.range(*given)
    for kind, *given in stages[1:]:
        dataset = _BUILD[kind](tf, dataset, *given)
    return dataset


def _first(*parts: Any) -> Any:
    while isinstance(parts[0], tuple):
        parts = parts[0]
    return parts[0]


def _filled(tf: Any, x: Any) -> Any:
    return tf.fill([tf.cast(x % 5, tf.int32)], x)


_BUILD: dict[str, Callable[..., Any]] = {
    "map": lambda tf, ds, k, c, n: ds.map(lambda x: x * k + c, num_parallel_calls=n),
    "filter": lambda tf, ds, m, r: ds.filter(lambda x: tf.equal(x % m, r % m)),
    "batch": lambda tf, ds, n, drop, back: _back(tf, ds.batch(n, drop_remainder=drop), back),
    "padded_batch": lambda tf, ds, n, size, value: ds.map(lambda x: _filled(tf, x))
    .padded_batch(n, [size], None if value is None else tf.constant(value, tf.int64))
    .map(tf.reduce_sum),
    "unbatch": lambda tf, ds, n: ds.map(lambda x: tf.stack([x] * n)).unbatch(),
    "window": lambda tf, ds, n, shift, stride, drop: ds.window(n, shift, stride, drop)
    .flat_map(lambda w: w.batch(n).map(tf.reduce_sum)),
    "shuffle": lambda tf, ds, n, seed, again: ds.shuffle(n, seed=seed, reshuffle_each_iteration=again),
    "repeat": lambda tf, ds, n: ds.repeat(n),
    "take_skip": lambda tf, ds, take, skip: ds.take(take).skip(skip),
    "shard": lambda tf, ds, n, index: ds.shard(n, index),
    "zip": lambda tf, ds, n: tf.data.Dataset.zip((ds, {"b": tf.data.Dataset.range(n)})).map(lambda a, b: a * 10 + b["b"]),
    "concatenate": lambda tf, ds, n: ds.concatenate(tf.data.Dataset.range(n)),
    "interleave": lambda tf, ds, cycle, block, n, calls: ds.interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(n).enumerate().map(lambda i, y: i + y * 10),
        cycle_length=cycle, block_length=block, num_parallel_calls=calls,
    ),
    "flat_map": lambda tf, ds, n: ds.flat_map(lambda x: tf.data.Dataset.range(x, x + n)),
    "cache": lambda tf, ds, n: ds.cache().repeat(n),
    "errors": lambda tf, ds, m, n: ds.map(lambda x: tf.math.floordiv(tf.constant(60, tf.int64), x % m), num_parallel_calls=n),
    "enumerate": lambda tf, ds, n: ds.enumerate(n).map(lambda i, x: i * 100 + x),
    "prefetch": lambda tf, ds, n: ds.prefetch(n),
}  # fmt: skip


def _back(tf: Any, batches: Any, back: bool) -> Any:
    return batches.unbatch() if back else batches.map(tf.reduce_sum)


def outcome(elements: Any, errors: type[Exception]) -> list[Any]:
    """The outcome of an iterator: numbers, names of the classes of errors, and "end", or "more" where it goes on and on."""
    found: list[Any] = []
    while len(found) < MOST:
        try:
            found.append(int(np.asarray(next(elements))))
        except StopIteration:
            return [*found, "end"]
        except errors as error:
            found.append(type(error).__name__)
    return [*found, "more"]
