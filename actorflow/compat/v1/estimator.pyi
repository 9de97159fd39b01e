# `make names` writes this file from the marks in the sources.

from actorflow.compat.training.estimator import Estimator as Estimator
from actorflow.estimator import inputs as inputs
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
