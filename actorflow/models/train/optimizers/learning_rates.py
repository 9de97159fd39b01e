"""Learning rates that change with the global step (`tf.train.exponential_decay` and its like).

Each gives a scalar tensor of the learning rate's type, computed in each run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int32
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.math.arithmetic import minimum, pow
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.elementwise import ceil, cos, exp, floor, log, sqrt
from actorflow.graph.ops.math.logic import equal, greater, where
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.ops.random.distributions import random_normal
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.train")
def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate · decay_rate ^ (global_step / decay_steps).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.exponential_decay(0.1, step, decay_steps=1000, decay_rate=0.5)
        >>> [await session.run(rate, {step: n}) for n in (0, 1000, 2000)]
        [0.1, 0.05, 0.025]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done: an integer scalar, usually the variable that `minimize` increases.
        decay_steps: the number of steps in which the rate is multiplied by `decay_rate` once.
        decay_rate: the factor, a scalar.
        staircase: whether to round the exponent down, so that the rate changes only every `decay_steps` steps.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "ExponentialDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        done = step / cast(decay_steps, rate.dtype)
        return rate * pow(cast(decay_rate, rate.dtype), floor(done) if staircase else done)


@public("af.train", "af.train:piecewise_constant_decay")
def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], ..., then the last value.

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.piecewise_constant(step, boundaries=[1000, 2000], values=[0.1, 0.01, 0.001])
        >>> [await session.run(rate, {step: n}) for n in (1000, 1001, 5000)]
        [0.1, 0.01, 0.001]

    Args:
        x: the position, a scalar, usually the global step.
        boundaries: increasing numbers or scalar tensors, of the type of `x`.
        values: numbers or scalar tensors of one type, one more than boundaries.

    Returns:
        A scalar tensor of the type of `values`.

    Raises:
        ValueError: there is not one value more than boundaries.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            describe("The length of boundaries should be 1 less than the length of values", where=user_line())
        )
    with composite(name, "PiecewiseConstant", x, *boundaries, *values):
        position = convert_to_tensor(x)
        choices = convert_to_tensor(list(values)) if len(values) > 1 else stack([convert_to_tensor(values[0])])
        if not boundaries:
            return choices[0]
        limits = stack([convert_to_tensor(b, position.dtype) for b in boundaries])
        return gather(choices, reduce_sum(cast(greater(position, limits), int32)))


@public("af.train")
def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From `learning_rate` to `end_learning_rate` in `decay_steps` steps, by (1 - part done) ^ power.

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.polynomial_decay(0.1, step, decay_steps=1000, end_learning_rate=0.0)
        >>> [await session.run(rate, {step: n}) for n in (0, 500, 1000)]
        [0.1, 0.05, 0.0]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the rate falls.
        end_learning_rate: the rate at the end.
        power: the exponent; 1 makes the rate fall linearly.
        cycle: whether to start again at the end, with `decay_steps` multiplied so that the next end is ahead. Otherwise
            the rate stays at `end_learning_rate`.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "PolynomialDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        steps, end = cast(decay_steps, rate.dtype), cast(end_learning_rate, rate.dtype)
        if cycle:
            rounds = ceil(step / steps)
            steps = steps * where(equal(step, cast(0, rate.dtype)), cast(1, rate.dtype), rounds)
        else:
            step = minimum(step, steps)
        return (rate - end) * pow(1 - step / steps, cast(power, rate.dtype)) + end


@public("af.train")
def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate · e ^ (-decay_rate · global_step / decay_steps).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.natural_exp_decay(0.1, step, decay_steps=1000, decay_rate=1.0)
        >>> [await session.run(rate, {step: n}) for n in (0, 1000, 2000)]
        [0.1, 0.0368, 0.0135]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the exponent falls by `decay_rate`.
        decay_rate: how fast the rate falls, a scalar.
        staircase: whether to round global_step / decay_steps down, so that the rate changes only every `decay_steps`
            steps.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "NaturalExpDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        done = step / cast(decay_steps, rate.dtype)
        return rate * exp(-cast(decay_rate, rate.dtype) * (floor(done) if staircase else done))


@public("af.train")
def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate · global_step / decay_steps).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.inverse_time_decay(0.1, step, decay_steps=1000, decay_rate=1.0)
        >>> [await session.run(rate, {step: n}) for n in (0, 1000, 3000)]
        [0.1, 0.05, 0.025]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the divisor grows by `decay_rate`.
        decay_rate: how fast the rate falls, a scalar.
        staircase: whether to round global_step / decay_steps down, so that the rate changes only every `decay_steps`
            steps.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "InverseTimeDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        done = step / cast(decay_steps, rate.dtype)
        return rate / (1 + cast(decay_rate, rate.dtype) * (floor(done) if staircase else done))


@public("af.train")
def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half a cosine, from `learning_rate` to alpha times that, in `decay_steps` steps (Loshchilov and Hutter 2016).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.cosine_decay(0.1, step, decay_steps=1000)
        >>> [await session.run(rate, {step: n}) for n in (0, 500, 1000)]
        [0.1, 0.05, 0.0]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the rate falls; afterwards it stays.
        alpha: the last rate, as a share of `learning_rate`.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "CosineDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        steps = cast(decay_steps, rate.dtype)
        wave = 0.5 * (1 + cos(minimum(step, steps) / steps * math.pi))
        return rate * ((1 - alpha) * wave + alpha)


@public("af.train")
def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """`cosine_decay` that starts again when it is done (SGDR, Loshchilov and Hutter 2016).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.cosine_decay_restarts(0.1, step, first_decay_steps=1000)
        >>> [await session.run(rate, {step: n}) for n in (0, 500, 999, 1000)]
        [0.1, 0.05, 2.47e-07, 0.1]

    Args:
        learning_rate: the rate at step 0, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        first_decay_steps: the number of steps of the first period.
        t_mul: the length of each period, as a multiple of that of the period before.
        m_mul: the rate at the start of each period, as a multiple of that of the period before.
        alpha: the rate at the end of each period, as a share of `learning_rate`.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "SGDRDecay", learning_rate, global_step):
        rate, step = _start(learning_rate, global_step)
        done = step / cast(first_decay_steps, rate.dtype)
        growth = cast(t_mul, rate.dtype)
        if t_mul == 1.0:
            restarts = floor(done)
            done = done - restarts
        else:
            restarts = floor(log(1 - done * (1 - growth)) / log(growth))
            before = (1 - pow(growth, restarts)) / (1 - growth)
            done = (done - before) / pow(growth, restarts)
        height = pow(cast(m_mul, rate.dtype), restarts)
        wave = 0.5 * height * (1 + cos(done * math.pi))
        return rate * ((1 - alpha) * wave + alpha)


@public("af.train")
def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """learning_rate · ((alpha + linear) · wave + beta): `linear` falls from 1 to 0 in `decay_steps` steps, and `wave`
    is a cosine between 1 and 0 (Bello et al. 2017).

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.linear_cosine_decay(0.1, step, decay_steps=1000)
        >>> [await session.run(rate, {step: n}) for n in (0, 500, 1000)]
        [0.1001, 0.0251, 0.0001]

    Args:
        learning_rate: the factor of all, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the rate falls; afterwards it stays.
        num_periods: the number of periods of the cosine in `decay_steps` steps.
        alpha: is added to the linear part.
        beta: is added to the product; it keeps the rate above 0.

    Returns:
        A scalar tensor of the type of `learning_rate`.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "LinearCosineDecay", learning_rate, global_step):
        rate, linear, wave, _ = _linear_cosine(learning_rate, global_step, decay_steps, num_periods)
        return rate * ((alpha + linear) * wave + beta)


@public("af.train")
def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """`linear_cosine_decay` with normal noise on `linear`, of variance initial_variance / (1 + step) ^ variance_decay.

    Example:
        >>> step = af.placeholder(af.int64, [])
        >>> rate = af.train.noisy_linear_cosine_decay(0.1, step, decay_steps=1000, initial_variance=0.0)
        >>> [await session.run(rate, {step: n}) for n in (0, 500, 1000)]
        [0.1001, 0.0251, 0.0001]

    Args:
        learning_rate: the factor of all, a floating-point scalar.
        global_step: the number of steps done, an integer scalar.
        decay_steps: the number of steps in which the rate falls; afterwards only the noise changes it.
        initial_variance: the variance of the noise at step 0.
        variance_decay: how fast the variance falls.
        num_periods: the number of periods of the cosine in `decay_steps` steps.
        alpha: is added to the linear part.
        beta: is added to the product; it keeps the rate above 0.

    Returns:
        A scalar tensor of the type of `learning_rate`, with other noise in each run.

    Raises:
        ValueError: `global_step` is None.
    """
    with composite(name, "NoisyLinearCosineDecay", learning_rate, global_step):
        rate, linear, wave, step = _linear_cosine(learning_rate, global_step, decay_steps, num_periods)
        deviation = sqrt(initial_variance / pow(1 + step, cast(variance_decay, rate.dtype)))
        noisy = linear + random_normal([], dtype=rate.dtype) * deviation
        return rate * ((alpha + noisy) * wave + beta)


def _linear_cosine(
    learning_rate: TensorLike, global_step: TensorLike, decay_steps: TensorLike, num_periods: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The learning rate, the linear part, the wave, and the step, which stays at `decay_steps`."""
    rate, step = _start(learning_rate, global_step)
    steps = cast(decay_steps, rate.dtype)
    step = minimum(step, steps)
    done = step / steps
    return rate, (steps - step) / steps, 0.5 * (1 + cos(done * (2 * num_periods * math.pi))), step


def _start(learning_rate: TensorLike, global_step: TensorLike) -> tuple[Tensor, Tensor]:
    """The learning rate as a tensor, and the step in its type."""
    if global_step is None:
        raise ValueError(describe("global_step is required for a learning rate that decays.", where=user_line()))
    rate = convert_to_tensor(learning_rate, name="learning_rate")
    return rate, cast(global_step, rate.dtype)
