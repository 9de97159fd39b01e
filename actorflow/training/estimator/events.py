"""The events of an Estimator: steps, checkpoints, evaluations and exports. A supervisor's events of losses come between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow.public import public
from actorflow.training.supervisor.events import Event


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class TrainingBegun(Event):
    """A training begins, or goes on from a checkpoint.

    Example:
        >>> af.estimator.TrainingBegun(time=0.0, step=0, last_step=1000).last_step
        1000

    Args:
        time: seconds since 1970.
        step: the global step.
        last_step: the global step at which it ends, where that is known.
    """

    step: int
    last_step: int | None


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class StepMade(Event):
    """A step of training was made. If steps are quick, some are left out.

    Example:
        >>> af.estimator.StepMade(time=0.0, step=100, loss=0.25, examples=3200, epoch=1).loss
        0.25

    Args:
        time: seconds since 1970.
        step: the number of steps so far: the global step, if each run increases it by 1.
        loss: the loss of the step.
        examples: how many examples this training has seen, where batches are fed; else 0.
        epoch: the number of the epoch, from 1; 0 where the input has none.
    """

    step: int
    loss: float
    examples: int
    epoch: int


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class Saved(Event):
    """A checkpoint is there.

    Example:
        >>> event = af.estimator.Saved(time=0.0, path="models/model.ckpt-100", step=100)
        >>> event.path
        'models/model.ckpt-100'

    Args:
        time: seconds since 1970.
        path: its path.
        step: the global step.
    """

    path: str
    step: int


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class Evaluated(Event):
    """An evaluation is over.

    Example:
        >>> event = af.estimator.Evaluated(time=0.0, step=100, name="eval", metrics={"accuracy": 0.9}, path="model.ckpt-100")
        >>> event.metrics
        {'accuracy': 0.9}

    Args:
        time: seconds since 1970.
        step: the global step of the checkpoint.
        name: the name of the evaluation, "" unless a name was given.
        metrics: the values by name.
        path: the checkpoint; None for initial values.
    """

    step: int
    name: str
    metrics: Mapping[str, Any] = field(hash=False)
    path: str | None


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class Exported(Event):
    """An exporter has exported a model.

    Example:
        >>> af.estimator.Exported(time=0.0, step=100, exporter="latest", path="models/export/latest/1").exporter
        'latest'

    Args:
        time: seconds since 1970.
        step: the global step of the checkpoint.
        exporter: the name of the exporter.
        path: where the export is.
    """

    step: int
    exporter: str
    path: str


@public("af.estimator")
@dataclass(frozen=True, slots=True)
class TrainingEnded(Event):
    """A training is over.

    Example:
        >>> af.estimator.TrainingEnded(time=0.0, step=1000, reason="the last step").step
        1000

    Args:
        time: seconds since 1970.
        step: the global step.
        reason: why, in a few words.
    """

    step: int
    reason: str


def is_scalar(value: Any) -> bool:
    """Whether the value of a metric is one element; a tuple of values is none."""
    return not isinstance(value, (tuple, list, dict)) and np.ndim(value) == 0
