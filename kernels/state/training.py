"""Kernels of the optimizers' updates (the formulas are with the ops, in `actorflow.ops.state.training`).

A dense update walks over a variable and its slots in blocks that stay in a core's cache, with one temporary of a
block's size, so that a large one is read and written once instead of once for each of its dozen operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.runtime.state.variable_state import VariableState

from .scatter import flat_rows, sum_duplicates

_SMALL = 8192  # elements
_BLOCK = 65536  # elements: smaller ones lose to the call overhead of a dozen operations more than they win


def opened(grad: Any, *refs: VariableState) -> list[Any]:
    """The buffers of the variables, all of the gradient's shape, to be written."""
    for ref in refs:
        ref.check_shape(grad.shape)
    return [ref.writable() for ref in refs]


def blocks(xp: Any, *arrays: Any, scratch: int = 1) -> Iterator[list[Any]]:
    """Matching pieces of `arrays`, and `scratch` temporaries of a piece's size."""
    first = arrays[0]
    if first.size <= _BLOCK or xp is not np or not all(a.flags.c_contiguous for a in arrays):
        yield [*arrays, *(xp.empty_like(first) for _ in range(scratch))]
        return
    flat = [a.reshape(-1) for a in arrays]
    temporaries = [np.empty(_BLOCK, first.dtype) for _ in range(scratch)]
    for start in range(0, first.size, _BLOCK):
        pieces = [a[start : start + _BLOCK] for a in flat]
        yield [*pieces, *(t[: pieces[0].size] for t in temporaries)]


def opened_rows(xp: Any, grad: Any, indices: Any, *refs: VariableState) -> tuple[list[Any], Any, Any]:
    """The buffers of the variables, the rows to change, each once, and the gradient of each."""
    buffers = [ref.writable() for ref in refs]
    for ref in refs:
        ref.check_shape(buffers[0].shape)
    at, rows = flat_rows(xp, buffers[0], indices, grad)
    return buffers, *sum_duplicates(xp, at, rows)


@contextmanager
def updated_rows(xp: Any, grad: Any, indices: Any, *refs: VariableState, scratch: int = 1) -> Iterator[list[Any]]:
    """The rows of the variables that the block changes, then the gradient of each, then temporaries of their size. The
    rows are put back at the block's end."""
    buffers, at, g = opened_rows(xp, grad, indices, *refs)
    rows = [buffer[at] for buffer in buffers]
    yield [*rows, g, *(xp.empty_like(rows[0]) for _ in range(scratch))]
    for buffer, row in zip(buffers, rows):
        buffer[at] = row


def approach(xp: Any, average: Any, target: Any, rate: Any, t: Any) -> None:
    """average += rate · (target - average); `target` may be the temporary `t` itself."""
    xp.subtract(target, average, out=t)
    xp.multiply(t, rate, out=t)
    xp.add(average, t, out=average)


@kernel("ApplyGradientDescent")
def gradient_descent(xp: Any, var: VariableState, alpha: Any, delta: Any) -> None:
    var.check_shape(delta.shape)
    buffer = var.writable()
    # A large temporary is a pooled buffer, since a fresh one costs as much in page faults.
    scaled = xp.multiply(delta, alpha, out=var.scratch() if delta.size > _SMALL else None)
    xp.subtract(buffer, scaled, out=buffer)


def _momentum(xp: Any, w: Any, a: Any, g: Any, t: Any, lr: Any, momentum: Any, use_nesterov: bool) -> None:
    xp.multiply(a, momentum, out=a)
    xp.add(a, g, out=a)
    if use_nesterov:
        xp.multiply(a, momentum, out=t)
        xp.add(t, g, out=t)
        xp.multiply(t, lr, out=t)
    else:
        xp.multiply(a, lr, out=t)
    xp.subtract(w, t, out=w)


@kernel("ApplyMomentum")
def momentum(
    xp: Any, var: VariableState, accum: VariableState, lr: Any, momentum: Any, grad: Any, *, use_nesterov: bool
) -> None:
    for w, a, g, t in blocks(xp, *opened(grad, var, accum), grad):
        _momentum(xp, w, a, g, t, lr, momentum, use_nesterov)


@kernel("SparseApplyMomentum")
def sparse_momentum(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    lr: Any,
    momentum: Any,
    grad: Any,
    indices: Any,
    *,
    use_nesterov: bool,
) -> None:
    with updated_rows(xp, grad, indices, var, accum) as (w, a, g, t):
        _momentum(xp, w, a, g, t, lr, momentum, use_nesterov)


def _adagrad(xp: Any, w: Any, a: Any, g: Any, t: Any, lr: Any, update_slots: bool) -> None:
    if update_slots:
        xp.multiply(g, g, out=t)
        xp.add(a, t, out=a)
    xp.sqrt(a, out=t)
    xp.divide(g, t, out=t)
    xp.multiply(t, lr, out=t)
    xp.subtract(w, t, out=w)


@kernel("ApplyAdagrad")
def adagrad(xp: Any, var: VariableState, accum: VariableState, lr: Any, grad: Any, *, update_slots: bool) -> None:
    for w, a, g, t in blocks(xp, *opened(grad, var, accum), grad):
        _adagrad(xp, w, a, g, t, lr, update_slots)


@kernel("SparseApplyAdagrad")
def sparse_adagrad(
    xp: Any, var: VariableState, accum: VariableState, lr: Any, grad: Any, indices: Any, *, update_slots: bool
) -> None:
    with updated_rows(xp, grad, indices, var, accum) as (w, a, g, t):
        _adagrad(xp, w, a, g, t, lr, update_slots)


def _rms_prop(xp: Any, arrays: Any, g: Any, t: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any) -> None:
    """`arrays` are the variable, the mean gradient where it is centered, the mean square, and the momentum."""
    w, *mean, ms, mom = arrays
    rate = 1 - rho
    xp.multiply(g, g, out=t)
    approach(xp, ms, t, rate, t)
    if mean:
        approach(xp, mean[0], g, rate, t)
        xp.multiply(mean[0], mean[0], out=t)
        xp.subtract(ms, t, out=t)
        xp.add(t, epsilon, out=t)
    else:
        xp.add(ms, epsilon, out=t)
    xp.sqrt(t, out=t)
    xp.divide(g, t, out=t)
    xp.multiply(t, lr, out=t)
    xp.multiply(mom, momentum, out=mom)
    xp.add(mom, t, out=mom)
    xp.subtract(w, mom, out=w)


@kernel("ApplyRMSProp")
def rms_prop(
    xp: Any,
    var: VariableState,
    ms: VariableState,
    mom: VariableState,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    for *arrays, g, t in blocks(xp, *opened(grad, var, ms, mom), grad):
        _rms_prop(xp, arrays, g, t, lr, rho, momentum, epsilon)


@kernel("ApplyCenteredRMSProp")
def centered_rms_prop(
    xp: Any,
    var: VariableState,
    mg: VariableState,
    ms: VariableState,
    mom: VariableState,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    for *arrays, g, t in blocks(xp, *opened(grad, var, mg, ms, mom), grad):
        _rms_prop(xp, arrays, g, t, lr, rho, momentum, epsilon)


def _sparse_rms_prop(xp: Any, refs: Any, scalars: Any, grad: Any, indices: Any) -> None:
    with updated_rows(xp, grad, indices, *refs) as (*rows, g, t):
        _rms_prop(xp, rows, g, t, *scalars)


@kernel("SparseApplyRMSProp")
def sparse_rms_prop(
    xp: Any,
    var: VariableState,
    ms: VariableState,
    mom: VariableState,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    _sparse_rms_prop(xp, (var, ms, mom), (lr, rho, momentum, epsilon), grad, indices)


@kernel("SparseApplyCenteredRMSProp")
def sparse_centered_rms_prop(
    xp: Any,
    var: VariableState,
    mg: VariableState,
    ms: VariableState,
    mom: VariableState,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    _sparse_rms_prop(xp, (var, mg, ms, mom), (lr, rho, momentum, epsilon), grad, indices)


def adam_rate(xp: Any, lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    return lr * xp.sqrt(1 - beta2_power) / (1 - beta1_power)


def _adam_step(xp: Any, w: Any, m: Any, v: Any, t: Any, rate: Any, epsilon: Any) -> None:
    """w -= rate · m / (√v + epsilon)."""
    xp.sqrt(v, out=t)
    xp.add(t, epsilon, out=t)
    xp.divide(m, t, out=t)
    xp.multiply(t, rate, out=t)
    xp.subtract(w, t, out=w)


@kernel("ApplyAdam")
def adam(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_nesterov: bool,
) -> None:
    rate = adam_rate(xp, lr, beta1_power, beta2_power)
    rate1, rate2 = 1 - beta1, 1 - beta2
    for w, mean, square, g, t, ahead in blocks(xp, *opened(grad, var, m, v), grad, scratch=2):
        approach(xp, mean, g, rate1, t)
        xp.multiply(g, g, out=t)
        approach(xp, square, t, rate2, t)
        if use_nesterov:
            xp.multiply(mean, beta1, out=ahead)
            xp.multiply(g, rate1, out=t)
            xp.add(ahead, t, out=ahead)
        _adam_step(xp, w, ahead if use_nesterov else mean, square, t, rate, epsilon)


@kernel("SparseApplyAdam")
def sparse_adam(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    buffers, at, g = opened_rows(xp, grad, indices, var, m, v)
    _, mean, square = buffers
    xp.multiply(mean, beta1, out=mean)
    mean[at] += (1 - beta1) * g
    xp.multiply(square, beta2, out=square)
    square[at] += (1 - beta2) * (g * g)
    rate = adam_rate(xp, lr, beta1_power, beta2_power)
    for w, a, s, t in blocks(xp, *buffers):
        _adam_step(xp, w, a, s, t, rate, epsilon)
