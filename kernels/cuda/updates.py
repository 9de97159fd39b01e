"""Optimizers' dense updates on a GPU: one launch each, which reads and writes the variable and its slots once.

The formulas are those of the CPU's compiled loops (`update_formulas`). What the CPU computes once for all elements, such as
Adam's rate, each thread computes for itself: its operands are on the GPU, and a kernel that waits for memory has the time.
Halves, and a variable that is its own slot, are left to the kernels for every device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from actorflow.errors import UnimplementedError
from actorflow.registry.kernel import kernel
from actorflow.runtime.codegen.jit_recipe import Recipe, Value
from actorflow.runtime.state.variable_state import VariableState

from ..state import training, training_adaptive
from ..state import update_formulas as formulas
from .coverage import GPU
from .source import elementwise

_recipe = functools.lru_cache(maxsize=256)(formulas.update_recipe)
_FLOATS = {"<f4": "f4", "<f8": "f8"}


def _updated(
    xp: Any,
    formula: formulas.Formula,
    refs: Sequence[VariableState],
    scalars: Sequence[Any],
    grad: Any,
    flag: bool = False,
) -> bool:
    """Runs the kernel of a formula; False, and nothing done, where there is none."""
    dtype = _FLOATS.get(grad.dtype.str)
    if dtype is None or len({id(r) for r in refs}) < len(refs):
        return False
    if any(ref.dtype.numpy_dtype != grad.dtype for ref in refs) or any(s.dtype != grad.dtype for s in scalars):
        return False
    recipe: Recipe = _recipe(formula, len(refs), len(scalars), dtype, flag)
    buffers = training.opened(grad, *refs)
    written = [into for _, into in recipe.outputs if into is not None]
    operands = [*buffers, grad, *scalars]
    inputs = [x for k, x in enumerate(operands) if k not in written]
    elementwise(xp, recipe, f"apply_{formula.__name__.lstrip('_')}")(*inputs, *[operands[k] for k in written])
    return True


def _left_out(op: str, dtype: Any) -> UnimplementedError:
    return UnimplementedError(
        f"{op} has no kernel on GPUs for {dtype}, or for a variable that is its own slot.",
        hint="Place the variable on a CPU: with af.device('/cpu:0'): ...",
    )


def _rms_prop(
    w: Value, ms: Value, mom: Value, g: Value, lr: Value, rho: Value, momentum: Value, epsilon: Value, flag: bool
) -> Sequence[Value]:
    return formulas.rms_prop(w, ms, mom, g, lr, 1 - rho, momentum, epsilon, flag)


def _centered_rms_prop(
    w: Value,
    mg: Value,
    ms: Value,
    mom: Value,
    g: Value,
    lr: Value,
    rho: Value,
    momentum: Value,
    epsilon: Value,
    flag: bool,
) -> Sequence[Value]:
    return formulas.centered_rms_prop(w, mg, ms, mom, g, lr, 1 - rho, momentum, epsilon, flag)


def _adadelta(
    w: Value, a: Value, u: Value, g: Value, lr: Value, rho: Value, epsilon: Value, flag: bool
) -> Sequence[Value]:
    return formulas.adadelta(w, a, u, g, lr, 1 - rho, epsilon, flag)


def _adam(
    w: Value,
    m: Value,
    v: Value,
    g: Value,
    beta1_power: Value,
    beta2_power: Value,
    lr: Value,
    beta1: Value,
    beta2: Value,
    epsilon: Value,
    use_nesterov: bool,
) -> Sequence[Value]:
    rate = formulas.adam_rate(lr, beta1_power, beta2_power)
    return formulas.adam(w, m, v, g, rate, 1 - beta1, 1 - beta2, beta1, epsilon, use_nesterov)


# ---- the kernels


@kernel("ApplyGradientDescent", device=GPU)
def gradient_descent(xp: Any, var: VariableState, alpha: Any, delta: Any) -> None:
    if not _updated(xp, formulas.gradient_descent, (var,), (alpha,), delta):
        training.gradient_descent(xp, var, alpha, delta)


@kernel("ApplyMomentum", device=GPU)
def momentum(
    xp: Any, var: VariableState, accum: VariableState, lr: Any, momentum: Any, grad: Any, *, use_nesterov: bool
) -> None:
    if not _updated(xp, formulas.momentum, (var, accum), (lr, momentum), grad, use_nesterov):
        training.momentum(xp, var, accum, lr, momentum, grad, use_nesterov=use_nesterov)


@kernel("ApplyAdagrad", device=GPU)
def adagrad(xp: Any, var: VariableState, accum: VariableState, lr: Any, grad: Any, *, update_slots: bool) -> None:
    if not _updated(xp, formulas.adagrad, (var, accum), (lr,), grad, update_slots):
        training.adagrad(xp, var, accum, lr, grad, update_slots=update_slots)


@kernel("ApplyAdadelta", device=GPU)
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
    if not _updated(xp, _adadelta, (var, accum, accum_update), (lr, rho, epsilon), grad):
        training_adaptive.adadelta(xp, var, accum, accum_update, lr, rho, epsilon, grad)


@kernel("ApplyRMSProp", device=GPU)
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
    if not _updated(xp, _rms_prop, (var, ms, mom), (lr, rho, momentum, epsilon), grad):
        training.rms_prop(xp, var, ms, mom, lr, rho, momentum, epsilon, grad)


@kernel("ApplyCenteredRMSProp", device=GPU)
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
    if not _updated(xp, _centered_rms_prop, (var, mg, ms, mom), (lr, rho, momentum, epsilon), grad):
        training.centered_rms_prop(xp, var, mg, ms, mom, lr, rho, momentum, epsilon, grad)


@kernel("ApplyAdam", device=GPU)
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
    scalars = (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    if not _updated(xp, _adam, (var, m, v), scalars, grad, use_nesterov):
        training.adam(
            xp, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov=use_nesterov
        )


@kernel("ApplyFtrl", device=GPU)
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
    if not _updated(xp, formulas.ftrl, (var, accum, linear), (lr, l1, l2, lr_power), grad):
        raise _left_out("ApplyFtrl", grad.dtype)


@kernel("ApplyFtrlV2", device=GPU)
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
    if not _updated(xp, formulas.ftrl_v2, (var, accum, linear), (lr, l1, l2, l2_shrinkage, lr_power), grad):
        raise _left_out("ApplyFtrlV2", grad.dtype)
