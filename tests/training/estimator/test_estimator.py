"""Estimators: training, evaluation and prediction, what is kept between calls, cancellation, and TensorFlow's refusals."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from training.estimator.estimator_lines import X, Y, batches, expected, line, quiet

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.base.process import machine
from actorflow.estimator import Evaluated, Saved, StepMade, TrainingBegun, TrainingEnded
from actorflow.training.estimator.inputs.source import Batches, signature


async def async_batches() -> AsyncIterator[Any]:
    for batch in batches():
        await anyio.lowlevel.checkpoint()
        yield batch


QUESTIONS = [{"x": X[:3]}, {"x": X[3:5]}]


def estimator(folder: Path, kind: Any = af.estimator.Estimator, calls: Any = None, **options: Any) -> Any:
    made = kind(line, str(folder), quiet(**options), {"rate": 0.1})
    if calls is not None:
        made._params["calls"] = calls
    return made


@pytest.mark.parametrize(
    "inputs",
    [
        batches,
        async_batches,
        lambda: list(batches()),
        lambda: af.estimator.inputs.numpy_input_fn({"x": X}, Y, 10, shuffle=False)(),
        af.estimator.inputs.numpy_input_fn({"x": X}, Y, 10, shuffle=False),
        list(batches()),
        lambda mode, params, config: batches(),
    ],
    ids=["iterable", "async", "list", "tensors", "arrays", "no function", "arguments"],
)
async def test_f117_all_kinds_of_inputs_train_the_same(inputs: Any, tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(inputs)
    w, b = expected(4)
    np.testing.assert_allclose(made.get_variable_value("w"), w, rtol=1e-5)
    np.testing.assert_allclose(made.get_variable_value("b:0"), b, rtol=1e-5)
    assert made.get_variable_names() == ["b", "global_step", "w"]


async def test_each_call_goes_on_from_the_checkpoint(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    await made.train(batches, steps=2)
    await made.train(batches, steps=2)
    assert made.get_variable_value("global_step") == 4
    await made.train(batches, max_steps=4)
    assert isinstance(made.history[-1], TrainingEnded), "nothing was done"
    await estimator(tmp_path).train(batches, max_steps=6)
    assert made.get_variable_value("global_step") == 6


async def test_epochs(tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(batches, epochs=3)
    np.testing.assert_allclose(made.get_variable_value("w"), expected(12)[0], rtol=1e-5)
    with pytest.raises(ValueError, match="epochs= goes with an iterable"):
        await made.train(lambda: ({"x": af.constant(X)}, af.constant(Y)), epochs=2)


async def test_evaluation_and_prediction(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    before = await made.evaluate(batches)
    assert before["global_step"] == 0, "initial values are evaluated where nothing is trained"
    await made.train(batches, steps=4)
    result = await made.evaluate(batches, steps=3, name="three")
    w, b = expected(4)
    losses = [np.mean((f["x"] @ w + b - y) ** 2) for f, y in list(batches())[:3]]
    assert list(result) == ["global_step", "loss"]
    assert result["loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    answers = [answer async for answer in made.predict(QUESTIONS)]
    np.testing.assert_allclose([a["y"] for a in answers], X[:5] @ w + b, rtol=1e-4, atol=1e-6)
    assert [set(a) async for a in made.predict(QUESTIONS, predict_keys="y")] == [{"y"}] * 5
    whole = [a["y"].shape async for a in made.predict(batches, yield_single_examples=False)]
    assert whole == [(10, 1)] * 4


async def test_checkpoints_can_be_chosen(tmp_path: Path) -> None:
    made = await estimator(tmp_path).train(batches, steps=4)
    first = str(tmp_path / "model.ckpt-0")
    assert (await made.evaluate(batches, checkpoint_path=first))["global_step"] == 0
    async for answer in made.predict(QUESTIONS, checkpoint_path=first):
        assert answer["y"] == 0


async def test_predictions_can_be_read_in_turn(tmp_path: Path) -> None:
    """Two interleaved predictions break TensorFlow's Estimator."""
    made = await estimator(tmp_path).train(batches, steps=4)
    straight = [a["y"] async for a in made.predict(QUESTIONS)]
    async with aclosing(made.predict(QUESTIONS)) as one, aclosing(made.predict(QUESTIONS)) as other:
        pairs = [(await anext(one), await anext(other)) for _ in range(5)]
    assert [(a["y"], b["y"]) for a, b in pairs] == [(y, y) for y in straight]
    assert af.get_default_graph() is af.get_default_graph()

    def blocking() -> Any:
        twin = estimator(tmp_path, af.blocking.Estimator)
        one, other = twin.predict(QUESTIONS), twin.predict(QUESTIONS)
        found = [(next(one)["y"], next(other)["y"]) for _ in range(5)]
        one.close(), other.close()
        return found

    assert await machine.on_thread(blocking) == [(y, y) for y in straight]


async def test_graphs_and_sessions_are_kept(tmp_path: Path) -> None:
    calls: list[str] = []
    async with estimator(tmp_path, calls=calls) as made:
        for _ in range(3):
            await made.train(batches, steps=2)
            await made.evaluate(batches)
            async for _ in made.predict(QUESTIONS):
                pass
        assert calls == ["train", "eval", "infer"]
    np.testing.assert_allclose(
        made.get_variable_value("w"), expected(6, lambda step: list(batches())[step % 2])[0], rtol=1e-5
    )


async def test_a_kept_session_takes_up_what_another_has_trained(tmp_path: Path) -> None:
    async with estimator(tmp_path) as made:
        await made.train(batches, steps=2)
        await estimator(tmp_path).train(batches, steps=1)
        await made.train(batches, steps=1)
        assert (await made.evaluate(batches))["global_step"] == 4


async def test_events(tmp_path: Path) -> None:
    made = estimator(tmp_path)
    seen = []
    async with made:
        await made.train(batches, steps=4)
        await made.evaluate(batches, name="all")
    async for event in made.events():
        seen.append(event)
    assert seen[0] == TrainingBegun(seen[0].time, 0, 4)
    assert [e.step for e in seen if isinstance(e, Saved)] == [0, 4]
    steps = [e for e in seen if isinstance(e, StepMade)]
    assert steps[-1].step == 4 and steps[-1].examples == 40 and steps[-1].epoch == 1
    assert isinstance(seen[-1], Evaluated) and (seen[-1].step, seen[-1].name) == (4, "all")


async def test_update_ops_are_run(tmp_path: Path) -> None:
    """The classic silent mistake with batch normalization: TensorFlow leaves them to the program."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        w = af.get_variable("w", [], initializer=af.zeros_initializer())
        seen = af.get_variable("seen", [], initializer=af.zeros_initializer(), trainable=False)
        af.add_to_collection(af.GraphKeys.UPDATE_OPS, seen.assign_add(1.0))
        loss = af.square(w - 1.0)
        optimizer = tf.train.GradientDescentOptimizer(0.1)  # whose minimize leaves them to the program too
        train = optimizer.minimize(loss, global_step=af.train.get_global_step())
        return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    ours = await af.estimator.Estimator(model, str(tmp_path / "ours"), quiet()).train(batches)
    assert ours.get_variable_value("seen") == 4
    theirs = await machine.on_thread(
        lambda: tf.estimator.Estimator(model, str(tmp_path / "theirs"), quiet()).train(batches)
    )
    assert theirs.get_variable_value("seen") == 0


def test_f116_without_await(tmp_path: Path) -> None:
    """A listener evaluates, and a hook runs something, in the thread of the training."""
    made = estimator(tmp_path, tf.estimator.Estimator)
    losses = []

    class Listener(tf.train.CheckpointSaverListener):  # type: ignore[name-defined, misc]
        def after_save(self, session: Any, global_step_value: int) -> None:
            losses.append((made.evaluate(batches)["loss"], session.run("b:0").shape))

    with made:
        made.train(batches, saving_listeners=[Listener()])
        assert len(losses) == 2 and losses[1][0] < losses[0][0]
        assert made.evaluate(batches)["loss"] == losses[1][0]
        assert len(list(made.predict(QUESTIONS))) == 5
    assert len(list(made.predict(QUESTIONS))) == 5


async def test_warm_start(tmp_path: Path) -> None:
    first = await estimator(tmp_path / "first").train(batches)
    settings = af.estimator.WarmStartSettings(str(tmp_path / "first"), vars_to_warm_start="w")
    second = af.estimator.Estimator(line, str(tmp_path / "second"), quiet(), {"rate": 0.0}, settings)
    await second.train(batches, steps=1)
    await second.train(batches, steps=1)
    np.testing.assert_array_equal(second.get_variable_value("w"), first.get_variable_value("w"))
    assert second.get_variable_value("b") == 0
    assert second.get_variable_value("global_step") == 2


async def test_words_that_move_take_their_rows_along(tmp_path: Path) -> None:
    """A warm start with another vocabulary: known words keep their rows, others begin with initial values."""
    (tmp_path / "old.txt").write_text("red\ngreen\nblue\n")
    (tmp_path / "new.txt").write_text("blue\ngrey\nred\n")
    (tmp_path / "swapped.txt").write_text("green\nred\n")
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    info = af.estimator.VocabInfo(
        tmp_path / "new.txt", 3, 1, tmp_path / "old.txt", backup_initializer=af.constant_initializer(9.0)
    )
    columns = af.estimator.VocabInfo(tmp_path / "swapped.txt", 2, 0, tmp_path / "old.txt", 2, axis=1)

    def model(embedding: Any, kernel: Any, partitions: int = 1) -> Any:
        def build(features: Any, labels: Any, mode: str) -> Any:
            cut = af.fixed_size_partitioner(partitions)
            e = af.get_variable("e", initializer=embedding, partitioner=cut) if partitions > 1 else None
            e = af.get_variable("e", initializer=embedding) if e is None else af.convert_to_tensor(e)
            k = af.get_variable("k", initializer=kernel)
            loss = af.reduce_sum(e) + af.reduce_sum(k)
            step = af.assign_add(af.train.get_global_step(), 1)
            return af.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

        return build

    kernel = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    old = af.estimator.Estimator(model(rows[:3], kernel), str(tmp_path / "old"), quiet())
    await old.train(batches, steps=1)
    for partitions in (1, 2):
        settings = af.estimator.WarmStartSettings(str(tmp_path / "old"), None, {"e": info, "k": columns})
        new = af.estimator.Estimator(
            model(np.zeros((4, 2), np.float32), np.zeros((2, 2), np.float32), partitions),
            str(tmp_path / f"new{partitions}"),
            quiet(),
            warm_start_from=settings,
        )
        await new.train(batches, steps=1)
        np.testing.assert_array_equal(new.get_variable_value("e"), [rows[2], [9, 9], rows[0], [9, 9]])
        np.testing.assert_array_equal(new.get_variable_value("k"), [[2, 1], [4, 3]])


@pytest.mark.parametrize("what", ["train", "evaluate", "predict"])
async def test_cancelled_at_any_instant_the_folder_is_whole(what: str, tmp_path: Path, seed: int) -> None:
    """The next call goes on from the last checkpoint, to the values of a training that nothing has disturbed."""
    await cancel(what, tmp_path, seed, 15)


@pytest.mark.extras
@pytest.mark.timeout(600)
@pytest.mark.parametrize("what", ["train", "evaluate", "predict"])
async def test_cancelled_a_thousand_times_the_folder_is_whole(what: str, tmp_path: Path, seed: int) -> None:
    await cancel(what, tmp_path, seed, 334)


async def cancel(what: str, tmp_path: Path, seed: int, times: int) -> None:
    """Cancels a call at random instants, again and again, and looks at the folder each time."""
    draw = random.Random(seed)
    made = estimator(tmp_path, save_checkpoints_steps=1)
    async with made:
        await made.train(batches, steps=1)
        for _ in range(times):
            spins = draw.randrange(200)
            async with anyio.create_task_group() as group:

                async def work() -> None:
                    if what == "train":
                        begin = made.get_variable_value("global_step")
                        await made.train(list(batches())[begin % 4 :], epochs=1)
                    elif what == "evaluate":
                        await made.evaluate(batches)
                    else:
                        async with aclosing(made.predict(QUESTIONS)) as answers:
                            async for _ in answers:
                                pass

                group.start_soon(work)
                for _ in range(spins):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            step = made.get_variable_value("global_step")
            np.testing.assert_allclose(made.get_variable_value("w"), expected(step)[0], rtol=1e-4)
        begin = made.get_variable_value("global_step")
        await made.train(list(batches())[begin % 4 :], steps=1)
    np.testing.assert_allclose(made.get_variable_value("w"), expected(begin + 1)[0], rtol=1e-4)


async def test_batches_since_a_checkpoint_come_again() -> None:
    from actorflow.training.monitored.commands import perform

    def again() -> Any:
        yield from ()
        return iter([np.array([n]) for n in range(10)])

    source = Batches(again)
    source.keeps = True

    async def take(count: int) -> list[int]:
        return [int((await perform(source.next()))[0]) for _ in range(count)]

    await perform(source.first())
    source.mark(0)
    source.forget(0)
    assert await take(3) == [0, 1, 2]
    source.rewind(0)
    assert await take(2) == [0, 1]
    source.mark(2)
    assert await take(3) == [2, 3, 4]
    source.rewind(0)  # the save at 2 was lost
    assert await take(2) == [0, 1]
    source.mark(2)
    source.forget(2)
    assert await take(4) == [2, 3, 4, 5]
    source.rewind(2)
    source.rewind(2)
    assert await take(5) == [2, 3, 4, 5, 6]
    with pytest.raises(af.errors.OutOfRangeError):
        await take(9)


def test_signatures_tell_batches_apart() -> None:
    one = ({"a": np.zeros((3, 2)), "b": np.array(["x", "y", "z"])}, np.zeros(3))
    other = ({"b": np.array(["xyz"]), "a": np.zeros((1, 2))}, np.zeros(1))
    assert signature(one) == signature(other)
    assert signature(one) != signature((one[0], None))
    assert signature(np.zeros((3, 2))) != signature(np.zeros((3, 2), np.float32))


def sizes(**options: Any) -> list[list[int]]:
    made = af.estimator.inputs.numpy_input_fn(np.arange(10), shuffle=False, **options)
    return [batch.tolist() for batch in made.batches()]


def test_f117_batches_of_arrays_are_tensorflows() -> None:
    assert [len(b) for b in sizes(batch_size=4)] == [4, 4, 2]
    two = sizes(batch_size=4, num_epochs=2)
    assert two[2] == [8, 9, 0, 1] and len(two[-1]) == 4 and len(two) == 5
    shuffled = af.estimator.inputs.numpy_input_fn(np.arange(10), batch_size=3, shuffle=True, seed=1)
    assert sorted(np.concatenate(list(shuffled.batches()))) == list(range(10))
    first, second = ([b.tolist() for b in shuffled.batches()] for _ in range(2))
    assert first == second


def test_f117_rows_of_tables() -> None:
    class Column:
        """A column as pandas has it; pandas itself is not among the tests' packages."""

        def __init__(self, values: list[Any]) -> None:
            self.values, self.index = values, np.arange(len(values))

        def to_numpy(self) -> Any:
            return np.array(self.values)

    class Table(dict[str, Column]):
        columns, index = ("a", "s"), np.arange(3)

    table = Table(a=Column([1.0, 2.0, 3.0]), s=Column(["x", "y", "z"]))
    made = af.estimator.inputs.pandas_input_fn(table, Column([0, 1, 0]), 2, shuffle=False)
    features, labels = next(iter(made.batches()))
    assert features["a"].tolist() == [1, 2] and features["s"].tolist() == ["x", "y"] and labels.tolist() == [0, 1]


async def test_predictions_that_do_not_fit(tmp_path: Path) -> None:
    def model(features: Any, mode: str) -> Any:
        return af.estimator.EstimatorSpec(mode, {"a": features, "b": features[:1]})

    made = af.estimator.Estimator(model, str(tmp_path), quiet())
    with pytest.raises(ValueError, match=r"Batch length of predictions should be same\. b has different"):
        async for _ in made.predict([X[:3]]):
            pass
    with pytest.raises(ValueError, match="Expected to run at least one output from"):
        async for _ in made.predict([X[:3]], predict_keys=["c"]):
            pass
    single = af.estimator.Estimator(
        lambda features, mode: af.estimator.EstimatorSpec(mode, features), str(tmp_path), quiet()
    )
    with pytest.raises(ValueError, match="predict_keys argument is not valid in case of non-dict predictions"):
        async for _ in single.predict([X[:3]], predict_keys=["c"]):
            pass
    assert [list(row) async for row in single.predict([X[:2]])] == X[:2].tolist()


async def test_a_checkpoint_that_does_not_fit_names_the_differences(tmp_path: Path) -> None:
    await estimator(tmp_path).train(batches, steps=1)

    def other(features: Any, labels: Any, mode: str) -> Any:
        w = af.get_variable("w", [3, 1])
        v = af.get_variable("v", [1])
        loss = af.reduce_sum(w) + af.reduce_sum(v)
        return af.estimator.EstimatorSpec(mode, loss=loss, train_op=af.no_op())

    with pytest.raises(af.errors.OpError, match=r"(?s)v.*w|w.*v"):
        await af.estimator.Estimator(other, str(tmp_path), quiet()).train(batches, steps=1)


def logarithm(features: Any, labels: Any, mode: str) -> Any:
    """A model that fails where its one variable times x is negative."""
    w = af.get_variable("w", [], initializer=af.ones_initializer())
    loss = af.reduce_mean(af.log(features * w), name="mean")
    train = af.train.GradientDescentOptimizer(0.0).minimize(loss, global_step=af.train.get_global_step())
    return af.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


NUMBERS = np.array([[1.0], [2.0], [-1.0], [1.0]], np.float32)


@pytest.mark.parametrize(
    ("inputs", "step", "cause"),
    [
        ([(row, row) for row in NUMBERS], 3, ["take this step's batch, number 1 makes", "Log gave 1 NaN", "node Log"]),
        (
            lambda: af.data.Dataset.from_tensor_slices((NUMBERS, NUMBERS)),
            3,
            ["model.ckpt-0, number 3 makes", "Log gave 1 NaN", "node Log"],
        ),
        ([(row * np.float32("nan"), row) for row in NUMBERS], 1, ["is not finite, in what is fed to Placeholder:0"]),
    ],
    ids=["fed", "dataset", "data"],
)
async def test_a_loss_that_is_nan_names_the_step_the_fetch_and_the_node(
    inputs: Any, step: int, cause: list[str], tmp_path: Path
) -> None:
    made = af.estimator.Estimator(logarithm, str(tmp_path), quiet(save_checkpoints_steps=100))
    with pytest.raises(af.train.NanLossDuringTrainingError) as caught:
        await made.train(inputs)
    text = str(caught.value)
    assert text.startswith(f"NaN loss during training: mean:0 is NaN in step {step}. ")
    assert [part for part in cause if part not in text] == []


async def test_an_input_without_batches(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The input has no batch"):
        await estimator(tmp_path).train([])


def test_f107_tf_config(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"chief": ["c:1"], "worker": ["w0:1", "w1:1"], "ps": ["p:1"]}

    def named(config: dict[str, Any]) -> af.estimator.RunConfig:
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return af.estimator.RunConfig()

    made = named({"cluster": cluster, "task": {"type": "worker", "index": 1}, "model_dir": "/m"})
    assert (made.task_type, made.task_id, made.is_chief, made.master) == ("worker", 1, False, "tcp://w1:1")
    assert (made.num_ps_replicas, made.num_worker_replicas, made.global_id_in_cluster) == (1, 3, 2)
    assert made.model_dir == "/m"
    made = named({"cluster": cluster, "task": {"type": "evaluator", "index": 0}})
    assert (made.is_chief, made.num_worker_replicas, made.global_id_in_cluster) == (False, 0, None)
    made = named({"cluster": {"chief": ["c:1"]}, "task": {"type": "chief", "index": 0}})
    assert made.is_chief and made.master is None
    monkeypatch.delenv("TF_CONFIG", raising=False)
    changed = quiet().replace(save_checkpoints_secs=5)
    assert (changed.save_checkpoints_secs, changed.save_checkpoints_steps) == (5, None)
