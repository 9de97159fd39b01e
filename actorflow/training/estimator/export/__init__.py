"""`af.estimator.export`: an Estimator's model as a saved model (`tf.estimator.export`).

outputs.py    the outputs of a served model: `PredictOutput`, `ClassificationOutput`, `RegressionOutput`, and signatures of them
receivers.py  the inputs of a served model: `ServingInputReceiver`, and functions that make it
saving.py     `Estimator.export_saved_model` as a program
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.estimator.export", __name__)
