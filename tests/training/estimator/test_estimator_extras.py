"""Names of TensorFlow 1.15 around Estimators: evaluations in memory, an end at a saved step, further metrics, parsing specs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from training.estimator.estimator_lines import X, Y, batches, line, quiet

import actorflow as af
from actorflow.estimator import Evaluated, ModeKeys
from actorflow.feature_column import categorical_column_with_hash_bucket, numeric_column

COLUMNS = [numeric_column("b"), categorical_column_with_hash_bucket("a", 5)]

# TensorFlow 2.15's Estimator with this model and hook, in its summaries: loss and mae by the step
TOLD = {
    0: (4.263052940368652, 1.6138778924942017),
    3: (2.209141254425049, 1.1148066520690918),
    6: (0.8983301520347595, 0.7036150097846985),
    7: (0.7154265642166138, 0.6337452530860901),
}


def slope(features: Any, labels: Any, mode: str) -> Any:
    w = af.get_variable("w", [2, 1], initializer=af.zeros_initializer())
    y = af.matmul(features["x"], w)
    loss = af.reduce_mean(af.square(y - labels))
    train = af.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=af.train.get_global_step())
    metrics = {"mae": af.metrics.mean_absolute_error(labels, y)}
    return af.estimator.EstimatorSpec(mode, {"y": y}, loss, train, metrics)


def dataset() -> Any:
    return af.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(10)


def estimator(folder: Path, model_fn: Any = slope, **options: Any) -> Any:
    return af.estimator.Estimator(model_fn, str(folder), quiet(save_checkpoints_steps=100, **options))


def evaluations(made: Any) -> dict[int, dict[str, Any]]:
    return {event.step: event.metrics for event in made.history if isinstance(event, Evaluated)}


# ---- evaluations in memory


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("source", [batches, dataset])
async def test_an_evaluation_in_memory_has_the_values_of_the_training(source: Any, keeps: bool, tmp_path: Path) -> None:
    made = estimator(tmp_path)
    hook = af.estimator.InMemoryEvaluatorHook(made, source, every_n_iter=3, name="m")
    if keeps:
        async with made:
            await made.train(lambda: dataset().repeat(), steps=7, hooks=[hook])
    else:
        await made.train(lambda: dataset().repeat(), steps=7, hooks=[hook])
    found = evaluations(made)
    assert {step: (v["loss"], v["mae"]) for step, v in found.items()} == {
        step: pytest.approx(values, rel=1e-5) for step, values in TOLD.items()
    }
    assert list(af.estimator.read_eval_metrics(made.eval_dir("m"))) == [0, 3, 6, 7]


@pytest.mark.parametrize("keeps", [False, True])
def test_without_await(keeps: bool, tmp_path: Path) -> None:
    made = af.blocking.Estimator(slope, str(tmp_path), quiet(save_checkpoints_steps=100))
    hook = af.estimator.InMemoryEvaluatorHook(made, batches, every_n_iter=3)
    if keeps:
        with made:
            made.train(lambda: list(batches()) * 2, steps=7, hooks=[hook])
    else:
        made.train(lambda: list(batches()) * 2, steps=7, hooks=[hook])
    assert {step: values["loss"] for step, values in evaluations(made).items()} == {
        step: pytest.approx(values[0], rel=1e-5) for step, values in TOLD.items()
    }


@pytest.mark.parametrize(
    ("scaffold", "message"),
    [
        (lambda: af.train.Scaffold(init_fn=lambda scaffold, session: None), "does not support custom init_fn"),
        (lambda: af.train.Scaffold(saver=af.train.Saver()), "does not support custom saver"),
    ],
)
async def test_a_model_that_makes_its_values_itself_is_refused(scaffold: Any, message: str, tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        return slope(features, labels, mode)._replace(scaffold=scaffold() if mode == ModeKeys.EVAL else None)

    made = estimator(tmp_path, model_fn)
    with pytest.raises(ValueError, match=message):
        await made.train(batches, hooks=[af.estimator.InMemoryEvaluatorHook(made, batches)])


async def test_saveables_beside_variables_are_refused(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        af.get_default_graph().add_to_collection(af.GraphKeys.SAVEABLE_OBJECTS, object())
        return slope(features, labels, mode)

    made = estimator(tmp_path, model_fn)
    with pytest.raises(ValueError, match="saveables other than global variables"):
        await made.train(batches, hooks=[af.estimator.InMemoryEvaluatorHook(made, batches)])


def test_an_evaluation_in_memory_is_for_one_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"invalid every_n_iter=0\."):
        af.estimator.InMemoryEvaluatorHook(estimator(tmp_path), batches, every_n_iter=0)
    cluster = '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", cluster)
    with pytest.raises(ValueError, match="supports only single machine"):
        af.estimator.InMemoryEvaluatorHook(estimator(tmp_path), batches)


# ---- an end at a saved step


async def test_others_than_the_chief_end_when_a_checkpoint_has_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chief = estimator(tmp_path / "chief")
    await chief.train(lambda: list(batches()) * 3, hooks=[af.estimator.make_stop_at_checkpoint_step_hook(chief, 6)])
    assert chief.get_variable_value("global_step") == 6
    monkeypatch.setenv(
        "TF_CONFIG", '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
    )
    worker = estimator(tmp_path / "shared")
    monkeypatch.delenv("TF_CONFIG")
    hook = af.estimator.make_stop_at_checkpoint_step_hook(worker, 6, wait_after_file_check_secs=0)
    steps = []

    class Steps(af.train.SessionRunHook):
        async def after_run(self, run_context: Any, run_values: Any) -> None:
            steps.append(len(steps) + 1)
            if len(steps) == 9:  # the chief saves
                await estimator(tmp_path / "shared").train(lambda: list(batches()) * 3, steps=6)

    with af.Graph().as_default():
        step = af.train.create_global_step().assign_add(1)
        async with af.train.MonitoredSession(hooks=[hook, Steps()]) as session:
            while not session.should_stop():
                await session.run(step)
    assert steps == list(range(1, 11))
    with pytest.raises(ValueError, match=r"last_step must be specified\."):
        af.estimator.make_stop_at_checkpoint_step_hook(worker, None)


# ---- further metrics


async def test_metrics_are_added_and_replaced(tmp_path: Path) -> None:
    plain = af.estimator.Estimator(line, str(tmp_path), quiet(), {"rate": 0.1})
    await plain.train(batches)

    def metric_fn(labels: Any, features: Any, predictions: Any, config: Any) -> Any:
        assert predictions == {} and config.save_checkpoints_steps == 5
        return {"mean": af.metrics.mean(labels), "first": af.metrics.mean(features["x"][:, 0])}

    more = af.estimator.add_metrics(plain, metric_fn)
    found = await more.evaluate(batches)
    assert found["loss"] == (await plain.evaluate(batches))["loss"] and found["global_step"] == 4
    assert found["mean"] == pytest.approx(Y.mean(), rel=1e-5) and found["first"] == pytest.approx(
        X[:, 0].mean(), abs=1e-6
    )
    assert type(more) is type(plain) and more.params == plain.params and more.model_dir == plain.model_dir
    other = af.estimator.add_metrics(more, lambda labels: {"mean": af.metrics.mean(2.0 * labels)})
    assert (await other.evaluate(batches))["mean"] == pytest.approx(2 * Y.mean(), rel=1e-5)
    assert "mean" not in await plain.evaluate(batches)
    answers = [answer["y"] async for answer in other.predict(batches)]
    assert len(answers) == len(X)


def test_metrics_of_a_canned_estimator_without_await(tmp_path: Path) -> None:
    plain = af.blocking.LinearRegressor([numeric_column("x", 2)], str(tmp_path), config=quiet())
    more = af.estimator.add_metrics(plain, lambda predictions: {"p": af.metrics.mean(predictions["predictions"])})
    more.train(batches)
    assert isinstance(more, af.blocking.LinearRegressor)
    assert {"average_loss", "p"} <= set(more.evaluate(batches))


async def test_an_estimator_with_further_metrics_starts_warm_too(tmp_path: Path) -> None:
    await estimator(tmp_path / "before").train(batches)
    warm = af.estimator.Estimator(slope, str(tmp_path / "warm"), quiet(), warm_start_from=str(tmp_path / "before"))
    made = af.estimator.add_metrics(warm, lambda labels: {})
    assert (await made.evaluate(batches))["loss"] < 2


def test_unknown_arguments_of_a_metric_fn_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has following not expected args: \['mode'\]"):
        af.estimator.add_metrics(estimator(tmp_path), lambda labels, mode: {})


# ---- parsing specs


def test_a_parsing_spec_has_features_label_and_weight() -> None:
    a, b = af.VarLenFeature(af.string), af.FixedLenFeature((1,), af.float32)
    found = af.estimator.classifier_parse_example_spec(COLUMNS, "l", weight_column="w")
    assert found == {"b": b, "a": a, "l": af.FixedLenFeature((1,), af.int64), "w": b}
    weight = numeric_column("w", dtype=af.float64)
    found = af.estimator.regressor_parse_example_spec(COLUMNS, "l", af.float32, [0.0] * 3, 3, weight)
    wide = af.FixedLenFeature((3,), af.float32, [0.0] * 3)
    assert found == {"b": b, "a": a, "l": wide, "w": af.FixedLenFeature((1,), af.float64)}


@pytest.mark.parametrize(
    "make", [af.estimator.classifier_parse_example_spec, af.estimator.regressor_parse_example_spec]
)
@pytest.mark.parametrize(
    ("columns", "label", "weight", "message"),
    [
        (COLUMNS, "b", None, "label should not be used as feature. label_key: b, features: b, a"),
        (COLUMNS, "l", "b", "weight_column should not be used as feature. weight_column: b, features: b, a, l"),
        (
            COLUMNS,
            "l",
            COLUMNS[1],
            "weight_column should be an instance of tf.feature_column.numeric_column. Given type",
        ),
        (["x"], "l", None, "All feature_columns must be FeatureColumn instances. Given: 'x'"),
    ],
)
def test_a_parsing_spec_that_cannot_be_is_refused(
    make: Any, columns: Any, label: str, weight: Any, message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message.replace(".", r"\.")):
        make(columns, label, weight_column=weight)


def test_names_of_tensorflow() -> None:
    import actorflow.compat.v1 as tf

    assert tf.estimator.experimental.InMemoryEvaluatorHook is af.estimator.InMemoryEvaluatorHook
    assert tf.estimator.experimental.make_stop_at_checkpoint_step_hook is not None
    assert tf.estimator.add_metrics is af.estimator.add_metrics
    assert tf.estimator.classifier_parse_example_spec is af.estimator.classifier_parse_example_spec
