"""`Evaluator`: evaluates and exports new checkpoints; and the listener of a training that calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.reports.logs import get_logger
from actorflow.graph.variables.collections import GraphKeys
from actorflow.training.estimator.alternating.exporters import _Folders
from actorflow.training.estimator.alternating.specs import EvalSpec
from actorflow.training.estimator.events import Exported
from actorflow.training.monitored.commands import Await, Program, act, call
from actorflow.training.monitored.hooks.saving import CheckpointSaverListener
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer

_LOG = get_logger("estimator")


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an evaluation: the metrics, and the result of each exporter."""

    metrics: Mapping[str, Any]
    exports: list[Any]
    path: str

    @property
    def step(self) -> int:
        """The global step of the checkpoint."""
        return int(self.metrics[GraphKeys.GLOBAL_STEP])


class Evaluator:
    """Evaluates the latest checkpoint, where that was not done before, and calls the exporters.

    Args:
        estimator: the Estimator, of either kind.
        spec: what is evaluated.
        max_steps: the global step at which the training ends.
    """

    def __init__(self, estimator: Any, spec: EvalSpec, max_steps: int | None) -> None:
        self.estimator, self.spec, self._max_steps = estimator, spec, max_steps
        self._previous: str | None = None
        self._is_told = False
        """Whether the log has been told that there is nothing new to evaluate."""

    def evaluate_and_export(self, path: str | None = None) -> Program[Result | None]:
        """The result; None if there is no checkpoint, or no new checkpoint."""
        path = path or self.estimator.latest_checkpoint()
        if path is None or path == self._previous:
            if not self._is_told and path is None:
                _LOG.warning("no checkpoint is there yet; an evaluation begins when there is one")
            elif not self._is_told:
                _LOG.info("this checkpoint is evaluated already", path=path)
            self._is_told = True
            return None
        self._is_told = False
        spec = self.spec
        metrics = yield from call(self.estimator.evaluate, spec.input_fn, spec.steps, spec.hooks, path, spec.name)
        step = int(metrics[GraphKeys.GLOBAL_STEP])
        is_final = self._max_steps is not None and step >= self._max_steps
        exports = []
        for exporter in spec.exporters:
            folder = f"{self.estimator.model_dir.rstrip('/')}/export/{exporter.name}"
            if isinstance(exporter, _Folders):
                export = yield from exporter._exporting(self.estimator, folder, path, metrics, is_final)
            else:
                export = yield from call(
                    lambda exporter=exporter, folder=folder: exporter.export(
                        estimator=self.estimator,
                        export_path=folder,
                        checkpoint_path=path,
                        eval_result=metrics,
                        is_the_final_export=is_final,
                    )
                )
            exports.append(export)
            if export is not None:
                self.estimator.told.tell(
                    Exported, step, exporter.name, export.decode() if isinstance(export, bytes) else str(export)
                )
        self._previous = path
        return Result(metrics, exports, path)


class EvaluationListener(CheckpointSaverListener):
    """Evaluates checkpoints of a training when they are due, by the rules of `EvalSpec`.

    Args:
        evaluator: what evaluates.
        beside: starts an evaluation beside the training, and gives a function that waits for its end; None waits at
            once.
    """

    def __init__(self, evaluator: Evaluator, beside: Any = None) -> None:
        self._evaluator, self._beside = evaluator, beside
        spec = evaluator.spec
        self._timer = (
            SecondOrStepTimer(every_secs=spec.throttle_secs)
            if spec.every_steps is None
            else SecondOrStepTimer(every_steps=spec.every_steps)
        )
        self._is_first = True
        self._running: Any = None
        self.result: Result | None = None

    def begin(self) -> None:
        self._timer.reset()
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> Any:
        if self._is_first:
            self._is_first = False
            _LOG.info(
                "the checkpoint is not evaluated: it is the one that the training begins with", step=global_step_value
            )
            return None
        if not self._timer.should_trigger_for_step(global_step_value):
            spec = self._evaluator.spec
            _LOG.info(
                "the checkpoint is not evaluated: the last evaluation was too short a time ago",
                step=global_step_value,
                throttle_secs=spec.throttle_secs,
                every_steps=spec.every_steps,
            )
            return None
        return act(session, self._evaluate(global_step_value))

    def end(self, session: Any, global_step_value: int) -> Any:
        return act(session, self._end(global_step_value))

    def _end(self, step: int) -> Program[None]:
        if step != self._timer.last_triggered_step():
            yield from self._evaluate(step)
        yield from self._finish()

    def _evaluate(self, step: int) -> Program[None]:
        self._timer.update_last_triggered_step(step)
        yield from self._finish()
        program = self._evaluator.evaluate_and_export(self._evaluator.estimator.latest_checkpoint())
        if self._beside is None:
            self._take((yield from program))
        else:
            self._running = self._beside(program)

    def _finish(self) -> Program[None]:
        """Waits for an evaluation beside the training: at most one goes on, and no checkpoint is removed before it."""
        running, self._running = self._running, None
        if running is not None:
            self._take((yield Await(running)))

    def _take(self, result: Result | None) -> None:
        if result is not None:
            self.result = result
        elif self.result is None:
            raise RuntimeError("There was no new checkpoint after the training.")
