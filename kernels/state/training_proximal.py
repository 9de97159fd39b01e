"""Kernels of optimizers that shrink weights to zero (formulas: `actorflow.ops.state.training_proximal`)."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.runtime.state.variable_state import VariableState

from .training import blocks, opened, updated_rows


def _shrink(xp: Any, w: Any, t: Any, threshold: Any) -> None:
    """w = sign(w) · max(|w| - threshold, 0), where a threshold may stand in `t` itself."""
    xp.subtract(xp.abs(w), threshold, out=t)
    xp.maximum(t, 0, out=t)
    xp.copysign(t, w, out=w)


def _proximal_gradient_descent(xp: Any, w: Any, g: Any, t: Any, alpha: Any, l1: Any, l2: Any) -> None:
    xp.multiply(g, alpha, out=t)
    xp.subtract(w, t, out=w)
    if l1 > 0:
        _shrink(xp, w, t, alpha * l1)
    xp.divide(w, 1 + alpha * l2, out=w)


@kernel("ApplyProximalGradientDescent")
def proximal_gradient_descent(xp: Any, var: VariableState, alpha: Any, l1: Any, l2: Any, delta: Any) -> None:
    for w, g, t in blocks(xp, *opened(delta, var), delta):
        _proximal_gradient_descent(xp, w, g, t, alpha, l1, l2)


@kernel("SparseApplyProximalGradientDescent")
def sparse_proximal_gradient_descent(
    xp: Any, var: VariableState, alpha: Any, l1: Any, l2: Any, grad: Any, indices: Any
) -> None:
    with updated_rows(xp, grad, indices, var) as (w, g, t):
        _proximal_gradient_descent(xp, w, g, t, alpha, l1, l2)


def _proximal_adagrad(xp: Any, w: Any, a: Any, g: Any, t: Any, rate: Any, lr: Any, l1: Any, l2: Any) -> None:
    xp.multiply(g, g, out=t)
    xp.add(a, t, out=a)
    xp.sqrt(a, out=rate)
    xp.divide(lr, rate, out=rate)
    xp.multiply(g, rate, out=t)
    xp.subtract(w, t, out=w)
    if l1 > 0:
        xp.multiply(rate, l1, out=t)
        _shrink(xp, w, t, t)
    xp.multiply(rate, l2, out=rate)
    xp.add(rate, 1, out=rate)
    xp.divide(w, rate, out=w)


@kernel("ApplyProximalAdagrad")
def proximal_adagrad(xp: Any, var: VariableState, accum: VariableState, lr: Any, l1: Any, l2: Any, grad: Any) -> None:
    for w, a, g, t, rate in blocks(xp, *opened(grad, var, accum), grad, scratch=2):
        _proximal_adagrad(xp, w, a, g, t, rate, lr, l1, l2)


@kernel("SparseApplyProximalAdagrad")
def sparse_proximal_adagrad(
    xp: Any, var: VariableState, accum: VariableState, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any
) -> None:
    with updated_rows(xp, grad, indices, var, accum, scratch=2) as (w, a, g, t, rate):
        _proximal_adagrad(xp, w, a, g, t, rate, lr, l1, l2)


def _adagrad_da(xp: Any, w: Any, s: Any, q: Any, g: Any, t: Any, lr: Any, l1: Any, l2: Any, global_step: Any) -> None:
    step = lr.dtype.type(global_step)
    xp.add(s, g, out=s)
    xp.multiply(g, g, out=t)
    xp.add(q, t, out=q)
    xp.copyto(w, s)
    if l1 > 0:
        _shrink(xp, w, t, l1 * step)
    xp.sqrt(q, out=t)
    xp.add(t, l2 * step * lr, out=t)
    xp.multiply(w, -lr, out=w)
    xp.divide(w, t, out=w)


@kernel("ApplyAdagradDA")
def adagrad_da(
    xp: Any,
    var: VariableState,
    gradient_accumulator: VariableState,
    gradient_squared_accumulator: VariableState,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> None:
    arrays = opened(grad, var, gradient_accumulator, gradient_squared_accumulator)
    for w, s, q, g, t in blocks(xp, *arrays, grad):
        _adagrad_da(xp, w, s, q, g, t, lr, l1, l2, global_step)


@kernel("SparseApplyAdagradDA")
def sparse_adagrad_da(
    xp: Any,
    var: VariableState,
    gradient_accumulator: VariableState,
    gradient_squared_accumulator: VariableState,
    grad: Any,
    indices: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> None:
    refs = (var, gradient_accumulator, gradient_squared_accumulator)
    with updated_rows(xp, grad, indices, *refs) as (w, s, q, g, t):
        _adagrad_da(xp, w, s, q, g, t, lr, l1, l2, global_step)


def _power(xp: Any, x: Any, lr_power: Any, out: Any) -> None:
    """out = x^-lr_power; the usual power is a root, which is faster."""
    if lr_power == -0.5:
        xp.sqrt(x, out=out)
    else:
        xp.power(x, -lr_power, out=out)


def _ftrl(xp: Any, arrays: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, l2_shrinkage: Any = None) -> None:
    w, a, z, g, t, root = arrays
    xp.add(z, g, out=z)
    if l2_shrinkage is not None:
        xp.multiply(w, 2 * l2_shrinkage, out=t)
        xp.add(z, t, out=z)
    _power(xp, a, lr_power, root)
    xp.multiply(g, g, out=t)
    xp.add(a, t, out=a)
    _power(xp, a, lr_power, t)
    xp.subtract(t, root, out=root)
    xp.divide(root, lr, out=root)
    xp.multiply(root, w, out=root)
    xp.subtract(z, root, out=z)
    # t is a^-lr_power; what is left is w = -sign(z) · max(|z| - l1, 0) / (t / lr + 2 · l2).
    xp.divide(t, lr, out=t)
    xp.add(t, 2 * l2, out=t)
    xp.negative(z, out=w)
    _shrink(xp, w, root, l1)
    xp.divide(w, t, out=w)


@kernel("ApplyFtrl")
def ftrl(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    linear: VariableState,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
) -> None:
    for arrays in blocks(xp, *opened(grad, var, accum, linear), grad, scratch=2):
        _ftrl(xp, arrays, lr, l1, l2, lr_power)


@kernel("SparseApplyFtrl")
def sparse_ftrl(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    linear: VariableState,
    grad: Any,
    indices: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
) -> None:
    with updated_rows(xp, grad, indices, var, accum, linear, scratch=2) as arrays:
        _ftrl(xp, arrays, lr, l1, l2, lr_power)


@kernel("ApplyFtrlV2")
def ftrl_v2(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    linear: VariableState,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
) -> None:
    for arrays in blocks(xp, *opened(grad, var, accum, linear), grad, scratch=2):
        _ftrl(xp, arrays, lr, l1, l2, lr_power, l2_shrinkage)


@kernel("SparseApplyFtrlV2")
def sparse_ftrl_v2(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    linear: VariableState,
    grad: Any,
    indices: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
) -> None:
    with updated_rows(xp, grad, indices, var, accum, linear, scratch=2) as arrays:
        _ftrl(xp, arrays, lr, l1, l2, lr_power, l2_shrinkage)
