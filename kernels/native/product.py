"""Products of float32 matrices: plain, with a bias and a ReLU, added to a matrix, or both, and subtracted from a variable.
There are also batches of products, whose matrices may lie as they do in the result of one product for all heads.

Results may differ from numpy's in the last bits, because products are added in another order, and without being rounded where the
processor can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.state.variable_state import VariableState

from ..math import matmul as math_matmul
from ..nn import fused
from .library import function, loaded

FEW, FEW_COPIED, FEW_WORTH_COPYING = 1 << 15, 1 << 14, 1 << 10
"""Multiplications up to which numpy's library costs more before it begins than this does in all. The second number is for a
second matrix that is copied, since it is turned or its rows are not whole lanes. The third is the elements that are worth a
copy for few rows."""
MOST, MOST_ELEMENTS, MOST_COPIED = 1 << 26, 1 << 18, 1 << 10
"""Multiplications, the elements of each matrix, and the inner dimension if the second matrix is copied, up to which that matrix
stays in the cache: it is read again for each few rows of the first."""
MOST_OF_BATCH = 1 << 18
"""Multiplications of each product of a batch."""
_LANES, _ROWS = 32, 4
_LEAST, _LEAST_COPIED = 8, 16
"""Rows from which on the lanes of many multiplications are full."""


def _python(
    a: Any,
    b: Any,
    transpose_a: bool,
    transpose_b: bool,
    plus: Any = None,
    relu: bool = False,
    out: Any = None,
    bias: Any = None,
) -> Any:
    options: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b, "out": out}
    if bias is not None:
        return fused.add_fused_matmul(np, plus, a, b, bias, **options, activation="Relu" if relu else "")
    if plus is None:
        return math_matmul.matmul_on_cpu(np, a, b, **options)
    if plus.ndim > 1:
        return fused.add_matmul(np, plus, a, b, **options)
    return fused.fused_matmul(np, a, b, plus, **options, activation="Relu" if relu else "")


_product = function("product", _python)
_descend = function("descend")


def _batch_in_python(x: Any, y: Any, adj_x: bool, adj_y: bool, out: Any) -> Any:
    return math_matmul.batch_matmul_on_cpu(np, x, y, adj_x=adj_x, adj_y=adj_y, out=out)


_head_products = function("head_products", _batch_in_python)


def is_wide() -> bool:
    """Whether the library is there, and has wide instructions. Without them others' products are faster than ours."""
    library = loaded()
    return library is not None and library.level() != "plain"


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == len(shapes[1]) == 2 and attrs.get("activation", "") in ("", "Relu")


def pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    turned = attrs["transpose_b"]
    (k, n), rows = (reversed(shapes[1]) if turned else shapes[1]), shapes[0][attrs["transpose_a"]]
    size = rows * k * n
    copied = turned or n % _LANES
    if copied and (size <= FEW_COPIED or n < _LANES):
        return bool(0 < size <= FEW_COPIED and n >= _ROWS and (rows >= _ROWS or k * n <= FEW_WORTH_COPYING))
    if size <= FEW and not copied:
        return bool(size > 0)
    near = size <= MOST and max(rows * k, k * n) <= MOST_ELEMENTS
    return bool(near and rows >= (_LEAST_COPIED if turned else _LEAST) and not (copied and k > MOST_COPIED))


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native"}


@kernel("MatMul", can=can, pays=pays, **_OPTIONS)
def matmul(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return (
        _product(a, b, transpose_a, transpose_b)
        if out is None
        else _product(a, b, transpose_a, transpose_b, None, False, out)
    )


@kernel("_FusedMatMul", can=can, pays=pays, **_OPTIONS)
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


@kernel("_SgdMatMul", can=_of_step(can), pays=_of_step(pays), **_OPTIONS)
def sgd_matmul(
    xp: Any, var: VariableState, alpha: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool
) -> None:
    if _descend(var.writable(), alpha, a, b, transpose_a, transpose_b) is None:
        fused.sgd_matmul(xp, var, alpha, a, b, transpose_a=transpose_a, transpose_b=transpose_b)


def _of_sum(question: Any) -> Any:
    return lambda attrs, shapes: len(shapes[0]) == 2 and question(attrs, shapes[1:])


@kernel("_AddMatMul", can=_of_sum(can), pays=_of_sum(pays), **_OPTIONS)
def add_matmul(xp: Any, c: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    return (
        _product(a, b, transpose_a, transpose_b, c)
        if out is None
        else _product(a, b, transpose_a, transpose_b, c, False, out)
    )


@kernel("_AddFusedMatMul", can=_of_sum(can), pays=_of_sum(pays), **_OPTIONS)
def add_fused_matmul(
    xp: Any,
    c: Any,
    a: Any,
    b: Any,
    bias: Any,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    out: Any = None,
) -> Any:
    return _product(a, b, transpose_a, transpose_b, c, activation == "Relu", out, bias)


def can_batch(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Batches of the same sizes, along 1 or 2 dimensions."""
    x, y = shapes
    return 3 <= len(x) == len(y) <= 4 and tuple(x[:-2]) == tuple(y[:-2])


def batch_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Small matrices that fill lanes. Other libraries' products of larger matrices take as long."""
    (m, k), n = shapes[0][-2:], shapes[1][-1]
    if attrs["adj_x"]:
        m, k = k, m
    if attrs["adj_y"]:
        n = shapes[1][-2]
    copied = attrs["adj_y"] or n % _LEAST_COPIED
    fills = k >= _ROWS and n >= _LEAST_COPIED and m >= (_LEAST if copied else _ROWS)
    return bool(0 < m * k * n <= MOST_OF_BATCH and fills and is_wide())


@kernel("BatchMatMulV2", can=can_batch, pays=batch_pays, **_OPTIONS)
def batch_matmul(xp: Any, x: Any, y: Any, *, adj_x: bool, adj_y: bool, out: Any = None) -> Any:
    return _head_products(x, y, adj_x, adj_y, out)
