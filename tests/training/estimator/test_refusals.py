"""Mistakes with Estimators are refused as TensorFlow refuses them: by its class of error, with its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from training.estimator.estimator_refusals import MISTAKES, refused

import actorflow.compat.v1 as tf

ANSWERS: dict[str, list[str]] = json.loads((Path(__file__).parent / "refusals.json").read_text(encoding="utf-8"))
EARLIER = {
    "metric of numbers": ["TypeError", "eval_metric_ops[a] must be tensors or operations, given: 1.0"],
    "warm start of an unknown": ["ValueError", "There is no variable 'strange' to warm-start."],
    "labels of words": ["ValueError", "Labels dtype should be integer. Instead got string. Give a label_vocabulary"],
    "labels no words": ["ValueError", "Labels dtype should be string if there is a vocabulary. Instead got int64."],
    "weights of words": ["ValueError", "Weight column should be castable to float. Given dtype: string"],
    "vocabulary of two": ["ValueError", "label_vocabulary should have 3 items, one for each class."],
    "MultiHead of one name": ["ValueError", "The names of heads must differ."],
    "stop estimator": ["TypeError", "`estimator` must have type `tf.estimator.Estimator`. Got: OBJECT"],
}
"""Mistakes of which TensorFlow says nothing, or which fail in its step or by an error of another function."""
WORDS = {
    "metric called loss": "Metric with name",
    "loss of two": "Loss must be scalar, given: ",
    "loss of another graph": "loss must be from the default graph, but stranger:0 is of another one",
    "unknown keys": "Expected to run at least one output from",
    "misfit": "does not fit the variables: 1 are missing, 1 have another type or shape",
    "misfit of shapes": "w has shape (2, 1) in the checkpoint, but the variable has (3, 1)",
    "nan": "NaN loss during training: Log:0 is NaN in step 1.",
    "same keys": "1 duplicate keys are found in both x and y: ",
    "task type": "ps is not a valid task_type in the cluster_spec",
    "task alone": 'If "cluster" is not set in TF_CONFIG, task type must be ',
    "keep exports": "`exports_to_keep`, if provided, must be ",
    "warm start from an unknown": "1 missing: strange",
    "a column no column": "Items of feature_columns must be a ",
    "a dense model of words": "You can wrap a categorical column with an embedding_column or indicator_column",
    "labels above": "assert_less",
    "labels below": "assert_greater_equal",
    "labels of two columns": "Mismatched label shape. Expected labels dimension=1.  Received 2.",
    "features missing": "Feature x is not in features dictionary.",
    "vocabulary too small": "expected 5 but got 2",
    "MultiHead without names": "All given heads must have name specified. Given: ",
}
"""Mistakes of which our text says more, or in other words."""
OURS = {"MissingVariablesError": "ValueError"}
"""Classes of ours, which are TensorFlow's too."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_as_by_tensorflow(name: str) -> None:
    kind, text = refused(tf, name)
    if name in EARLIER:
        expected_kind, words = EARLIER[name]
    else:
        expected_kind, theirs = ANSWERS[name]
        words = WORDS.get(name, theirs[:40].split("\n")[0].rstrip("."))
    assert OURS.get(kind, kind) == expected_kind, text
    assert words in text
