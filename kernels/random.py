"""Kernels of random ops.

The numbers of a node's n-th run in a session depend on its seeds and n alone: not on other nodes, nor on how many numbers
were drawn before. The generator's counter has 256 bits; the run's number is put into the third word of 64, so a run has
2^128 steps of its own.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from actorflow.dtypes import DType, bfloat16, float16
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext

from .strings import as_arrays

# Runs of one node may overlap, on threads.
_lock = threading.Lock()


def generator(ctx: KernelContext, seed: int, seed2: int) -> np.random.Generator:
    """The generator for the next run of a node; `ctx.state["runs"]` counts them."""
    with _lock:
        runs = ctx.state.get("runs", 0)
        ctx.state["runs"] = runs + 1
        if "key" not in ctx.state:
            ctx.state["key"] = np.array((seed, seed2), np.uint64) if seed or seed2 else _fresh_key()
        key = ctx.state["key"]
    return np.random.Generator(np.random.Philox(key=key, counter=(0, 0, runs, 0)))


def _fresh_key() -> Any:
    return np.random.SeedSequence().generate_state(2, np.uint64)


def sizes(shape: Any) -> tuple[int, ...]:
    """The shape that a vector spells. Raises ValueError where it is none."""
    found = tuple(shape.tolist()) if shape.ndim == 1 else None
    if found is None or any(s < 0 for s in found):
        raise ValueError(f"A shape is a vector of sizes of zero or more, but {shape.tolist()} was given.")
    return found


def _drawn_as(dtype: DType) -> Any:
    """The type in which numpy draws; the 16 bit ones are rounded from float32."""
    return np.dtype(np.float32) if dtype in (float16, bfloat16) else dtype.as_numpy_dtype


@kernel("RandomUniform")
def random_uniform(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    draw = generator(ctx, seed, seed2)
    if dtype in (float16, bfloat16):
        # As many bits as the type has: rounding a float32 could give 1.
        bits = 11 if dtype is float16 else 8
        whole = draw.integers(0, 2**bits, sizes(shape), np.uint16)
        return xp.asarray((whole.astype(np.float32) / 2**bits).astype(dtype.as_numpy_dtype))
    if out is not None and xp is np:
        return draw.random(dtype=out.dtype, out=out)
    return xp.asarray(draw.random(sizes(shape), dtype.as_numpy_dtype))


@kernel("RandomUniformInt")
def random_uniform_int(xp: Any, shape: Any, low: Any, high: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    if low >= high:
        raise ValueError(f"random_uniform needs minval < maxval, but they are {int(low)} and {int(high)}.")
    drawn = generator(ctx, seed, seed2).integers(int(low), int(high), sizes(shape), low.dtype)
    return xp.asarray(drawn)


@kernel("RandomStandardNormal")
def random_normal(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    draw, kind = generator(ctx, seed, seed2), _drawn_as(dtype)
    if out is not None and out.dtype == kind and xp is np:
        return draw.standard_normal(dtype=kind, out=out)
    return xp.asarray(draw.standard_normal(sizes(shape), kind).astype(dtype.as_numpy_dtype, copy=False))


@kernel("TruncatedNormal")
def truncated_normal(xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext) -> Any:
    draw, kind = generator(ctx, seed, seed2), _drawn_as(dtype)
    values = np.asarray(draw.standard_normal(sizes(shape), kind))
    flat = values.reshape(-1)
    again = np.flatnonzero(np.abs(flat) >= 2)
    while again.size:
        flat[again] = draw.standard_normal(again.size, kind)
        again = again[np.abs(flat[again]) >= 2]
    return xp.asarray(values.astype(dtype.as_numpy_dtype, copy=False))


@kernel("RandomShuffle")
def random_shuffle(xp: Any, value: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    draw, rows = generator(ctx, seed, seed2), as_arrays(value)
    if rows.ndim == 0:
        return as_arrays(rows)
    return rows.take(xp.asarray(draw.permutation(len(rows))), 0)


@kernel("Multinomial")
def multinomial(
    xp: Any, logits: Any, num_samples: Any, *, seed: int, seed2: int, output_dtype: DType, ctx: KernelContext
) -> Any:
    count = int(num_samples)
    if logits.ndim != 2 or logits.shape[0] and not logits.shape[1] or count < 0:
        raise ValueError(f"multinomial can't draw {count} samples from logits of shape {logits.shape}.")
    draw = generator(ctx, seed, seed2).random((len(logits), count))
    wide = np.asarray(logits, np.float64)
    weights = np.cumsum(np.exp(wide - wide.max(axis=1, keepdims=True)), axis=1)
    # Where a uniform number falls among the sums of probabilities tells the class.
    classes = [np.searchsorted(row, u * row[-1], side="right") for row, u in zip(weights, draw)]
    result = np.reshape(classes, (len(logits), count)).astype(output_dtype.as_numpy_dtype)
    return xp.asarray(result)
