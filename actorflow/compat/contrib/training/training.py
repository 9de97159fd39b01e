"""Operations that train, with clipped gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import actorflow.compat.v1 as tf

_USE_GLOBAL_STEP = 0


def add_gradients_summaries(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[Any]:
    """A histogram and a norm for each gradient."""
    summaries = []
    for slope, each in grads_and_vars:
        if slope is None:
            tf.logging.info("Var %s has no gradient", each.op.name)
            continue
        values = slope.values if isinstance(slope, tf.IndexedSlices) else slope
        summaries.append(tf.summary.histogram(f"{each.op.name}_gradient", values))
        summaries.append(tf.summary.scalar(f"{each.op.name}_gradient_norm", tf.global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Iterable[tuple[Any, Any]], max_norm: float) -> list[tuple[Any, Any]]:
    """The gradients, each cut to a norm by itself."""
    clipped = []
    for slope, each in gradients_to_variables:
        if isinstance(slope, tf.IndexedSlices):
            slope = tf.IndexedSlices(tf.clip_by_norm(slope.values, max_norm), slope.indices, slope.dense_shape)
        elif slope is not None:
            slope = tf.clip_by_norm(slope, max_norm)
        clipped.append((slope, each))
    return clipped


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Any], list[tuple[Any, Any]]]:
    """`clip_gradient_norms` as a function of the gradients."""
    return lambda grads_and_vars: clip_gradient_norms(grads_and_vars, max_norm)


def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> list[tuple[Any, Any]]:
    """The gradients, some of them multiplied: by variables or their names. Raises ValueError if there is nothing to do."""
    if not isinstance(grads_and_vars, list) or not grads_and_vars:
        raise ValueError("`grads_and_vars` must be a list of pairs.")
    if not isinstance(gradient_multipliers, dict) or not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    whole = []
    for slope, each in grads_and_vars:
        factor = gradient_multipliers.get(each, gradient_multipliers.get(each.op.name))
        if factor is not None:
            if slope is None:
                raise ValueError("Requested multiple of `None` gradient.")
            if isinstance(slope, tf.IndexedSlices):
                slope = tf.IndexedSlices(slope.values * factor, slope.indices, slope.dense_shape)
            else:
                slope = slope * factor
        whole.append((slope, each))
    return whole


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[Any], Any] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = tf.train.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """The loss, once the updates and the optimizer have run.

    Args:
        total_loss: a scalar.
        optimizer: an optimizer.
        global_step: the variable to count; that of the graph unless given, None for none.
        update_ops: what runs before the gradients; the collection of updates unless given.
        variables_to_train: all trainable variables unless given.
        transform_grads_fn: a function of pairs of gradients and variables.
        summarize_gradients: whether to add summaries.
        gate_gradients, aggregation_method, colocate_gradients_with_ops: see `compute_gradients`.
        check_numerics: whether a loss that is no number is an error.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     w = tf.Variable(2.0)
        ...     train = tf.contrib.training.create_train_op(w * w, tf.train.GradientDescentOptimizer(0.25))
        ...     with tf.Session() as blocking:
        ...         blocking.run(tf.global_variables_initializer())
        ...         print(blocking.run(train), blocking.run(w))
        4.0 1.0
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = tf.train.get_or_create_global_step()
    collected = set(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    updates = collected if update_ops is None else set(update_ops)
    if not collected <= updates:
        tf.logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if updates:
        with tf.control_dependencies(list(updates)):
            barrier = tf.no_op(name="update_barrier")
        with tf.control_dependencies([barrier]):
            total_loss = tf.identity(total_loss)
    pairs = optimizer.compute_gradients(
        total_loss,
        variables_to_train or tf.trainable_variables(),
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=global_step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = tf.check_numerics(total_loss, "LossTensor is inf or nan")
        with tf.control_dependencies([applied]):
            train_op = tf.identity(total_loss)
    collection = tf.get_collection_ref(tf.GraphKeys.TRAIN_OP)
    if all(each is not train_op for each in collection):
        collection.append(train_op)
    return train_op


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600,
    save_summaries_steps: Any = 100,
    config: Any = None,
    max_wait_secs: int = 7200,
    run_metadata: Any = None,
) -> Any:
    """Runs a training operation until a hook says stop: see `tf.train.MonitoredTrainingSession`.

    Raises:
        ValueError: there is neither a folder nor a hook that stops.
    """
    if logdir is None and is_chief and save_summaries_steps:
        raise ValueError("logdir cannot be None when save_summaries_steps is not None")
    if logdir is None and is_chief and save_checkpoint_secs:
        raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    with tf.train.MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
    ) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op)
    return loss
