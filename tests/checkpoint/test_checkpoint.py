"""Saving and restoring variables: `af.train.Saver` and what is around it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from patience import PATIENCE
from volatile_files import VolatileFiles

import actorflow as af
from actorflow import errors
from actorflow.base.dtypes import ALL
from actorflow.checkpoint.reading import Reader
from actorflow.checkpoint.stores import store as stores
from actorflow.checkpoint.stores.files import SystemFiles
from actorflow.graph.ops.state.checkpoint import restore_v2, save_v2
from actorflow.models.train.saving import saver as saver_module

Run = Callable[..., Any]


def opened(graph: af.Graph, **options: Any) -> Any:
    return af.blocking.Session(graph=graph, **options)


def value_of(dtype: af.DType, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    if dtype is af.string:
        values = np.empty(shape, object)
        for index in np.ndindex(shape):
            values[index] = rng.bytes(int(rng.integers(0, 9)))
        return values
    return rng.integers(0, 2, shape) if dtype is af.bool else rng.normal(50, 10, shape).astype(dtype.numpy_dtype)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (2, 3)])
def test_f66_every_type_and_shape_comes_back_bit_for_bit(
    graph: af.Graph, tmp_path: Path, seed: int, shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(seed)
    values = {d.name: value_of(d, rng, shape) for d in ALL}
    variables = {name: af.Variable(value, name=name, dtype=name) for name, value in values.items()}
    zeros = [
        v.assign(af.zeros_like(v) if v.dtype is not af.string else af.fill(shape, b"?")) for v in variables.values()
    ]
    saver = af.train.Saver()
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        before = session.run(variables)
        path = saver.save(session, tmp_path / "model")
        session.run(zeros)
        saver.restore(session, path)
        after = session.run(variables)
    reader = af.train.NewCheckpointReader(path)
    for name, variable in variables.items():
        assert np.asarray(after[name]).tobytes() == np.asarray(before[name]).tobytes() or variable.dtype is af.string
        assert np.array_equal(after[name], before[name])
        assert reader.get_variable_to_dtype_map()[name] is variable.dtype
        assert reader.get_variable_to_shape_map()[name] == list(shape)
        read = reader.get_tensor(name)
        assert read.shape == shape and np.array_equal(read, np.asarray(before[name], read.dtype))


def test_f66_the_file_lists_every_variable(graph: af.Graph, tmp_path: Path) -> None:
    with af.variable_scope("layer"):
        af.get_variable("w", [2, 3])
    af.Variable(np.zeros(4), name="b")
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        af.train.Saver().save(session, tmp_path / "model", global_step=7)
    assert af.train.list_variables(tmp_path) == [("b", [4]), ("layer/w", [2, 3])]
    assert af.train.load_variable(tmp_path, "b").tolist() == [0, 0, 0, 0]
    assert af.train.latest_checkpoint(tmp_path) == f"{tmp_path}/model-7"
    reader = af.train.load_checkpoint(f"{tmp_path}/model-7")
    assert reader.has_tensor("layer/w") and not reader.has_tensor("layer/v")
    assert reader.debug_string() == "b (float64) [4]\nlayer/w (float32) [2, 3]"
    with pytest.raises(errors.NotFoundError, match="layer/v"):
        reader.get_tensor("layer/v")


async def test_f66_f68_asynchronous_sessions_await_the_same_calls(graph: af.Graph, tmp_path: Path) -> None:
    v = af.Variable([1.0, 2.0])
    step = af.train.get_or_create_global_step()
    saver = af.train.Saver()
    init, change = af.global_variables_initializer(), af.group(v.assign([5.0, 6.0]), step.assign(12))
    async with af.Session(graph=graph) as session:
        await session.run(init)
        first = await saver.save(session, tmp_path / "model", global_step=step)
        await session.run(change)
        second = await saver.save(session, tmp_path / "model", global_step=step)
        assert [first, second] == [f"{tmp_path}/model-0", f"{tmp_path}/model-12"] == saver.last_checkpoints
        assert [Reader(path).manifest.global_step for path in (str(first), str(second))] == [0, 12]
        await saver.restore(session, first)
        assert (await session.run(v)).tolist() == [1.0, 2.0]
    async with af.Session(graph=graph) as session:  # without the initializer
        await saver.restore(session, second)
        assert (await session.run([v, step]))[0].tolist() == [5.0, 6.0]


def test_f68_a_dict_saves_and_restores_under_other_names(graph: af.Graph, tmp_path: Path) -> None:
    a, b = af.Variable(1.0, name="a"), af.Variable(2.0, name="b")
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver({"x": a, "y": b}).save(session, tmp_path / "model")
        assert [name for name, _ in af.train.list_variables(path)] == ["x", "y"]
        af.train.Saver({"x": b}).restore(session, path)  # a part, and crosswise
        assert session.run([a, b]) == [1.0, 1.0]


@pytest.mark.parametrize("devices", [1, 3])
def test_f68_restores_into_another_number_of_devices(tmp_path: Path, devices: int) -> None:
    def build(count: int) -> tuple[af.Graph, list[Any], Any]:
        graph = af.Graph()
        with graph.as_default():
            variables = []
            for index in range(6):
                with af.device(f"/device:CPU:{index % count}"):
                    variables.append(af.Variable(np.full(5, index), name=f"v{index}"))
            return graph, variables, af.global_variables_initializer()

    graph, variables, init = build(2)
    with graph.as_default(), opened(graph, devices={"CPU": 2}) as session:
        session.run(init)
        path = af.train.Saver().save(session, tmp_path / "model")
    assert len(list(tmp_path.glob("*.safetensors"))) == 2  # a shard for each device
    graph, variables, _ = build(devices)
    with graph.as_default(), opened(graph, devices={"CPU": devices}) as session:
        af.train.Saver().restore(session, path)
        assert [value.tolist() for value in session.run(variables)] == [[i] * 5 for i in range(6)]


def test_f68_all_differences_are_told_at_once_and_nothing_is_changed(graph: af.Graph, tmp_path: Path) -> None:
    for name, value in {"weights": [1.0], "bias": [2.0], "same": [3.0], "kind": [4.0], "long": [5.0, 5.0]}.items():
        af.Variable(value, name=name)
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
    with af.Graph().as_default() as other:
        values = {"weight": [0.0], "offset": [0.0], "same": [0.0], "kind": [0], "long": [0.0]}
        variables = [af.Variable(value, name=name) for name, value in values.items()]
        saver = af.train.Saver()
        with opened(other) as session:
            session.run(af.global_variables_initializer())
            with pytest.raises(errors.NotFoundError) as caught:
                saver.restore(session, path)
            text = str(caught.value)
            assert "2 missing: offset, weight (the checkpoint has weights)" in text
            assert "kind is of float32 in the checkpoint, but the variable is of int32" in text
            assert "long has shape (2,) in the checkpoint, but the variable has (1,)" in text
            assert "2 only in the checkpoint: bias, weights" in text
            assert [float(v[0]) for v in session.run(variables)] == [0.0] * 5
            with pytest.raises(errors.InvalidArgumentError, match="kind is of float32") as caught_too:
                af.train.Saver({"kind": variables[3]}).restore(session, path)
            assert not isinstance(caught_too.value, errors.NotFoundError)
            part = af.train.Saver({"same": variables[2]})
            with pytest.raises(
                errors.InvalidArgumentError, match="4 only in the checkpoint: bias, kind, long, weights"
            ):
                part.restore(session, path, strict=True)
            part.restore(session, path)
            assert session.run(variables[2]).tolist() == [3.0]
            with pytest.raises(ValueError, match="not a valid checkpoint"):
                part.restore(session, f"{path}-9")


def test_a_value_may_get_another_shape_where_that_is_asked_for(graph: af.Graph, tmp_path: Path) -> None:
    flat, square = af.Variable(np.arange(4.0), name="flat"), af.Variable(np.zeros((2, 2)), name="square")
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver({"v": flat}).save(session, tmp_path / "model")
        with pytest.raises(errors.InvalidArgumentError, match="shape"):
            af.train.Saver({"v": square}).restore(session, path)
        af.train.Saver({"v": square}, reshape=True).restore(session, path)
        assert session.run(square).tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_variables_without_a_value_are_all_named(graph: af.Graph, tmp_path: Path) -> None:
    a, b, c = (af.Variable(0.0, name=name) for name in "abc")
    with opened(graph) as session:
        session.run(b.initializer)
        with pytest.raises(errors.FailedPreconditionError, match="2 variables have no value to be saved: a, c"):
            af.train.Saver([a, b, c]).save(session, tmp_path / "model")
    assert not os.listdir(tmp_path)


def test_what_can_be_no_saver_or_path(graph: af.Graph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no variables"):
        af.train.Saver()
    v, w = af.Variable(0.0, name="v"), af.Variable(0.0, name="w")
    with pytest.raises(TypeError, match="Variables are saved"):
        af.train.Saver([af.constant(1.0)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="same name: v"):
        duplicate = af.Variable(0.0, name="v")
        duplicate.handle = v.handle
        af.train.Saver([v, duplicate])
    saver = af.train.Saver([v, w])
    with opened(graph) as session:
        for bad in ("", f"{tmp_path}/checkpoint"):
            with pytest.raises(ValueError, match="can't be the path"):
                saver.save(session, bad)
        with pytest.raises(ValueError, match="path components"):
            saver.save(session, tmp_path / "model", latest_filename="a/b")


# ---- what is kept


def saved_steps(folder: Path) -> list[str]:
    return sorted(file.name.removesuffix(".manifest") for file in folder.glob("*.manifest"))


def test_the_oldest_go_when_there_are_too_many(graph: af.Graph, tmp_path: Path) -> None:
    af.Variable(0.0)
    saver = af.train.Saver(max_to_keep=2)
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        for step in (1, 2, 2, 3):
            saver.save(session, tmp_path / "model", global_step=step)
        assert saved_steps(tmp_path) == ["model-2", "model-3"]
        assert len(list(tmp_path.glob("*.safetensors"))) == 2 == len(list(tmp_path.glob("*.meta")))
        again = af.train.Saver(max_to_keep=2)  # a program that was started again
        state = af.train.get_checkpoint_state(tmp_path)
        assert state is not None
        again.recover_last_checkpoints(["nothing", *state.all_model_checkpoint_paths])
        assert again.last_checkpoints == saver.last_checkpoints
        again.save(session, tmp_path / "model", global_step=4)
        assert saved_steps(tmp_path) == ["model-3", "model-4"]
        af.train.Saver(max_to_keep=0).save(session, tmp_path / "model", global_step=5)
        assert saved_steps(tmp_path) == ["model-3", "model-4", "model-5"]


def test_f66_a_save_is_made_though_somebody_damages_the_file_that_names_it(
    graph: af.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In the moment before the saver looks what may be removed. The next save makes it good."""
    write = saver_module.update_checkpoint_state

    def write_and_damage(folder: str, *arguments: Any) -> None:
        write(folder, *arguments)
        (tmp_path / "checkpoint").write_text("model_")

    af.Variable(0.0)
    saver = af.train.Saver(max_to_keep=1)
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        saver.save(session, tmp_path / "model", global_step=1)
        with monkeypatch.context() as patch:
            patch.setattr(saver_module, "update_checkpoint_state", write_and_damage)
            path = saver.save(session, tmp_path / "model", global_step=2)
        assert saved_steps(tmp_path) == ["model-1", "model-2"] and "a former checkpoint stays" in caplog.text
        saver.restore(session, path)
        latest = saver.save(session, tmp_path / "model", global_step=3)
        assert af.train.latest_checkpoint(tmp_path) == latest


def test_one_in_so_many_hours_stays(graph: af.Graph, tmp_path: Path) -> None:
    af.Variable(0.0)
    now = [0.0]
    saver = af.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=2, clock=lambda: now[0])
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        for hour in range(7):
            now[0] = hour * 3600.0
            saver.save(session, tmp_path / "model", global_step=hour, write_meta_graph=False)
    assert saved_steps(tmp_path) == ["model-3", "model-5", "model-6"]  # past 2 hours, past 4, the last


def test_the_newest_is_never_removed_by_another_saver(graph: af.Graph, tmp_path: Path) -> None:
    """Two savers in one folder, each of which keeps one: each leaves the other's alone."""
    af.Variable(0.0)
    savers = [af.train.Saver(max_to_keep=1) for _ in range(2)]
    with opened(graph) as session:
        session.run(af.global_variables_initializer())

        def save(saver: Any, start: int) -> None:
            for step in range(start, 20, 2):
                path = saver.save(session, tmp_path / "model", global_step=step, write_meta_graph=False)
                assert af.train.checkpoint_exists(path)
                assert af.train.latest_checkpoint(tmp_path) is not None

        threads = [threading.Thread(target=save, args=(saver, start)) for start, saver in enumerate(savers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert saved_steps(tmp_path) == ["model-18", "model-19"]
    latest = af.train.latest_checkpoint(tmp_path)
    assert latest in (f"{tmp_path}/model-18", f"{tmp_path}/model-19")


def test_a_folder_may_be_moved(graph: af.Graph, tmp_path: Path) -> None:
    v = af.Variable(3.0)
    saver = af.train.Saver()
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        saver.save(session, tmp_path / "old" / "model", global_step=1)
        (tmp_path / "old").rename(tmp_path / "new")
        path = af.train.latest_checkpoint(tmp_path / "new")
        assert path == f"{tmp_path}/new/model-1"
        session.run(v.assign(0.0))
        saver.restore(session, path)
        assert session.run(v) == 3.0
    with af.Graph().as_default() as copy:
        assert af.train.import_meta_graph(f"{path}.meta") is not None
        assert copy.get_operation_by_name(v.op.name).type == "VariableV2"
    af.train.remove_checkpoint(path)
    assert os.listdir(tmp_path / "new") == ["checkpoint"] and af.train.latest_checkpoint(tmp_path / "new") is None


def test_the_file_that_names_the_latest(tmp_path: Path) -> None:
    assert af.train.get_checkpoint_state(tmp_path) is None and af.train.latest_checkpoint(tmp_path) is None
    odd = f'{tmp_path}/a "b" \\ c'
    af.train.update_checkpoint_state(tmp_path, odd, [f"{tmp_path}/x", "/elsewhere/y"], "mine")
    state = af.train.get_checkpoint_state(tmp_path, "mine")
    assert state == af.train.CheckpointState(odd, [f"{tmp_path}/x", "/elsewhere/y", odd])
    assert (tmp_path / "mine").read_text().startswith('model_checkpoint_path: "a \\"b\\" \\\\ c"\n')


def test_variables_begin_with_what_a_checkpoint_has(graph: af.Graph, tmp_path: Path) -> None:
    with af.variable_scope("old"):
        for index, name in enumerate(["a", "b"]):
            af.get_variable(name, initializer=np.float32(index + 1))
    af.get_variable("single", initializer=np.float32(9))
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
    with af.Graph().as_default() as other:
        with af.variable_scope("new"):
            a, b = af.get_variable("a", []), af.get_variable("b", [])
        mine, named = af.Variable(0.0), af.get_variable("named", [])
        with pytest.raises(ValueError, match="no variables in the scope"):
            af.train.init_from_checkpoint(path, {"old/": "none/"})
        with pytest.raises(errors.NotFoundError, match=r"2 missing: old/x .*, old/y"):
            af.train.init_from_checkpoint(path, {"old/x": a, "old/y": b})
        af.train.init_from_checkpoint(tmp_path, {"old/": "new/", "single": mine, "old/b": "named"})
        with opened(other) as session:
            session.run(af.global_variables_initializer())
            assert session.run([a, b, mine, named]) == [1.0, 2.0, 9.0, 2.0]


# ---- as nodes


def test_f66_tensors_are_saved_and_restored_by_nodes(graph: af.Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "sub" / "model")
    save = save_v2(prefix, ["x", "s"], ["", ""], [af.constant([1.5, 2.5]), af.constant(b"text")])
    x, s = restore_v2(prefix, ["x", "s"], ["", ""], dtypes=[af.float32, af.string])
    lacking = restore_v2(prefix, ["x", "y", "z"], ["", "", ""], dtypes=[af.float32] * 3)
    sliced = restore_v2(prefix, ["x"], ["2 0,1"], dtypes=[af.float32])
    with opened(graph) as session:
        with pytest.raises(errors.NotFoundError, match="There is no checkpoint"):
            session.run(x)
        session.run(save)
        values = session.run([x, s])
        assert values[0].tolist() == [1.5, 2.5] and values[1] == b"text"
        with pytest.raises(errors.NotFoundError, match="2 missing: y, z"):
            session.run(lacking)
        assert session.run(sliced).tolist() == [1.5]
    with pytest.raises(ValueError, match="1 tensors, but 2 names"):
        save_v2(prefix, ["x", "y"], ["", ""], [af.constant(1.0)])


def test_nodes_keep_to_the_folders_that_are_open(graph: af.Graph, tmp_path: Path) -> None:
    af.Variable(0.0)
    saver = af.train.Saver()
    (tmp_path / "mine").mkdir()
    with opened(graph, limits=af.SessionLimits(file_roots=[tmp_path / "mine"])) as session:
        session.run(af.global_variables_initializer())
        with pytest.raises(errors.PermissionDeniedError):
            saver.save(session, tmp_path / "other" / "model")
        with pytest.raises(errors.PermissionDeniedError):
            saver.save(session, "memory://other/model")
        saver.restore(session, saver.save(session, tmp_path / "mine" / "model"))
    assert os.listdir(tmp_path) == ["mine"]


# ---- beside running steps


class GatedFiles(SystemFiles):
    """Files whose writes wait for a gate; `begun` is set when the first one waits."""

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()

    async def started(self) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, PATIENCE)

    def write(self, fd: int, data: Any) -> int:
        self.begun.set()
        assert self.gate.wait(PATIENCE)
        return super().write(fd, data)


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[GatedFiles]:
    files = GatedFiles()
    stores.register_store("gated", lambda folder: stores.LocalStore(f"{tmp_path}/{folder.partition('://')[2]}", files))
    yield files
    files.gate.set()


async def test_f69_training_goes_on_while_a_save_writes(graph: af.Graph, gated: GatedFiles) -> None:
    v = af.Variable(np.zeros(100_000))
    step = v.assign_add(np.ones(100_000), read_value=False)
    saver = af.train.Saver()
    init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await session.run(step)
        async with anyio.create_task_group() as group:
            group.start_soon(saver.save, session, "gated://models/model")
            await gated.started()
            for _ in range(20):
                await session.run(step)
            gated.gate.set()
        assert (await session.run(v))[0] == 21.0
        await saver.restore(session, "gated://models/model")
        assert set((await session.run(v)).tolist()) == {1.0}  # the values of when it was called


async def test_f69_all_values_are_of_one_instant(graph: af.Graph, tmp_path: Path) -> None:
    """Steps that move a unit from one variable to the next, on whatever thread: no save sees one on its way."""
    size = 300_000  # such updates run on the device's thread
    variables = [af.Variable(np.zeros(size), name=f"v{i}") for i in range(3)]
    names = {"v0": variables[0], "v1": variables[1], "v2": variables[2]}
    steps = []
    for _ in range(2):
        with af.control_dependencies(None):
            ones = [v.assign_add(np.ones(size), read_value=False) for v in variables]
        steps.append(af.group(*ones))
    init, saver = af.global_variables_initializer(), af.train.Saver(names, max_to_keep=0)
    done = False

    async def train(session: af.Session, step: Any) -> None:
        while not done:
            await session.run(step)

    async with af.Session(graph=graph) as session:
        await session.run(init)
        async with anyio.create_task_group() as group:
            for step in steps:
                group.start_soon(train, session, step)
            loose = [await saver.save(session, tmp_path / "loose", global_step=i) for i in range(3)]
            exact = [await saver.save(session, tmp_path / "exact", global_step=i, consistent=True) for i in range(3)]
            done = True
    for path in loose:  # a step may be halfway, but a variable never is
        assert all(len(set(af.train.load_variable(path, name).tolist())) == 1 for name in names)
    for path in exact:  # no step is halfway either
        assert len({af.train.load_variable(path, name)[0] for name in names}) == 1


async def test_f69_a_consistent_save_lets_steps_in_when_the_values_are_taken(
    graph: af.Graph, gated: GatedFiles
) -> None:
    v = af.Variable(0.0)
    add = v.assign_add(1.0)
    saver, init = af.train.Saver(), af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: saver.save(session, "gated://models/model", consistent=True))
            await gated.started()
            assert await session.run(add) == 1.0  # although nothing is written yet
            with pytest.raises(errors.FailedPreconditionError, match="has the session for itself"):
                async with session._snapshot(consistent=True), session._snapshot(consistent=True):
                    pass
            gated.gate.set()
        assert await session.run(add) == 2.0


async def test_one_save_goes_on_at_a_time(graph: af.Graph, gated: GatedFiles) -> None:
    v = af.Variable(1.0)
    saver, init, change = af.train.Saver(), af.global_variables_initializer(), v.assign(2.0)
    ended: list[str] = []
    async with af.Session(graph=graph) as session:
        await session.run(init)

        async def save(name: str) -> None:
            ended.append(os.path.basename(await saver.save(session, f"gated://models/{name}")))

        async with anyio.create_task_group() as group:
            group.start_soon(save, "first")
            await gated.started()
            group.start_soon(save, "second")
            await asyncio.sleep(0)
            await session.run(change)
            gated.gate.set()
    assert ended == ["first", "second"]
    assert af.train.load_variable("gated://models/first", "Variable") == 1.0
    assert af.train.load_variable("gated://models/second", "Variable") == 2.0  # it waited, and then took its values


async def test_a_save_that_is_cancelled_leaves_nothing(graph: af.Graph, gated: GatedFiles, tmp_path: Path) -> None:
    af.Variable(np.zeros(1000))
    saver, init = af.train.Saver(), af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        async with anyio.create_task_group() as group:
            group.start_soon(saver.save, session, "gated://models/model")
            await gated.started()
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                for _ in range(20):  # turns of the loop, in which the step learns of it
                    await asyncio.sleep(0)
            gated.gate.set()
        assert os.listdir(tmp_path / "models") == [] and saver.last_checkpoints == []
        await saver.save(session, "gated://models/model")  # and the next one goes


def test_stores_by_scheme_are_found(graph: af.Graph) -> None:
    files = VolatileFiles()
    stores.register_store("kept", lambda folder: stores.LocalStore(folder, files))
    v = af.Variable(4.0)
    saver = af.train.Saver()
    with opened(graph) as session:
        session.run(af.global_variables_initializer())
        path = saver.save(session, "kept://folder/model")
        session.run(v.assign(0.0))
        saver.restore(session, path)
        assert session.run(v) == 4.0
    assert af.train.latest_checkpoint("kept://folder") == path
