"""Checkpoints of programs of TensorFlow 1: their files, their names, and the file that says which is the latest."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.errors import DataLossError
from actorflow.graph.ops.state.checkpoint import save_v2

DATA = ".data-00000-of-00001"


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made:
        yield made


def files(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if not name.startswith(("checkpoint", "graph", "events", "eval"))}


def saved(saver: Any, path: Any, **arguments: Any) -> str:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        made: str = saver.save(session, path, **arguments)
        return made


# ---- which format


def by_a_saver(folder: str) -> None:
    tf.Variable(1.0)
    saved(tf.train.Saver(), f"{folder}/model")


def by_a_monitored_session(folder: str) -> None:
    counted = tf.train.get_or_create_global_step().assign_add(1)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as session:
        session.run(counted)


def by_a_scaffold_and_a_hook(folder: str) -> None:
    counted = tf.train.get_or_create_global_step().assign_add(1)
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(folder, save_steps=1, scaffold=scaffold)
    with tf.train.SingularMonitoredSession(hooks=[hook], scaffold=scaffold) as session:
        session.run(counted)


def by_a_supervisor(folder: str) -> None:
    tf.train.get_or_create_global_step()
    with tf.train.Supervisor(logdir=folder).managed_session():
        pass


def by_an_estimator(folder: str) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = tf.reduce_mean(tf.square(tf.layers.dense(features["x"], 1) - labels))
        train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    tf.estimator.Estimator(model_fn, folder).train(batch, steps=1)


def by_a_canned_estimator(folder: str) -> None:
    columns = [tf.feature_column.numeric_column("x")]
    tf.estimator.LinearRegressor(columns, folder).train(batch, steps=1)


def by_the_saver_of_a_meta_graph(folder: str) -> None:
    tf.Variable(1.0)
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        saved(tf.train.import_meta_graph(message), f"{folder}/model")


def batch() -> Any:
    return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([[2.0], [4.0]])


WAYS = [
    by_a_saver,
    by_a_monitored_session,
    by_a_scaffold_and_a_hook,
    by_a_supervisor,
    by_an_estimator,
    by_a_canned_estimator,
    by_the_saver_of_a_meta_graph,
]


@pytest.mark.parametrize("way", WAYS)
def test_a_program_of_tensorflow_writes_its_files(way: Callable[[str], None], tmp_path: Path) -> None:
    way(str(tmp_path))
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path is not None and os.path.exists(f"{path}.index") and os.path.exists(f"{path}{DATA}")
    assert {name.rpartition(".")[2] for name in files(tmp_path)} == {"index", "data-00000-of-00001", "meta"}
    assert tf.train.list_variables(path)


def test_another_format_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    tf.Variable(1.0)
    saved(tf.train.Saver(format="standard"), f"{tmp_path}/model")
    assert "model.manifest" in files(tmp_path)


def test_a_saver_of_actorflow_writes_the_standard_format(tmp_path: Path) -> None:
    af.Variable(1.0)
    saved(af.train.Saver(), f"{tmp_path}/model")
    assert "model.manifest" in files(tmp_path)


def test_what_actorflow_makes_for_a_program_is_a_saver() -> None:
    tf.Variable(1.0)
    scaffold = tf.train.Scaffold().finalize()
    assert isinstance(scaffold.saver, tf.train.Saver) and isinstance(tf.train.Saver(defer_build=True), af.train.Saver)
    assert not isinstance(scaffold, tf.train.Saver)


def test_a_path_that_is_saved_to_again_has_the_same_files(tmp_path: Path) -> None:
    v = tf.Variable(0.0, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        for number in range(3):
            session.run(v.assign(number))
            saver.save(session, f"{tmp_path}/model")
            assert files(tmp_path) == {"model.index", f"model{DATA}", "model.meta"}
            assert tf.train.load_variable(str(tmp_path), "v") == number


def test_the_nodes_of_a_stored_graph_write_tensorflows_files(tmp_path: Path) -> None:
    with tf.Session() as session:
        session.run(save_v2(f"{tmp_path}/m", ["v"], [""], [[1.0]]))
    assert files(tmp_path) == {"m.index", f"m{DATA}"}


# ---- names


@pytest.mark.parametrize("format", ["standard", "tensor_bundle"])
@pytest.mark.parametrize(
    "name",
    ["model[1].ckpt", "acc=97%.ckpt", "modèle-日本", "v1..2", "a b", "{x}", "~m", "m'\"q", "-1", "#7", "m.index", "x/"],
)
def test_a_checkpoint_has_the_name_that_it_is_given(name: str, format: str, tmp_path: Path) -> None:
    v = tf.Variable(2.5, name="v")
    saver = tf.train.Saver(format=format)
    with tf.Session() as session:
        session.run(v.initializer)
        for step in (None, 3):
            path = saver.save(session, f"{tmp_path}/{name}", step)
            assert path == f"{tmp_path}/{name}" + ("" if step is None else "-3")
            session.run(v.assign(0.0))
            if not name.endswith("/"):
                assert tf.train.latest_checkpoint(str(tmp_path)) == path and tf.train.checkpoint_exists(path)
            saver.restore(session, path)
            assert session.run(v) == 2.5 and tf.train.load_variable(path, "v") == 2.5


def test_the_name_of_the_state_file_is_taken_without_a_number_alone(tmp_path: Path) -> None:
    tf.Variable(1.0)
    saver = tf.train.Saver()
    assert saved(saver, f"{tmp_path}/checkpoint", global_step=0) == f"{tmp_path}/checkpoint-0"
    with pytest.raises(ValueError, match="can't be the path"):
        saved(saver, f"{tmp_path}/checkpoint")


@pytest.mark.parametrize("restore", [None, ""])
def test_a_restore_of_nothing_says_that_there_is_no_checkpoint(restore: Any) -> None:
    tf.Variable(1.0)
    with tf.Session() as session, pytest.raises(ValueError, match=r"no checkpoint|not a valid checkpoint"):
        tf.train.Saver().restore(session, restore)


# ---- the file that says which is the latest

ALL = 'model_checkpoint_path: "m-2"\nall_model_checkpoint_paths: "m-1"\nall_model_checkpoint_paths: "m-2"\n'
STATES = {
    "as it is": ALL,
    "with the ends of lines of Windows": ALL.replace("\n", "\r\n"),
    "without the last end of a line": ALL.rstrip(),
    "with times": ALL + "all_model_checkpoint_timestamps: 1700000000.5\nlast_preserved_timestamp: 1.7e9\n",
    "with a comment": "# written by hand\n" + ALL + "# its end",
    "with single quotes and no spaces": ALL.replace('"', "'").replace(": ", ":"),
    "in one line": ALL.replace("\n", " "),
    "with escapes": ALL.replace("m-2", "\\155-\\x32"),
    "with a field of a later version": ALL + 'later { name: "x" }\n',
}


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("text", STATES.values(), ids=STATES)
def test_a_state_file_is_read_as_text_of_protocol_buffers(text: str, summed: bool, tmp_path: Path) -> None:
    if summed:
        text += "\n" if not text.endswith("\n") else ""
        text += f"# crc32: {zlib.crc32(text.replace(chr(13), '').encode()):08x}\n"
    (tmp_path / "checkpoint").write_bytes(text.encode())
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == f"{tmp_path}/m-2"
    assert list(state.all_model_checkpoint_paths) == [f"{tmp_path}/m-1", f"{tmp_path}/m-2"]


@pytest.mark.parametrize(
    "text",
    ["", "\n", 'model_checkpoint_path: "m', 'model_checkpoint_path: ""', "\0\0\0", "model_checkpoint_path: 3", 'x: "m"']
    + [ALL + "# crc32: 00000000\n"],
)
def test_a_state_file_that_is_damaged_is_not_taken_for_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(DataLossError, match="damaged"):
        tf.train.get_checkpoint_state(str(tmp_path))


# ---- the functions for checkpoints


def test_the_functions_for_checkpoints_take_tensorflows(tmp_path: Path) -> None:
    tf.Variable([1.0, 2.0], name="v")
    begin = time.time()
    saver = tf.train.Saver()
    path = saved(saver, tmp_path / "model", global_step=1)
    assert tf.train.latest_checkpoint(tmp_path) == path and tf.train.checkpoint_exists(path)
    (saved_at,) = tf.train.get_checkpoint_mtimes([path, f"{tmp_path}/other"])
    assert begin - 1 <= saved_at <= time.time() + 1
    assert tf.train.list_variables(str(tmp_path)) == [("v", [2])]
    np.testing.assert_array_equal(tf.train.load_variable(str(tmp_path), "v"), [1.0, 2.0])
    reader = tf.train.NewCheckpointReader(path)
    assert reader.get_variable_to_shape_map() == {"v": [2]} and reader.has_tensor("v")
    again = tf.train.Saver()
    again.recover_last_checkpoints([path, f"{tmp_path}/gone"])
    assert again.last_checkpoints == [path]
    tf.train.remove_checkpoint(path)
    assert not files(tmp_path) and not tf.train.checkpoint_exists(path)


# ---- checkpoints of objects


class Model:
    """An object with variables."""

    def __init__(self, value: float) -> None:
        self.w = tf.Variable([value, value + 1.0])
        self.parts = [tf.Variable(value), {"k": tf.Variable(value)}]


def test_a_checkpoint_of_objects_has_tensorflows_keys_and_comes_back(tmp_path: Path) -> None:
    with af.eager():
        model = Model(3.0)
        path = tf.train.Checkpoint(model=model).save(f"{tmp_path}/run")
        keys = ["model/parts/0", "model/parts/1/k", "model/w", "save_counter"]
        there = [name for name, _ in tf.train.list_variables(path) if not name.startswith("_")]
        assert there == [f"{key}/.ATTRIBUTES/VARIABLE_VALUE" for key in keys]
        other = Model(0.0)
        tf.train.Checkpoint(model=other).restore(path).assert_consumed()
        assert other.w.numpy().tolist() == [3.0, 4.0] and other.parts[1]["k"].numpy() == 3.0


def test_a_checkpoint_of_which_nothing_is_restored_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with af.eager():
        path = tf.train.Checkpoint(model=Model(3.0)).save(f"{tmp_path}/run")
        other = Model(0.0)
        tf.train.Checkpoint(net=other).restore(path)
        assert other.w.numpy().tolist() == [0.0, 1.0]
    assert caplog.text.count("nothing of a checkpoint was restored") == 1
