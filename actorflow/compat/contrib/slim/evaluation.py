"""Evaluations of checkpoints, as `slim.evaluation` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.training import evaluation as _evaluation
from actorflow.compat.contrib.training.evaluation import checkpoints_iterator as checkpoints_iterator
from actorflow.compat.contrib.training.evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint

_DEFAULT: Any = object()


def _hooks(num_evals: int, logdir: str | None, summary_op: Any, feeds: Any, hooks: Any) -> list[Any]:
    summary = tf.summary.merge_all() if summary_op is _DEFAULT else summary_op
    chosen = [_evaluation.StopAfterNEvalsHook(num_evals), *(hooks or [])]
    if logdir and summary is not None:
        chosen.append(_evaluation.SummaryAtEndHook(log_dir=logdir, summary_op=summary, feed_dict=feeds))
    return chosen


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """The values of `final_op` after an evaluation of a checkpoint.

    Args:
        master, session_config: of the session.
        checkpoint_path: the checkpoint.
        logdir: the folder of summaries.
        num_evals: the number of steps.
        initial_op, initial_op_feed_dict: what runs first.
        eval_op, eval_op_feed_dict: what runs in each step.
        final_op, final_op_feed_dict: what runs at the end.
        summary_op, summary_op_feed_dict: the summary; that of all unless given.
        variables_to_restore: the variables that are read; all unless given.
        hooks: further hooks.
    """
    saver = tf.train.Saver(variables_to_restore) if variables_to_restore is not None else None
    scaffold = tf.train.Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=saver)
    return _evaluation.evaluate_once(
        checkpoint_path,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str | None,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> Any:
    """`evaluate_once` of each checkpoint of a folder as it comes; gives the last values. See there.

    Args:
        checkpoint_dir: the folder.
        init_fn: a function of the session.
        eval_interval_secs: the least time between two.
        max_number_of_evaluations: the number of checkpoints.
        timeout, timeout_fn: how long to wait for a checkpoint, and whether to stop then.
        master, logdir, num_evals, initial_op, initial_op_feed_dict, eval_op, eval_op_feed_dict, final_op: see there.
        final_op_feed_dict, summary_op, summary_op_feed_dict, variables_to_restore, session_config, hooks: see there.
    """
    saver = tf.train.Saver(variables_to_restore) if variables_to_restore is not None else None
    scaffold = tf.train.Scaffold(
        init_op=initial_op,
        init_feed_dict=initial_op_feed_dict,
        init_fn=None if init_fn is None else lambda scaffold, session: init_fn(session),
        saver=saver,
    )
    return _evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )
