"""Canned Estimators: models that are ready (`tf.estimator.DNNClassifier` and the like).

heads/           `Head`: from logits to a loss, predictions and metrics
columns.py       features as one matrix, or as a linear sum
logits.py        from features to logits: deep, linear, or a bias alone
model_fn.py      a model function out of logits, a head and optimizers
deep.py          the constructors of deep models
linear.py        the constructors of linear models
combined.py      the constructors of those that are both
baseline.py      the constructors of those that are a bias alone
classes.py       the Estimators themselves
blocking.py      the same without `await`
"""
