"""The roles of the tasks that `TF_CONFIG` names: each process runs the same program, and does its own part of it.

| role | part |
|---|---|
| chief | begins when the parameter servers are there; trains, saves, takes variables back after a loss; says when all is over |
| worker | begins when variables have values; trains with its own input until the global step is the last step |
| ps | serves until the training is over and the last worker has left |
| evaluator | evaluates the newest checkpoint, again and again, until the last checkpoint was evaluated |

A worker uses the parameter servers and itself only. So the others wait for no late worker, and go on without a dead worker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.cluster.config.credentials import from_environment
from actorflow.cluster.processes.blocking_server import Server as ServerThread
from actorflow.cluster.server import Server
from actorflow.models.train.saving.checkpoints import checkpoint_exists
from actorflow.training.estimator.alternating.ending import Ending
from actorflow.training.estimator.alternating.evaluator import EvaluationListener, Evaluator, Result
from actorflow.training.estimator.alternating.specs import EvalSpec, TrainSpec
from actorflow.training.estimator.programs.training import saved_step
from actorflow.training.estimator.run_config import RunConfig
from actorflow.training.monitored.commands import Await, Program, call

_LOG = get_logger("estimator")
_LOOK_SECONDS = 0.5
_CLOSE_SECONDS = 15.0
_CHIEFS = ("chief", "master")
_TYPES = ("chief", "evaluator", "master", "ps", "worker")


def check(config: RunConfig) -> None:
    """Raises ValueError where a task can't be there."""
    if config.task_type not in _TYPES:
        raise ValueError(f"Task type {config.task_type} is not supported. Supported task types are {', '.join(_TYPES)}")
    if config.task_type == "evaluator" and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0).  Given task id "
            f"{config.task_id}"
        )
    if config.trains_with_others and not config.num_ps_replicas:
        raise ValueError(
            'The "cluster" in TF_CONFIG has workers but no "ps": a task of that type keeps the variables that they share.'
        )


def role(estimator: Any, train_spec: TrainSpec, eval_spec: EvalSpec) -> Program[Result | None]:
    """The part of this task of a cluster; the result is that of the last evaluation, if the task evaluates."""
    kind = estimator.config.task_type
    if kind == "evaluator":
        return (yield from _evaluate(estimator, train_spec, eval_spec))
    if kind == "ps":
        yield Await(partial(_serve, estimator, train_spec.max_steps))
        return None
    listeners = list(train_spec.saving_listeners or ()) if kind in _CHIEFS else []
    listener = None
    if kind == "master":
        listener = EvaluationListener(Evaluator(estimator, eval_spec, train_spec.max_steps))
        listeners.append(listener)
    yield from _train(estimator, train_spec, listeners)
    return None if listener is None else listener.result


def _server(kind: type[Any], config: RunConfig, folder: str, **options: Any) -> Any:
    """The server of this task. Sessions use parameter servers and the task itself."""
    return kind(
        config.cluster_spec,
        config.task_type,
        config.task_id,
        credentials=from_environment(),
        file_roots=[folder],
        session_tasks=[task for task in config.cluster_spec.tasks if task.startswith("/job:ps/")],
        **options,
    )


def _train(estimator: Any, spec: TrainSpec, listeners: Sequence[Any]) -> Program[None]:
    config, ending = estimator.config, Ending(estimator.model_dir)
    if config.task_type in _CHIEFS:
        yield Await(ending.begin)
    server = None
    if len(config.cluster_spec) > 1:  # it answers others while hooks and inputs of this program take their time
        server = _server(ServerThread, config, estimator.model_dir, start=False)
    try:
        if server is not None:
            yield Await(partial(machine.on_thread, server.start))
        work = partial(estimator.train, spec.input_fn, spec.hooks, max_steps=spec.max_steps, saving_listeners=listeners)
        yield from call(work)
        if config.task_type in _CHIEFS:
            yield Await(lambda: ending.tell(saved_step(estimator.model_dir)))
    finally:
        if server is not None:
            yield Await(partial(_closed, server))


async def _closed(server: ServerThread) -> None:
    with anyio.move_on_after(_CLOSE_SECONDS, shield=True):  # a cancelled training leaves no server behind
        await machine.on_thread(server.close)


async def _serve(estimator: Any, max_steps: int | None) -> None:
    """Serves until the training is over, and no other task is connected any more."""
    ending = Ending(estimator.model_dir)
    if max_steps is not None and saved_step(estimator.model_dir) >= max_steps:
        _LOG.info("there is nothing to serve: the training is over already", max_steps=max_steps)
        return
    async with _server(Server, estimator.config, estimator.model_dir) as server:
        await _pause(math.inf, ending)
        while True:
            if not any(link["direction"] == "from" for link in server.status()["links"]):
                return
            await anyio.sleep(_LOOK_SECONDS)


def _evaluate(estimator: Any, train_spec: TrainSpec, spec: EvalSpec) -> Program[Result]:
    """Evaluates new checkpoints until the last checkpoint was evaluated: that of `max_steps`, or of the end of the input."""
    evaluator, ending = Evaluator(estimator, spec, train_spec.max_steps), Ending(estimator.model_dir)
    result: Result | None = None
    yield Await(partial(anyio.sleep, spec.start_delay_secs))
    while True:
        begun = machine.wall_time()
        last = yield Await(ending.step)
        path = estimator.latest_checkpoint()
        try:
            result = (yield from evaluator.evaluate_and_export(path)) or result
        except Exception as error:
            if path is None or (yield Await(partial(machine.on_thread, checkpoint_exists, path))):
                raise
            _LOG.info("a checkpoint was removed before its evaluation was over", path=path, error=str(error))
            continue
        if result is not None:
            if train_spec.max_steps and result.step >= train_spec.max_steps:
                return result
            if last is not None and result.step >= last:
                return result
        left = max(spec.throttle_secs - (machine.wall_time() - begun), _LOOK_SECONDS)
        yield Await(partial(_pause, left, ending))


async def _pause(seconds: float, ending: Ending) -> None:
    """Waits, but not longer than the training goes on."""
    until = anyio.current_time() + seconds
    while anyio.current_time() < until:
        await anyio.sleep(min(_LOOK_SECONDS, max(until - anyio.current_time(), 0)))
        if await ending.step() is not None:
            return
