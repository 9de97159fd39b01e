"""Canned Estimators do what TensorFlow's do from the same weights: losses, metrics, predictions, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.estimator.canned_programs import MODELS, data, observe

import actorflow as af
import actorflow.compat.v1 as tf

ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "canned.json").read_text(encoding="utf-8"))


def weights(values: dict[str, Any], folder: Path) -> str:
    """A checkpoint of these values."""
    graph = af.Graph()
    with graph.as_default():
        for name, value in values.items():
            af.get_variable(name, initializer=np.array(value, np.float32))
        saver, init = af.train.Saver(), af.global_variables_initializer()
    with af.blocking.Session(graph=graph) as session:
        session.run(init)
        path: str = saver.save(session, str(folder / "weights"))
    return path


@pytest.mark.parametrize("name", MODELS)
def test_f115_a_canned_estimator_does_what_tensorflows_does(name: str, tmp_path: Path) -> None:
    expected = ANSWERS[name]
    begin = weights(expected["begin"], tmp_path)
    found = observe(tf, name, str(tmp_path), begin)
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-4)
    assert found["metrics"] == pytest.approx(expected["metrics"], rel=1e-4, abs=1e-5)
    assert len(found["answers"]) == len(expected["answers"])
    for ours, theirs in zip(found["answers"], expected["answers"], strict=True):
        assert set(ours) == set(theirs)
        for key, value in theirs.items():
            if isinstance(value[0], str):
                assert ours[key] == value
            else:
                np.testing.assert_allclose(ours[key], value, rtol=1e-4, atol=1e-5, err_msg=key)


async def test_with_await(tmp_path: Path) -> None:
    features, labels = data("DNNClassifier")
    config = af.estimator.RunConfig(tf_random_seed=1)
    made = af.estimator.DNNClassifier([8], ["a", "x"], str(tmp_path), dropout=0.1, config=config)
    inputs = af.estimator.inputs.numpy_input_fn(features, labels, batch_size=8, num_epochs=60, shuffle=True, seed=1)
    before = await made.evaluate([(features, labels)])
    await made.train(inputs)
    after = await made.evaluate([(features, labels)])
    assert after["loss"] < before["loss"]
    async with made.predictor("class_ids") as predict:
        assert (await predict({"a": 0.5, "x": features["x"][0]}))["class_ids"].shape == (1,)


async def test_feature_columns(tmp_path: Path) -> None:
    """Wide and deep, over columns of several kinds."""
    words = af.feature_column.categorical_column_with_vocabulary_list("word", ["red", "green", "blue"])
    wide = [af.feature_column.crossed_column(["word", "size"], 20), words]
    deep = [af.feature_column.numeric_column("x", shape=(3,)), af.feature_column.indicator_column(words)]
    features = {
        "word": np.array(["red", "blue", "green", "red"] * 6),
        "size": np.array(["s", "l"] * 12),
        "x": data("LinearRegressor")[0]["x"],
    }
    labels = np.array([0, 1, 1, 0] * 6)
    made = af.estimator.DNNLinearCombinedClassifier(
        str(tmp_path),
        wide,
        lambda: af.train.FtrlOptimizer(0.5),
        deep,
        lambda: af.train.AdamOptimizer(0.05),
        [4],
        config=af.estimator.RunConfig(tf_random_seed=1),
    )
    await made.train([(features, labels)], epochs=60)
    assert (await made.evaluate([(features, labels)]))["accuracy"] == 1.0
    async for answer in made.predict([{key: value[:1] for key, value in features.items()}], "classes"):
        assert answer["classes"].tolist() == [b"0"]


@pytest.mark.parametrize(
    ("head", "label", "keys"),
    [
        (
            lambda: af.estimator.MultiLabelHead(2),
            np.array([[1.0, 0.0]] * 4, np.float32),
            {"logits", "probabilities", "classes"},
        ),
        (
            lambda: af.estimator.PoissonRegressionHead(),
            np.array([1.0, 2.0, 0.0, 4.0], np.float32),
            {"predictions", "logits"},
        ),
        (
            lambda: af.estimator.LogisticRegressionHead(),
            np.array([0.1, 0.5, 0.9, 1.0], np.float32),
            {"predictions", "logits"},
        ),
    ],
)
async def test_heads_make_models_of_ones_own(head: Any, label: Any, keys: set[str], tmp_path: Path) -> None:
    def model(features: Any, labels: Any, mode: str) -> Any:
        made = head()
        # An evaluation without a checkpoint draws weights of its own, which may be better than those that training begins with.
        logits = af.layers.dense(features, made.logits_dimension, kernel_initializer=af.zeros_initializer())

        def train(loss: Any) -> Any:
            return af.train.AdamOptimizer(0.1).minimize(loss, global_step=af.train.get_global_step())

        return made.create_estimator_spec(features, mode, logits, labels, train_op_fn=train)

    x = np.array([[1.0, 2.0], [0.5, 1.0], [0.0, 1.0], [2.0, 2.0]], np.float32)
    made = af.estimator.Estimator(model, str(tmp_path))
    before = await made.evaluate([(x, label)])
    await made.train([(x, label)], epochs=40)
    assert (await made.evaluate([(x, label)]))["loss"] < before["loss"]
    async for answer in made.predict([x]):
        assert set(answer) == keys


async def test_a_head_of_ones_own_words(tmp_path: Path) -> None:
    """A loss function, thresholds, an optimizer, and a model of another head."""
    features = {"x": np.array([[1.0, 2.0], [0.5, 1.0], [-1.0, 1.0], [-2.0, 2.0]], np.float32)}
    labels = np.array([1, 1, 0, 0])

    def absolute(labels: Any, logits: Any) -> Any:
        return af.abs(labels - af.sigmoid(logits))

    head = af.estimator.BinaryClassHead(thresholds=[0.25], loss_fn=absolute)
    made = af.estimator.LinearEstimator(head, ["x"], str(tmp_path), lambda: af.train.AdamOptimizer(0.2))
    await made.train([(features, labels)], epochs=30)
    metrics = await made.evaluate([(features, labels)])
    assert metrics["accuracy/positive_threshold_0.25"] == metrics["recall/positive_threshold_0.25"] == 1.0
    assert metrics["loss"] < 0.25  # it begins with 0.5
    with pytest.raises(ValueError, match="loss_fn must contain argument: logits"):
        af.estimator.BinaryClassHead(loss_fn=lambda labels: labels)
    with pytest.raises(ValueError, match=r"thresholds must be in \(0, 1\) range"):
        af.estimator.BinaryClassHead(thresholds=[1.5])


async def test_a_canned_step_runs_the_updates_of_batch_normalization(tmp_path: Path) -> None:
    """With TensorFlow's names too, where a training step of one's own leaves UPDATE_OPS behind."""
    features, labels = data("DNNClassifier")
    made = tf.estimator.DNNClassifier([3], [tf.feature_column.numeric_column("a")], str(tmp_path), batch_norm=True)
    made.train(lambda: [({"a": features["a"]}, labels)], steps=1)
    name = "dnn/hiddenlayer_0/batchnorm_0/moving_variance"
    assert (made.get_variable_value(name) != 1.0).all()


def test_a_linear_model_combines_and_a_deep_one_is_cut(tmp_path: Path) -> None:
    words = af.feature_column.categorical_column_with_vocabulary_list("word", ["red", "green"])
    features = {"word": np.array([["red", "green"], ["red", "red"]])}
    made = af.blocking.LinearRegressor([words], str(tmp_path / "linear"), optimizer="SGD", sparse_combiner="mean")
    made.train(lambda: [(features, np.array([1.0, 1.0], np.float32))], steps=1)
    np.testing.assert_allclose(made.get_variable_value("linear/linear_model/word/weights"), [[0.6], [0.2]], rtol=1e-5)
    deep = af.blocking.DNNRegressor(
        [2],
        [af.feature_column.embedding_column(words, 2)],
        str(tmp_path / "deep"),
        input_layer_partitioner=af.fixed_size_partitioner(2),
    )
    deep.train(lambda: [(features, np.array([1.0, 1.0], np.float32))], steps=1)
    name = "dnn/input_from_feature_columns/input_layer/word_embedding/embedding_weights"
    assert deep.get_variable_value(name).shape == (2, 2)


async def test_mistakes_of_the_input_are_told(tmp_path: Path) -> None:
    made = af.estimator.LinearClassifier(["a"], str(tmp_path), optimizer="Best")
    with pytest.raises(ValueError, match="Feature a is not in features dictionary"):
        await made.train([({"b": np.ones(3, np.float32)}, np.ones(3, np.int64))])
    with pytest.raises(ValueError, match="Unsupported optimizer name: Best"):
        await made.train([({"a": np.ones(3, np.float32)}, np.ones(3, np.int64))])
    with pytest.raises(ValueError, match="You must provide a labels Tensor"):
        await made.train([{"a": np.ones(3, np.float32)}])
    deep = af.estimator.DNNRegressor([2], [af.feature_column.numeric_column("a")], str(tmp_path))
    with pytest.raises(ValueError, match=r"a has the shape \(2,\) in each example, but .* has the shape \(1,\)"):
        await deep.train([({"a": np.ones((3, 2), np.float32)}, np.ones(3, np.float32))])
    inputs = af.estimator.inputs.numpy_input_fn({"a": np.ones(3, np.float32)}, np.ones(3, np.int64), shuffle=False)
    with pytest.raises(ValueError, match=r"was made in another graph .* input_fn=f"):
        await made.train(inputs())
    with pytest.raises(af.errors.InvalidArgumentError, match=r"^assertion failed: Labels must be <= n_classes - 1"):
        await af.estimator.LinearClassifier(["a"], str(tmp_path)).train([({"a": np.ones(3)}, np.full(3, 2))])


async def test_the_areas_of_several_labels_are_interpolated() -> None:
    """The value is TensorFlow Estimator's for this example; that of trapezoids is 0.7639."""
    with af.Graph().as_default() as graph:
        logits = af.constant([[-1.0, 1.0], [-1.5, 1.5]])
        head = af.estimator.MultiLabelHead(2)
        spec = head.create_estimator_spec(None, "eval", logits, af.constant([[1, 0], [1, 1]]))
        metrics = {name: spec.eval_metric_ops[name] for name in ("auc", "auc_precision_recall")}
    async with af.Session(graph=graph) as session:
        with graph.as_default():
            await session.run(af.local_variables_initializer())
        await session.run([update for _, update in metrics.values()])
        values = {name: float(await session.run(value)) for name, (value, _) in metrics.items()}
    assert values == pytest.approx({"auc": 0.3333, "auc_precision_recall": 0.7689}, abs=1e-4)
