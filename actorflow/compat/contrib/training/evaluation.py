"""Evaluations of checkpoints, once or as new checkpoints come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import actorflow.compat.v1 as tf

EVAL_STEP = "eval_step"


def get_or_create_eval_step() -> Any:
    """The variable that counts the steps of an evaluation."""
    existing = tf.get_collection(EVAL_STEP)
    if len(existing) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if existing:
        return existing[0]
    return tf.get_variable(
        "eval_step",
        shape=[],
        dtype=tf.int64,
        initializer=tf.zeros_initializer(),
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES, EVAL_STEP],
    )


def wait_for_new_checkpoint(
    checkpoint_dir: str, last_checkpoint: str | None = None, seconds_to_sleep: float = 1, timeout: float | None = None
) -> str | None:
    """The path of the next checkpoint of a folder; None if none comes within `timeout` seconds."""
    until = None if timeout is None else time.time() + timeout
    while True:
        path: str | None = tf.train.latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            return path
        if until is not None and time.time() + seconds_to_sleep > until:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """The paths of checkpoints as they come, until `timeout` seconds pass without any and `timeout_fn` says stop."""
    path = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        begin = time.time()
        path = new
        yield path
        time.sleep(max(0.0, begin + min_interval_secs - time.time()))


class StopAfterNEvalsHook(tf.train.SessionRunHook):
    """Ends an evaluation after some steps.

    Args:
        num_evals: the number of steps; None for no end.
        log_progress: whether to tell of each.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._log = num_evals, log_progress
        self._step: Any = None

    def begin(self) -> None:
        """Takes the variable that counts."""
        self._step = get_or_create_eval_step()

    def before_run(self, run_context: Any) -> Any:
        """Asks for the count."""
        return tf.train.SessionRunArgs({"evals_completed": self._step})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Asks for the end after the last step."""
        count = run_values.results["evals_completed"]
        if self._log and self._num_evals is not None:
            tf.logging.info("Evaluation [%d/%d]", count, self._num_evals)
        if self._num_evals is not None and count >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(tf.train.SessionRunHook):
    """Writes a summary at the end of an evaluation.

    Args:
        log_dir: the folder.
        summary_writer: a writer in its place.
        summary_op: the summary; that of all unless given.
        feed_dict: feeds of the summary.
    """

    def __init__(
        self, log_dir: str | None = None, summary_writer: Any = None, summary_op: Any = None, feed_dict: Any = None
    ) -> None:
        if bool(log_dir) == bool(summary_writer):
            raise ValueError("Exactly one of log_dir and summary_writer must be specified.")
        self._folder, self._writer = log_dir, summary_writer
        self._summary, self._feeds = summary_op, feed_dict
        self._global_step: Any = None

    def begin(self) -> None:
        """Takes the summary and the writer."""
        if self._summary is None:
            self._summary = tf.summary.merge_all()
        self._global_step = tf.train.get_or_create_global_step()
        if self._writer is None:
            self._writer = tf.summary.FileWriterCache.get(str(self._folder))

    def end(self, session: Any) -> None:
        """Writes the summary."""
        if self._summary is not None:
            step, summary = session.run([self._global_step, self._summary], self._feeds)
            self._writer.add_summary(summary, step)
            self._writer.flush()


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """The values of `final_ops` after an evaluation of a checkpoint.

    Args:
        checkpoint_path: the checkpoint; None for fresh variables.
        master, scaffold, config: see `tf.train.ChiefSessionCreator`.
        eval_ops, feed_dict: what runs in each step, and its feeds.
        final_ops, final_ops_feed_dict: what runs at the end, and its feeds.
        hooks: hooks, among them a hook that says stop.
    """
    step = get_or_create_eval_step()
    update = step.assign_add(1)
    if isinstance(eval_ops, dict):
        steps: Any = {**eval_ops, "update_eval_step": update}
    elif isinstance(eval_ops, (list, tuple)):
        steps = [*eval_ops, update]
    else:
        steps = [update] if eval_ops is None else [eval_ops, update]
    final = tf.train.FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = tf.train.ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    with tf.train.MonitoredSession(session_creator=creator, hooks=[*(hooks or []), final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(steps, feed_dict)
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """`evaluate_once` of each checkpoint of a folder as it comes; gives the last values.

    Args:
        checkpoint_dir: the folder.
        eval_interval_secs: the least time between two.
        max_number_of_evaluations: the number of checkpoints.
        timeout, timeout_fn: see `checkpoints_iterator`.
        master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config: see `evaluate_once`.
    """
    values = None
    for count, path in enumerate(checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn), 1):
        values = evaluate_once(
            path, master, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks, config
        )
        if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
            break
    return values
