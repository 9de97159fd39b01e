"""`train` as a program: the hooks of a training, its steps, and what comes of a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.errors import OutOfRangeError
from actorflow.graph.ops.flow.control import group
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.saving.checkpoints import latest_checkpoint, load_variable
from actorflow.training.estimator.events import Saved, StepMade, TrainingBegun, TrainingEnded
from actorflow.training.estimator.inputs.source import Batches
from actorflow.training.estimator.programs.graphs import Built
from actorflow.training.estimator.programs.hosts import KeptHost
from actorflow.training.estimator.programs.non_finite import cause
from actorflow.training.estimator.spec import ModeKeys, check_hook
from actorflow.training.monitored.commands import Program, run
from actorflow.training.monitored.hooks.logged import LoggingTensorHook, StepCounterHook
from actorflow.training.monitored.hooks.saving import CheckpointSaverHook, CheckpointSaverListener
from actorflow.training.monitored.hooks.stopping import NanLossDuringTrainingError, NanTensorHook, StopAtStepHook
from actorflow.training.monitored.hooks.summaries import SummarySaverHook
from actorflow.training.monitored.loop import MonitoredLoop
from actorflow.training.supervisor.events import Restored

if TYPE_CHECKING:
    from actorflow.training.estimator.core import Core

_LOG = get_logger("estimator")
_TOLD_SECONDS = 0.02


def check_steps(steps: int | None, max_steps: int | None) -> None:
    """Raises ValueError if both are given, or a number is not positive."""
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    if steps is not None and steps <= 0:
        raise ValueError(f"Must specify steps > 0, given: {steps}")
    if max_steps is not None and max_steps <= 0:
        raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")


def check_hooks(hooks: Sequence[Any] | None) -> list[Any]:
    """Hooks as a list. Raises TypeError for what is none."""
    for hook in hooks or ():
        check_hook(hook, f"Hooks must be a SessionRunHook, given: {hook}")
    return list(hooks or ())


def check_listeners(listeners: Sequence[Any] | None) -> list[Any]:
    """Listeners as a list. Raises TypeError for what is none."""
    for listener in listeners or ():
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return list(listeners or ())


def saved_step(folder: str) -> int:
    """The global step of the latest checkpoint; 0 if there is none."""
    path = latest_checkpoint(folder)
    return 0 if path is None else int(load_variable(path, GraphKeys.GLOBAL_STEP))


class _Saves(CheckpointSaverListener):
    """Tells of checkpoints, and which batches came before them."""

    def __init__(self, core: Core, batches: Batches | None, hook: CheckpointSaverHook) -> None:
        self._core, self._batches, self._hook = core, batches, hook

    def before_save(self, session: Any, global_step_value: int) -> None:
        if self._batches is not None:
            self._batches.mark(global_step_value)

    def after_save(self, session: Any, global_step_value: int) -> None:
        if self._batches is not None:
            self._batches.forget(global_step_value)
        self._core.told.note(Saved, self._hook.saved, global_step_value)


def training(
    core: Core,
    input_fn: Any,
    hooks: Sequence[Any],
    steps: int | None,
    max_steps: int | None,
    listeners: Sequence[Any],
    epochs: int | None,
) -> Program[None]:
    """Trains; see `Estimator.train`."""
    config = core.config
    if config.replicas is not None and config.trains_with_others:
        raise ValueError(
            "replicas= divides each batch of a single training program, but TF_CONFIG says that several tasks train. Let the "
            "others be servers, by `actorflow worker`, and name a task of theirs as the chief's session_master."
        )
    begin = saved_step(core.model_dir)
    if max_steps is not None and max_steps <= begin:
        _LOG.info("Skipping training since max_steps has already saved.", max_steps=max_steps, step=begin)
        return
    warm = latest_checkpoint(core.model_dir) is None
    built, batches = yield from core.graphs.prepare(
        ModeKeys.TRAIN, input_fn, epochs=epochs, warm=warm and core.starts_warm
    )
    train_op = _with_updates(built) if core.runs_update_ops else built.spec.train_op
    if steps is not None or max_steps is not None:
        hooks = [*hooks, StopAtStepHook(steps, max_steps)]
    every = _hooks(core, built, batches, list(hooks), list(listeners))
    host = _host(core, built)
    watch = _StepWatch(core, batches, host)
    loop = MonitoredLoop(built.graph, host, every, face=core.face, on_restored=watch.restored)
    try:
        yield from loop.begin()
        watch.begin(begin, steps, max_steps)
        yield from loop.create()
        if batches is not None:
            batches.keeps = host.guard is not None and config.is_chief
        watch.step = int((yield from run(loop.session, built.step)))
        fetches = [train_op, built.spec.loss, built.step] if config.trains_with_others else [train_op, built.spec.loss]
        try:
            yield from _steps(loop, fetches, built, batches, watch)
        except NanLossDuringTrainingError as error:
            reason = yield from cause(core, built, host, fetches, watch.feeds, watch.step + 1)
            raise NanLossDuringTrainingError(
                f"NaN loss during training: {built.spec.loss.name} is NaN in step {watch.step + 1}. {reason}"
            ) from error
        yield from loop.finish()
        host.ended_well = True
        watch.end("a hook ended it" if loop.should_stop else "the input is at its end")
    finally:
        if batches is not None:
            yield from batches.close()
        yield from loop.close()
        if not core.is_open:
            yield from core.close_writers(core.model_dir)
    if not loop.steps:
        _LOG.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")


def _host(core: Core, built: Built) -> KeptHost:
    """The host of a training's session."""
    config = core.config
    return KeptHost(
        built,
        config.target,
        core.session_options,
        folder=core.model_dir,
        keeps=core.is_open,
        face=core.face,
        is_chief=config.is_chief,
        wait_seconds=None if config.is_chief else config.session_creation_timeout_secs,
        recovery="task" if config.trains_with_others else "all",
        replicas=None if config.replicas is None else config.replicas.count,
    )


def _steps(
    loop: MonitoredLoop, fetches: Any, built: Built, batches: Batches | None, watch: _StepWatch
) -> Program[None]:
    """Makes steps to the end of the input, or until a hook has enough."""
    size = 0

    def feeds() -> Program[Mapping[Any, Any]]:
        nonlocal size
        assert batches is not None and built.fed is not None
        watch.feeds = fed = built.fed.feeds((yield from batches.next()))
        leaf: Any = next(iter(fed.values()), None)
        size = len(leaf) if np.ndim(leaf) else 0
        return fed

    try:
        while not loop.should_stop:
            _, loss, *step = yield from loop.step(fetches, None if batches is None else feeds)
            watch.made(loss, size, *step)
    except OutOfRangeError:
        pass


class _StepWatch:
    """Counts the steps of a training, and tells of some of them."""

    def __init__(self, core: Core, batches: Batches | None, host: KeptHost) -> None:
        self._core, self._batches, self._host = core, batches, host
        self.step = self._examples = 0
        self._told = 0.0
        self._loss = float("nan")
        self.feeds: Mapping[Any, Any] | None = None
        """The feeds of the last step."""

    def begin(self, step: int, steps: int | None, max_steps: int | None) -> None:
        """The training begins at this step."""
        self.step = step
        last = step + steps if steps is not None else max_steps
        self._core.told.note(TrainingBegun, step, last)

    def made(self, loss: Any, examples: int, global_step: int = 0) -> None:
        """A step was made, maybe beside those of other tasks."""
        self.step = max(self.step + 1, int(global_step))
        self._examples += examples
        self._loss = loss
        now = machine.wall_time()
        if now - self._told >= _TOLD_SECONDS:
            self._told = now
            self._tell()

    def _tell(self) -> None:
        epoch = 0 if self._batches is None else self._batches.epoch
        self._core.told.note(StepMade, self.step, float(self._loss), self._examples, epoch)

    def restored(self) -> None:
        """A loss has taken the variables back to a checkpoint, where this is the chief; a worker goes on with its input."""
        last = next((event for event in reversed(self._host.history) if isinstance(event, Restored)), None)
        if last is None:
            return
        self.step = last.step
        self._core.told.note(Restored, last.path, last.step, last.epoch)
        if self._batches is not None:
            self._batches.rewind(last.step)

    def end(self, reason: str) -> None:
        """The training is over."""
        self._tell()
        self._core.told.note(TrainingEnded, self.step, reason)


def _hooks(core: Core, built: Built, batches: Batches | None, hooks: list[Any], listeners: list[Any]) -> list[Any]:
    """All hooks of a training, in TensorFlow's order."""
    spec, config = built.spec, core.config
    worker = [*hooks, NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
        logged = {"loss": spec.loss, "step": built.step}
        worker.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
    worker += spec.training_hooks or ()
    chief_only = list(spec.training_chief_hooks or ())
    savers = [hook for hook in (*worker, *chief_only) if isinstance(hook, CheckpointSaverHook)]
    if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
        saver = CheckpointSaverHook(
            core.model_dir,
            config.save_checkpoints_secs or None,
            config.save_checkpoints_steps or None,
            scaffold=built.scaffold,
            save_graph_def=config.checkpoint_save_graph_def,
        )
        savers, chief_only = [saver], [saver, *chief_only]
    if listeners and not savers:
        raise ValueError(
            "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
            "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
        )
    if savers:
        first = savers[0]
        first.listeners[:] = [listener for listener in first.listeners if not isinstance(listener, _Saves)]
        first.listeners.insert(0, _Saves(core, batches, first))
        first.listeners.extend(listener for listener in listeners if listener not in first.listeners)
    if not config.is_chief:
        return worker
    chief = list(chief_only)
    writes = config.log_step_count_steps or config.save_summary_steps
    writer = core.writer(core.model_dir, built.graph) if writes else None
    if config.log_step_count_steps:
        chief.append(StepCounterHook(config.log_step_count_steps, summary_writer=writer))
    if config.save_summary_steps:
        chief.append(SummarySaverHook(config.save_summary_steps, summary_writer=writer, scaffold=built.scaffold))
    return [*chief, *worker]


def _with_updates(built: Built) -> Any:
    """The train op with the graph's UPDATE_OPS, such as the moving averages of batch normalization."""
    if "train_op" not in built.extras:
        train_op, updates = built.spec.train_op, built.graph.get_collection(GraphKeys.UPDATE_OPS)
        if updates:
            with built.graph.as_default():
                train_op = group(train_op, *updates, name="train_op_with_updates")
        built.extras["train_op"] = train_op
    return built.extras["train_op"]
