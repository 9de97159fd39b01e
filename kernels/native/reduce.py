"""Sums, the gradients of biases, means and extremes, and cumulative sums.

Sums of fewer than 1024 elements are numpy's bit for bit, and so are all extremes and cumulative sums. Longer sums are added in
another order (`reduce.c`), so they may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import num_elements

from ..math import reduction
from ..nn import activation
from .elementwise import FLOATS, NUMBERS
from .library import function


def _of(name: str, base: Callable[..., Any]) -> Callable[..., Any]:
    return function(name, lambda x, axis, keep_dims, out=None: base(np, x, axis, keep_dims=keep_dims, out=out))


_sum = _of("sum", reduction.sum_of)
_mean = _of("mean", reduction.mean_of)
_max = _of("max", reduction.max_of)
_min = _of("min", reduction.min_of)


def _any(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    if len(shapes[1]) == 0:  # such a number comes as an array beside arrays only
        return len(shapes[0]) > 1 or (len(shapes[0]) == 1 and attrs["keep_dims"])
    return len(shapes[0]) > 0 and len(shapes[1]) == 1


def _some(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return (num_elements(shapes[0]) or 0) > 1


_ORDERED = FLOATS | {dtypes.int32}  # not every processor compares several numbers of 64 bits at once
_OPTIONS: dict[str, Any] = {"device": "CPU", "library": "native", "can": _any, "pays": _some}


@kernel("Sum", dtypes=FLOATS, **_OPTIONS)
def sum_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _sum(x, axis, keep_dims) if out is None else _sum(x, axis, keep_dims, out)


def _biased(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 1 and attrs["data_format"] != "NCHW"


_bias_add_grad = function("bias_add_grad", lambda dy: activation.bias_add_grad(np, dy, data_format="NHWC"))


@kernel("BiasAddGrad", device="CPU", dtypes=FLOATS, library="native", can=_biased, pays=_some)
def bias_add_grad(xp: Any, dy: Any, *, data_format: str) -> Any:
    return _bias_add_grad(dy)


@kernel("Mean", dtypes=FLOATS, **_OPTIONS)
def mean_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _mean(x, axis, keep_dims) if out is None else _mean(x, axis, keep_dims, out)


@kernel("Max", dtypes=_ORDERED, **_OPTIONS)
def max_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _max(x, axis, keep_dims) if out is None else _max(x, axis, keep_dims, out)


@kernel("Min", dtypes=_ORDERED, **_OPTIONS)
def min_of(xp: Any, x: Any, axis: Any, *, keep_dims: bool, out: Any = None) -> Any:
    return _min(x, axis, keep_dims) if out is None else _min(x, axis, keep_dims, out)


def _python(x: Any, axis: Any, exclusive: bool, reverse: bool, out: Any = None) -> Any:
    return reduction.cumsum(np, x, axis, exclusive=exclusive, reverse=reverse, out=out)


_cumsum = function("cumsum", _python)


def _ranked(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) > 0


@kernel("Cumsum", device="CPU", dtypes=NUMBERS, library="native", can=_ranked, pays=_some)
def cumsum(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool, out: Any = None) -> Any:
    return _cumsum(x, axis, exclusive, reverse) if out is None else _cumsum(x, axis, exclusive, reverse, out)
