"""The table of optimizers' updates. Each row is an op for a gradient, an op for its rows, and the formula of both.

All `ref` inputs are variables of one shape and type and are changed in place; the other inputs are scalars of that
type, and the gradient: of the variable's shape, or for the `Sparse` ops rows `grad[i]` at `indices[i]`. In TensorFlow's
raw sparse ops an index that occurs twice is applied twice, and its optimizers sum the rows before. Here the ops
themselves sum the rows, so that the result is that of the dense gradient on the rows that occur.

The formulas are TensorFlow 1.15's. Each op is a target: it has no output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int64
from actorflow.graph.ops.state.update import Functions, update


def _toward(average: Any, target: Any, rate: Any) -> Any:
    return average + (target - average) * rate


def _shrunk(f: Functions, w: Any, threshold: Any) -> Any:
    """`sign(w) · max(|w| - threshold, 0)`."""
    return f.copysign(f.maximum(f.abs(w) - threshold, 0), w)


@update("ApplyGradientDescent", "", "alpha delta", work=2, sparse=False)
def gradient_descent(f: Functions, w: Any, g: Any, alpha: Any) -> Sequence[Any]:
    """`var -= alpha · delta`."""
    return [w - g * alpha]


@update("ApplyMomentum", "accum", "lr momentum grad", work=4, flag="use_nesterov")
def momentum(f: Functions, w: Any, a: Any, g: Any, lr: Any, momentum: Any, use_nesterov: bool) -> Sequence[Any]:
    """`accum = momentum · accum + grad`; `var -= lr · accum`, or `lr · (grad + momentum · accum)` with `use_nesterov`."""
    accumulated = a * momentum + g
    return [w - (accumulated * momentum + g if use_nesterov else accumulated) * lr, accumulated]


@update("ApplyAdagrad", "accum", "lr grad", work=8, flag="update_slots", default=True)
def adagrad(f: Functions, w: Any, a: Any, g: Any, lr: Any, update_slots: bool) -> Sequence[Any]:
    """`accum += grad²`; `var -= lr · grad / √accum`. Without `update_slots` accum stays as it is."""
    accumulated = a + g * g if update_slots else a
    return [w - g / f.sqrt(accumulated) * lr, accumulated]


@update("ApplyRMSProp", "ms mom", "lr rho momentum epsilon grad", work=12)
def rms_prop(
    f: Functions, w: Any, ms: Any, mom: Any, g: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> Sequence[Any]:
    """`ms = rho · ms + (1 - rho) · grad²`; `mom = momentum · mom + lr · grad / √(ms + epsilon)`; `var -= mom`."""
    square = _toward(ms, g * g, 1 - rho)
    moved = mom * momentum + g / f.sqrt(square + epsilon) * lr
    return [w - moved, square, moved]


@update("ApplyCenteredRMSProp", "mg ms mom", "lr rho momentum epsilon grad", work=16)
def centered_rms_prop(
    f: Functions, w: Any, mg: Any, ms: Any, mom: Any, g: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any
) -> Sequence[Any]:
    """`mg = rho · mg + (1 - rho) · grad`; `ms = rho · ms + (1 - rho) · grad²`;
    `mom = momentum · mom + lr · grad / √(ms - mg² + epsilon)`; `var -= mom`."""
    rate = 1 - rho
    square, mean = _toward(ms, g * g, rate), _toward(mg, g, rate)
    moved = mom * momentum + g / f.sqrt(square - mean * mean + epsilon) * lr
    return [w - moved, mean, square, moved]


def adam_rate(f: Any, lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    """Adam's step size, which corrects the moments' bias towards zero."""
    return lr * f.sqrt(1 - beta2_power) / (1 - beta1_power)


def adam_step(f: Functions, w: Any, m: Any, v: Any, rate: Any, epsilon: Any) -> Sequence[Any]:
    """Adam's step by the moments, of rows that have no gradient too."""
    return [w - m / (f.sqrt(v) + epsilon) * rate]


@update(
    "ApplyAdam",
    "m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    work=14,
    flag="use_nesterov",
    moves="""`ApplyAdam` where the gradient is zero in all rows but those at `indices`: the moments of the other rows decay
    too, and these rows go on moving, as with TensorFlow's AdamOptimizer.""",
)
def adam(
    f: Functions,
    w: Any,
    m: Any,
    v: Any,
    g: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    use_nesterov: bool,
) -> Sequence[Any]:
    """`rate = lr · √(1 - beta2_power) / (1 - beta1_power)`;
    `m += (1 - beta1) · (grad - m)`; `v += (1 - beta2) · (grad² - v)`;
    `var -= rate · m / (√v + epsilon)`, with `beta1 · m + (1 - beta1) · grad` instead of m with `use_nesterov`."""
    rate1 = 1 - beta1
    mean, square = _toward(m, g, rate1), _toward(v, g * g, 1 - beta2)
    ahead = mean * beta1 + g * rate1 if use_nesterov else mean
    return [*adam_step(f, w, ahead, square, adam_rate(f, lr, beta1_power, beta2_power), epsilon), mean, square]


@update("ApplyAdadelta", "accum accum_update", "lr rho epsilon grad", work=16)
def adadelta(f: Functions, w: Any, a: Any, u: Any, g: Any, lr: Any, rho: Any, epsilon: Any) -> Sequence[Any]:
    """`accum = rho · accum + (1 - rho) · grad²`; `step = √(accum_update + epsilon) / √(accum + epsilon) · grad`;
    `accum_update = rho · accum_update + (1 - rho) · step²`; `var -= lr · step` (Zeiler 2012)."""
    rate = 1 - rho
    square = _toward(a, g * g, rate)
    step = f.sqrt((u + epsilon) / (square + epsilon)) * g
    moved = _toward(u, step * step, rate)
    return [w - step * lr, square, moved]


@update("ApplyAdaMax", "m v", "beta1_power lr beta1 beta2 epsilon grad", work=10, sparse=False)
def ada_max(
    f: Functions, w: Any, m: Any, v: Any, g: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any
) -> Sequence[Any]:
    """`m = beta1 · m + (1 - beta1) · grad`; `v = max(beta2 · v, |grad|)`;
    `var -= lr / (1 - beta1_power) · m / (v + epsilon)` (Kingma and Ba 2014, section 7)."""
    mean = _toward(m, g, 1 - beta1)
    most = f.maximum(v * beta2, f.abs(g))
    return [w - mean / (most + epsilon) * (lr / (1 - beta1_power)), mean, most]


@update("ApplyAddSign", "m", "lr alpha sign_decay beta grad", work=10, sparse=False)
def add_sign(f: Functions, w: Any, m: Any, g: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any) -> Sequence[Any]:
    """`m = beta · m + (1 - beta) · grad`; `var -= lr · (alpha + sign_decay · sign(grad) · sign(m)) · grad`
    (Bello et al. 2017)."""
    mean = _toward(m, g, 1 - beta)
    return [w - (f.sign(mean) * f.sign(g) * sign_decay + alpha) * g * lr, mean]


@update("ApplyPowerSign", "m", "lr logbase sign_decay beta grad", work=20, sparse=False)
def power_sign(
    f: Functions, w: Any, m: Any, g: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any
) -> Sequence[Any]:
    """`m = beta · m + (1 - beta) · grad`; `var -= lr · e^(logbase · sign_decay · sign(grad) · sign(m)) · grad`
    (Bello et al. 2017)."""
    mean = _toward(m, g, 1 - beta)
    return [w - f.exp(f.sign(mean) * f.sign(g) * (logbase * sign_decay)) * g * lr, mean]


# ---- updates that shrink weights to zero: proximal steps, dual averaging, FTRL


@update("ApplyProximalGradientDescent", "", "alpha l1 l2 delta", work=8)
def proximal_gradient_descent(f: Functions, w: Any, g: Any, alpha: Any, l1: Any, l2: Any) -> Sequence[Any]:
    """`near = var - alpha · delta`;
    `var = sign(near) · max(|near| - alpha · l1, 0) / (1 + alpha · l2)` (Duchi and Singer 2009, FOBOS)."""
    near = w - g * alpha
    return [f.where(f.greater(l1, 0), _shrunk(f, near, alpha * l1), near) / (1 + alpha * l2)]


@update("ApplyProximalAdagrad", "accum", "lr l1 l2 grad", work=12)
def proximal_adagrad(f: Functions, w: Any, a: Any, g: Any, lr: Any, l1: Any, l2: Any) -> Sequence[Any]:
    """`accum += grad²`; `rate = lr / √accum`; `near = var - rate · grad`;
    `var = sign(near) · max(|near| - rate · l1, 0) / (1 + rate · l2)`."""
    accumulated = a + g * g
    rate = lr / f.sqrt(accumulated)
    near = w - g * rate
    return [f.where(f.greater(l1, 0), _shrunk(f, near, rate * l1), near) / (rate * l2 + 1), accumulated]


@update(
    "ApplyAdagradDA",
    "gradient_accumulator gradient_squared_accumulator",
    "grad lr l1 l2 global_step",
    work=12,
    types={"global_step": int64},
)
def adagrad_da(
    f: Functions, w: Any, s: Any, q: Any, g: Any, lr: Any, l1: Any, l2: Any, global_step: Any
) -> Sequence[Any]:
    """`s = gradient_accumulator += grad`; `q = gradient_squared_accumulator += grad²`; `t = global_step`;
    `var = -lr · sign(s) · max(|s| - l1 · t, 0) / (l2 · t · lr + √q)` (Duchi et al. 2011, dual averaging). `global_step`
    is int64."""
    step = f.number(global_step)
    total, squares = s + g, q + g * g
    shrunk = f.where(f.greater(l1, 0), _shrunk(f, total, l1 * step), total)
    return [shrunk * -lr / (f.sqrt(squares) + l2 * step * lr), total, squares]


@update("ApplyFtrl", "accum linear", "grad lr l1 l2 lr_power", work=24)
def ftrl(f: Functions, w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Sequence[Any]:
    """`a = accum + grad²`; `linear += grad - (a^-lr_power - accum^-lr_power) / lr · var`; `accum = a`;
    `var = (sign(linear) · l1 - linear) / (a^-lr_power / lr + 2 · l2)` where `|linear| > l1`, else 0 (McMahan et al. 2013,
    FTRL-proximal)."""
    return _ftrl(f, w, a, z + g, g, lr, l1, l2, lr_power)


@update("ApplyFtrlV2", "accum linear", "grad lr l1 l2 l2_shrinkage lr_power", work=28)
def ftrl_v2(
    f: Functions, w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, l2_shrinkage: Any, lr_power: Any
) -> Sequence[Any]:
    """`ApplyFtrl`, where linear gets `grad + 2 · l2_shrinkage · var` instead of grad."""
    return _ftrl(f, w, a, z + g + w * (2 * l2_shrinkage), g, lr, l1, l2, lr_power)


def _ftrl(f: Functions, w: Any, a: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, lr_power: Any) -> Sequence[Any]:
    is_root = f.equal(lr_power, -0.5)  # the usual power, and a root is faster

    def power(x: Any) -> Any:
        return f.where(is_root, f.sqrt(x), f.power(x, -lr_power))

    root = power(a)
    accumulated = a + g * g
    steep = power(accumulated)
    linear = z - (steep - root) / lr * w
    return [_shrunk(f, -linear, l1) / (steep / lr + 2 * l2), accumulated, linear]
