"""`optimize_loss`: an optimizer by its name, with clipped gradients, a decay and summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import actorflow.compat.v1 as tf

OPTIMIZER_CLS_NAMES: dict[str, Any] = {
    "Adagrad": tf.train.AdagradOptimizer,
    "Adam": tf.train.AdamOptimizer,
    "Ftrl": tf.train.FtrlOptimizer,
    "Momentum": lambda learning_rate: tf.train.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": tf.train.RMSPropOptimizer,
    "SGD": tf.train.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Any = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """The loss, once the optimizer has moved the variables (`tf.contrib.layers.optimize_loss`).

    Args:
        loss: a scalar.
        global_step: the variable to count; that of the graph unless given.
        learning_rate: a number or a tensor; None if the optimizer has its own.
        optimizer: a name of `OPTIMIZER_CLS_NAMES`, a class, a function of the rate, or an optimizer.
        gradient_noise_scale: the deviation of noise for the gradients.
        gradient_multipliers: by variables or their names.
        clip_gradients: the greatest global norm, or a function of pairs of gradients and variables.
        learning_rate_decay_fn: a function of the rate and the step.
        update_ops: what runs before; the collection of updates unless given.
        variables: those to train; all trainable variables unless given.
        name: a scope.
        summaries: some of `OPTIMIZER_SUMMARIES`.
        colocate_gradients_with_ops: see `tf.gradients`.
        increment_global_step: whether to count.

    Raises:
        ValueError: no rate and no optimizer, or an unknown name.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     w = tf.Variable(2.0)
        ...     step = tf.train.get_or_create_global_step()
        ...     train = tf.contrib.layers.optimize_loss(w * w, step, 0.25, "SGD")
        ...     with tf.Session() as blocking:
        ...         blocking.run(tf.global_variables_initializer())
        ...         print(blocking.run(train), blocking.run(w))
        4.0 1.0
    """
    loss = tf.convert_to_tensor(loss)
    if loss.shape.ndims:
        raise ValueError(f"The loss is a scalar, not of shape {loss.shape}.")
    if global_step is None:
        global_step = tf.train.get_global_step()
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = set(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) if update_ops is None else update_ops
        if updates:
            with tf.control_dependencies(list(updates)):
                loss = tf.identity(loss)
        rate = _rate(learning_rate, learning_rate_decay_fn, global_step, optimizer)
        chosen = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else list(summaries)
        unknown = [each for each in chosen if each not in OPTIMIZER_SUMMARIES]
        if unknown:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {unknown[0]}."
            )
        if rate is not None and "learning_rate" in chosen:
            tf.summary.scalar("learning_rate", rate)
        trainer = _optimizer(optimizer, rate)
        pairs = trainer.compute_gradients(
            loss, variables or tf.trainable_variables(), colocate_gradients_with_ops=colocate_gradients_with_ops
        )
        if gradient_noise_scale is not None:
            pairs = _noisy(pairs, gradient_noise_scale)
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        if "global_gradient_norm" in chosen or "gradient_norm" in chosen:
            tf.summary.scalar(
                "global_norm/gradient_norm", tf.global_norm([slope for slope, _ in pairs if slope is not None])
            )
        pairs = _clipped(pairs, clip_gradients)
        if "loss" in chosen:
            tf.summary.scalar("loss", loss)
        if "gradients" in chosen:
            for slope, each in pairs:
                if slope is not None:
                    tf.summary.histogram(f"gradients/{each.op.name}", slope)
        step = global_step if increment_global_step else None
        applied = trainer.apply_gradients(pairs, global_step=step, name="train")
        with tf.control_dependencies([applied]):
            return tf.identity(loss)


def _rate(rate: Any, decay: Callable[[Any, Any], Any] | None, step: Any, optimizer: Any) -> Any:
    if rate is None:
        if isinstance(optimizer, str):
            raise ValueError("optimizer as a string needs a learning_rate.")
        return None
    if isinstance(rate, float) and rate < 0.0:
        raise ValueError(f"Invalid learning_rate {rate}.")
    if isinstance(rate, (float, int)):
        initializer = tf.constant_initializer(rate)
        rate = tf.get_variable("learning_rate", [], tf.float32, initializer, trainable=False)
    elif not isinstance(rate, tf.Tensor) and not isinstance(rate, tf.Variable):
        raise ValueError(f"Learning rate should be 0d Tensor or float. Got {rate} of type {type(rate)}")
    return rate if decay is None else decay(rate, step)


def _optimizer(optimizer: Any, rate: Any) -> Any:
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, tf.train.Optimizer):
        return optimizer
    if isinstance(optimizer, type):
        if rate is None:
            raise ValueError("Learning rate is required for a class of optimizers.")
        return optimizer(learning_rate=rate)
    if callable(optimizer):
        return optimizer(rate) if rate is not None else optimizer()
    raise ValueError(f"Unrecognized optimizer: should be string, subclass of Optimizer or callable. Got {optimizer!r}.")


def _multiplied(pairs: Sequence[tuple[Any, Any]], multipliers: Any) -> list[tuple[Any, Any]]:
    whole = []
    for slope, each in pairs:
        factor = multipliers.get(each, multipliers.get(each.op.name) if hasattr(each, "op") else None)
        if factor is not None and slope is not None:
            if isinstance(slope, tf.IndexedSlices):
                slope = tf.IndexedSlices(slope.values * factor, slope.indices, slope.dense_shape)
            else:
                slope = slope * factor
        whole.append((slope, each))
    return whole


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Any], list[tuple[Any, Any]]]:
    """A function for `clip_gradients` that clips by a moving average of the gradients' norm.

    Args:
        std_factor: the number of deviations above the average.
        decay: of the average.
        static_max_norm: the greatest norm in any case.
        global_step: how often the average has moved, so that it starts quickly.
        report_summary: without effect.
        epsilon: added to the norm.
        name: a scope.
    """
    from actorflow.compat.door.calculations import assign_moving_average

    def clip(grads_and_vars: Any) -> list[tuple[Any, Any]]:
        slopes, names = zip(*grads_and_vars, strict=True)
        norm: Any = tf.global_norm(slopes)
        with tf.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            logarithm = tf.log(norm + epsilon)

            def average(label: str, value: Any, rate: Any) -> Any:
                kept = tf.get_variable(label, value.shape, value.dtype, tf.zeros_initializer(), trainable=False)
                return assign_moving_average(kept, value, rate, zero_debias=False)

            rate: Any = decay
            if global_step is not None:
                count = tf.cast(global_step, tf.float32)
                rate = tf.minimum(decay, count / (count + 1.0))
            mean = average("mean", logarithm, rate)
            square = average("sq_mean", tf.square(logarithm), rate)
            deviation = tf.sqrt(tf.maximum(epsilon, square - tf.square(mean)))
            limit = tf.exp(mean + std_factor * deviation)
            if static_max_norm is not None:
                limit = tf.minimum(limit, static_max_norm)
        factor = tf.where(norm < limit, tf.ones_like(norm), limit / norm)
        return [(None if slope is None else slope * factor, each) for slope, each in zip(slopes, names, strict=True)]

    return clip


def _noisy(pairs: Sequence[Any], deviation: float) -> list[Any]:
    """Pairs of gradients and variables, with noise in the gradients."""
    return [
        (None if slope is None else slope + deviation * tf.truncated_normal(tf.shape(slope)), variable)
        for slope, variable in pairs
    ]


def _clipped(pairs: Sequence[Any], clip: Any) -> Sequence[Any]:
    """Pairs of gradients and variables, clipped by a function or to a global norm."""
    if callable(clip):
        clipped: Sequence[Any] = clip(pairs)
        return clipped
    if clip is None:
        return pairs
    slopes, variables = zip(*pairs, strict=True)
    return list(zip(tf.clip_by_global_norm(slopes, clip)[0], variables, strict=True))
