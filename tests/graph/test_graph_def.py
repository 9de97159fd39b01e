"""GraphDef and MetaGraphDef: graphs pass between TensorFlow and actorflow.

`graphs/` has what TensorFlow wrote, what it answered, and the graphs of ours that it has imported (`tensorflow_graphs.py`).
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph.graphs.graph_programs import PROGRAMS, answers

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.base.records.wire import BrokenMessageError
from actorflow.errors import UnknownNameError

GRAPHS = Path(__file__).parent / "graphs"
ANSWERS = json.loads((GRAPHS / "answers.json").read_text())


def small() -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.Variable([[1.0], [2.0]], name="w")
        tf.add(tf.matmul(x, w), 1.0, name="y")
        tf.global_variables_initializer()
    return graph


# ---- messages


def test_a_message_survives_the_wire_and_the_text() -> None:
    message = small().as_graph_def(add_shapes=True)
    assert tf.GraphDef.FromString(message.SerializeToString()) == message
    from actorflow.base.records.messages.text import read_text

    assert read_text(str(message), tf.GraphDef()) == message
    assert copy.deepcopy(message) == message == pickle.loads(pickle.dumps(message))


def test_fields_are_used_as_those_of_generated_messages() -> None:
    node = tf.NodeDef(name="n", op="Const", input=["a", "^b"])
    node.attr["T"].type = 1
    assert node.attr["T"].WhichOneof("value") == "type" and not node.attr["N"].HasField("i")
    node.attr["T"].s = b"text"
    assert node.attr["T"].WhichOneof("value") == "s"
    assert str(tf.NodeDef(name="n", input=["a"])) == 'name: "n"\ninput: "a"\n'
    graph = tf.GraphDef()
    graph.node.add().CopyFrom(node)
    graph.node.extend([node])
    node.name = "other"
    assert [n.name for n in graph.node] == ["n", "n"]
    with pytest.raises(AttributeError, match="NodeDef has no field 'nmae'; it has: name"):
        _ = node.nmae
    with pytest.raises(TypeError, match="type string"):
        node.name = 3


def test_fields_that_a_class_does_not_know_are_kept() -> None:
    unknown = tf.train.SaverDef(max_to_keep=4).SerializeToString() + bytes([15 << 3, 7])
    assert tf.train.SaverDef.FromString(unknown).SerializeToString() == unknown


@pytest.mark.parametrize("data", [b"\x0a\x05ab", b"\xff", b"\x0a\x02\x0a\x09"])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(BrokenMessageError):
        tf.GraphDef.FromString(data)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('\nnome { name: "x" }', "Line 2 .* a field 'nome'"),
        ("node {\n name: 3 }", "Line 2 .* where a string belongs"),
        ('node { name: "x" unknown: { a: [1, 2 }', "where ] belongs"),
        ('node { name: "x" unknown { a: 1', "its end too early"),
        ('node { name: "x" unknown: }', "'}' where a value belongs"),
        ("node { attr { : ", "where key or value belongs"),
    ],
)
def test_text_that_is_no_message_names_its_line(text: str, problem: str) -> None:
    from actorflow.base.records.messages.text import read_text

    with pytest.raises(BrokenMessageError, match=problem):
        read_text(text, tf.GraphDef())


@pytest.mark.parametrize(
    "unknown",
    [
        "later: 1",
        "later: -1.5e3",
        'later: "a" "b"',
        "later: ENUM",
        "later: [1, 2, 3]",
        'later: [{ a: 1 }, { b { c: "}" } }]',
        "later { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR } }",
        "later < a: 1 >",
        "later: 1;",
        "[type.googleapis.com/tensorflow.Later] { a: 1 }",
    ],
)
def test_fields_of_later_versions_are_passed_over_in_a_text(unknown: str) -> None:
    from actorflow.base.records.messages.text import read_text

    text = (
        f'node {{ name: "x" {unknown} op: "NoOp" attr {{ key: "T" value {{ {unknown} type: DT_INT32 }} }} }} {unknown}'
    )
    (node,) = read_text(text, tf.GraphDef()).node
    assert (node.name, node.op, node.attr["T"].type) == ("x", "NoOp", 3)


def test_arrays_as_messages() -> None:
    for array in (np.arange(6).reshape(2, 3), np.array(["a", b"b"], object), np.float16(3), np.zeros((0, 2), bool)):
        found = tf.make_ndarray(tf.make_tensor_proto(array))
        assert found.shape == np.shape(array)
        np.testing.assert_array_equal(found, np.array([b"a", b"b"], object) if array.dtype == object else array)
    np.testing.assert_array_equal(tf.make_ndarray(tf.make_tensor_proto(2.0, shape=[3])), [2.0, 2.0, 2.0])


# ---- our own graphs


def test_the_node_of_an_operation() -> None:
    graph = small()
    found = graph.get_operation_by_name("y").node_def
    assert (found.op, list(found.input)) == ("Add", ["MatMul", "y/y"])
    assert found.attr["T"].type == tf.float32.as_datatype_enum
    product = graph.get_operation_by_name("MatMul").node_def
    assert list(product.input) == ["x", "w/read"] and not product.attr["transpose_a"].b


def test_a_graph_comes_back_under_a_prefix_with_inputs_of_its_own() -> None:
    message = small().as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        mine = tf.constant([[3.0, 4.0]])
        y, start = tf.import_graph_def(message, {"x:0": mine}, ["y:0", "init"], name="net")
        assert y.name == "net/y:0" and "net/x" in graph.nodes
        session.run(start)
        assert session.run(y).tolist() == [[12.0]]
        again = tf.import_graph_def(message, return_elements=["y"], name="net")
        assert again[0].name == "net_1/y"


def test_only_what_was_added_is_written() -> None:
    graph = small()
    before = graph.version
    with graph.as_default():
        tf.constant(1, name="late")
    assert [node.name for node in graph.as_graph_def(from_version=before).node] == ["late"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_written_as_tensorflow_has_read_them(name: str) -> None:
    with tf.Graph().as_default() as graph:
        PROGRAMS[name](tf, False)
        written = tf.train.export_meta_graph()
        stored = tf.train.read_meta_graph(GRAPHS / f"actorflow_{name}.meta")
        assert [n.name for n in written.graph_def.node] == [n.name for n in stored.graph_def.node]
        assert written.graph_def == stored.graph_def
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="")
        np.testing.assert_allclose(answers(session), ANSWERS[name], rtol=1e-4)


# ---- TensorFlow's graphs


@pytest.mark.parametrize("kind", ["reference", "resource"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_of_tensorflow_give_its_answers(name: str, kind: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(str(GRAPHS / f"tensorflow_{name}_{kind}.meta"))
        np.testing.assert_allclose(answers(session), ANSWERS[name], rtol=1e-4)
        assert "w:0" in [v.name.rpartition("/")[2] for v in tf.trainable_variables()]


def test_an_imported_graph_is_saved_and_restored(tmp_path: Path) -> None:
    source = GRAPHS / "tensorflow_training_resource.meta"
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(source)
        before = answers(session)
        path = saver.save(session, str(tmp_path / "model"))
        left = session.run(tf.trainable_variables())
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
        for mine, theirs in zip(session.run(tf.trainable_variables()), left, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert answers(session) == before


def test_a_meta_file_brings_collections_and_queue_runners(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(3, [tf.int32], [[]], name="queue")
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
        tf.add_to_collection("outputs", queue.dequeue(name="taken"))
        tf.add_to_collection("sizes", 3)
        tf.train.export_meta_graph(tmp_path / "queue.meta", as_text=True)
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.train.import_meta_graph(tmp_path / "queue.meta", import_scope="net") is None
        assert tf.get_collection("sizes") == [3]
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(tf.get_collection("outputs")) == [7]
        coordinator.request_stop()
        coordinator.join(threads)


# ---- mistakes


def node(name: str, op: str, *inputs: str, **attrs: Any) -> tf.NodeDef:
    made = tf.NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        setattr(made.attr[key], "type" if isinstance(value, int) and not isinstance(value, bool) else "b", value)
    return made


def test_an_op_that_is_missing_is_named_with_its_node() -> None:
    with (
        pytest.raises(UnknownNameError, match="Node 'odd' of the GraphDef is of the op 'TPUReplicate'"),
        tf.Graph().as_default(),
    ):
        tf.import_graph_def(tf.GraphDef(node=[node("odd", "TPUReplicate")]))


@pytest.mark.parametrize(
    ("nodes", "error", "message"),
    [
        ([node("a", "Identity", "b")], ValueError, "Node 'a' has the input 'b', which is not in the GraphDef"),
        ([node("a", "Identity", "b"), node("b", "Identity", "a")], ValueError, "form a cycle that is no loop: a, b"),
        ([node("a", "NoOp"), node("a", "NoOp")], ValueError, "Two nodes of the GraphDef have the name 'a'"),
        ([node("a", "Placeholder")], ValueError, "has no attribute 'dtype'"),
        ([node("a", "Placeholder", dtype=1), node("b", "Tanh", "a:4")], ValueError, "'a' has no output 4"),
        ([node("a", "Placeholder", dtype=7), node("b", "Tanh", "a")], TypeError, "Node 'b' of the GraphDef"),
        ([node("a", "NoOp", strange=True)], ValueError, "attribute strange=True, which the op does not take"),
    ],
)
def test_a_graph_that_can_not_be_is_refused(nodes: list[Any], error: type[Exception], message: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=message):
        tf.import_graph_def(tf.GraphDef(node=nodes))


def test_mistakes_of_an_import() -> None:
    message = small().as_graph_def()
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=r"not found in graph_def: \[z:0\]"):
            tf.import_graph_def(message, {"z:0": tf.constant(1.0)})
        with pytest.raises(ValueError, match="return_elements names 'q:0'"):
            tf.import_graph_def(message, return_elements=["q:0"])
        with pytest.raises(TypeError, match="must be a GraphDef proto"):
            tf.import_graph_def([1])
        tf.import_graph_def(message, name="")
        with pytest.raises(ValueError, match="has a node 'x' already"):
            tf.import_graph_def(message, name="")


def test_an_attribute_that_tensorflow_has_not_changes_the_name_of_the_op() -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(tf.nn.softmax(tf.zeros([2, 3]), axis=0), name="y")
    message = graph.as_graph_def()
    assert "Softmax" not in {n.op for n in message.node}
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.import_graph_def(message, return_elements=["y:0"])[0]
        np.testing.assert_allclose(session.run(y), 0.5)


# ---- files and parts


def test_a_graph_is_written_to_a_file(tmp_path: Path) -> None:
    from actorflow.base.records.messages.text import read_text

    graph = small()
    text = tf.train.write_graph(graph, str(tmp_path / "deep"), "graph.pbtxt")
    data = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "graph.pb", as_text=False)
    assert read_text(Path(text).read_text(), tf.GraphDef()) == tf.GraphDef.FromString(Path(data).read_bytes())


def test_variables_become_constants() -> None:
    graph = small()
    with tf.Session(graph=graph) as session:
        session.run("init")
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not {"VarHandleOp", "init"} & {n.op for n in frozen.node} | {n.name for n in frozen.node} & {"init"}
    slim = tf.graph_util.remove_training_nodes(frozen)
    assert len(slim.node) < len(frozen.node)
    for message in (frozen, slim):
        with tf.Graph().as_default(), tf.Session() as session:
            y = tf.import_graph_def(message, return_elements=["y:0"])[0]
            assert session.run(y, {"import/x:0": [[1.0, 1.0]]}).tolist() == [[4.0]]


def test_a_part_of_a_graph() -> None:
    part = tf.graph_util.extract_sub_graph(small().as_graph_def(), ["MatMul"])
    assert {n.name for n in part.node} == {"x", "w", "w/read", "MatMul"}
    with pytest.raises(ValueError, match="'gone' is not in graph"):
        tf.graph_util.extract_sub_graph(part, ["gone"])


def test_the_graph_of_async_programs_too() -> None:
    graph = af.Graph()
    with graph.as_default():
        af.constant(1, name="one")
    assert graph.as_graph_def().node[0].name == "one"


@pytest.mark.parametrize("op", ["Assign", "AssignAdd", "AssignSub"])
async def test_an_update_of_a_variable_that_was_made_a_constant_says_so(op: str) -> None:
    with af.Graph().as_default():
        mean = af.constant([1.0, 2.0], name="mean")
        af.subtract(mean, af.constant([0.5, 0.5]), name="update")
        frozen = af.get_default_graph().as_graph_def()
    for node in frozen.node:
        if node.name == "update":
            node.op = op
    with af.Graph().as_default():
        (update,) = af.import_graph_def(frozen, return_elements=["update:0"], name="")
        async with af.Session() as session:
            with pytest.raises(af.errors.InvalidArgumentError, match="a constant can't be assigned"):
                await session.run(update)
