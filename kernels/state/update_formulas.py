"""What optimizers' dense updates compute, element by element: one description for the CPU's loops and for the GPU's kernels.

A formula is given the variable and its slots, the gradient, the scalars, and the op's flag. It says what becomes of the variable
and the slots, in their order. The operations are those of `training.py` and its siblings in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actorflow.runtime.codegen.jit_recipe import Block, Recipe, Value

Formula = Callable[..., Sequence[Value]]
"""Of the variable and its slots, the gradient and the scalars, in this order: what becomes of the first ones."""


def update_recipe(formula: Formula, refs: int, scalars: int, dtype: str, flag: bool) -> Recipe:
    """The recipe of a formula for `refs` variables and `scalars` numbers: it writes over those operands that change."""
    block = Block()
    arrays = [block.operand(dtype) for _ in range(refs + 1)]
    numbers = [block.operand(dtype, "scalar") for _ in range(scalars)]
    results = formula(*arrays, *numbers, flag)
    return block.finish([(v, into) for v, into in zip(results, arrays) if v is not into])


def _toward(average: Value, target: Value, rate: Value) -> Value:
    return average + (target - average) * rate


def _root(x: Value) -> Value:
    return x.block.unary("sqrt", x)


def gradient_descent(w: Value, g: Value, alpha: Value, flag: bool) -> Sequence[Value]:
    return [w - g * alpha]


def momentum(w: Value, a: Value, g: Value, lr: Value, momentum: Value, use_nesterov: bool) -> Sequence[Value]:
    accumulated = a * momentum + g
    step = (accumulated * momentum + g) * lr if use_nesterov else accumulated * lr
    return [w - step, accumulated]


def adagrad(w: Value, a: Value, g: Value, lr: Value, update_slots: bool) -> Sequence[Value]:
    accumulated = a + g * g if update_slots else a
    return [w - g / _root(accumulated) * lr, accumulated]


def adadelta(
    w: Value, a: Value, u: Value, g: Value, lr: Value, rate: Value, epsilon: Value, flag: bool
) -> Sequence[Value]:
    """`rate` is 1 - rho."""
    square = _toward(a, g * g, rate)
    step = _root((u + epsilon) / (square + epsilon)) * g
    return [w - step * lr, square, _toward(u, step * step, rate)]


def rms_prop(
    w: Value, ms: Value, mom: Value, g: Value, lr: Value, rate: Value, momentum: Value, epsilon: Value, flag: bool
) -> Sequence[Value]:
    """`rate` is 1 - rho."""
    square = _toward(ms, g * g, rate)
    moved = mom * momentum + g / _root(square + epsilon) * lr
    return [w - moved, square, moved]


def centered_rms_prop(
    w: Value,
    mg: Value,
    ms: Value,
    mom: Value,
    g: Value,
    lr: Value,
    rate: Value,
    momentum: Value,
    epsilon: Value,
    flag: bool,
) -> Sequence[Value]:
    """`rate` is 1 - rho."""
    square, mean = _toward(ms, g * g, rate), _toward(mg, g, rate)
    moved = mom * momentum + g / _root(square - mean * mean + epsilon) * lr
    return [w - moved, mean, square, moved]


def adam(
    w: Value,
    m: Value,
    v: Value,
    g: Value,
    rate: Value,
    rate1: Value,
    rate2: Value,
    beta1: Value,
    epsilon: Value,
    use_nesterov: bool,
) -> Sequence[Value]:
    """`rate` is that of `adam_rate`, the others 1 - beta."""
    mean, square = _toward(m, g, rate1), _toward(v, g * g, rate2)
    ahead = mean * beta1 + g * rate1 if use_nesterov else mean
    return [w - ahead / (_root(square) + epsilon) * rate, mean, square]


def adam_rate(lr: Value, beta1_power: Value, beta2_power: Value) -> Value:
    return lr * _root(1 - beta2_power) / (1 - beta1_power)


def ftrl(
    w: Value, a: Value, z: Value, g: Value, lr: Value, l1: Value, l2: Value, lr_power: Value, flag: bool
) -> Sequence[Value]:
    return _ftrl(w, a, z + g, g, lr, l1, l2, lr_power)


def ftrl_v2(
    w: Value,
    a: Value,
    z: Value,
    g: Value,
    lr: Value,
    l1: Value,
    l2: Value,
    l2_shrinkage: Value,
    lr_power: Value,
    flag: bool,
) -> Sequence[Value]:
    return _ftrl(w, a, z + g + w * (l2_shrinkage * 2), g, lr, l1, l2, lr_power)


def _ftrl(
    w: Value, a: Value, linear: Value, g: Value, lr: Value, l1: Value, l2: Value, lr_power: Value
) -> Sequence[Value]:
    block = w.block
    is_root = block.binary("eq", lr_power, -0.5)

    def power(x: Value) -> Value:
        return block.select(is_root, _root(x), block.binary("pow", x, block.unary("neg", lr_power)))

    accumulated = a + g * g
    steep = power(accumulated)
    linear = linear - (steep - power(a)) / lr * w
    rest = block.binary("max", block.unary("abs", linear) - l1, 0)
    sign = block.select(block.binary("gt", linear, 0), -1, block.select(block.binary("lt", linear, 0), 1, linear * 0))
    return [sign * rest / (steep / lr + l2 * 2), accumulated, linear]
