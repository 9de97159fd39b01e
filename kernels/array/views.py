"""Reshapes, transposes and splits whose sizes and orders are constants: those are read once, as the plan is made.

A model with attention has dozens of them, and to read a vector takes longer than the view. They count as kernels of the native
library, and go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from actorflow.base.registry.kernel import kernel

from . import join
from . import shape as views


def _nowhere(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Without constants the other kernels are as good."""
    return False


def _prepare_reshape(
    attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]
) -> Callable[..., Any] | None:
    if constants[1] is None or constants[1].ndim != 1:
        return None
    dims, elements = constants[1].tolist(), prod(shapes[0])
    if dims.count(-1) == 1 and elements:
        product = -prod(dims)
        dims[dims.index(-1)] = elements // product if product > 0 else 0
    if any(size <= 0 for size in dims) or prod(dims) != elements:
        return None  # nothing to read, or an error
    sizes = tuple(dims)

    def run(xp: Any, x: Any, shape: Any) -> Any:
        return x.reshape(sizes) if x.size == elements else views.reshape(xp, x, shape)

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


def _prepare_split(
    attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]
) -> Callable[..., Any] | None:
    if constants[1] is None or constants[2] is None or attrs["num_split"] < 2:
        return None
    try:
        cuts = join.cuts_of(shapes[0], constants[1], constants[2], attrs["num_split"])
    except ValueError:
        return None  # the kernel says what is wrong
    expected, count = tuple(shapes[0]), attrs["num_split"]

    def run(xp: Any, value: Any, sizes: Any, axis: Any) -> Any:
        if value.shape != expected:  # a function in Python may give another shape than was said of it
            return join.split_v(xp, value, sizes, axis, num_split=count)
        return tuple([value[cut] for cut in cuts])

    return run


_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native", "pays": _nowhere}


@kernel("Reshape", prepare=_prepare_reshape, **_OPTIONS)
def reshape(xp: Any, x: Any, shape: Any) -> Any:
    return views.reshape(xp, x, shape)


@kernel("Transpose", prepare=_prepare_transpose, **_OPTIONS)
def transpose(xp: Any, x: Any, perm: Any) -> Any:
    return views.transpose(xp, x, perm)


@kernel("SplitV", prepare=_prepare_split, **_OPTIONS)
def split_v(xp: Any, value: Any, sizes: Any, axis: Any, *, num_split: int) -> Any:
    return join.split_v(xp, value, sizes, axis, num_split=num_split)
