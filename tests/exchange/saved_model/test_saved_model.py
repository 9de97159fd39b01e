"""Saved models: folders of both forms are written and read, with signatures and files.

`saved_models_tf215.zip` has TensorFlow 2.15's saved models (`dump_saved_models.py`, which also loads ours).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.graph.graphdef.protos import SavedModel

ONES = np.ones((2, 3), np.float32)
TENSORFLOWS = Path(__file__).parent / "saved_models_tf215.zip"
UNNEEDED = Path(__file__).parent / "unneeded.zip"
FORMATS = ("tensorflow", "standard")


@pytest.fixture(scope="module")
def tensorflows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tensorflows")
    with zipfile.ZipFile(TENSORFLOWS) as archive:
        archive.extractall(folder)
    return folder


def model(folder: Path) -> tuple[af.Graph, dict[str, Any], dict[str, Any], Any]:
    """A line, and a vocabulary that a file has: the graph, its inputs and outputs, and what initialises the table."""
    words = folder / "words.txt"
    words.write_text("a\nb\nc\n")
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 3], name="x")
        w = af.Variable(np.full((3, 2), 2, np.float32), name="w")
        path = af.constant(str(words))
        graph.add_to_collection(af.GraphKeys.ASSET_FILEPATHS, path)
        table = af.lookup.index_table_from_file(path)
        given = af.placeholder(af.string, [None], name="given")
        outputs = {"y": af.matmul(x, w) + 1.0, "ids": table.lookup(given)}
        af.global_variables_initializer()
        return graph, {"x": x, "words": given}, outputs, af.tables_initializer()


async def saved(folder: Path, name: str, format: str) -> Path:
    graph, inputs, outputs, main_op = model(folder)
    async with af.Session(graph=graph) as session:
        with graph.as_default():
            await session.run([af.global_variables_initializer(), main_op])
        await af.saved_model.simple_save(session, folder / name, inputs, outputs, main_op, format=format)
    return folder / name


async def answers(folder: Path, feeds: dict[str, Any], signature: str = "serving_default") -> dict[str, Any]:
    async with af.Session(graph=af.Graph()) as session:
        message = await af.saved_model.load(session, ["serve"], folder)
        found = message.signature_def[signature]
        fed = {found.inputs[name].name: value for name, value in feeds.items()}
        names = {key: info.name for key, info in found.outputs.items()}
        return dict(zip(names, await session.run(list(names.values()), fed), strict=True))


@pytest.mark.parametrize("format", FORMATS)
async def test_a_model_comes_back_with_its_values_its_files_and_its_signature(tmp_path: Path, format: str) -> None:
    folder = await saved(tmp_path, "1", format)
    (tmp_path / "words.txt").unlink()  # the model has its own copy
    found = await answers(folder.rename(tmp_path / "moved"), {"x": ONES, "words": [b"c", b"?"]})
    np.testing.assert_array_equal(found["y"], np.full((2, 2), 7))
    np.testing.assert_array_equal(found["ids"], [2, -1])


@pytest.mark.parametrize("name", ["references", "resources"])
async def test_a_model_of_tensorflow_1_is_loaded(tensorflows: Path, name: str) -> None:
    found = await answers(tensorflows / name, {"x": ONES, "words": [b"c", b"?"]})
    np.testing.assert_array_equal(found["y"], [[7, 11], [7, 11]])
    np.testing.assert_array_equal(found["ids"], [2, -1])


async def test_the_signatures_of_half_plus_two(tensorflows: Path) -> None:
    found = await answers(tensorflows / "half_plus_two", {"x": [[2.0], [3.0], [4.0]]})
    np.testing.assert_array_equal(found["y"], [[3.0], [3.5], [4.0]])
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.loader.load(session, {"serve"}, str(tensorflows / "half_plus_two"))
    assert {key: s.method_name.rpartition("/")[2] for key, s in message.signature_def.items()} == {
        "regress_x_to_y": "regress",
        "classify_x_to_y": "classify",
        "serving_default": "predict",
    }
    assert all(tf.saved_model.is_valid_signature(s) for s in message.signature_def.values())


async def test_the_standard_form_is_a_graph_safetensors_and_a_description(tmp_path: Path) -> None:
    folder = await saved(tmp_path, "1", "standard")
    description = json.loads((folder / "saved_model.json").read_text())
    (graph,) = description["graphs"]
    assert graph["tags"] == ["serve"]
    assert graph["signatures"]["serving_default"]["inputs"]["x"] == {
        "name": "x:0",
        "dtype": "float32",
        "shape": [-1, 3],
    }
    assert len(list((folder / "variables").glob("*.safetensors"))) == 1
    (folder / "graph-0.pb").write_bytes(b"\x00" + (folder / "graph-0.pb").read_bytes())
    with pytest.raises(errors.DataLossError, match=r"graph-0\.pb' is damaged"):
        await answers(folder, {})


def test_a_script_of_tensorflow_1(tmp_path: Path) -> None:
    export_dir = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = x * tf.get_variable("v", initializer=3.0)
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(export_dir)
        signature = tf.saved_model.signature_def_utils.build_signature_def(
            {"x": tf.saved_model.utils.build_tensor_info(x)},
            {"y": tf.saved_model.utils.build_tensor_info(y)},
            tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
        )
        tags = [tf.saved_model.tag_constants.SERVING]
        builder.add_meta_graph_and_variables(sess, tags, signature_def_map={"serving_default": signature})
        with tf.Graph().as_default():
            tf.get_variable("v", shape=[])
            builder.add_meta_graph(["train"])
        builder.save(as_text=True)
    assert tf.saved_model.contains_saved_model(export_dir)
    for tags, scope in ((["serve"], None), (["serve"], "in")):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            meta = tf.saved_model.load(sess, tags, export_dir, import_scope=scope)
            info = meta.signature_def["serving_default"]
            y = tf.saved_model.utils.get_tensor_from_tensor_info(info.outputs["y"], graph, scope)
            fed = tf.saved_model.get_tensor_from_tensor_info(info.inputs["x"], graph, scope)
            np.testing.assert_array_equal(sess.run(y, {fed: [1, 2]}), [3, 6])
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.saved_model.load(sess, ["train"], export_dir)
        assert sess.run("v:0") == 3
        with pytest.raises(RuntimeError, match="associated with tags 'gpu' could not be found in SavedModel, with av"):
            tf.saved_model.load(sess, ["gpu"], export_dir)


def test_a_folder_is_no_saved_model_before_it_is_whole(tmp_path: Path) -> None:
    builder = tf.saved_model.Builder(str(tmp_path / "1"))
    with pytest.raises(AssertionError, match="has not been saved yet"):
        builder.add_meta_graph(["serve"])
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(1.0)
        with pytest.raises(errors.FailedPreconditionError):
            builder.add_meta_graph_and_variables(sess, ["serve"])
        assert not tf.saved_model.contains_saved_model(tmp_path / "1")
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.load(sess, ["serve"], tmp_path / "1")
        sess.run(tf.global_variables_initializer())
        builder.add_meta_graph_and_variables(sess, ["serve"])
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(sess, ["serve"])
    builder.save()
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        tf.saved_model.Builder(tmp_path / "1")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda x, s: tf.saved_model.predict_signature_def({}, {"y": x}), "cannot be None or empty"),
        (lambda x, s: tf.saved_model.classification_signature_def(x, s, None), "must be of type string"),
        (lambda x, s: tf.saved_model.classification_signature_def(s, None, None), "cannot both be None"),
        (lambda x, s: tf.saved_model.regression_signature_def(s, s), "must be of type float32"),
    ],
)
def test_signatures_have_their_types(make: Any, error: str) -> None:
    with tf.Graph().as_default():
        x, s = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.string, [None])
        with pytest.raises(ValueError, match=error):
            make(x, s)


def test_names_of_files_stay_in_the_folder(tmp_path: Path) -> None:
    message = SavedModel(saved_model_schema_version=1)
    graph = message.meta_graphs.add()
    graph.meta_info_def.tags.append("serve")
    graph.asset_file_def.add(filename="../../secret").tensor_info.name = "path:0"
    graph.graph_def.node.add(name="init", op="NoOp")
    graph.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "init"
    (tmp_path / "saved_model.pb").write_bytes(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(errors.InvalidArgumentError, match="lies outside of its folder"):
            tf.saved_model.load(sess, ["serve"], tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}', "[" * 100000])
def test_a_description_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "saved_model.json").write_text(text)
    with tf.Graph().as_default(), tf.Session() as sess:
        with pytest.raises(errors.DataLossError, match="is no description of a saved model"):
            tf.saved_model.load(sess, ["serve"], tmp_path)


async def test_functions_of_tensorflow_2_are_inlined(tensorflows: Path) -> None:
    found = await answers(tensorflows / "functions", {"x": ONES})
    np.testing.assert_array_equal(found["y"], [[7, 11], [7, 11]])
    np.testing.assert_array_equal(found["top"], [[11], [11]])
    np.testing.assert_array_equal(found["place"], [[1], [1]])


async def test_branches_and_loops_of_tensorflow_2_are_read(tensorflows: Path) -> None:
    async with af.serving.Model(tensorflows / "branches", warm_up=False) as model:  # its loop does not end for zeros
        for sign, y, rounds, calls in ((1, 22, 3, 10), (1, 22, 3, 20), (-1, 26, 5, 21)):
            found = await model.predict(sign * ONES)
            np.testing.assert_array_equal(found["y"], np.full((2, 3), y, np.float32))
            assert (found["rounds"], found["nested"], found["calls"]) == (rounds, 7, calls)


async def test_variables_whose_values_the_graph_does_not_place_are_refused(
    tensorflows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from actorflow.exchange.saved_model import loader

    monkeypatch.setattr(loader, "restored_names", lambda message: None)
    with pytest.raises(errors.UnimplementedError, match="do not say which tensor of the checkpoint"):
        await answers(tensorflows / "functions", {"x": ONES})


async def test_a_network_of_keras_has_its_answer(tensorflows: Path) -> None:
    image = np.arange(64, dtype=np.float32).reshape(1, 8, 8, 1) / 64
    async with af.serving.Model(tensorflows / "layers") as model:
        found = await model.predict(image)
    wanted = json.loads((tensorflows / "answers.json").read_text())["layers"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.fixture(scope="module")
def unneeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unneeded")
    with zipfile.ZipFile(UNNEEDED) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("scope", [None, "within"])
@pytest.mark.parametrize("kind", ["nodes", "functions"])
@pytest.mark.parametrize("name", ["beside", "tables", "initials", "pipeline", "computed", "no_inputs", "slices"])
def test_what_no_signature_needs_stops_no_load(unneeded: Path, name: str, kind: str, scope: str | None) -> None:
    """`tests/exchange/saved_model/dump_unneeded.py` has the models, of whose ops actorflow lacks some."""
    feeds, wanted = json.loads((unneeded / "answers.json").read_text())[f"{name}_{kind}"]
    with tf.Graph().as_default() as graph, tf.Session() as session:
        message = tf.saved_model.load(session, ["serve"], unneeded / f"{name}_{kind}", import_scope=scope)
        signature = message.signature_def["serving_default"]

        def tensor(info: Any) -> Any:
            return tf.saved_model.get_tensor_from_tensor_info(info, graph, scope)

        fed = {tensor(signature.inputs[key]): value for key, value in feeds.items()}
        found = session.run({key: tensor(info) for key, info in signature.outputs.items()}, fed)
    assert {key: value.tolist() for key, value in found.items()} == wanted


def test_an_output_that_needs_an_unknown_op_is_refused_by_its_name(unneeded: Path, tmp_path: Path) -> None:
    message = SavedModel.FromString((unneeded / "beside_nodes" / "saved_model.pb").read_bytes())
    (graph,) = message.meta_graphs
    node = next(node for node in graph.graph_def.node if node.op == "BesselJ1")
    graph.signature_def["serving_default"].outputs["y"].name = f"{node.name}:0"
    (tmp_path / "saved_model.pb").write_bytes(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(errors.UnknownNameError, match="of the op 'BesselJ1', which actorflow does not have"):
            tf.saved_model.load(session, ["serve"], tmp_path)


@pytest.mark.parametrize("missing", ["bad", "main"])
async def test_a_main_operation_whose_effect_a_signature_reads_is_not_left_out(tmp_path: Path, missing: str) -> None:
    """The load assigns 10; without the assignment the answer would be the checkpoint's 1, without a word."""
    folder, graph = tmp_path / "model", af.Graph()
    with graph.as_default(), tf.Session(graph=graph) as session:
        v = tf.Variable(1.0)
        assign = v.assign(tf.multiply(tf.identity(tf.constant(5.0), name="bad"), 2.0))
        main = tf.group(assign, name="main")
        signature = tf.saved_model.build_signature_def({}, {"y": tf.saved_model.build_tensor_info(tf.identity(v))}, "m")
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(folder))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=main)
        builder.save()
    message = SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    for node in message.meta_graphs[0].graph_def.node:
        if node.name == missing:
            node.op = "Unheard"
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(errors.UnknownNameError, match="Unheard"):
            tf.saved_model.loader.load(session, ["serve"], str(folder))
