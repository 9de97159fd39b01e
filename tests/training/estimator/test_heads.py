"""Heads by themselves: shapes of labels, weights and losses, keys, sparse labels. Values are TensorFlow's (Estimator 2.15)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.estimator import second
from actorflow.training.estimator.canned.model_fn import Classifier

HEADS: dict[str, Callable[..., Any]] = {
    "binary": tf.estimator.BinaryClassHead,
    "classes": lambda **named: tf.estimator.MultiClassHead(3, **named),
    "labels": lambda **named: tf.estimator.MultiLabelHead(3, **named),
    "numbers": lambda **named: tf.estimator.RegressionHead(3, **named),
}


def run(*tensors: Any) -> Any:
    with tf.Session(graph=tensors[0].graph) as session:
        session.run([tf.local_variables_initializer(), tf.tables_initializer()])
        values = session.run(list(tensors))
        return values[0] if len(values) == 1 else values


@pytest.mark.parametrize("labels", [[[0.8], [0.4]], [[1], [0]], [True, False]])
def test_labels_of_two_classes_may_be_shares(labels: Any) -> None:
    logits = np.array([[0.5], [-1.0]])
    with tf.Graph().as_default():
        computed = tf.estimator.BinaryClassHead().loss(tf.constant(labels), np.float32(logits))
        np.testing.assert_allclose(run(computed), cross_entropy(logits, np.reshape(labels, [2, 1])).mean(), rtol=1e-6)


def cross_entropy(x: Any, y: Any) -> Any:
    return np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x)))


@pytest.mark.parametrize(
    ("head", "labels", "logits"),
    [
        ("binary", [[[1], [0]], [[0], [1]]], [[[10], [-10]], [[12], [-12]]]),
        ("classes", [[[0], [1]], [[1], [2]]], [[[10, 0, 0], [12, 0, 0]], [[0, 10, 0], [0, 15, 0]]]),
        ("labels", [[[1, 0, 0]], [[0, 1, 1]]], [[[-10, 10, -10]], [[10, -10, 10]]]),
        ("numbers", [[[0.0, 1, 2]], [[2.0, 3, 4]]], [[[1, 2, 3]], [[1, 2, 3]]]),
    ],
)
def test_logits_have_any_number_of_dimensions(head: str, labels: Any, logits: Any) -> None:
    weights = np.array([[1.0, 1.5], [2.0, 2.5]])[:, : np.shape(logits)[1]]
    with tf.Graph().as_default():
        weighing = HEADS[head](weight_column="w")
        loss = weighing.loss(tf.constant(labels), np.float32(logits), {"w": tf.constant(weights)})
        np.testing.assert_allclose(run(loss), weighted(head, labels, logits, weights), rtol=1e-5)
        assert all(len(np.shape(value)) >= 2 for value in run(*weighing.predictions(np.float32(logits)).values()))


def weighted(head: str, labels: Any, logits: Any, weights: Any) -> float:
    """The formula, in numpy."""
    x, y = np.float64(logits), np.array(labels)
    if head == "classes":
        logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
        losses = -np.take_along_axis(logs, y, -1)
    elif head == "numbers":
        losses = (x - y) ** 2
    else:
        losses = cross_entropy(x, y).mean(-1, keepdims=True)
    return float((losses * weights[..., None]).sum() / losses.size)


@pytest.mark.parametrize(
    ("head", "labels", "message"),
    [
        ("binary", None, "You must provide a labels Tensor"),
        ("classes", None, "You must provide a labels Tensor"),
        ("labels", None, "You must provide a labels Tensor"),
        ("numbers", None, "You must provide a labels Tensor"),
        ("binary", np.zeros((2, 2), np.int32), "Mismatched label shape"),
        ("classes", np.zeros((2, 3), np.int32), "Mismatched label shape"),
        ("numbers", np.zeros((2, 1), np.float32), "Mismatched label shape"),
        ("labels", np.zeros((2, 1), np.int32), "Mismatched label shape"),
        ("classes", tf.SparseTensorValue([[0, 0]], np.int32([1]), [2, 1]), "SparseTensor labels are not supported"),
        ("numbers", tf.SparseTensorValue([[0, 0]], np.float32([1]), [2, 1]), "SparseTensor labels are not supported"),
    ],
)
def test_labels_that_cannot_fit_are_refused(head: str, labels: Any, message: str) -> None:
    with tf.Graph().as_default():
        if isinstance(labels, tf.SparseTensorValue):
            labels = tf.SparseTensor(*labels)
        width = 1 if head == "binary" else 3
        with pytest.raises(ValueError, match=message):
            HEADS[head]().loss(labels, np.zeros((2, width), np.float32))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("what", ["labels", "weights", "losses"])
def test_a_step_refuses_shapes_that_do_not_fit(head: str, what: str) -> None:
    """They are not known before: the losses of examples would be spread over each other, without a word."""
    width = 1 if head == "binary" else 3
    column = 1 if head in ("binary", "classes") else 3
    with tf.Graph().as_default():
        sizes = {"labels": (2, column), "weights": (2, 1), "losses": (2, 3 if head == "numbers" else 1)}
        sizes[what] = (1, sizes[what][-1])
        labels = tf.placeholder_with_default(np.zeros(sizes["labels"], np.float32), [None, column])
        weights = tf.placeholder_with_default(np.ones(sizes["weights"], np.float32), [None, 1])
        losses = tf.placeholder_with_default(np.ones(sizes["losses"], np.float32), [None, sizes["losses"][-1]])
        made = HEADS[head](weight_column="w", loss_fn=(lambda labels, logits: losses) if what == "losses" else None)
        targets = tf.cast(labels, tf.int32) if head == "classes" else labels
        loss = made.loss(targets, np.zeros((2, width), np.float32), {"w": weights})
        shape = {"labels": "labels shape", "weights": "weights shape", "losses": "loss_fn must return"}[what]
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"assertion failed: {shape}") as caught:
            run(loss)
        name = {"labels": "labels_shape", "weights": "weights_shape", "losses": "loss_shape"}[what]
        wrong = " ".join(map(str, sizes[what]))
        assert re.search(rf"\[{shape}.*\] \[{name}: \] \[{wrong}\]", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("word", "meaning"), [("sum", "weighted_sum"), ("sum_over_batch_size", "weighted_sum_over_batch_size")]
)
def test_a_reduction_has_a_short_word_too(head: str, word: str, meaning: str) -> None:
    assert HEADS[head](loss_reduction=word).loss_reduction == meaning
    with pytest.raises(ValueError, match="Invalid loss_reduction: none"):
        HEADS[head](loss_reduction="none")


def test_the_area_of_two_classes_is_interpolated_by_the_head_and_by_a_classifier_of_version_2() -> None:
    """The first value is Estimator 2.15's BinaryClassHead's for this example, the second that of its first version's head."""
    classifiers: list[Any] = [Classifier, second.CLASSES["LinearClassifierV2"]]
    heads = [classifier._class_head(classifier, 2, "w", None, "weighted_sum") for classifier in classifiers]
    weights, labels, logits = [[1.0], [0.1], [1.5]], [[1], [1], [0]], [[45.0], [-41.0], [44.0]]
    areas = []
    for head in (tf.estimator.BinaryClassHead("w"), *heads):
        with tf.Graph().as_default() as graph:
            features = {"w": tf.constant(weights)}
            spec = head.create_estimator_spec(features, "eval", tf.constant(logits), tf.constant(labels))
            value, update = spec.eval_metric_ops["auc_precision_recall"]
            with tf.Session(graph=graph) as session:
                session.run(tf.local_variables_initializer())
                session.run(update)
                areas.append(float(session.run(value)))
    assert areas == pytest.approx([0.4010627, 0.6737757, 0.4010627], abs=1e-5)


def test_the_loss_of_several_heads_alone_makes_no_summary() -> None:
    with tf.Graph().as_default() as graph:
        heads = tf.estimator.MultiHead([tf.estimator.RegressionHead(name="a"), tf.estimator.RegressionHead(name="b")])
        logits = labels = {name: tf.ones([2, 1]) for name in "ab"}
        heads.loss(labels, logits, mode="train")
        assert not graph.get_collection("summaries")
        heads.create_estimator_spec({}, "train", logits, labels, train_op_fn=tf.identity)
        assert sorted(each.op.name for each in graph.get_collection("summaries")) == ["loss", "loss/a", "loss/b"]


@pytest.mark.parametrize(("head", "keys"), [("binary", ["logistic", "class_ids"]), ("labels", ["classes"])])
def test_predictions_by_their_keys(head: str, keys: list[str]) -> None:
    width = 1 if head == "binary" else 3
    with tf.Graph().as_default():
        predictions = HEADS[head]().predictions(np.zeros((2, width), np.float32), keys)
        assert list(predictions) == keys
        with pytest.raises(ValueError, match="Prediction key must be in PredictionKeys, given: some"):
            HEADS[head]().predictions(np.zeros((2, width), np.float32), ["some"])


@pytest.mark.parametrize(
    ("vocabulary", "values"), [(None, np.int64([0, 1, 2])), (["a", "b", "c"], ["a", "b", "c"]), (None, [0, 1, 2])]
)
def test_sparse_labels_are_numbers_or_names_of_classes(vocabulary: Any, values: Any) -> None:
    with tf.Graph().as_default():
        head = tf.estimator.MultiLabelHead(3, label_vocabulary=vocabulary)
        sparse = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], values, [2, 2])
        logits = np.float32([[-10, 10, -10], [10, -10, 10]])
        dense = head.loss(np.int64([[1, 0, 0], [0, 1, 1]]), logits)
        np.testing.assert_allclose(*run(head.loss(sparse, logits), dense))


@pytest.mark.parametrize("head", ["binary", "classes", "labels"])
def test_an_unknown_word_is_named_with_the_vocabulary(head: str) -> None:
    words = ["a", "b"] if head == "binary" else ["a", "b", "c"]
    width = 1 if head == "binary" else 3
    with tf.Graph().as_default():
        labels: Any = tf.constant([["a"], ["zebra"], ["b"], ["yak"]])
        if head == "labels":
            labels = tf.SparseTensor([[0, 0], [1, 1], [2, 0], [3, 2]], ["a", "zebra", "b", "yak"], [4, 3])
        loss = HEADS[head](label_vocabulary=words).loss(labels, np.zeros((4, width), np.float32))
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run(loss)
    assert f"label_vocabulary {words}" in str(raised.value)
    assert "zebra" in str(raised.value) and "yak" in str(raised.value) and "b'b'" not in str(raised.value)


def test_an_unknown_class_of_metrics_is_named_with_the_vocabulary() -> None:
    with pytest.raises(ValueError, match=r"the label_vocabulary \['a', 'b'\]\. Given: 'zebra'"):
        tf.estimator.MultiLabelHead(2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=["zebra"])


def test_classes_have_metrics_by_their_names() -> None:
    with tf.Graph().as_default():
        head = tf.estimator.MultiLabelHead(
            2, label_vocabulary=["a", "b"], classes_for_class_based_metrics=["b"], name="h"
        )
        spec = head.create_estimator_spec({}, "eval", np.zeros((2, 2), np.float32), np.ones((2, 2), np.int64))
        assert {"probability_mean/b/h", "auc/b/h"} <= set(spec.eval_metric_ops)
        with pytest.raises(ValueError, match="label_vocabulary must be provided"):
            tf.estimator.MultiLabelHead(2, classes_for_class_based_metrics=["b"])


@pytest.mark.parametrize("name", [None, "h"])
def test_losses_of_regularization_are_added_measured_and_shown(name: str | None) -> None:
    ending = "" if name is None else f"/{name}"
    with tf.Graph().as_default():
        head, extra = tf.estimator.RegressionHead(name=name), [tf.constant(1.5), tf.constant(0.5)]
        facts = {"regularization_losses": extra, "train_op_fn": lambda loss: tf.no_op()}
        logits, labels = np.float32([[1], [2]]), np.float32([[0], [2]])
        assert run(head.loss(labels, logits, regularization_losses=extra)) == 2.5
        trained = head.create_estimator_spec({}, "train", logits, labels, **facts)
        assert run(trained.loss) == 2.5
        names = [summary.op.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
        assert names == [f"loss{ending}", f"regularization_loss{ending}"]
        measured = head.create_estimator_spec({}, "eval", logits, labels, **facts).eval_metric_ops
        assert run(measured[f"regularization_loss{ending}"][1]) == 2.0


def test_a_weight_column_may_be_normalized() -> None:
    with tf.Graph().as_default():
        column = tf.feature_column.numeric_column("w", normalizer_fn=lambda values: values * 2)
        head = tf.estimator.RegressionHead(weight_column=column)
        loss = head.loss(np.float32([[0], [0]]), np.float32([[1], [1]]), {"w": tf.constant([1.0, 3.0])})
        assert run(loss) == 4.0


def test_a_head_of_a_user_may_have_properties_of_its_own() -> None:
    class Own(tf.estimator.Head):
        @property
        def logits_dimension(self) -> int:
            return 7

    assert Own().logits_dimension == 7


def test_several_heads_reduce_alike() -> None:
    heads = [
        tf.estimator.RegressionHead(name=reduction, loss_reduction=reduction)
        for reduction in (tf.losses.Reduction.SUM, tf.losses.Reduction.SUM_OVER_BATCH_SIZE)
    ]
    with pytest.raises(ValueError, match="The loss_reduction must be the same for different heads"):
        tf.estimator.MultiHead(heads)
