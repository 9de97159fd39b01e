"""Kernels of the stateless random ops: the streams of `philox`, of the kind that no node with state draws from."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel

from . import philox
from .distributions import check_bounds, classes, draw, sizes, uniform_bits
from .philox import PhiloxStream


def key_of(seed: Any) -> Any:
    """The key of a seed's stream, as two words."""
    if np.shape(seed) != (2,):
        raise ValueError(f"A seed of a stateless op is a vector of two integers, but its shape is {np.shape(seed)}.")
    return np.asarray(seed).astype(np.int64).view(np.uint64)


def _stream(seed: Any) -> PhiloxStream:
    return PhiloxStream(key_of(seed).tolist(), kind=1)


@kernel("StatelessRandomUniform")
def uniform(xp: Any, shape: Any, seed: Any, *, dtype: DType, out: Any = None) -> Any:
    return draw(xp, _stream(seed), philox.uniform(uniform_bits(dtype)), shape, dtype, out)


@kernel("StatelessRandomUniformInt")
def uniform_int(xp: Any, shape: Any, seed: Any, low: Any, high: Any) -> Any:
    check_bounds(low, high)
    return xp.asarray(philox.integers(_stream(seed), int(low), int(high), sizes(shape), low.dtype))


@kernel("StatelessRandomNormal")
def normal(xp: Any, shape: Any, seed: Any, *, dtype: DType, out: Any = None) -> Any:
    return draw(xp, _stream(seed), philox.normal, shape, dtype, out)


@kernel("StatelessTruncatedNormal")
def truncated_normal(xp: Any, shape: Any, seed: Any, *, dtype: DType, out: Any = None) -> Any:
    return draw(xp, _stream(seed), philox.truncated_normal, shape, dtype, out)


@kernel("StatelessMultinomial")
def multinomial(xp: Any, logits: Any, num_samples: Any, seed: Any, *, output_dtype: DType) -> Any:
    return classes(xp, _stream(seed), logits, int(num_samples), output_dtype)
