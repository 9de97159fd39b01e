"""Hooks of a training that know its Estimator: evaluations in memory, and an end at a step that is in a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.public import public
from actorflow.training.estimator.core import Core
from actorflow.training.estimator.programs.evaluation import evaluation
from actorflow.training.estimator.programs.training import check_hooks, check_steps, saved_step
from actorflow.training.monitored.commands import Await, Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.stopping import StopAtStepHook
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer, counted


@public("af.estimator")
class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates a training on the values that its variables have, without a checkpoint: at its begin, every few steps, and at its
    end.

    Example:
        >>> estimator = af.estimator.BaselineRegressor()
        >>> batch = {"x": np.zeros([2, 1])}, np.array([2.0, 4.0])
        >>> hook = af.estimator.InMemoryEvaluatorHook(estimator, [batch], every_n_iter=2)
        >>> _ = await estimator.train([batch] * 5, hooks=[hook])
        >>> [event.step for event in estimator.history if isinstance(event, af.estimator.Evaluated)]
        [0, 2, 4, 5]

    Args:
        estimator: the Estimator that is trained.
        input_fn, steps, hooks, name: see `Estimator.evaluate`.
        every_n_iter: how many steps there are between two evaluations.

    Raises:
        ValueError: `every_n_iter` or `steps` is not positive, or the training is one of several tasks. In a training: the model
            has a saver, an `init_fn` or saveables of its own.
    """

    def __init__(
        self,
        estimator: Core,
        input_fn: Any,
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        check_steps(steps, None)
        self._estimator, self._input_fn, self._steps, self._name = estimator, input_fn, steps, name
        self._hooks = check_hooks(hooks)
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        self._timer.reset()
        self._made = 0

    def after_create_session(self, session: Any, coord: Any) -> Any:
        graph = get_default_graph()
        if graph.get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError("InMemoryEvaluator does not support saveables other than global variables.")
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        self._variables = {variable.name: variable for variable in variables}
        return act(session, self._evaluate(session))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        self._made += 1
        if self._timer.should_trigger_for_step(self._made):
            return act(run_context.session, self._evaluate(run_context.session))
        return None

    def end(self, session: Any) -> Any:
        return act(session, self._evaluate(session))

    def _evaluate(self, session: Any) -> Program[None]:
        values = yield from run(session, self._variables)
        yield from evaluation(
            self._estimator, self._input_fn, self._steps, self._hooks, None, self._name, values=values
        )
        self._timer.update_last_triggered_step(self._made)


class _StopAtCheckpointStep(SessionRunHook):
    """Ends a training when a checkpoint has a step; before that, the steps beyond it wait."""

    def __init__(self, folder: str, last_step: int, wait_seconds: float) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        self._folder, self._last_step, self._wait_seconds = folder, last_step, wait_seconds

    def begin(self) -> None:
        self._step = counted("StopAtCheckpointStepHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        if int(run_values.results) + 1 >= self._last_step:
            return act(run_context.session, self._look(run_context))
        return None

    def _look(self, context: SessionRunContext) -> Program[None]:
        if (yield Await(lambda: machine.on_thread(saved_step, self._folder))) >= self._last_step:
            context.request_stop()
        else:
            yield Await(lambda: anyio.sleep(self._wait_seconds))


@public("af.estimator")
def make_stop_at_checkpoint_step_hook(
    estimator: Core, last_step: int, wait_after_file_check_secs: float = 30
) -> SessionRunHook:
    """A hook that ends a training at a global step. If several tasks train, all but the chief go on until a checkpoint has that
    step, so that the chief can write it.

    Example:
        >>> import itertools
        >>> estimator = af.estimator.BaselineRegressor()
        >>> batches = itertools.repeat(({"x": np.zeros([2, 1])}, np.array([2.0, 4.0])))  # without end
        >>> stop = af.estimator.make_stop_at_checkpoint_step_hook(estimator, last_step=5)
        >>> _ = await estimator.train(batches, hooks=[stop])
        >>> estimator.get_variable_value("global_step")
        5

    Args:
        estimator: the Estimator.
        last_step: the global step to end at.
        wait_after_file_check_secs: the seconds between two looks for a checkpoint.

    Raises:
        ValueError: `last_step` is None.
    """
    if estimator.config.is_chief:
        return StopAtStepHook(last_step=last_step)
    return _StopAtCheckpointStep(estimator.model_dir, last_step, wait_after_file_check_secs)
