"""Optimizers' dense updates as one loop each: every variable and slot is read and written once.

The formulas are those of `kernels/state/training.py`, operation for operation, so the results are the same bits. Those
kernels compute the first updates, until the loop is there, and whatever it can't take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from actorflow.registry.kernel import kernel
from actorflow.registry.library import provide
from actorflow.runtime.codegen import llvm
from actorflow.runtime.codegen.jit import Demanded
from actorflow.runtime.codegen.jit_recipe import Recipe
from actorflow.runtime.state.variable_state import VariableState

from ..state import training
from ..state import update_formulas as formulas
from .compiler import compiled
from .sharing import run_shared

F = TypeVar("F", bound=Callable[..., Any])
LEAST = 2000
"""Elements: below, numpy's calls cost no more."""

provide("jit", llvm.available)


class Update:
    """The loop of one update for one element type: compiled in the background when it has been asked for a few times."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.loop: Demanded[Any] = Demanded(lambda: compiled(recipe))

    def run(self, refs: Sequence[VariableState], scalars: Sequence[Any], grad: Any) -> bool:
        """Updates the variables; False where the loop is not there yet, and nothing happened."""
        loop = self.loop.get()
        if loop is None:
            return False
        buffers = training.opened(grad, *refs)
        dtype = grad.dtype
        run_shared(loop, grad.size, [*buffers, grad, *[np.asarray(s, dtype) for s in scalars]])
        return True


@functools.cache
def update_of(formula: formulas.Formula, refs: int, scalars: int, dtype: str, flag: bool) -> Update:
    return Update(formulas.update_recipe(formula, refs, scalars, dtype, flag))


def _updated(
    formula: formulas.Formula, refs: Sequence[VariableState], scalars: Sequence[Any], grad: Any, flag: bool = False
) -> bool:
    """Runs the loop of a formula; False where numpy has to."""
    if type(grad) is not np.ndarray or grad.dtype.str not in ("<f4", "<f8") or len({id(r) for r in refs}) < len(refs):
        return False
    if any(ref.dtype.numpy_dtype != grad.dtype for ref in refs):
        return False
    return update_of(formula, len(refs), len(scalars), grad.dtype.str[1:], flag).run(refs, scalars, grad)


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return True


def _pays(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return int(np.prod(shapes[-1], dtype=np.int64)) >= LEAST


def _loop(op: str) -> Callable[[F], F]:
    return kernel(op, device="CPU", library="jit", can=_can, pays=_pays)


# ---- the kernels


@_loop("ApplyGradientDescent")
def gradient_descent(xp: Any, var: VariableState, alpha: Any, delta: Any) -> None:
    if not _updated(formulas.gradient_descent, (var,), (alpha,), delta):
        training.gradient_descent(xp, var, alpha, delta)


@_loop("ApplyMomentum")
def momentum(
    xp: Any, var: VariableState, accum: VariableState, lr: Any, momentum: Any, grad: Any, *, use_nesterov: bool
) -> None:
    if not _updated(formulas.momentum, (var, accum), (lr, momentum), grad, use_nesterov):
        training.momentum(xp, var, accum, lr, momentum, grad, use_nesterov=use_nesterov)


@_loop("ApplyAdagrad")
def adagrad(xp: Any, var: VariableState, accum: VariableState, lr: Any, grad: Any, *, update_slots: bool) -> None:
    if not _updated(formulas.adagrad, (var, accum), (lr,), grad, update_slots):
        training.adagrad(xp, var, accum, lr, grad, update_slots=update_slots)


@_loop("ApplyRMSProp")
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
    if not _updated(formulas.rms_prop, (var, ms, mom), (lr, 1 - rho, momentum, epsilon), grad):
        training.rms_prop(xp, var, ms, mom, lr, rho, momentum, epsilon, grad)


@_loop("ApplyCenteredRMSProp")
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
    if not _updated(formulas.centered_rms_prop, (var, mg, ms, mom), (lr, 1 - rho, momentum, epsilon), grad):
        training.centered_rms_prop(xp, var, mg, ms, mom, lr, rho, momentum, epsilon, grad)


@_loop("ApplyAdam")
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
    rate = training.adam_rate(xp, lr, beta1_power, beta2_power)
    if not _updated(formulas.adam, (var, m, v), (rate, 1 - beta1, 1 - beta2, beta1, epsilon), grad, use_nesterov):
        training.adam(
            xp, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov=use_nesterov
        )
