"""Checkpoints of objects: saved by the ways to variables, restored into eager programs, graphs, and what is made later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import actorflow as af


@pytest.fixture(autouse=True)
def _eager() -> Iterator[None]:
    with af.eager():
        yield


class Layer:
    def __init__(self) -> None:
        self.w: Any = None

    def __call__(self, x: Any) -> Any:
        if self.w is None:
            self.w = af.Variable(af.zeros([2]))
        return x * self.w


class Model:
    def __init__(self) -> None:
        self.layers = [Layer(), Layer()]
        self.named = {"scale": af.Variable(1.0)}

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x * self.named["scale"]


def trained() -> tuple[Any, Any]:
    model, optimizer = Model(), af.train.AdamOptimizer(0.1)
    model(af.ones([2]))
    for layer, value in zip(model.layers, (2.0, 3.0)):
        layer.w.assign([value, value])
    with af.GradientTape() as tape:
        loss = af.reduce_sum(model(af.ones([2])))
    variables = tape.watched_variables()
    optimizer.apply_gradients(zip(tape.gradient(loss, list(variables)), variables))
    return model, optimizer


def values(model: Any, optimizer: Any) -> list[Any]:
    found = [*(layer.w for layer in model.layers), model.named["scale"], *optimizer.variables()]
    return [v.numpy().tolist() for v in found]


def test_what_was_saved_comes_back_f119(tmp_path: Path) -> None:
    model, optimizer = trained()
    checkpoint = af.train.Checkpoint(model=model, optimizer=optimizer)
    expected = values(model, optimizer)
    path = checkpoint.save(tmp_path / "run")
    assert path == f"{tmp_path}/run-1"
    for layer in model.layers:
        layer.w.assign([0.0, 0.0])
    checkpoint.restore(path).assert_consumed()
    assert values(model, optimizer) == expected
    assert checkpoint.save(tmp_path / "run").endswith("run-2")
    assert af.train.latest_checkpoint(tmp_path) == f"{tmp_path}/run-2"
    assert "model/layers/0/w" in dict(af.train.list_variables(path))


def test_variables_that_are_made_later_begin_with_their_values_f119(tmp_path: Path) -> None:
    model, optimizer = trained()
    expected = values(model, optimizer)
    path = af.train.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "run")

    model, optimizer = Model(), af.train.AdamOptimizer(0.1)
    checkpoint = af.train.Checkpoint(model=model, optimizer=optimizer)
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError, match="model/layers/0/w"):
        status.assert_consumed()
    with af.GradientTape() as tape:
        loss = af.reduce_sum(model(af.ones([2])))
    assert [layer.w.numpy().tolist() for layer in model.layers] == expected[:2]
    variables = tape.watched_variables()
    zero = [af.zeros_like(v) for v in variables]
    optimizer.apply_gradients(zip(zero, variables))
    assert float(loss) > 0.0
    power = next(v for v in optimizer.variables() if v.name.startswith("beta1_power"))
    assert float(power) == pytest.approx(0.9**3), "0.9 ** 2 was saved, and another step was made"
    status.assert_consumed()


def test_eager_programs_and_graphs_read_each_others_checkpoints_f119(tmp_path: Path) -> None:
    w = af.Variable([1.0, 2.0])
    path = af.train.Checkpoint(net={"w": w}).save(tmp_path / "eager")
    with af.Graph().as_default() as graph:
        again = af.Variable([0.0, 0.0], name="another_name")
        checkpoint = af.train.Checkpoint(net={"w": again})
        status = checkpoint.restore(path)
        with af.blocking.Session(graph=graph) as session:
            status.initialize_or_restore(session)
            assert session.run(again).tolist() == [1.0, 2.0]
            session.run(again.assign([5.0, 6.0]))
            with pytest.raises(ValueError, match="session"):
                checkpoint.save(tmp_path / "graph")
            path = checkpoint.save(tmp_path / "graph", session)
    af.train.Checkpoint(net={"w": w}).restore(path).assert_consumed()
    assert w.numpy().tolist() == [5.0, 6.0]


def test_the_checkpoint_of_a_saver_is_read_by_names(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        af.Variable([3.0], name="dense/kernel")
        saver = af.train.Saver()
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            path = saver.save(session, tmp_path / "model")
    w = af.Variable([0.0], name="dense/kernel")
    af.train.Checkpoint(w=w).restore(path).assert_existing_objects_matched()
    assert w.numpy().tolist() == [3.0]


def test_what_does_not_fit_is_said_and_changes_nothing(tmp_path: Path) -> None:
    path = af.train.Checkpoint(a=af.Variable(1.0), b=af.Variable([1.0])).save(tmp_path / "run")
    a, b = af.Variable(7.0), af.Variable([0.0, 0.0])
    with pytest.raises(ValueError, match="b is float32"):
        af.train.Checkpoint(a=a, b=b).restore(path)
    assert float(a) == 7.0
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        af.train.Checkpoint(a=a).restore(tmp_path / "none")
    other = af.train.Checkpoint(other=af.Variable(1.0)).restore(path)
    with pytest.raises(AssertionError, match="not assigned"):
        other.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Nothing to load"):
        other.assert_nontrivial_match()
    af.train.Checkpoint(a=a).restore(None).expect_partial()


def test_a_manager_keeps_the_latest_f119(tmp_path: Path) -> None:
    step = af.Variable(0, dtype=af.int64)
    now = [0.0]
    manager = af.train.CheckpointManager(
        af.train.Checkpoint(step=step), tmp_path, max_to_keep=2, clock=lambda: now[0], keep_checkpoint_every_n_hours=1.0
    )
    assert manager.restore_or_initialize() is None
    for _ in range(5):
        step.assign_add(1)
        now[0] += 1500.0
        manager.save(checkpoint_number=step)
    assert [os.path.basename(path) for path in manager.checkpoints] == ["ckpt-4", "ckpt-5"]
    there = [n for n in range(1, 6) if af.train.checkpoint_exists(str(tmp_path / f"ckpt-{n}"))]
    assert there == [3, 4, 5], "of those that were too many, the first after an hour stays"
    step.assign(0)
    again = af.train.CheckpointManager(af.train.Checkpoint(step=step), tmp_path)
    assert again.checkpoints == manager.checkpoints
    assert again.restore_or_initialize() == str(tmp_path / "ckpt-5")
    assert int(step) == 5
    with pytest.raises(ValueError, match="positive integer"):
        af.train.CheckpointManager(af.train.Checkpoint(step=step), tmp_path, max_to_keep=0)


def test_iterators_of_datasets_go_on_at_their_place(tmp_path: Path) -> None:
    def program() -> tuple[Any, Any]:
        iterator = iter(af.data.Dataset.range(100).shuffle(20, seed=3).batch(4))
        return iterator, af.train.Checkpoint(step=af.Variable(0), iterator=iterator)

    with af.eager():
        iterator, checkpoint = program()
        next(iterator)
        path = checkpoint.save(tmp_path / "run")
        expected = [next(iterator).numpy().tolist() for _ in range(3)]
        checkpoint.restore(path).assert_consumed()
        assert [next(iterator).numpy().tolist() for _ in range(3)] == expected
        other, again = program()
        again.restore(path).assert_consumed()
        assert [other.get_next().numpy().tolist() for _ in range(3)] == expected


async def test_an_asynchronous_iterator_goes_on_at_its_place(tmp_path: Path) -> None:
    with af.eager():
        elements = af.data.Dataset.range(10).iterate()
        checkpoint = af.train.Checkpoint(elements=elements)
        await elements.__anext__()
        path = checkpoint.save(tmp_path / "run")
        assert [int(x) async for x in elements] == list(range(1, 10))
        checkpoint.restore(path)
        assert [int(x) async for x in elements] == list(range(1, 10))
