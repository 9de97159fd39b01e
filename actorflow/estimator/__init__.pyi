# `make names` writes this file from the marks in the sources.

"""Estimators: a model function that is trained, evaluated, asked for predictions and exported (`tf.estimator`).

A model function builds a graph for a mode. An Estimator keeps that graph, and runs it through the loop with hooks of
`actorflow.monitored`, on one process or a cluster. What it does is written as programs (`monitored/commands.py`), once for
callers with and without `await`.

spec.py         `EstimatorSpec` and `ModeKeys`: what a model function gives, and for what it is asked
run_config.py   `RunConfig`: where and how an Estimator runs
inputs/         input functions, and what they give
graphs.py       `Built` and `Graphs`: the graphs of an Estimator, kept from call to call
hosts.py        `KeptHost`: a supervisor whose session may be kept
training.py     `train` as a program
evaluation.py   `evaluate` and `predict` as programs
warm_start.py   a training that begins with values of a checkpoint
events.py       what an Estimator tells
core.py         `Core`: what Estimators of both kinds have in common
estimator.py    `Estimator`
blocking.py     `blocking.Estimator`
"""

from actorflow.estimator import inputs as inputs
from actorflow.estimator.estimator import Estimator as Estimator
from actorflow.estimator.events import Evaluated as Evaluated
from actorflow.estimator.events import Exported as Exported
from actorflow.estimator.events import Saved as Saved
from actorflow.estimator.events import StepMade as StepMade
from actorflow.estimator.events import TrainingBegun as TrainingBegun
from actorflow.estimator.events import TrainingEnded as TrainingEnded
from actorflow.estimator.run_config import RunConfig as RunConfig
from actorflow.estimator.spec import EstimatorSpec as EstimatorSpec
from actorflow.estimator.spec import ModeKeys as ModeKeys
from actorflow.estimator.warm_start import WarmStartSettings as WarmStartSettings

__all__ = [
    "Estimator",
    "EstimatorSpec",
    "Evaluated",
    "Exported",
    "ModeKeys",
    "RunConfig",
    "Saved",
    "StepMade",
    "TrainingBegun",
    "TrainingEnded",
    "WarmStartSettings",
    "inputs",
]
