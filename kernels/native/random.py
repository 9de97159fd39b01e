"""Random numbers of float32: the same bits as `kernels/random/philox.py` defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext

from ..random import distributions, philox, stateless
from .library import function


def _python(draw: philox.Fill) -> Callable[..., Any]:
    """The arguments of a draw without the library: shape, key, run, kind of the stream, and where the numbers go."""

    def drawn(shape: Any, key: Any, run: int, kind: int, out: Any = None) -> Any:
        stream = philox.PhiloxStream(key.tolist(), run, kind)
        return distributions.draw(np, stream, draw, shape, dtypes.float32, out)

    return drawn


FILLS: Mapping[str, philox.Fill] = {
    "uniform": philox.uniform(distributions.uniform_bits(dtypes.float32)),
    "normal": philox.normal,
    "truncated_normal": philox.truncated_normal,
}
"""The functions of the library, each with the rule whose numbers it draws."""


def _vector(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == 1


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native"}


def _register(function_name: str, op: str, stateless_op: str) -> None:
    draw = function(function_name, _python(FILLS[function_name]))

    @kernel(op, can=_vector, pays=_vector, **_OPTIONS)
    def stateful(
        xp: Any, shape: Any, *, dtype: DType, seed: int, seed2: int, ctx: KernelContext, out: Any = None
    ) -> Any:
        return draw(shape, *distributions.next_run(ctx, seed, seed2), 0, out)

    @kernel(stateless_op, can=_vector, pays=_vector, **_OPTIONS)
    def of_seed(xp: Any, shape: Any, seed: Any, *, dtype: DType, out: Any = None) -> Any:
        return draw(shape, stateless.key_of(seed), 0, 1, out)


_register("uniform", "RandomUniform", "StatelessRandomUniform")
_register("normal", "RandomStandardNormal", "StatelessRandomNormal")
_register("truncated_normal", "TruncatedNormal", "StatelessTruncatedNormal")
