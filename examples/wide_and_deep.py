"""Predicts from a table whether a disease gets worse than it does for most: a wide and deep model over feature columns.

python examples/wide_and_deep.py --steps 600 --output examples/out/wide_and_deep
actorflow run --jobs worker=2 --files examples/out examples/wide_and_deep.py

The wide part is linear in groups of age, of weight and in both together: it remembers. The deep part is a small network over
numbers and learned vectors of the groups: it generalises. The table, with 442 patients, comes with scikit-learn. The
learning curve is in learning_curve.png.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from learning_curve import draw
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "wide_and_deep"
BLOOD = ("bp", "s1", "s2", "s3", "s4", "s5", "s6")


def table() -> tuple[dict[str, Any], Any]:
    """The features of each patient by name, and 1 for those whose disease progresses more than the median."""
    values, progression = load_diabetes(return_X_y=True, scaled=False)
    names = ("age", "sex", "bmi", *BLOOD)
    features: dict[str, Any] = {name: values[:, at].astype(np.float32) for at, name in enumerate(names)}
    features["sex"] = np.where(features["sex"] == 1, "one", "two")  # the data set does not say which is which
    return features, (progression > np.median(progression)).astype(np.int64)


def model(features: dict[str, Any], config: af.estimator.RunConfig) -> af.estimator.Estimator:
    """The classifier; numbers are scaled by what the given features have."""
    columns = af.feature_column

    def scaled(name: str) -> Any:
        mean, deviation = float(features[name].mean()), float(features[name].std())
        return columns.numeric_column(name, normalizer_fn=lambda x: (x - mean) / deviation)

    age = columns.bucketized_column(columns.numeric_column("age"), [30, 40, 50, 60, 70])
    weight = columns.bucketized_column(columns.numeric_column("bmi"), [20, 25, 30, 35])
    sex = columns.categorical_column_with_vocabulary_list("sex", ["one", "two"])
    both = columns.crossed_column([age, weight, "sex"], hash_bucket_size=100)
    return af.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[age, weight, sex, both],
        dnn_feature_columns=[
            *map(scaled, ("age", "bmi", *BLOOD)),
            columns.indicator_column(sex),
            columns.embedding_column(both, dimension=4),
        ],
        dnn_hidden_units=[16],
        dnn_dropout=0.2,
        config=config,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a wide and deep model on a table.")
    parser.add_argument("--steps", type=int, default=600, help="global step to end at (600)")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder of checkpoints (examples/out/wide_and_deep)"
    )
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)

    features, labels = table()
    train, test = train_test_split(np.arange(len(labels)), test_size=0.25, random_state=0, stratify=labels)
    rows = [({name: column[chosen] for name, column in features.items()}, labels[chosen]) for chosen in (train, test)]
    numpy_input_fn = af.estimator.inputs.numpy_input_fn
    train_input = numpy_input_fn(*rows[0], 32, num_epochs=None, shuffle=True, seed=0)
    test_input = numpy_input_fn(*rows[1], 128, shuffle=False)

    config = af.estimator.RunConfig(str(options.output), tf_random_seed=0, save_checkpoints_steps=100)
    estimator = model(rows[0][0], config)
    specs = (
        af.estimator.TrainSpec(train_input, options.steps),
        af.estimator.EvalSpec(test_input, steps=None, every_steps=100),
    )
    metrics, _ = await af.estimator.train_and_evaluate(estimator, *specs)
    draw(estimator.history, "auc", options.output / "learning_curve.png")
    if metrics is None:  # this many steps were made before
        metrics = await estimator.evaluate(test_input)
    print(f"step {metrics['global_step']}: accuracy {metrics['accuracy']:.1%}, AUC {metrics['auc']:.3f}")

    async with estimator.predictor("probabilities") as predict:
        for at in test[:3]:
            patient = {name: column[at] for name, column in features.items()}
            answer = await predict(patient)
            print(
                f"age {patient['age']:.0f}, BMI {patient['bmi']:.1f}: worse than most with {answer['probabilities'][1]:.0%}"
            )


if __name__ == "__main__":
    anyio.run(main)
