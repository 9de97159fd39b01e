# `make names` writes this file from the marks in the sources.

from actorflow.compat.estimator.canned import BaselineClassifier as BaselineClassifier
from actorflow.compat.estimator.canned import BaselineEstimator as BaselineEstimator
from actorflow.compat.estimator.canned import BaselineRegressor as BaselineRegressor
from actorflow.compat.estimator.canned import DNNClassifier as DNNClassifier
from actorflow.compat.estimator.canned import DNNEstimator as DNNEstimator
from actorflow.compat.estimator.canned import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from actorflow.compat.estimator.canned import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from actorflow.compat.estimator.canned import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from actorflow.compat.estimator.canned import DNNRegressor as DNNRegressor
from actorflow.compat.estimator.canned import LinearClassifier as LinearClassifier
from actorflow.compat.estimator.canned import LinearEstimator as LinearEstimator
from actorflow.compat.estimator.canned import LinearRegressor as LinearRegressor
from actorflow.compat.estimator.estimator import Estimator as Estimator
from actorflow.compat.estimator.estimator import RunConfig as RunConfig
from actorflow.compat.estimator.hooks import CheckpointSaverHook as CheckpointSaverHook
from actorflow.compat.estimator.hooks import CheckpointSaverListener as CheckpointSaverListener
from actorflow.compat.estimator.hooks import FeedFnHook as FeedFnHook
from actorflow.compat.estimator.hooks import FinalOpsHook as FinalOpsHook
from actorflow.compat.estimator.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from actorflow.compat.estimator.hooks import LoggingTensorHook as LoggingTensorHook
from actorflow.compat.estimator.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from actorflow.compat.estimator.hooks import NanTensorHook as NanTensorHook
from actorflow.compat.estimator.hooks import ProfilerHook as ProfilerHook
from actorflow.compat.estimator.hooks import SecondOrStepTimer as SecondOrStepTimer
from actorflow.compat.estimator.hooks import SessionRunArgs as SessionRunArgs
from actorflow.compat.estimator.hooks import SessionRunContext as SessionRunContext
from actorflow.compat.estimator.hooks import SessionRunHook as SessionRunHook
from actorflow.compat.estimator.hooks import SessionRunValues as SessionRunValues
from actorflow.compat.estimator.hooks import StepCounterHook as StepCounterHook
from actorflow.compat.estimator.hooks import StopAtStepHook as StopAtStepHook
from actorflow.compat.estimator.hooks import SummarySaverHook as SummarySaverHook
from actorflow.training.estimator import experimental as experimental
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
from actorflow.training.estimator.alternating.run import train_and_evaluate_blocking as train_and_evaluate
from actorflow.training.estimator.alternating.specs import EvalSpec as EvalSpec
from actorflow.training.estimator.alternating.specs import TrainSpec as TrainSpec
from actorflow.training.estimator.canned.heads.class_heads import BinaryClassHead as BinaryClassHead
from actorflow.training.estimator.canned.heads.class_heads import MultiClassHead as MultiClassHead
from actorflow.training.estimator.canned.heads.head import Head as Head
from actorflow.training.estimator.canned.heads.label_heads import MultiLabelHead as MultiLabelHead
from actorflow.training.estimator.canned.heads.multi_head import MultiHead as MultiHead
from actorflow.training.estimator.canned.heads.number_heads import LogisticRegressionHead as LogisticRegressionHead
from actorflow.training.estimator.canned.heads.number_heads import PoissonRegressionHead as PoissonRegressionHead
from actorflow.training.estimator.canned.heads.number_heads import RegressionHead as RegressionHead
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
