"""`tf.contrib.learn`: modes, run settings, data sets and vocabularies. Its estimators moved to `tf.estimator`.

datasets/         data sets of tutorials
preprocessing.py  `VocabularyProcessor`: documents as ids of words
"""

from actorflow.compat.contrib.parts import part as _part

_MOVED = (
    "Estimator DNNClassifier DNNRegressor LinearClassifier LinearRegressor DNNLinearCombinedClassifier "
    "DNNLinearCombinedRegressor"
)

__getattr__, __dir__, __all__ = _part(
    "learn",
    {
        ".learn.preprocessing": "",
        ".learn.datasets": "",
        ".learn.modes": "ModeKeys MetricSpec",
        "tf.estimator": "RunConfig",
        "tf.train": "NanLossDuringTrainingError",
    },
    {name: f"it moved to tf.estimator.{name}, whose arguments are others" for name in _MOVED.split()}
    | {
        "learn_runner": "use tf.estimator.train_and_evaluate",
        "Experiment": "use tf.estimator.train_and_evaluate",
        "SKCompat": "use tf.estimator.inputs.numpy_input_fn",
        "InputFnOps": "use tf.estimator.export.ServingInputReceiver",
        "ModelFnOps": "use tf.estimator.EstimatorSpec",
    },
)
