"""Names that TensorFlow 1.15 keeps in `tf.estimator.experimental`."""

from __future__ import annotations

from actorflow.public import public
from actorflow.training.estimator.alternating.early_stopping import (
    make_early_stopping_hook,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from actorflow.training.estimator.export.receivers import build_raw_supervised_input_receiver_fn
from actorflow.training.estimator.hooks import InMemoryEvaluatorHook, make_stop_at_checkpoint_step_hook

public("tf.estimator:experimental")

__all__ = [
    "InMemoryEvaluatorHook",
    "build_raw_supervised_input_receiver_fn",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]
