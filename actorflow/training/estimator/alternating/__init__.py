"""Training and evaluation in turn, or beside each other (`tf.estimator.train_and_evaluate`).

specs.py            `TrainSpec` and `EvalSpec`
evaluator.py        `Evaluator`: evaluates and exports new checkpoints, and the listener that calls it
run.py              `train_and_evaluate`, with `await` and without it
roles.py            the parts of the tasks that `TF_CONFIG` names
ending.py           `Ending`: the chief's word that the training is over
exporters.py        `FinalExporter`, `LatestExporter`, `BestExporter`
early_stopping.py   hooks that end a training by what evaluations have shown
"""
