"""Reshapes and transposes whose sizes and orders are constants: those are read once, as the plan is made, and not in each call.

A model with attention has dozens of them, and to read a vector takes longer than the view. They count as kernels of the native
library, and go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from actorflow.registry.kernel import kernel

from . import shape as views


def _nowhere(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Without constants the other kernels are as good."""
    return False


def _prepare_reshape(
    attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]
) -> Callable[..., Any] | None:
    given = constants[1]
    if given is None or given.ndim != 1 or (given <= 0).any() or prod(given.tolist()) != prod(shapes[0]):
        return None  # a size that is looked for, or an error
    sizes = tuple(given.tolist())

    def run(xp: Any, x: Any, shape: Any) -> Any:
        return x.reshape(sizes)

    return run


def _prepare_transpose(
    attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]
) -> Callable[..., Any] | None:
    if constants[1] is None or sorted(constants[1].tolist()) != list(range(len(shapes[0]))):
        return None
    order = tuple(constants[1].tolist())

    def run(xp: Any, x: Any, perm: Any) -> Any:
        return x.transpose(order)

    return run


_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native", "pays": _nowhere}


@kernel("Reshape", prepare=_prepare_reshape, **_OPTIONS)
def reshape(xp: Any, x: Any, shape: Any) -> Any:
    return views.reshape(xp, x, shape)


@kernel("Transpose", prepare=_prepare_transpose, **_OPTIONS)
def transpose(xp: Any, x: Any, perm: Any) -> Any:
    return views.transpose(xp, x, perm)
