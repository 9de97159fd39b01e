"""Input functions that give a Dataset."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af

Dataset = af.data.Dataset


class Model:
    """A model function that notes the numbers it is trained with."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, features: Any, labels: Any, mode: str) -> Any:
        x = af.reshape(features["x"], [-1])
        weight = af.get_variable("weight", [], initializer=af.zeros_initializer())
        predictions = {"y": weight + af.cast(x, af.float32)}
        if mode == af.estimator.ModeKeys.PREDICT:
            return af.estimator.EstimatorSpec(mode, predictions=predictions)
        loss = af.reduce_mean(af.square(predictions["y"] - labels))
        step = af.train.get_or_create_global_step()
        note = af.py_func(lambda values: self.seen.extend(values.tolist()), [x], [])
        with af.control_dependencies([note]):
            train = af.train.GradientDescentOptimizer(0.0).minimize(loss, step)
        metric = {"mean": af.metrics.mean(x)}
        return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metric)


def numbers(count: int) -> Any:
    labelled = Dataset.range(count).map(lambda x: ({"x": x}, af.cast(x, af.float32)))
    return lambda: labelled.batch(2)


def test_a_dataset_trains_evaluates_and_predicts(tmp_path: Path) -> None:
    model = Model()
    estimator = af.blocking.Estimator(model, str(tmp_path))
    estimator.train(numbers(7))
    assert model.seen == list(range(7)) and estimator.get_variable_value("global_step") == 4
    assert estimator.evaluate(numbers(5))["mean"] == 2.0
    assert [float(found["y"]) for found in estimator.predict(numbers(3))] == [0.0, 1.0, 2.0]
    estimator.train(numbers(7))
    assert model.seen == [*range(7)] * 2, "the input was at its end, so it begins again"


def test_a_training_by_as_many_steps_as_there_are_batches_begins_the_input_again(tmp_path: Path) -> None:
    """The checkpoint is from behind the last element, before anything has seen the end."""
    model = Model()
    estimator = af.blocking.Estimator(model, str(tmp_path))
    for epoch in (1, 2, 3):
        estimator.train(numbers(6), steps=3)
        assert model.seen == [*range(6)] * epoch and estimator.get_variable_value("global_step") == 3 * epoch


def test_a_training_goes_on_with_the_next_element(tmp_path: Path) -> None:
    """In the middle of an epoch, behind a shuffle; an evaluation in between has its own place."""

    def shuffled() -> Any:
        return numbers(40)().unbatch().shuffle(16, seed=3).batch(2)

    model = Model()
    af.blocking.Estimator(model, str(tmp_path)).train(shuffled, steps=7)
    again = Model()
    estimator = af.blocking.Estimator(again, str(tmp_path))
    estimator.evaluate(shuffled)
    estimator.train(shuffled)
    assert len(model.seen) == 14
    assert np.array_equal(np.sort([*model.seen, *again.seen]), np.arange(40))


def labelled(x: Any) -> Any:
    x = af.reshape(af.cast(x, af.float32), [])
    return {"x": x}, x


def sliced(first: int) -> Any:
    return lambda: af.data.Dataset.from_tensor_slices(np.arange(first, first + 10)).map(labelled).batch(2)


def generated(first: int) -> Any:
    def generator() -> Any:
        return iter(range(first, first + 10))

    return lambda: af.data.Dataset.from_generator(generator, af.int64, []).map(labelled).batch(2)


def mapped(first: int) -> Any:
    return lambda: af.data.Dataset.range(10).map(lambda x: labelled(x + first)).batch(2)


def called(first: int) -> Any:
    return lambda: (
        af.data.Dataset.range(10).map(lambda x: labelled(af.py_func(lambda y: y + first, [x], af.int64))).batch(2)
    )


def read(first: int) -> Any:
    def names() -> Any:
        name = f"rows{first}.txt"
        Path(name).write_text("".join(f"{number}\n" for number in range(first, first + 10)))
        lines = af.data.TextLineDataset(name)
        return lines.map(lambda line: labelled(af.string_to_number(line, af.int64))).batch(2)

    return names


INPUTS = pytest.mark.parametrize("kind", [sliced, generated, mapped, called, read])


@INPUTS
@pytest.mark.parametrize("again", [False, True], ids=["one Estimator", "another Estimator"])
def test_another_input_begins_at_its_beginning_and_the_same_one_goes_on(
    kind: Any, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = Model()
    estimator = af.blocking.Estimator(model, str(tmp_path / "model"))
    for first, expected in (
        (0, range(4)),
        (100, range(100, 104)),
        (100, range(104, 108)),
        (0, range(4)),
        (0, range(4, 8)),
    ):
        model.seen.clear()
        estimator.train(kind(first), steps=2)
        assert model.seen == list(expected)
        if again:
            estimator = af.blocking.Estimator(model, str(tmp_path / "model"))


def test_another_size_of_batches_is_another_input(tmp_path: Path) -> None:
    model = Model()
    estimator = af.blocking.Estimator(model, str(tmp_path))
    estimator.train(numbers(12), steps=2)
    estimator.train(lambda: numbers(12)().unbatch().batch(3), steps=1)
    assert model.seen == [0, 1, 2, 3, 0, 1, 2]


def test_a_place_that_the_input_no_longer_has_is_refused(tmp_path: Path) -> None:
    """Neither the next batch nor the first one is right then: the file is another one under the same name."""
    path = tmp_path / "rows.txt"

    def lines() -> Any:
        return af.data.TextLineDataset(str(path)).map(lambda line: labelled(af.string_to_number(line))).batch(2)

    path.write_text("1\n" * 10)
    af.blocking.Estimator(Model(), str(tmp_path / "model")).train(lines, steps=4)
    path.write_text("2\n" * 3)
    with pytest.raises(af.errors.DataLossError, match="has 6 bytes"):
        af.blocking.Estimator(Model(), str(tmp_path / "model")).train(lines, steps=1)


def test_arguments_that_a_partial_model_function_has_are_not_asked_of_it(tmp_path: Path) -> None:
    def model_fn(scale: float, features: Any, labels: Any, mode: str, params: Any, power: int = 1) -> Any:
        assert (scale, power, params) == (2.0, 3, {"rate": 0.5})
        return Model()(features, labels, mode)

    partial_fn = functools.partial(functools.partial(model_fn, 2.0), power=3)
    estimator = af.blocking.Estimator(partial_fn, str(tmp_path), params={"rate": 0.5})
    assert estimator.train(numbers(2)).get_variable_value("global_step") == 1


@pytest.mark.parametrize("config", [None, "given"])
def test_an_estimator_of_tensorflows_names_places_softly_unless_a_configuration_says_otherwise(
    config: str | None, tmp_path: Path
) -> None:
    import actorflow.compat.v1 as tf

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        with tf.device("/device:GPU:7"):
            return Model()(features, labels, mode)

    strict = None if config is None else tf.estimator.RunConfig(session_config=tf.ConfigProto())
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), config=strict)
    if config is None:
        estimator.train(numbers(2))
    else:
        with pytest.raises(af.errors.InvalidArgumentError, match="GPU:7"):
            estimator.train(numbers(2))


def test_an_exporter_within_another_one_exports_when_it_is_called(tmp_path: Path) -> None:
    """As wrappers of exporters do, which choose or note."""

    def receiver_fn() -> Any:
        return af.estimator.export.ServingInputReceiver({"x": (x := af.placeholder(af.float32, [None]))}, {"x": x})

    inner = af.estimator.LatestExporter("inner", receiver_fn)

    class Wrapper(af.estimator.Exporter):
        name = "wrapper"

        def export(self, **arguments: Any) -> Any:
            return inner.export(**arguments)

    estimator = af.blocking.Estimator(Model(), str(tmp_path))
    evaluation = af.estimator.EvalSpec(numbers(2), exporters=Wrapper(), start_delay_secs=0)
    _, exports = af.blocking.train_and_evaluate(estimator, af.estimator.TrainSpec(numbers(4), max_steps=2), evaluation)
    assert len(exports) == 1 and list((tmp_path / "export" / "wrapper").iterdir())
    folder = inner.export(estimator, str(tmp_path / "direct"), estimator.latest_checkpoint(), {}, True)
    assert Path(folder).parent == tmp_path / "direct"
