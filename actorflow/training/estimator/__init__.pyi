# `make names` writes this file from the marks in the sources.

"""Estimators: a model function that is trained, evaluated, asked for predictions and exported (`tf.estimator`).

A model function builds a graph for a mode. An Estimator keeps that graph, and runs it through the loop with hooks of
`actorflow.training.monitored`, on one process or a cluster. Its methods are written as programs
(`training/monitored/commands.py`), once for callers with and without `await`.

spec.py         `EstimatorSpec` and `ModeKeys`: what a model function gives, and for what it is asked
run_config.py   `RunConfig`: where and how an Estimator runs
inputs/         input functions, and what they give
programs/       `train`, `evaluate` and `predict`, as programs over the graphs that are kept
warm_start.py   a training that begins with values of a checkpoint
vocabulary.py   `VocabInfo`: rows of an embedding follow their words
events.py       what an Estimator tells
predictor.py    `Predictor`: answers for single examples, by a session that stays open
progress/       the progress of a training, in a terminal or a notebook
export/         `export_saved_model`: what a served model takes and gives
core.py         `Core`: what Estimators of both kinds have in common
estimator.py    `Estimator`
blocking.py     `blocking.Estimator` and `blocking.Predictor`
hooks.py        hooks of a training that know its Estimator: evaluations in memory, an end at a step that is saved
added_metrics.py  `add_metrics`: an Estimator whose evaluations have further metrics
experimental.py  names that TensorFlow 1.15 keeps in `tf.estimator.experimental`
canned/         Estimators whose model is ready, and their heads
alternating/    `train_and_evaluate`, with its specs, exporters and early stopping
"""

from actorflow.training.estimator import export as export
from actorflow.training.estimator import inputs as inputs
from actorflow.training.estimator.added_metrics import add_metrics as add_metrics
from actorflow.training.estimator.alternating.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from actorflow.training.estimator.alternating.early_stopping import read_eval_metrics as read_eval_metrics
from actorflow.training.estimator.alternating.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from actorflow.training.estimator.alternating.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from actorflow.training.estimator.alternating.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from actorflow.training.estimator.alternating.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from actorflow.training.estimator.alternating.exporters import BestExporter as BestExporter
from actorflow.training.estimator.alternating.exporters import Exporter as Exporter
from actorflow.training.estimator.alternating.exporters import FinalExporter as FinalExporter
from actorflow.training.estimator.alternating.exporters import LatestExporter as LatestExporter
from actorflow.training.estimator.alternating.run import train_and_evaluate as train_and_evaluate
from actorflow.training.estimator.alternating.specs import EvalSpec as EvalSpec
from actorflow.training.estimator.alternating.specs import TrainSpec as TrainSpec
from actorflow.training.estimator.canned.classes import BaselineClassifier as BaselineClassifier
from actorflow.training.estimator.canned.classes import BaselineEstimator as BaselineEstimator
from actorflow.training.estimator.canned.classes import BaselineRegressor as BaselineRegressor
from actorflow.training.estimator.canned.classes import DNNClassifier as DNNClassifier
from actorflow.training.estimator.canned.classes import DNNEstimator as DNNEstimator
from actorflow.training.estimator.canned.classes import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorflow.training.estimator.canned.classes import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from actorflow.training.estimator.canned.classes import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorflow.training.estimator.canned.classes import DNNRegressor as DNNRegressor
from actorflow.training.estimator.canned.classes import LinearClassifier as LinearClassifier
from actorflow.training.estimator.canned.classes import LinearEstimator as LinearEstimator
from actorflow.training.estimator.canned.classes import LinearRegressor as LinearRegressor
from actorflow.training.estimator.canned.heads.class_heads import BinaryClassHead as BinaryClassHead
from actorflow.training.estimator.canned.heads.class_heads import MultiClassHead as MultiClassHead
from actorflow.training.estimator.canned.heads.head import Head as Head
from actorflow.training.estimator.canned.heads.label_heads import MultiLabelHead as MultiLabelHead
from actorflow.training.estimator.canned.heads.multi_head import MultiHead as MultiHead
from actorflow.training.estimator.canned.heads.number_heads import LogisticRegressionHead as LogisticRegressionHead
from actorflow.training.estimator.canned.heads.number_heads import PoissonRegressionHead as PoissonRegressionHead
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead as RegressionHead
from actorflow.training.estimator.estimator import Estimator as Estimator
from actorflow.training.estimator.events import Evaluated as Evaluated
from actorflow.training.estimator.events import Exported as Exported
from actorflow.training.estimator.events import Saved as Saved
from actorflow.training.estimator.events import StepMade as StepMade
from actorflow.training.estimator.events import TrainingBegun as TrainingBegun
from actorflow.training.estimator.events import TrainingEnded as TrainingEnded
from actorflow.training.estimator.hooks import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from actorflow.training.estimator.hooks import make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook
from actorflow.training.estimator.inputs.parsing_specs import classifier_parse_example_spec as classifier_parse_example_spec
from actorflow.training.estimator.inputs.parsing_specs import regressor_parse_example_spec as regressor_parse_example_spec
from actorflow.training.estimator.predictor import Predictor as Predictor
from actorflow.training.estimator.progress.state import Progress as Progress
from actorflow.training.estimator.run_config import RunConfig as RunConfig
from actorflow.training.estimator.spec import EstimatorSpec as EstimatorSpec
from actorflow.training.estimator.spec import ModeKeys as ModeKeys
from actorflow.training.estimator.vocabulary import VocabInfo as VocabInfo
from actorflow.training.estimator.warm_start import WarmStartSettings as WarmStartSettings

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Evaluated",
    "Exported",
    "Exporter",
    "FinalExporter",
    "Head",
    "InMemoryEvaluatorHook",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LogisticRegressionHead",
    "ModeKeys",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "PoissonRegressionHead",
    "Predictor",
    "Progress",
    "RegressionHead",
    "RunConfig",
    "Saved",
    "StepMade",
    "TrainSpec",
    "TrainingBegun",
    "TrainingEnded",
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "classifier_parse_example_spec",
    "export",
    "inputs",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "read_eval_metrics",
    "regressor_parse_example_spec",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
    "train_and_evaluate",
]
