"""Training and evaluation in turn, or beside each other (`tf.estimator.train_and_evaluate`).

specs.py            `TrainSpec` and `EvalSpec`
evaluator.py        `Evaluator`: evaluates and exports new checkpoints, and the listener that calls it
run.py              `train_and_evaluate`, with `await` and without it, and what each task of a cluster does
exporters.py        `FinalExporter`, `LatestExporter`, `BestExporter`
early_stopping.py   hooks that end a training by what evaluations have shown
"""
