"""Kernels of random ops.

The numbers of a node's n-th run in a session depend on its seeds and n alone: not on other nodes, on devices, nor on how
many numbers were drawn before. `philox` defines them bit for bit; only Poisson's are drawn by numpy's own algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, bfloat16, float16, float32
from actorflow.base.process import forks
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext

from ..math.special import apply
from ..strings.objects import as_arrays
from . import philox
from .philox import PhiloxStream

# Runs of one node may overlap, on threads.
_lock = forks.new_lock()


def stream(ctx: KernelContext, seed: int, seed2: int) -> PhiloxStream:
    """The stream for the next run of a node."""
    key, runs = next_run(ctx, seed, seed2)
    return PhiloxStream(key.tolist(), runs)


def next_run(ctx: KernelContext, seed: int, seed2: int) -> tuple[Any, int]:
    """The key of a node's streams, and the number of its next run; `ctx.state["runs"]` counts them."""
    state = ctx.state
    with _lock:
        runs = state.get("runs", 0)
        state["runs"] = runs + 1
        if "key" not in state:
            state["key"] = np.array((seed, seed2), np.uint64) if seed or seed2 else _fresh_key()
        return state["key"], runs


def _fresh_key() -> Any:
    return np.random.SeedSequence().generate_state(2, np.uint64)


def sizes(shape: Any) -> tuple[int, ...]:
    """The shape that a vector spells. Raises ValueError for a vector that is no shape."""
    numbers = tuple(shape.tolist()) if shape.ndim == 1 else None
    if numbers is None or (numbers and min(numbers) < 0):
        raise ValueError(f"A shape is a vector of sizes of zero or more, but {shape.tolist()} was given.")
    return numbers


def draw(xp: Any, source: PhiloxStream, how: philox.Fill, shape: Any, dtype: DType, out: Any = None) -> Any:
    """Elements that `how` draws, as an array of the device; into `out` where that can be."""
    target = out if xp is np and out is not None and out.flags.c_contiguous else None
    return xp.asarray(philox.fill(source, how, sizes(shape), dtype, target))


_EXACT_BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def uniform_bits(dtype: DType) -> int:
    """How many random bits a uniform number of the type has: as many as are exact, so that none rounds up to 1."""
    return _EXACT_BITS[dtype.name]


def check_bounds(low: Any, high: Any) -> None:
    if low >= high:
        raise ValueError(f"random_uniform needs minval < maxval, but they are {int(low)} and {int(high)}.")


@kernel("RandomUniform")
def random_uniform(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    key, run = next_run(ctx, seed, seed2)
    numbers = key.tolist()
    if xp is np and out is None and dtype is float32:
        few = philox.few_uniform(numbers, run, sizes(shape))
        if few is not None:
            return few
    return draw(xp, PhiloxStream(numbers, run), philox.uniform(uniform_bits(dtype)), shape, dtype, out)


@kernel("RandomUniformInt")
def random_uniform_int(xp: Any, shape: Any, low: Any, high: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    check_bounds(low, high)
    return xp.asarray(philox.integers(stream(ctx, seed, seed2), int(low), int(high), sizes(shape), low.dtype))


@kernel("RandomStandardNormal")
def random_normal(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    return draw(xp, stream(ctx, seed, seed2), philox.normal, shape, dtype, out)


@kernel("TruncatedNormal")
def truncated_normal(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    return draw(xp, stream(ctx, seed, seed2), philox.truncated_normal, shape, dtype, out)


@kernel("RandomShuffle")
def random_shuffle(xp: Any, value: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    source, rows = stream(ctx, seed, seed2), as_arrays(value)
    if rows.ndim == 0:
        return as_arrays(rows)
    return rows.take(xp.asarray(_order_of(source.words64(len(rows)))), 0)


def _order_of(words: Any) -> Any:
    """The places of the words in ascending order, as a stable sort has them. Equal words are seldom: the faster sort is first."""
    order = np.argsort(words)
    ordered = words[order]
    return np.argsort(words, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


@kernel("Multinomial")
def multinomial(
    xp: Any, logits: Any, num_samples: Any, *, seed: int, seed2: int, output_dtype: DType, ctx: KernelContext
) -> Any:
    return classes(xp, stream(ctx, seed, seed2), logits, int(num_samples), output_dtype)


_TOGETHER = 1 << 14
"""Elements of rows whose sums are made at once: 128 KiB of float64, which the second level of a cache holds."""


def classes(xp: Any, source: PhiloxStream, logits: Any, count: int, dtype: DType) -> Any:
    """Class numbers [batch, count] by the chances softmax(logits): where a uniform float64 falls among their sums."""
    if logits.ndim != 2 or logits.shape[0] and not logits.shape[1] or count < 0:
        raise ValueError(f"num_classes should be positive, got the logits' shape {logits.shape}.")
    flat = np.empty(len(logits) * count)
    philox.uniform(53)(source, flat)
    numbers = np.empty((len(logits), count), dtype.numpy_dtype)
    uniforms, narrow = flat.reshape(numbers.shape), np.asarray(logits)
    high = max(1, _TOGETHER // max(1, narrow.shape[1]))
    for start in range(0, len(narrow), high):  # the cache has these rows from one pass to the next
        sums = narrow[start : start + high].astype(np.float64)
        sums -= sums.max(axis=1, keepdims=True)
        np.cumsum(np.exp(sums, out=sums), axis=1, out=sums)
        targets = uniforms[start : start + high] * sums[:, -1:]
        for into, row, reached in zip(numbers[start : start + high], sums, targets):
            into[...] = row.searchsorted(reached, "right")
    return xp.asarray(numbers)


@kernel("RandomGamma")
def random_gamma(xp: Any, shape: Any, alpha: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    source, kind = stream(ctx, seed, seed2), np.asarray(alpha).dtype
    shapes = np.broadcast_to(np.asarray(alpha, np.float64), (*sizes(shape), *np.shape(alpha)))
    drawn = gamma(source, shapes.reshape(-1)).reshape(shapes.shape)
    # Nothing is too small to be positive in the output's type: a logarithm of a sample is finite.
    smallest = np.float64(2.0**-14) if kind.itemsize == 2 else np.finfo(kind).tiny
    return xp.asarray(np.maximum(drawn, smallest).astype(kind) if drawn.size else drawn.astype(kind))


def gamma(source: PhiloxStream, alpha: Any) -> Any:
    """One sample of Gamma(alpha, 1) for each of `alpha`, by Marsaglia and Tsang (2000), in float64.

    In each round, all samples that are not accepted yet draw a normal and then a uniform number. If alpha < 1, a sample
    of alpha + 1 is multiplied by u^(1/alpha), with a uniform number u that is drawn first."""
    boost = np.empty(alpha.size)
    philox.uniform(53)(source, boost)
    small = alpha < 1
    d = np.where(small, alpha + 1, alpha) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    result = np.full(alpha.size, np.nan)
    left = np.flatnonzero(alpha > 0)
    while left.size:
        x, u = np.empty(left.size), np.empty(left.size)
        philox.normal(source, x)
        philox.uniform(53)(source, u)
        v = (1 + c[left] * x) ** 3
        inside = v > 0
        log_v = np.log(np.where(inside, v, 1))
        accepted = inside & (np.log(1 - u) < 0.5 * x * x + d[left] * (1 - v + log_v))
        result[left[accepted]] = d[left[accepted]] * v[accepted]
        left = left[~accepted]
    result[small] *= (1 - boost[small]) ** (1 / alpha[small])
    return result


@kernel("RandomPoissonV2")
def random_poisson(xp: Any, shape: Any, rate: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext) -> Any:
    rates = np.asarray(rate, np.float64)
    generator = stream(ctx, seed, seed2).generator()
    valid = (rates >= 0) & np.isfinite(rates)
    drawn = generator.poisson(np.where(valid, rates, 0), (*sizes(shape), *rates.shape))
    if dtype in (float16, bfloat16) or dtype.is_floating:
        drawn = np.where(valid, drawn.astype(np.float64), np.nan)
    return xp.asarray(drawn.astype(dtype.numpy_dtype))


# ---- The derivative of a gamma sample with respect to its shape parameter.


@kernel("RandomGammaGrad")
def random_gamma_grad(xp: Any, alpha: Any, sample: Any) -> Any:
    """-(dP/da) / (dP/dx) of the regularized incomplete gamma function P: the sample moves with `alpha` so that its rank
    in the distribution stays. The derivative dP/da is a difference of five points in float64, of whichever of P and 1 - P is
    small."""
    kind = xp.result_type(alpha, sample)
    a, x = (xp.asarray(v, xp.float64) for v in xp.broadcast_arrays(alpha, sample))
    step = a * 1e-3
    lower = apply(xp, "gammainc", a, x) < 0.5

    def tail(k: int) -> Any:
        moved = a + k * step
        return xp.where(lower, apply(xp, "gammainc", moved, x), -apply(xp, "gammaincc", moved, x))

    slope = (8 * (tail(1) - tail(-1)) - (tail(2) - tail(-2))) / (12 * step)
    density = xp.exp((a - 1) * xp.log(x) - x - apply(xp, "gammaln", a))
    return (-slope / density).astype(kind)
