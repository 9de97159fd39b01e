# `make names` writes this file from the marks in the sources.

"""`af.estimator.export`: an Estimator's model as a saved model (`tf.estimator.export`).

outputs.py    the outputs of a served model: `PredictOutput`, `ClassificationOutput`, `RegressionOutput`, and signatures of them
receivers.py  the inputs of a served model: `ServingInputReceiver`, and functions that make it
saving.py     `Estimator.export_saved_model` as a program
"""

from actorflow.training.estimator.export.outputs import ClassificationOutput as ClassificationOutput
from actorflow.training.estimator.export.outputs import ExportOutput as ExportOutput
from actorflow.training.estimator.export.outputs import PredictOutput as PredictOutput
from actorflow.training.estimator.export.outputs import RegressionOutput as RegressionOutput
from actorflow.training.estimator.export.receivers import ServingInputReceiver as ServingInputReceiver
from actorflow.training.estimator.export.receivers import TensorServingInputReceiver as TensorServingInputReceiver
from actorflow.training.estimator.export.receivers import build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn
from actorflow.training.estimator.export.receivers import build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn
from actorflow.training.estimator.export.receivers import build_raw_supervised_input_receiver_fn as build_raw_supervised_input_receiver_fn

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "TensorServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
    "build_raw_supervised_input_receiver_fn",
]
