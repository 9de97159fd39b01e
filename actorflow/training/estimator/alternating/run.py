"""`train_and_evaluate`: in one process, or the part of this task of a cluster (`tf.estimator.train_and_evaluate`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.public import public
from actorflow.training.estimator.alternating.evaluator import EvaluationListener, Evaluator, Result
from actorflow.training.estimator.alternating.roles import check, role
from actorflow.training.estimator.alternating.specs import EvalSpec, TrainSpec
from actorflow.training.estimator.blocking import Estimator as BlockingEstimator
from actorflow.training.estimator.core import Core
from actorflow.training.estimator.estimator import Estimator
from actorflow.training.monitored.commands import Program, perform, perform_blocking


@public("af.estimator")
async def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec, *, beside: bool = True
) -> tuple[Any, list[Any]]:
    """Trains, and evaluates checkpoints of the training.

    With a cluster in `TF_CONFIG`, a chief and workers train, and a task of type "ps" serves until they have ended. A
    task of type "evaluator" evaluates the newest checkpoint until the last checkpoint was evaluated. A chief or a "ps"
    that is lost and started again goes on from the last checkpoint; a worker may come late, or not at all. Without a
    cluster, or with a `LocalCluster` or a target in the configuration, a task that is lost changes no result.

    Example:
        >>> estimator = af.estimator.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
        >>> batches = [({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))] * 10
        >>> train = af.estimator.TrainSpec(batches, max_steps=10)
        >>> metrics, exports = await af.estimator.train_and_evaluate(estimator, train, af.estimator.EvalSpec(batches))
        >>> metrics["global_step"]
        10

    Args:
        estimator: the Estimator.
        train_spec: what is trained.
        eval_spec: what is evaluated, and when.
        beside: whether training goes on while a checkpoint is evaluated; at most one evaluation goes on at a time.

    Returns:
        The metrics of the last evaluation, and what each exporter gave then. None and an empty list in a task of a cluster
        that does not evaluate.

    Raises:
        TypeError: an argument is of another type.
        ValueError: `TF_CONFIG` names a task that there can't be.
    """
    _check(estimator, Estimator, train_spec, eval_spec)
    if not _is_local(estimator):
        return _results(await perform(role(estimator, train_spec, eval_spec)))
    evaluator = Evaluator(estimator, eval_spec, train_spec.max_steps)
    async with anyio.create_task_group() as group:

        def start(program: Program[Result | None]) -> Callable[[], Any]:
            over, results = anyio.Event(), []

            async def evaluate() -> None:
                try:
                    results.append(await perform(program))
                finally:
                    over.set()

            async def wait() -> Result | None:
                await over.wait()
                return results[0]

            group.start_soon(evaluate)
            return wait

        listener = EvaluationListener(evaluator, start if beside else None)
        await estimator.train(
            train_spec.input_fn,
            train_spec.hooks,
            max_steps=train_spec.max_steps,
            saving_listeners=[*(train_spec.saving_listeners or ()), listener],
        )
    return _results(listener.result)


@public("af.blocking:train_and_evaluate", "tf.estimator:train_and_evaluate")
def train_and_evaluate_blocking(estimator: BlockingEstimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """`actorflow.estimator.train_and_evaluate` without `await`. Training waits for each evaluation.

    Example:
        >>> estimator = af.blocking.LinearRegressor([af.feature_column.numeric_column("x")], "models/line")
        >>> batches = [({"x": np.array([[1.0], [2.0]])}, np.array([2.0, 4.0]))] * 10
        >>> train = af.estimator.TrainSpec(batches, max_steps=10)
        >>> metrics, exports = af.blocking.train_and_evaluate(estimator, train, af.estimator.EvalSpec(batches))
        >>> metrics["global_step"]
        10

    Args:
        estimator, train_spec, eval_spec: see `actorflow.estimator.train_and_evaluate`.
    """
    _check(estimator, BlockingEstimator, train_spec, eval_spec)
    if not _is_local(estimator):
        driver = LoopDriver()
        try:
            return _results(perform_blocking(role(estimator, train_spec, eval_spec), driver))
        finally:
            driver.close()
    listener = EvaluationListener(Evaluator(estimator, eval_spec, train_spec.max_steps))
    estimator.train(
        train_spec.input_fn,
        train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[*(train_spec.saving_listeners or ()), listener],
    )
    return _results(listener.result)


def _results(result: Result | None) -> tuple[Any, list[Any]]:
    return (None, []) if result is None else (result.metrics, result.exports)


def _check(estimator: Any, kind: Any, train_spec: Any, eval_spec: Any) -> None:
    if not isinstance(estimator, kind):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`. Got: {type(train_spec)}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}")
    check(estimator.config)


def _is_local(estimator: Core) -> bool:
    config = estimator.config
    return not config.cluster_spec.jobs and config.task_type != "evaluator"
