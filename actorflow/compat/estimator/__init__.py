"""`tf.estimator` with TensorFlow's arguments and blocking methods.

canned.py     canned Estimators
estimator.py  `tf.estimator.Estimator` and `RunConfig`
hooks.py      hooks under the names that they have in `tf.estimator` as well
keys.py       names of tasks, metrics and predictions
second.py     canned Estimators of version 2, by the names of TensorFlow's sources
"""
