"""Random numbers. The same seed gives the same numbers, at once and in a trace."""

from __future__ import annotations

from typing import Any

from keras.src.backend import config
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed  # noqa: F401

import actorflow as af
from keras_actorflow.src import core
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.sizes import size_of, sizes_of, vector


def _seed(seed: Any) -> Any:
    return af.cast(convert_to_tensor(draw_seed(seed)), "int64")


def _type(dtype: Any) -> tuple[str, str]:
    """The type of the numbers, and that in which they are drawn."""
    name = convert_to_tensor(0, dtype or config.floatx()).dtype.name
    return name, "float32" if name in ("float16", "bfloat16") else name


def _sizes(shape: Any) -> list[Any]:
    """Sizes as numbers where they are known, else as tensors."""
    if core.is_tensor(shape):
        return [int(size) for size in shape] if core.has_value(shape) else list(af.unstack(af.cast(shape, "int32")))
    return [size if core.is_tensor(size) else int(size) for size in shape]


def _shape(shape: Any) -> Any:
    return vector(tuple(shape)) if isinstance(shape, (list, tuple)) else convert_to_tensor(shape, "int32")


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    numbers = af.stateless_random_normal(_shape(shape), _seed(seed), dtype=wide)
    return af.cast(numbers * convert_to_tensor(stddev, wide) + convert_to_tensor(mean, wide), name)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    numbers = af.stateless_random_uniform(_shape(shape), _seed(seed), dtype=wide)
    low, high = convert_to_tensor(minval, wide), convert_to_tensor(maxval, wide)
    return af.cast(numbers * (high - low) + low, name)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    numbers = af.stateless_truncated_normal(_shape(shape), _seed(seed), dtype=wide)
    return af.cast(numbers * convert_to_tensor(stddev, wide) + convert_to_tensor(mean, wide), name)


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    inner = "int64" if dtype in ("int64", "uint32", "uint64") else "int32"
    low, high = convert_to_tensor(minval, inner), convert_to_tensor(maxval, inner)
    return af.cast(af.stateless_random_uniform(_shape(shape), _seed(seed), low, high, dtype=inner), dtype)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Any:
    return af.cast(af.stateless_multinomial(convert_to_tensor(logits), num_samples, _seed(seed)), dtype)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    x = convert_to_tensor(inputs)
    kept = 1.0 - rate
    sizes = sizes_of(x)
    if noise_shape is not None:
        sizes = [size if part is None else part for size, part in zip(sizes, noise_shape, strict=True)]
    name, wide = _type(x.dtype)
    numbers = af.stateless_random_uniform(_shape(sizes), _seed(seed), dtype=wide)
    return af.where_v2(numbers < kept, x / convert_to_tensor(kept, name), af.zeros_like(x))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    x = convert_to_tensor(x)
    size = size_of(x, axis)
    order = af.argsort(af.stateless_random_uniform(vector([size]), _seed(seed)))
    return af.gather(x, af.cast(order, "int32"), axis=axis % len(x.shape))


def _gammas(shape: list[Any], alpha: Any, seed: Any) -> Any:
    """Gamma numbers by the rejection of Marsaglia and Tsang: of 16 candidates the first that fits is taken."""
    tries = 16
    boosted = alpha + af.cast(alpha < 1, alpha.dtype)
    d = boosted - 1 / 3
    c = af.rsqrt(9 * d)
    full = vector([tries, *shape])
    drawn = af.stateless_random_normal(full, seed, dtype=alpha.dtype)
    chance = af.stateless_random_uniform(full, seed + 1, dtype=alpha.dtype)
    v = af.pow(af.maximum(1 + c * drawn, 0), 3)
    bound = drawn * drawn / 2 + d - d * v + d * af.log(af.maximum(v, 1e-30))
    fits = af.logical_and(v > 0, af.log(af.maximum(chance, 1e-30)) < bound)
    candidates = af.where_v2(fits, d * v, af.zeros_like(v))
    first = af.argmax(af.cast(fits, "int32"), axis=0)
    marks = af.one_hot(first, tries, axis=0, dtype=alpha.dtype)
    result = af.reduce_sum(candidates * marks, 0)
    power = af.stateless_random_uniform(vector(shape), seed + 2, dtype=alpha.dtype)
    shrunk = result * af.pow(af.maximum(power, 1e-30), 1 / af.maximum(alpha, 1e-30))
    return af.where_v2(alpha < 1, shrunk, result)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    sizes = _sizes(shape)
    alpha = af.broadcast_to(convert_to_tensor(alpha, wide), vector(sizes))
    return af.cast(_gammas(sizes, alpha, _seed(seed)), name)


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    sizes = _sizes(shape)
    first = af.broadcast_to(convert_to_tensor(alpha, wide), vector(sizes))
    second = af.broadcast_to(convert_to_tensor(beta, wide), vector(sizes))
    drawn = _seed(seed)
    a, b = _gammas(sizes, first, drawn), _gammas(sizes, second, drawn + 12)
    return af.cast(a / (a + b), name)


def binomial(shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None) -> Any:
    name, wide = _type(dtype)
    sizes = _sizes(shape)
    counts, chances = convert_to_tensor(counts, wide), convert_to_tensor(probabilities, wide)
    with af.init_scope():
        most = int(af.reduce_max(counts)) if hasattr(counts, "numpy") else 1024
    numbers = af.stateless_random_uniform(vector([most, *sizes]), _seed(seed), dtype=wide)
    trial = af.reshape(af.cast(af.range_(most), wide), [most] + [1] * len(sizes))
    hits = af.logical_and(numbers < chances, trial < counts)
    return af.cast(af.reduce_sum(af.cast(hits, wide), 0), name)


__all__ = [
    "beta",
    "binomial",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]
