"""Early stopping: hooks that end a training by what its evaluations have shown (`tf.estimator.experimental`)."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.models.summary.reading import read_events
from actorflow.public import public
from actorflow.training.estimator.core import Core
from actorflow.training.monitored.commands import Await, Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer, counted

_LOG = get_logger("estimator")


class _StopOnPredicate(SessionRunHook):
    """Ends a training when a function says so, which is asked every few steps or seconds, on a thread."""

    def __init__(self, should_stop_fn: Callable[[], bool], secs: float | None, steps: int | None) -> None:
        if not callable(should_stop_fn):
            raise TypeError("`should_stop_fn` must be callable.")
        self._function, self._timer = should_stop_fn, SecondOrStepTimer(secs, steps)

    def begin(self) -> None:
        self._step = counted("an early stopping hook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return act(run_context.session, self._look(run_context))
        return None

    def _look(self, context: SessionRunContext) -> Program[None]:
        step = int((yield from run(context.session, self._step)))
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if (yield Await(lambda: machine.on_thread(self._function))):
            _LOG.info("the training is stopped early", step=step)
            context.request_stop()


def _checked(estimator: Any) -> Core:
    if not isinstance(estimator, Core):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    return estimator


@public("af.estimator")
def make_early_stopping_hook(
    estimator: Core,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends a training when a function says so.

    Example:
        >>> import itertools
        >>> estimator = af.estimator.BaselineRegressor()
        >>> batches = itertools.repeat(({"x": np.zeros([2, 1])}, np.array([2.0, 4.0])))  # without end
        >>> stop = af.estimator.make_early_stopping_hook(estimator, lambda: True, run_every_secs=None, run_every_steps=1)
        >>> _ = await estimator.train(batches, hooks=[stop])

    Args:
        estimator: the Estimator.
        should_stop_fn: a function without arguments; it is called on a thread.
        run_every_secs: after how many seconds it is asked again.
        run_every_steps: after how many steps it is; the seconds have to be None then.

    Raises:
        TypeError: an argument is of another type.
        ValueError: both pauses, or none, are given.
    """
    _checked(estimator)
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopOnPredicate(should_stop_fn, run_every_secs, run_every_steps)


@public("af.estimator")
def read_eval_metrics(eval_dir: str | os.PathLike[str]) -> dict[int, dict[str, float]]:
    """The metrics of all evaluations whose summaries are in a folder, by global step, in order.

    Example:
        >>> estimator = af.estimator.BaselineRegressor()
        >>> batch = {"x": np.zeros([2, 1])}, np.array([2.0, 4.0])
        >>> _ = await estimator.train([batch] * 2)
        >>> _ = await estimator.evaluate([batch])
        >>> list(af.estimator.read_eval_metrics(estimator.eval_dir()))
        [2]

    Args:
        eval_dir: the folder; see `Estimator.eval_dir`.
    """
    by_step: dict[int, dict[str, float]] = {}
    if Path(eval_dir).is_dir():
        for event in read_events(eval_dir):
            if event.summary is None:
                continue
            metrics = {value.tag: value.simple_value for value in event.summary.value if value.simple_value is not None}
            if metrics:
                by_step.setdefault(int(event.step), {}).update(metrics)
    return dict(sorted(by_step.items()))


def _past(metrics: Mapping[int, Mapping[str, float]], name: str, begin: int) -> list[tuple[int, float]]:
    return [(step, values[name]) for step, values in metrics.items() if step >= begin and name in values]


def _threshold(
    better: Callable[[float, float], bool],
    estimator: Core,
    metric_name: str,
    threshold: float,
    eval_dir: str | None,
    min_steps: int,
    run_every_secs: float | None,
    run_every_steps: int | None,
) -> SessionRunHook:
    folder = eval_dir or _checked(estimator).eval_dir()

    def stops() -> bool:
        return any(better(value, threshold) for _, value in _past(read_eval_metrics(folder), metric_name, min_steps))

    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


def _improvement(
    better: Callable[[float, float], bool],
    estimator: Core,
    metric_name: str,
    max_steps_without: int,
    eval_dir: str | None,
    min_steps: int,
    run_every_secs: float | None,
    run_every_steps: int | None,
) -> SessionRunHook:
    folder = eval_dir or _checked(estimator).eval_dir()

    def stops() -> bool:
        best: tuple[int, float] | None = None
        for step, value in _past(read_eval_metrics(folder), metric_name, min_steps):
            if best is None or better(value, best[1]):
                best = step, value
            if step - best[0] >= max_steps_without:
                return True
        return False

    return make_early_stopping_hook(estimator, stops, run_every_secs, run_every_steps)


@public("af.estimator")
def stop_if_higher_hook(
    estimator: Core,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends a training when a metric is above a threshold.

    Example:
        >>> estimator = af.estimator.BaselineClassifier()
        >>> stop = af.estimator.stop_if_higher_hook(estimator, "accuracy", threshold=0.95)
        >>> isinstance(stop, af.train.SessionRunHook)
        True

    Args:
        estimator: the Estimator.
        metric_name: the name of the metric.
        threshold: the threshold.
        eval_dir: the folder of the evaluations' summaries; that of the Estimator unless given.
        min_steps: evaluations of fewer steps do not count.
        run_every_secs, run_every_steps: see `make_early_stopping_hook`.
    """
    return _threshold(
        operator.gt, estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps
    )


@public("af.estimator")
def stop_if_lower_hook(
    estimator: Core,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends a training when a metric is below a threshold.

    Example:
        >>> estimator = af.estimator.BaselineRegressor()
        >>> stop = af.estimator.stop_if_lower_hook(estimator, "loss", threshold=0.01)
        >>> isinstance(stop, af.train.SessionRunHook)
        True

    Args:
        estimator, metric_name, threshold, eval_dir: see `stop_if_higher_hook`.
        min_steps, run_every_secs, run_every_steps: see `stop_if_higher_hook`.
    """
    return _threshold(
        operator.lt, estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps
    )


@public("af.estimator")
def stop_if_no_increase_hook(
    estimator: Core,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends a training when a metric has not increased for some steps.

    Example:
        >>> estimator = af.estimator.BaselineClassifier()
        >>> stop = af.estimator.stop_if_no_increase_hook(estimator, "accuracy", max_steps_without_increase=1000)
        >>> isinstance(stop, af.train.SessionRunHook)
        True

    Args:
        estimator, metric_name, eval_dir: see `stop_if_higher_hook`.
        max_steps_without_increase: for how many steps.
        min_steps, run_every_secs, run_every_steps: see `stop_if_higher_hook`.
    """
    return _improvement(
        operator.gt,
        estimator,
        metric_name,
        max_steps_without_increase,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )


@public("af.estimator")
def stop_if_no_decrease_hook(
    estimator: Core,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """A hook that ends a training when a metric has not decreased for some steps.

    Example:
        >>> estimator = af.estimator.BaselineRegressor()
        >>> stop = af.estimator.stop_if_no_decrease_hook(estimator, "loss", max_steps_without_decrease=1000)
        >>> isinstance(stop, af.train.SessionRunHook)
        True

    Args:
        estimator, metric_name, eval_dir: see `stop_if_higher_hook`.
        max_steps_without_decrease: for how many steps.
        min_steps, run_every_secs, run_every_steps: see `stop_if_higher_hook`.
    """
    return _improvement(
        operator.lt,
        estimator,
        metric_name,
        max_steps_without_decrease,
        eval_dir,
        min_steps,
        run_every_secs,
        run_every_steps,
    )
