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

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.estimator", __name__)
