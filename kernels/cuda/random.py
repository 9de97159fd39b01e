"""Random numbers drawn on a GPU: the streams that `philox` defines, so that a node draws the same numbers on every device.

Bits, integers and uniform numbers have the CPU's bits; normals go through the GPU's logarithm and sine, which round by
themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorflow.base import dtypes as dt
from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu
from actorflow.engine.runtime.context import KernelContext

from ..random.distributions import check_bounds, next_run, sizes, uniform_bits
from .choices import GPU

_TYPES = frozenset((dt.float16, dt.float32, dt.float64))
_MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_INCREMENTS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _high(x: Any, factor: int) -> Any:
    """The upper 64 bits of the products of `x` with a number of 64 bits."""
    low, high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    x0, x1 = x & _LOW, x >> _HALF
    across = x1 * low + (x0 * low >> _HALF)
    return x1 * high + (across >> _HALF) + ((x0 * high + (across & _LOW)) >> _HALF)


def words64(xp: Any, key: Any, run: int, kind: int, count: int) -> Any:
    """The first `count` words of a stream."""
    blocks = -(-count // 4)
    zeros = xp.zeros(blocks, np.uint64)
    c0, c1 = xp.arange(1, blocks + 1, dtype=np.uint64), zeros
    c2, c3 = zeros + np.uint64(run), zeros + np.uint64(kind)
    k0, k1 = int(key[0]), int(key[1])
    for _ in range(_ROUNDS):
        high0, low0 = _high(c0, _MULTIPLIERS[0]), c0 * np.uint64(_MULTIPLIERS[0])
        high1, low1 = _high(c2, _MULTIPLIERS[1]), c2 * np.uint64(_MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ np.uint64(k0), low1, high0 ^ c3 ^ np.uint64(k1), low0
        k0, k1 = (k0 + _INCREMENTS[0]) % 2**64, (k1 + _INCREMENTS[1]) % 2**64
    return xp.stack([c0, c1, c2, c3], 1).reshape(-1)[:count]


def words32(xp: Any, key: Any, run: int, kind: int, count: int) -> Any:
    """The first `count` halves of words, low halves first."""
    return words64(xp, key, run, kind, (count + 1) // 2).view(np.uint32)[:count]


def uniform(xp: Any, key: Any, run: int, kind: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """Uniform numbers in [0, 1)."""
    bits, count = uniform_bits(dtype), math.prod(shape)
    if dtype is dt.float64:
        whole = words64(xp, key, run, kind, count) >> np.uint64(64 - bits)
        drawn = whole.astype(np.float64) * np.float64(2.0**-bits)
    else:
        whole = words32(xp, key, run, kind, count) >> np.uint32(32 - bits)
        drawn = whole.astype(np.float32) * np.float32(2.0**-bits)
    return drawn.astype(dtype.numpy_dtype).reshape(shape)


def normal(xp: Any, key: Any, run: int, kind: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """Normal numbers of mean 0 and variance 1, by Box and Muller."""
    count = math.prod(shape)
    pairs = (count + 1) // 2
    wide: Any
    if dtype is dt.float64:
        wide, unit, turn = np.float64, 2.0**-53, math.pi / 2**63
        words = words64(xp, key, run, kind, 2 * pairs)
        radius = (words[0::2] >> np.uint64(11)).astype(wide) + wide(1)
        angle = words.view(np.int64)[1::2].astype(wide)
    else:
        wide, unit, turn = np.float32, 2.0**-24, math.pi / 2**31
        words = words32(xp, key, run, kind, 2 * pairs)
        radius = ((words[0::2] >> np.uint32(8)) + np.uint32(1)).astype(wide)
        angle = words.view(np.int32)[1::2].astype(wide)
    length = xp.sqrt(xp.log(radius * wide(unit)) * wide(-2))
    angle = angle * wide(turn)
    drawn = xp.stack([length * xp.cos(angle), length * xp.sin(angle)], 1).reshape(-1)[:count]
    return drawn.astype(dtype.numpy_dtype).reshape(shape)


@kernel("RandomUniform", device=GPU, dtypes=_TYPES, gpu=Gpu(host=(0,)))
def random_uniform(xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext) -> Any:
    return uniform(xp, *next_run(ctx, seed, seed2), 0, sizes(shape), dtype)


@kernel("RandomStandardNormal", device=GPU, dtypes=_TYPES, gpu=Gpu(host=(0,)))
def random_normal(xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext) -> Any:
    return normal(xp, *next_run(ctx, seed, seed2), 0, sizes(shape), dtype)


@kernel("RandomUniformInt", device=GPU, gpu=Gpu(host=(0, 1, 2)))
def random_uniform_int(xp: Any, shape: Any, low: Any, high: Any, *, seed: int, seed2: int, ctx: KernelContext) -> Any:
    check_bounds(low, high)
    dims, first = sizes(shape), int(low)
    words = words64(xp, *next_run(ctx, seed, seed2), 0, math.prod(dims))
    words = words % np.uint64(int(high) - first) + np.uint64(first % 2**64)
    return words.view(np.int64).astype(low.dtype).reshape(dims)
