# `make names` writes this file from the marks in the sources.

from actorflow.compat.training.canned import BaselineClassifier as BaselineClassifier
from actorflow.compat.training.canned import BaselineEstimator as BaselineEstimator
from actorflow.compat.training.canned import BaselineRegressor as BaselineRegressor
from actorflow.compat.training.canned import DNNClassifier as DNNClassifier
from actorflow.compat.training.canned import DNNEstimator as DNNEstimator
from actorflow.compat.training.canned import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorflow.compat.training.canned import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from actorflow.compat.training.canned import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorflow.compat.training.canned import DNNRegressor as DNNRegressor
from actorflow.compat.training.canned import LinearClassifier as LinearClassifier
from actorflow.compat.training.canned import LinearEstimator as LinearEstimator
from actorflow.compat.training.canned import LinearRegressor as LinearRegressor
from actorflow.compat.training.estimator import Estimator as Estimator
from actorflow.compat.training.estimator import RunConfig as RunConfig
from actorflow.estimator import experimental as experimental
from actorflow.estimator import export as export
from actorflow.estimator import inputs as inputs
from actorflow.estimator.added_metrics import add_metrics as add_metrics
from actorflow.estimator.alternating.early_stopping import make_early_stopping_hook as make_early_stopping_hook
from actorflow.estimator.alternating.early_stopping import read_eval_metrics as read_eval_metrics
from actorflow.estimator.alternating.early_stopping import stop_if_higher_hook as stop_if_higher_hook
from actorflow.estimator.alternating.early_stopping import stop_if_lower_hook as stop_if_lower_hook
from actorflow.estimator.alternating.early_stopping import stop_if_no_decrease_hook as stop_if_no_decrease_hook
from actorflow.estimator.alternating.early_stopping import stop_if_no_increase_hook as stop_if_no_increase_hook
from actorflow.estimator.alternating.exporters import BestExporter as BestExporter
from actorflow.estimator.alternating.exporters import Exporter as Exporter
from actorflow.estimator.alternating.exporters import FinalExporter as FinalExporter
from actorflow.estimator.alternating.exporters import LatestExporter as LatestExporter
from actorflow.estimator.alternating.run import train_and_evaluate_blocking as train_and_evaluate
from actorflow.estimator.alternating.specs import EvalSpec as EvalSpec
from actorflow.estimator.alternating.specs import TrainSpec as TrainSpec
from actorflow.estimator.canned.class_heads import BinaryClassHead as BinaryClassHead
from actorflow.estimator.canned.class_heads import MultiClassHead as MultiClassHead
from actorflow.estimator.canned.class_heads import MultiLabelHead as MultiLabelHead
from actorflow.estimator.canned.head import Head as Head
from actorflow.estimator.canned.multi_head import MultiHead as MultiHead
from actorflow.estimator.canned.number_heads import LogisticRegressionHead as LogisticRegressionHead
from actorflow.estimator.canned.number_heads import PoissonRegressionHead as PoissonRegressionHead
from actorflow.estimator.canned.number_heads import RegressionHead as RegressionHead
from actorflow.estimator.events import Evaluated as Evaluated
from actorflow.estimator.events import Exported as Exported
from actorflow.estimator.events import Saved as Saved
from actorflow.estimator.events import StepMade as StepMade
from actorflow.estimator.events import TrainingBegun as TrainingBegun
from actorflow.estimator.events import TrainingEnded as TrainingEnded
from actorflow.estimator.hooks import InMemoryEvaluatorHook as InMemoryEvaluatorHook
from actorflow.estimator.hooks import make_stop_at_checkpoint_step_hook as make_stop_at_checkpoint_step_hook
from actorflow.estimator.inputs.parsing_specs import classifier_parse_example_spec as classifier_parse_example_spec
from actorflow.estimator.inputs.parsing_specs import regressor_parse_example_spec as regressor_parse_example_spec
from actorflow.estimator.predictor import Predictor as Predictor
from actorflow.estimator.progress.state import Progress as Progress
from actorflow.estimator.spec import EstimatorSpec as EstimatorSpec
from actorflow.estimator.spec import ModeKeys as ModeKeys
from actorflow.estimator.vocabulary import VocabInfo as VocabInfo
from actorflow.estimator.warm_start import WarmStartSettings as WarmStartSettings
from actorflow.monitored.hook import SessionRunArgs as SessionRunArgs
from actorflow.monitored.hook import SessionRunContext as SessionRunContext
from actorflow.monitored.hook import SessionRunHook as SessionRunHook
from actorflow.monitored.hook import SessionRunValues as SessionRunValues
from actorflow.monitored.hooks.feeding import FeedFnHook as FeedFnHook
from actorflow.monitored.hooks.feeding import FinalOpsHook as FinalOpsHook
from actorflow.monitored.hooks.logged import LoggingTensorHook as LoggingTensorHook
from actorflow.monitored.hooks.logged import StepCounterHook as StepCounterHook
from actorflow.monitored.hooks.saving import CheckpointSaverHook as CheckpointSaverHook
from actorflow.monitored.hooks.saving import CheckpointSaverListener as CheckpointSaverListener
from actorflow.monitored.hooks.stopping import GlobalStepWaiterHook as GlobalStepWaiterHook
from actorflow.monitored.hooks.stopping import NanLossDuringTrainingError as NanLossDuringTrainingError
from actorflow.monitored.hooks.stopping import NanTensorHook as NanTensorHook
from actorflow.monitored.hooks.stopping import StopAtStepHook as StopAtStepHook
from actorflow.monitored.hooks.summaries import ProfilerHook as ProfilerHook
from actorflow.monitored.hooks.summaries import SummarySaverHook as SummarySaverHook
from actorflow.monitored.hooks.timer import SecondOrStepTimer as SecondOrStepTimer

__all__ = [
    "BaselineClassifier",
    "BaselineEstimator",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
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
    "FeedFnHook",
    "FinalExporter",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "Head",
    "InMemoryEvaluatorHook",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LoggingTensorHook",
    "LogisticRegressionHead",
    "ModeKeys",
    "MultiClassHead",
    "MultiHead",
    "MultiLabelHead",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "PoissonRegressionHead",
    "Predictor",
    "ProfilerHook",
    "Progress",
    "RegressionHead",
    "RunConfig",
    "Saved",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StepMade",
    "StopAtStepHook",
    "SummarySaverHook",
    "TrainSpec",
    "TrainingBegun",
    "TrainingEnded",
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "classifier_parse_example_spec",
    "experimental",
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
