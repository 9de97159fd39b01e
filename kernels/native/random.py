"""Uniform random numbers of float32: the same bits as `kernels/random/philox.py` defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.dtypes import DType
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext

from ..random import distributions as random
from ..random import philox
from .library import function


def _python(shape: Any, key: Any, run: int, out: Any = None) -> Any:
    how = philox.uniform(random.uniform_bits(dtypes.float32))
    return random.draw(np, philox.Stream(key, run=run), how, shape, dtypes.float32, out)


_uniform = function("uniform", _python)


def _vector(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 1


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native"}


@kernel("RandomUniform", can=_vector, pays=_vector, **_OPTIONS)
def random_uniform(
    xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
) -> Any:
    return _uniform(shape, *random.next_run(ctx, seed, seed2), out)
