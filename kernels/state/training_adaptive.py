"""Kernels of Adadelta, AdaMax, AddSign and PowerSign (formulas: `actorflow.ops.state.training_adaptive`)."""

from __future__ import annotations

from typing import Any

from actorflow.registry.kernel import kernel
from actorflow.runtime.state.variable_state import VariableState

from .training import approach, blocks, opened, updated_rows


def _adadelta(xp: Any, arrays: Any, lr: Any, rho: Any, epsilon: Any) -> None:
    w, a, u, g, t, step = arrays
    rate = 1 - rho
    xp.multiply(g, g, out=t)
    approach(xp, a, t, rate, t)
    xp.add(u, epsilon, out=step)
    xp.add(a, epsilon, out=t)
    xp.divide(step, t, out=step)
    xp.sqrt(step, out=step)
    xp.multiply(step, g, out=step)
    xp.multiply(step, step, out=t)
    approach(xp, u, t, rate, t)
    xp.multiply(step, lr, out=step)
    xp.subtract(w, step, out=w)


@kernel("ApplyAdadelta")
def adadelta(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    accum_update: VariableState,
    lr: Any,
    rho: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    for arrays in blocks(xp, *opened(grad, var, accum, accum_update), grad, scratch=2):
        _adadelta(xp, arrays, lr, rho, epsilon)


@kernel("SparseApplyAdadelta")
def sparse_adadelta(
    xp: Any,
    var: VariableState,
    accum: VariableState,
    accum_update: VariableState,
    lr: Any,
    rho: Any,
    epsilon: Any,
    grad: Any,
    indices: Any,
) -> None:
    with updated_rows(xp, grad, indices, var, accum, accum_update, scratch=2) as arrays:
        _adadelta(xp, arrays, lr, rho, epsilon)


@kernel("ApplyAdaMax")
def ada_max(
    xp: Any,
    var: VariableState,
    m: VariableState,
    v: VariableState,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    rate = lr / (1 - beta1_power)
    for w, mean, most, g, t in blocks(xp, *opened(grad, var, m, v), grad):
        approach(xp, mean, g, 1 - beta1, t)
        xp.multiply(most, beta2, out=most)
        xp.abs(g, out=t)
        xp.maximum(most, t, out=most)
        xp.add(most, epsilon, out=t)
        xp.divide(mean, t, out=t)
        xp.multiply(t, rate, out=t)
        xp.subtract(w, t, out=w)


def _agreement(xp: Any, mean: Any, g: Any, t: Any, beta: Any) -> None:
    """mean = beta · mean + (1 - beta) · g; t = sign(g) · sign(mean)."""
    approach(xp, mean, g, 1 - beta, t)
    xp.sign(mean, out=t)
    xp.multiply(t, xp.sign(g), out=t)


@kernel("ApplyAddSign")
def add_sign(
    xp: Any, var: VariableState, m: VariableState, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any
) -> None:
    for w, mean, g, t in blocks(xp, *opened(grad, var, m), grad):
        _agreement(xp, mean, g, t, beta)
        xp.multiply(t, sign_decay, out=t)
        xp.add(t, alpha, out=t)
        xp.multiply(t, g, out=t)
        xp.multiply(t, lr, out=t)
        xp.subtract(w, t, out=w)


@kernel("ApplyPowerSign")
def power_sign(
    xp: Any, var: VariableState, m: VariableState, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any
) -> None:
    for w, mean, g, t in blocks(xp, *opened(grad, var, m), grad):
        _agreement(xp, mean, g, t, beta)
        xp.multiply(t, logbase * sign_decay, out=t)
        xp.exp(t, out=t)
        xp.multiply(t, g, out=t)
        xp.multiply(t, lr, out=t)
        xp.subtract(w, t, out=w)
