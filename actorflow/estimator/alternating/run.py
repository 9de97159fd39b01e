"""`train_and_evaluate`: in one process, or what this task of a cluster has to do (`tf.estimator.train_and_evaluate`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio

from actorflow import machine
from actorflow.cluster.server import Server
from actorflow.estimator.alternating.evaluator import EvaluationListener, Evaluator, Result
from actorflow.estimator.alternating.specs import EvalSpec, TrainSpec
from actorflow.estimator.blocking import Estimator as BlockingEstimator
from actorflow.estimator.core import Core
from actorflow.estimator.estimator import Estimator
from actorflow.logs import get_logger
from actorflow.monitored.commands import Await, Program, call, perform, perform_blocking
from actorflow.public import public
from actorflow.runtime.event_loops.driver import LoopDriver

_LOG = get_logger("estimator")
_NO_RESULT: tuple[None, list[Any]] = (None, [])


@public("af.estimator")
async def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec, *, beside: bool = True
) -> tuple[Any, list[Any]]:
    """Trains, and evaluates checkpoints of the training.

        train = af.estimator.TrainSpec(batches, max_steps=1000)
        metrics, exports = await af.estimator.train_and_evaluate(estimator, train, af.estimator.EvalSpec(others, steps=None))

    With a cluster in `TF_CONFIG`, a chief and workers train, a task of type "ps" serves, and one of type "evaluator" evaluates.
    A task that is lost changes no result: training goes on from the last checkpoint.

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
        return await perform(_task(estimator, train_spec, eval_spec))
    evaluator = Evaluator(estimator, eval_spec, train_spec.max_steps)
    async with anyio.create_task_group() as group:

        def start(program: Program[Result | None]) -> Callable[[], Any]:
            over, found = anyio.Event(), []

            async def evaluate() -> None:
                try:
                    found.append(await perform(program))
                finally:
                    over.set()

            async def wait() -> Result | None:
                await over.wait()
                return found[0]

            group.start_soon(evaluate)
            return wait

        listener = EvaluationListener(evaluator, start if beside else None)
        await estimator.train(
            train_spec.input_fn,
            train_spec.hooks,
            max_steps=train_spec.max_steps,
            saving_listeners=[*(train_spec.saving_listeners or ()), listener],
        )
    return _results(listener)


@public("af.blocking:train_and_evaluate", "tf.estimator:train_and_evaluate")
def train_and_evaluate_blocking(estimator: BlockingEstimator, train_spec: TrainSpec, eval_spec: EvalSpec) -> Any:
    """`actorflow.estimator.train_and_evaluate` without `await`. Training waits for each evaluation.

    Args:
        estimator, train_spec, eval_spec: see `actorflow.estimator.train_and_evaluate`.
    """
    _check(estimator, BlockingEstimator, train_spec, eval_spec)
    if not _is_local(estimator):
        driver = LoopDriver()
        try:
            return perform_blocking(_task(estimator, train_spec, eval_spec), driver)
        finally:
            driver.close()
    listener = EvaluationListener(Evaluator(estimator, eval_spec, train_spec.max_steps))
    estimator.train(
        train_spec.input_fn,
        train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[*(train_spec.saving_listeners or ()), listener],
    )
    return _results(listener)


def _results(listener: EvaluationListener) -> tuple[Any, list[Any]]:
    result = listener.result
    return (None, []) if result is None else (result.metrics, result.exports)


def _check(estimator: Any, kind: Any, train_spec: Any, eval_spec: Any) -> None:
    if not isinstance(estimator, kind):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(f"`train_spec` must have type `tf.estimator.TrainSpec`. Got: {type(train_spec)}")
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}")
    config = estimator.config
    if config.task_type == "evaluator" and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id "
            f"{config.task_id}"
        )


def _is_local(estimator: Core) -> bool:
    config = estimator.config
    return not config.cluster_spec.jobs and config.task_type != "evaluator"


def _task(estimator: Any, train_spec: TrainSpec, eval_spec: EvalSpec) -> Program[tuple[Any, list[Any]]]:
    """The part of this task of a cluster."""
    config = estimator.config
    if config.task_type == "evaluator":
        return (yield from _evaluate_to_the_end(estimator, train_spec, eval_spec))
    server = Server(config.cluster_spec, config.task_type, config.task_id, file_roots=[estimator.model_dir])
    if config.task_type == "ps":
        yield Await(partial(_serve, server))
        return _NO_RESULT
    if config.task_type not in ("chief", "master", "worker"):
        raise ValueError(
            f"Task type {config.task_type} is not supported. Supported task types are chief, evaluator, master, ps, worker"
        )
    listeners = list(train_spec.saving_listeners or ()) if config.is_chief else []
    listener = None
    if config.task_type == "master":
        listener = EvaluationListener(Evaluator(estimator, eval_spec, train_spec.max_steps))
        listeners.append(listener)
    yield Await(server.__aenter__)
    try:
        yield from call(
            partial(
                estimator.train,
                train_spec.input_fn,
                train_spec.hooks,
                max_steps=train_spec.max_steps,
                saving_listeners=listeners,
            )
        )
    finally:
        yield Await(lambda: server.__aexit__(None, None, None))
    return _NO_RESULT if listener is None else _results(listener)


async def _serve(server: Server) -> None:
    async with server:
        await server.join()


def _evaluate_to_the_end(estimator: Any, train_spec: TrainSpec, eval_spec: EvalSpec) -> Program[tuple[Any, list[Any]]]:
    """Evaluates new checkpoints until one of the last step was evaluated."""
    evaluator = Evaluator(estimator, eval_spec, train_spec.max_steps)
    yield Await(lambda: anyio.sleep(eval_spec.start_delay_secs))
    while True:
        begun = machine.wall_time()
        result = yield from evaluator.evaluate_and_export()
        if result is not None and train_spec.max_steps and result.step >= train_spec.max_steps:
            return result.metrics, result.exports
        left = max(eval_spec.throttle_secs - (machine.wall_time() - begun), 0.0 if result is not None else 1.0)
        yield Await(lambda: anyio.sleep(left))  # noqa: B023
