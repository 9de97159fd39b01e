"""Small products of float32 matrices: plain, with a bias and a ReLU, and subtracted from a variable. Results may differ from
numpy's in the last bits, because products are added in another order, and without being rounded where the processor can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow import dtypes
from actorflow.registry.kernel import kernel
from actorflow.runtime.state.variable_state import VariableState

from ..math import matmul as math_matmul
from ..nn import fused
from .library import function

MOST = 1 << 15
"""Multiplications up to which this costs less than numpy's library."""
MOST_COPIED, WORTH_COPYING = 1 << 14, 1 << 10
"""The same where the second matrix is copied, since it is turned or its rows are not whole lanes; and the elements that are
worth it for few rows."""
_LANES, _ROWS = 32, 4


def _python(
    a: Any, b: Any, transpose_a: bool, transpose_b: bool, bias: Any = None, relu: bool = False, out: Any = None
) -> Any:
    options: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out": out}
    if bias is None:
        return math_matmul.matmul_on_cpu(np, a, b, **options)
    return fused.fused_matmul(np, a, b, bias, **options, activation="Relu" if relu else "")


def _nothing(*given: Any) -> None:
    """Stands for: numpy has to compute it, or to say what is wrong."""


_product = function("product", _python)
_descend = function("descend", _nothing)


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == len(shapes[1]) == 2 and attrs.get("activation", "") in ("", "Relu")


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    turned = attrs["transpose_b"]
    (k, n), rows = (reversed(shapes[1]) if turned else shapes[1]), shapes[0][attrs["transpose_a"]]
    if turned or n % _LANES:
        return bool(n >= _ROWS and 0 < rows * k * n <= MOST_COPIED and (rows >= _ROWS or k * n <= WORTH_COPYING))
    return bool(0 < rows * k * n <= MOST)


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native"}


@kernel("MatMul", can=_can, pays=_pays, **_OPTIONS)
def matmul(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return (
        _product(a, b, transpose_a, transpose_b)
        if out is None
        else _product(a, b, transpose_a, transpose_b, None, False, out)
    )


@kernel("_FusedMatMul", can=_can, pays=_pays, **_OPTIONS)
def fused_matmul(
    xp: Any, a: Any, b: Any, bias: Any, *, transpose_a: bool, transpose_b: bool, activation: str, out: Any = None
) -> Any:
    return (
        _product(a, b, transpose_a, transpose_b, bias, activation == "Relu")
        if out is None
        else _product(a, b, transpose_a, transpose_b, bias, activation == "Relu", out)
    )


def _of_step(question: Any) -> Any:
    return lambda attrs, shapes: question(attrs, shapes[2:])


@kernel("_SgdMatMul", can=_of_step(_can), pays=_of_step(_pays), **_OPTIONS)
def sgd_matmul(
    xp: Any, var: VariableState, alpha: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool
) -> None:
    if _descend(var.writable(), alpha, a, b, transpose_a, transpose_b) is None:
        fused.sgd_matmul(xp, var, alpha, a, b, transpose_a=transpose_a, transpose_b=transpose_b)
