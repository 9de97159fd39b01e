"""`TrainSpec` and `EvalSpec`: what `train_and_evaluate` trains and evaluates."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.public import public
from actorflow.training.estimator.alternating.exporters import Exporter
from actorflow.training.estimator.spec import check_hook
from actorflow.training.monitored.hooks.saving import CheckpointSaverListener


def _hooks(hooks: Any) -> tuple[Any, ...]:
    checked = tuple(hooks or ())
    for hook in checked:
        check_hook(hook, f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return checked


def _check_input(input_fn: Any) -> None:
    """Raises TypeError for what is no input: an Estimator takes functions, datasets and what can be iterated over."""
    is_input = callable(input_fn) or isinstance(input_fn, (Iterable, AsyncIterable))
    if not is_input or isinstance(input_fn, (str, bytes)):
        raise TypeError(
            f"`input_fn` must be callable, given: {input_fn!r:.80}. It may be a Dataset or an iterable of (features, labels) too."
        )


@public("af.estimator")
@dataclass(frozen=True)
class TrainSpec:
    """The training: its input, and how long it takes.

    Example:
        >>> batches = [({"x": np.array([[1.0]])}, np.array([2.0]))]
        >>> af.estimator.TrainSpec(batches, max_steps=1000).max_steps
        1000

    Args:
        input_fn: the input; see `Estimator`.
        max_steps: the global step to end at; None trains to the end of the input.
        hooks: take part in each step.
        saving_listeners: told of checkpoints.

    Raises:
        TypeError: a hook or a listener is none.
        ValueError: `max_steps` is not positive.
    """

    input_fn: Any
    max_steps: int | None = None
    hooks: Sequence[Any] | None = None
    saving_listeners: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        _check_input(self.input_fn)
        if self.max_steps is not None and self.max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {self.max_steps}")
        for listener in self.saving_listeners or ():
            if not isinstance(listener, CheckpointSaverListener):
                raise TypeError(f"All saving_listeners must be `CheckpointSaverListener` instances, given: {listener}")
        object.__setattr__(self, "hooks", _hooks(self.hooks))
        object.__setattr__(self, "saving_listeners", tuple(self.saving_listeners or ()))


@public("af.estimator")
@dataclass(frozen=True)
class EvalSpec:
    """The evaluation: its input, and when it is made.

    The first checkpoint after the initial checkpoint is evaluated, and the last checkpoint in any case. Between them a
    checkpoint is evaluated if it comes when `throttle_secs`, or the given `every_steps`, have passed since the begin of
    the last evaluation.

    Example:
        >>> batches = [({"x": np.array([[1.0]])}, np.array([2.0]))]
        >>> af.estimator.EvalSpec(batches, steps=None, throttle_secs=60).throttle_secs
        60

    Args:
        input_fn: the input; see `Estimator`.
        steps: how many batches to take; None takes all.
        name: a name, where a model is evaluated on several inputs.
        hooks: take part in each step.
        exporters: export the model after each evaluation: one `Exporter` or several.
        start_delay_secs: how long an evaluator of a cluster waits at first.
        throttle_secs: the least number of seconds between the begins of two evaluations.
        every_steps: the least number of global steps between two evaluations, instead of the seconds.

    Raises:
        TypeError: a hook, an exporter or the name is none.
        ValueError: a number is out of its range, or two exporters have one name.
    """

    input_fn: Any
    steps: int | None = 100
    name: str | None = None
    hooks: Sequence[Any] | None = None
    exporters: Any = None
    start_delay_secs: float = 120
    throttle_secs: float = 600
    every_steps: int | None = None

    def __post_init__(self) -> None:
        _check_input(self.input_fn)
        if self.steps is not None and self.steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {self.steps}")
        if self.name is not None and not isinstance(self.name, str):
            raise TypeError(f"`name` must be string, given: {self.name}")
        if self.start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {self.start_delay_secs}")
        if self.throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {self.throttle_secs}")
        if self.every_steps is not None and self.every_steps <= 0:
            raise ValueError(f"Must specify every_steps > 0, given: {self.every_steps}")
        object.__setattr__(self, "hooks", _hooks(self.hooks))
        object.__setattr__(self, "exporters", _exporters(self.exporters))


def _exporters(exporters: Any) -> tuple[Exporter, ...]:
    if exporters is None:
        return ()
    if isinstance(exporters, Exporter):
        exporters = [exporters]
    wrong = f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporters}."
    try:
        checked = tuple(exporters)
    except TypeError as error:
        raise TypeError(wrong) from error
    if not all(isinstance(exporter, Exporter) for exporter in checked):
        raise TypeError(wrong)
    names = [exporter.name for exporter in checked]
    for name in names:
        if name and not isinstance(name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(name)}")
    if not all(names):
        raise ValueError(f"An Exporter cannot have a name that is `None` or empty. All exporter names: {names}")
    if len(set(names)) < len(names):
        raise ValueError(
            f"`exporters` must have unique names. Such a name cannot be `None`. All exporter names: {names}"
        )
    return checked
