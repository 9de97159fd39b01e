"""The end of a training, at a step or with a loss that is no number, and its begin at a step of other workers."""

from __future__ import annotations

import math
from typing import Any

import anyio
import numpy as np

from actorflow.base.reports.logs import get_logger
from actorflow.public import public
from actorflow.training.monitored.commands import Await, Program, act, run
from actorflow.training.monitored.hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from actorflow.training.monitored.hooks.timer import counted

_LOG = get_logger("training")
_LOOK_SECONDS = 0.5
_TOLD_STEPS = 1000


@public("af.train")
class StopAtStepHook(SessionRunHook):
    """Ends a training after a number of steps, or at a global step.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> async with af.train.MonitoredSession(hooks=[af.train.StopAtStepHook(num_steps=3)]) as session:
        ...     while not session.should_stop():
        ...         print(await session.run(step))
        1
        2
        3

    Args:
        num_steps: the number of steps to make from now on.
        last_step: the global step to end at. One of the two is given.

    Raises:
        ValueError: none or both are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._step = counted("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> Any:
        if self._last_step is None:
            return act(session, self._count(session))
        return None

    def _count(self, session: Any) -> Program[None]:
        assert self._num_steps is not None
        self._last_step = int((yield from run(session, self._step))) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> Any:
        assert self._last_step is not None
        if run_values.results + 1 >= self._last_step:  # it may have been read before or after the step counted
            return act(run_context.session, self._look(run_context))
        return None

    def _look(self, context: SessionRunContext) -> Program[None]:
        assert self._last_step is not None
        if (yield from run(context.session, self._step)) >= self._last_step:
            context.request_stop()


@public("af.train")
class NanLossDuringTrainingError(RuntimeError):
    """The loss of a step is no number.

    Example:
        >>> loss = af.placeholder_with_default(np.nan, [])
        >>> async with af.train.MonitoredSession(hooks=[af.train.NanTensorHook(loss)]) as session:
        ...     await session.run(loss)
        Traceback (most recent call last):
            ...
        actorflow.training.monitored.hooks.stopping.NanLossDuringTrainingError: NaN loss during training: ...
    """

    def __init__(self, message: str = "NaN loss during training.") -> None:
        super().__init__(message)


@public("af.train")
class NanTensorHook(SessionRunHook):
    """Ends a training whose loss is NaN.

    Example:
        >>> loss = af.placeholder_with_default(np.nan, [])
        >>> hook = af.train.NanTensorHook(loss, fail_on_nan_loss=False)
        >>> async with af.train.MonitoredSession(hooks=[hook]) as session:
        ...     _ = await session.run(loss)
        ...     print(session.should_stop())
        True

    Args:
        loss_tensor: the loss, a scalar.
        fail_on_nan_loss: whether to raise; otherwise the training ends, with a line in the log.

    Raises:
        NanLossDuringTrainingError: in the step.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss, self._fails = loss_tensor, fail_on_nan_loss
        self._steps = 0

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._steps += 1
        if not _is_nan(run_values.results):
            return
        name = getattr(self._loss, "name", self._loss)
        if self._fails:
            raise NanLossDuringTrainingError(
                f"NaN loss during training: {name} is NaN in step {self._steps} of this training. "
                "Session(options=af.PlanOptions(check_numerics=True)) names the first node that makes one."
            )
        _LOG.warning("Model diverged with loss = NaN.", loss=name, step=self._steps)
        run_context.request_stop()


def _is_nan(value: Any) -> bool:
    if type(value) is np.float32:
        return bool(value != value)
    return math.isnan(value) if np.ndim(value) == 0 else bool(np.isnan(value).any())


@public("af.train")
class GlobalStepWaiterHook(SessionRunHook):
    """Holds up the first step until the global step, which others count, is far enough.

    Example:
        >>> step = af.train.create_global_step().assign_add(1)
        >>> async with af.train.MonitoredSession(hooks=[af.train.GlobalStepWaiterHook(wait_until_step=0)]) as session:
        ...     print(await session.run(step))
        1

    Args:
        wait_until_step: the global step to wait for.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._until = wait_until_step

    def begin(self) -> None:
        self._waits = self._until > 0
        self._step = counted("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> Any:
        return act(run_context.session, self._wait(run_context.session)) if self._waits else None

    def _wait(self, session: Any) -> Program[None]:
        _LOG.info("Waiting for a global step before starting training.", until=self._until)
        reported = 0
        while (step := int((yield from run(session, self._step)))) < self._until:
            if step - reported > _TOLD_STEPS:
                reported = step
                _LOG.info("Waiting for a global step before starting training.", until=self._until, step=step)
            yield Await(lambda: anyio.sleep(_LOOK_SECONDS))
        self._waits = False
