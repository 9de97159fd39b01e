"""Canned Estimators: models that are ready (`tf.estimator.DNNClassifier` and the like).

heads.py      `Head`: from logits to a loss, predictions and metrics
columns.py    features as one matrix, or as a linear sum
logits.py     from features to logits: deep, linear, both, or a bias alone
models.py     a model function out of logits, a head and optimizers, and the constructors of all canned Estimators
classes.py    the Estimators themselves
blocking.py   the same without `await`
"""
