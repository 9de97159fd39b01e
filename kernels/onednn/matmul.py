"""Products of two matrices of float32, plain, on top of a bias, and into a variable.

All are one call of the library's `sgemm`: c = alpha · a b + beta · c.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import Prepare, kernel
from actorflow.engine.runtime.codegen.background import background
from actorflow.engine.runtime.state.variable_state import VariableState

from ..math import matmul as math_matmul
from ..native import product as native_product
from ..native.library import loaded as native
from ..nn import fused
from ..shared.threads import threaded
from . import prepared
from .binding import Binding, loaded
from .panels import Matrix
from .parts import are_shared, shared
from .program import ProgramBuilder, ProgramCache, destination

_WORTH_PRODUCTS, _NARROWEST = 1 << 18, 32
_WORTH_SLIM, _SLIMMEST = 1 << 19, 8
_WORTH_PREPARING = 1 << 15
"""numpy's library computes smaller products, and those of fewer rows or columns, as fast or faster. It computes slim products
of some size at half the speed, and splits them over threads that wait for each other. Products of constants need no copying,
and pay earlier."""
FLOAT32 = frozenset((dtypes.float32,))
_WIDE, _LARGE = 16, 1 << 19
_MANY = 128
"""Rows of which half are enough for the library."""
_LINE = 16
"""Elements of a line of the cache, which no two threads write to."""
_MOST_KNOWN = 256
_programs = ProgramCache()
_known: dict[Any, Callable[..., None]] = {}
"""How products of such shapes are computed, for matrices in order: small products take no longer than the way to them."""


def can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return len(shapes[0]) == len(shapes[1]) == 2 and all(size > 0 for size in (*shapes[0], *shapes[1]))


def pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    if _is_native(attrs, shapes):
        return False
    m, k = _turned(shapes[0], attrs["transpose_a"])
    n = _turned(shapes[1], attrs["transpose_b"])[1]
    slim = min(m, n) < _NARROWEST
    return m * k * n >= (_WORTH_SLIM if slim else _WORTH_PRODUCTS) and min(m, n) >= _SLIMMEST


def _is_native(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    """Whether our own kernel takes a product, since its matrices stay in the cache: it begins sooner, shares short calls, and
    adds a bias while the sums are in registers. Without wide instructions the library is faster."""
    return native_product.is_wide() and native_product.can(attrs, shapes) and native_product.pays(attrs, shapes)


def _turned(shape: Sequence[int], transpose: bool) -> tuple[int, int]:
    return (shape[1], shape[0]) if transpose else (shape[0], shape[1])


def product(
    a: Any, b: Any, transpose_a: bool, transpose_b: bool, c: Any, alpha: float = 1.0, beta: float = 0.0
) -> bool:
    """c = alpha · a b + beta · c for a contiguous `c`; False where that can't be done here."""
    program = _known.get((a.shape, b.shape, c.shape, transpose_a, transpose_b))
    if program is not None:
        try:
            program(a, b, c, alpha, beta)
            return True
        except ValueError:  # they are no buffers, since they are not in order
            pass
    library = loaded()
    if library is None or a.ndim != 2 or b.ndim != 2 or not (a.size and b.size) or c.dtype != np.float32:
        return False
    m, k = _turned(a.shape, transpose_a)
    rows, n = _turned(b.shape, transpose_b)
    if rows != k or c.shape != (m, n) or not c.flags.c_contiguous:
        return False
    shapes = (a.shape, b.shape, c.shape, transpose_a, transpose_b)
    a, turned_a = _stored(a, transpose_a)
    b, turned_b = _stored(b, transpose_b)
    key = (m, n, k, turned_a, turned_b)
    flops = 2.0 * m * n * k
    if are_shared(library, flops, max(m, n)) and library.addresses() is not None:
        run = _programs.get(key, library, lambda: _in_parts(library, *key), 0.0)
    else:
        run = _programs.get(key, library, lambda: _gemm(library, *key), flops)
    if run is None:
        return False
    run(a, b, c, alpha, beta)
    if (turned_a, turned_b) == (transpose_a, transpose_b):
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[shapes] = run.plain()
    return True


def _stored(x: Any, transpose: bool) -> tuple[Any, bool]:
    """A contiguous array, and whether the matrix that is meant is its transpose."""
    if x.flags.c_contiguous:
        return x, transpose
    if x.flags.f_contiguous:
        return x.T, not transpose
    return np.ascontiguousarray(x), transpose


def _gemm(library: Binding, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> Callable[..., None]:
    call, check, pointer = library.lib.dnnl_sgemm, library.check, library.ffi.from_buffer
    kinds = (b"T" if turned_a else b"N", b"T" if turned_b else b"N")
    steps = (m if turned_a else k, k if turned_b else n)
    turns = _turns(m, n, k, turned_b)
    turned_part = _turned_part(library, m, n, k, turned_a)

    def run(a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
        if turns and beta == 0:
            turned_part(a, b, c, alpha, 0, n)
            return
        status = call(*kinds, m, n, k, alpha, pointer(a), steps[0], pointer(b), steps[1], beta, pointer(c), n)
        if status:
            check(status, "a product")

    return run


def _turns(m: int, n: int, k: int, turned_b: bool) -> bool:
    """The library copies the wide matrix to turn it. If few rows use it, the transposed product takes less."""
    return turned_b and n >= _WIDE * m and n * k >= _LARGE


def _turned_part(library: Binding, m: int, n: int, k: int, turned_a: bool) -> Callable[..., None]:
    """Some columns of a product with a turned matrix, as rows of the transposed product."""
    call, check, pointer = library.lib.dnnl_sgemm, library.check, library.ffi.from_buffer
    kind, step = (b"N", m) if turned_a else (b"T", k)

    def run(a: Any, b: Any, c: Any, alpha: float, begin: int, end: int) -> None:
        turned = np.empty((end - begin, m), np.float32)
        left, right = pointer(b[begin:end]), pointer(a)
        check(call(b"N", kind, end - begin, m, k, alpha, left, k, right, step, 0.0, pointer(turned), m), "a product")
        np.copyto(c[:, begin:end], turned.T)

    return run


def _in_parts(library: Binding, m: int, n: int, k: int, turned_a: bool, turned_b: bool) -> Callable[..., None]:
    """`_gemm` for threads of the pool, of which each takes some rows or some columns of the result."""
    turns = _turns(m, n, k, turned_b)
    turned_part = _turned_part(library, m, n, k, turned_a)
    whole = _gemm(library, m, n, k, turned_a, turned_b)
    by_rows = not turns and m >= min(n, _MANY)
    count = m if by_rows else n
    key = ("product", m, n, k, turned_a, turned_b)
    addresses, pool = library.addresses() or (), native()

    def run(a: Any, b: Any, c: Any, alpha: float, beta: float) -> None:
        if turns and beta == 0:
            shared(
                library,
                lambda begin, end: turned_part(a, b, c, alpha, begin, end),
                count,
                key,
                _LINE,
                lambda: whole(a, b, c, alpha, beta),
            )
            return

        def divided(threads: int) -> None:
            own = library.set_threads(1)
            try:
                if threads > 1:
                    piece = -(-count // (threads * _LINE)) * _LINE
                    arguments = (*addresses, turned_a, turned_b, m, n, k, by_rows, piece)
                    status = pool.call("matmul", threads, *map(int, arguments), float(alpha), float(beta), a, b, c)
                    if status is not NotImplemented:
                        library.check(status, "a product")
                        return
                whole(a, b, c, alpha, beta)
            finally:
                if own != 1:
                    library.set_threads(own)

        threaded(key, divided)

    return run


def _prepared(op: str) -> Prepare:
    """Kernels of `op` where the second matrix is a constant."""

    adds = op.startswith("_Add")

    def prepare(attrs: Mapping[str, Any], shapes: Sequence[Any], constants: Sequence[Any]) -> Callable[..., Any] | None:
        shapes, constants = (shapes[1:], constants[1:]) if adds else (shapes, constants)
        if constants[1] is None or attrs["transpose_a"]:
            return None
        activation, turned = attrs.get("activation", ""), attrs["transpose_b"]
        (m, k), (rows, n) = shapes[0], _turned(shapes[1], turned)
        if rows != k or activation not in prepared.ALL or any(shape != (n,) for shape in shapes[2:]):
            return None
        if m * k * n < _WORTH_PREPARING:
            return None

        def described(library: Binding, some: int | prepared.Columns) -> tuple[ProgramBuilder, Any]:
            return prepared.product(library, some, k, n, turned, bool(shapes[2:]), activation, adds)

        def shares() -> Sequence[prepared.Share]:
            return prepared.shares_of_product(m, k, n, 0 if turned else 1)

        otherwise = prepared.unprepared(lambda: _KERNELS[op], attrs)
        weighted, flops = prepared.Weighted(constants, adds), 2.0 * m * n * k
        return prepared.kernel_of(
            weighted,
            whole=m,
            shares=shares,
            flops=flops,
            shapes=shapes,
            result=(m, n),
            described=described,
            activation=activation,
            otherwise=otherwise,
            adds=adds,
            matrix=Matrix(k, n, turned),
        )

    return prepare


@functools.cache
def _warm() -> None:
    """Lets a thread wait for the library's first product in a process, which generates code for all sizes: 30 ms."""
    background.add(_first_product)


def _first_product() -> None:
    library = loaded()
    assert library is not None, "a kernel of it was chosen"
    x = np.ones((_LINE, _LINE), np.float32)
    own = library.set_threads(1)
    try:
        _gemm(library, _LINE, _LINE, _LINE, False, False)(x, x, np.empty_like(x), 1.0, 0.0)
    finally:
        library.set_threads(own)


_OPTIONS: dict[str, Any] = {
    "device": "CPU",
    "dtypes": FLOAT32,
    "library": "onednn",
    "can": can,
    "pays": pays,
    "warm": _warm,
}


@kernel("MatMul", **_OPTIONS, prepare=_prepared("MatMul"))
def matmul(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    if a.ndim == b.ndim == 2:
        c = _result(a, b, transpose_a, transpose_b, out)
        if product(a, b, transpose_a, transpose_b, c):
            return c
    return math_matmul.matmul_on_cpu(xp, a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)


def _result(a: Any, b: Any, transpose_a: bool, transpose_b: bool, out: Any) -> Any:
    """`out` where the library can write there, else a fresh array."""
    if out is not None and out.flags.c_contiguous:
        return out
    return np.empty((a.shape[transpose_a], b.shape[not transpose_b]), np.float32)


@kernel("_FusedMatMul", **_OPTIONS, prepare=_prepared("_FusedMatMul"))
def fused_matmul(
    xp: Any, a: Any, b: Any, bias: Any, *, transpose_a: bool, transpose_b: bool, activation: str, out: Any = None
) -> Any:
    if a.ndim == b.ndim == 2:
        c = _result(a, b, transpose_a, transpose_b, out)
        if bias.shape == c.shape[1:]:
            c[...] = bias
            if product(a, b, transpose_a, transpose_b, c, beta=1.0):
                return fused.activated(xp, c, activation)
    return fused.fused_matmul(
        xp, a, b, bias, transpose_a=transpose_a, transpose_b=transpose_b, activation=activation, out=out
    )


def _can_add(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return can(attrs, shapes[1:])


def _adding_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return pays(attrs, shapes[1:])


@kernel("_AddMatMul", **{**_OPTIONS, "can": _can_add, "pays": _adding_pays}, prepare=_prepared("_AddMatMul"))
def add_matmul(xp: Any, c: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, out: Any = None) -> Any:
    if a.ndim == b.ndim == 2 and c.shape == (_turned(a.shape, transpose_a)[0], _turned(b.shape, transpose_b)[1]):
        y = destination(out, c.shape)
        if y is not c:
            y[...] = c
        if product(a, b, transpose_a, transpose_b, y, beta=1.0):
            return y
    return fused.add_matmul(xp, c, a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)


@kernel("_AddFusedMatMul", **{**_OPTIONS, "can": _can_add, "pays": _adding_pays}, prepare=_prepared("_AddFusedMatMul"))
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
    y = add_matmul(xp, c, a, b, transpose_a=transpose_a, transpose_b=transpose_b, out=out)
    return fused.finished(xp, y, bias, activation)


_KERNELS: Mapping[str, Callable[..., Any]] = {
    "MatMul": matmul,
    "_FusedMatMul": fused_matmul,
    "_AddMatMul": add_matmul,
    "_AddFusedMatMul": add_fused_matmul,
}


def _can_step(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return can(attrs, shapes[2:])


def _step_pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return pays(attrs, shapes[2:])


@kernel("_SgdMatMul", **{**_OPTIONS, "can": _can_step, "pays": _step_pays})
def sgd_matmul(
    xp: Any, var: VariableState, alpha: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool
) -> None:
    # With an alpha of 0 the library leaves the product out, and with an infinite one its zeros turn to NaN elsewhere.
    if a.dtype == np.float32 and a.ndim == b.ndim == 2 and alpha != 0 and isfinite(alpha):
        var.check_shape((_turned(a.shape, transpose_a)[0], _turned(b.shape, transpose_b)[1]))
        if product(a, b, transpose_a, transpose_b, var.writable(), -float(alpha), 1.0):
            return
    fused.sgd_matmul(xp, var, alpha, a, b, transpose_a=transpose_a, transpose_b=transpose_b)
