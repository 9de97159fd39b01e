"""Loops of training, as `slim.learning` has them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.training.training import (
    add_gradients_summaries as add_gradients_summaries,
)
from actorflow.compat.contrib.training.training import (
    clip_gradient_norms as clip_gradient_norms,
)
from actorflow.compat.contrib.training.training import create_train_op as _create_train_op
from actorflow.compat.contrib.training.training import (
    multiply_gradients as multiply_gradients,
)

_USE_GLOBAL_STEP = 0
_DEFAULT: Any = object()


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = tf.train.Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Any:
    """The loss, once the updates and the optimizer have run: see `tf.contrib.training.create_train_op`.

    Args:
        clip_gradient_norm: the greatest norm of each gradient; 0 for any.
        gradient_multipliers: factors of gradients by variables or their names.
        total_loss, optimizer, global_step, update_ops, variables_to_train, summarize_gradients: see there.
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics: see there.
    """

    def transform(pairs: Any) -> Any:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return _create_train_op(
        total_loss=total_loss,
        optimizer=optimizer,
        global_step=global_step,
        update_ops=update_ops,
        variables_to_train=variables_to_train,
        transform_grads_fn=transform,
        summarize_gradients=summarize_gradients,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        check_numerics=check_numerics,
    )


def train_step(sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Any) -> tuple[Any, bool]:
    """One step: its loss, and whether to stop.

    Args:
        sess: the session.
        train_op: what trains and gives the loss.
        global_step: the variable that counts.
        train_step_kwargs: tensors `should_stop`, `should_log` and others.
    """
    begin = time.time()
    loss, step = sess.run([train_op, global_step])
    if train_step_kwargs.get("should_log") is not None and sess.run(train_step_kwargs["should_log"]):
        tf.logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, time.time() - begin)
    stop = train_step_kwargs.get("should_stop")
    return loss, bool(sess.run(stop)) if stop is not None else False


def _step_tensors(count: Any, number_of_steps: int | None, log_every_n_steps: int | None) -> dict[str, Any]:
    """The tensors by which `train_step` stops and logs."""
    tensors: dict[str, Any] = {}
    if number_of_steps:
        tensors["should_stop"] = tf.greater_equal(count, number_of_steps)
    if log_every_n_steps:
        tensors["should_log"] = tf.equal(tf.mod(count, log_every_n_steps), 0)
    return tensors


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., tuple[Any, bool]] = train_step,
    train_step_kwargs: Any = _DEFAULT,
    log_every_n_steps: int | None = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = _DEFAULT,
    init_fn: Any = None,
    ready_op: Any = _DEFAULT,
    summary_op: Any = _DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Any = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Trains until a number of steps is done or `train_step_fn` says stop, under a supervisor; gives the last loss.

    Args:
        train_op: what trains and gives the loss.
        logdir: the folder of checkpoints and summaries; None for none.
        train_step_fn, train_step_kwargs: a function of a step, and its tensors.
        log_every_n_steps: how often to tell of the loss.
        graph: the graph of the loss; that of `train_op` unless given.
        master, is_chief, init_op, init_feed_dict, local_init_op, init_fn, ready_op: see `tf.train.Supervisor`.
        global_step: the variable that counts; that of the graph unless given.
        number_of_steps: the number at which to stop.
        summary_op, save_summaries_secs, summary_writer, saver, save_interval_secs: see `tf.train.Supervisor`.
        session_config, session_wrapper: of the session.
        startup_delay_steps, sync_optimizer, trace_every_n_steps, ignore_live_threads: without effect.

    Raises:
        ValueError: there is no operation, or a negative number of steps.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or train_op.graph
    with graph.as_default():
        count = global_step if global_step is not None else tf.train.get_or_create_global_step()
        saver = saver or tf.train.Saver()
        settings: dict[str, Any] = {"graph": graph, "logdir": logdir, "is_chief": is_chief, "saver": saver}
        settings |= {"global_step": count, "init_fn": init_fn, "init_feed_dict": init_feed_dict}
        settings |= {"save_summaries_secs": save_summaries_secs, "save_model_secs": save_interval_secs}
        optional = {"init_op": init_op, "local_init_op": local_init_op, "ready_op": ready_op, "summary_op": summary_op}
        optional["summary_writer"] = summary_writer
        settings |= {name: value for name, value in optional.items() if value is not _DEFAULT}
        if logdir is None:
            settings |= {"summary_op": None, "summary_writer": None}
        if train_step_kwargs is _DEFAULT:
            train_step_kwargs = _step_tensors(count, number_of_steps, log_every_n_steps)
        supervisor = tf.train.Supervisor(**settings)
    loss, stop = None, False
    with supervisor.managed_session(master, start_standard_services=False, config=session_config) as session:
        if session_wrapper is not None:
            session = session_wrapper(session)
        if is_chief and logdir:
            supervisor.start_standard_services(session)
        supervisor.start_queue_runners(session)
        while not supervisor.should_stop() and not stop:
            loss, stop = train_step_fn(session, train_op, count, train_step_kwargs)
        if logdir and is_chief:
            saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
    return loss
