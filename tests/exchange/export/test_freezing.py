"""Frozen graphs: variables become constants, training goes, and what keeps state is refused.

`frozen_tf215.json.gz` has graphs of TensorFlow 2.15 and what its own tools make of them (`tests/exchange/export/dump_frozen.py`).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.errors import InvalidArgumentError

TWINS: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "frozen_tf215.json.gz").read_bytes()))
STATE = {"VarHandleOp", "VariableV2", "ReadVariableOp", "Switch", "Merge", "AssignVariableOp", "RandomUniform"}


def answer(message: Any, fed: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(message, return_elements=["y:0"], name="")
        return session.run(y, {"x:0": fed})


def ops(message: Any) -> Counter[str]:
    return Counter(node.op for node in message.node if node.op != "Const")


@pytest.fixture(params=sorted(TWINS))
def twin(request: pytest.FixtureRequest) -> Any:
    return TWINS[request.param]


def opened(twin: Any) -> Any:
    """A session with a graph of TensorFlow's and the values that it had there."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(base64.b85decode(twin["graph"]), name="")
    session = tf.Session(graph=graph)
    with graph.as_default():
        for name, value in twin["values"].items():
            handle = graph.get_tensor_by_name(f"{name}:0")
            value = np.array(value, np.float32).reshape(handle.op.get_attr("shape"))
            session.run(graph.create_op("Assign", [handle, tf.constant(value)], {"validate_shape": True}))
    return session


def test_parts_and_constants_are_those_of_tensorflow(twin: Any) -> None:
    message = tf.GraphDef.FromString(base64.b85decode(twin["graph"]))
    part = tf.graph_util.extract_sub_graph(message, ["y"])
    assert [node.name for node in part.node] == twin["part"]
    with opened(twin) as session:
        frozen = tf.graph_util.convert_variables_to_constants(session, message, ["y"])
    assert (
        sorted([n.name, n.op] for n in frozen.node if n.op != "Const")
        == [[name, {"ResourceGather": "GatherV2"}.get(op, op)] for name, op in twin["frozen"] if op != "Const"]
        or "table" in twin["values"]
    )
    np.testing.assert_allclose(answer(frozen, twin["x"]), twin["y"], rtol=1e-5, atol=1e-6)
    trained = tf.graph_util.remove_training_nodes(frozen, ["y"])
    assert sorted(n.name for n in trained.node) == twin["trained"] or "table" in twin["values"]


def test_a_frozen_graph_has_tensorflows_answers_and_no_more_nodes_than_its_tools_leave(twin: Any) -> None:
    with opened(twin) as session:
        frozen = af.export.freeze(session, ["y"], ["x"])
    left = ops(frozen)
    assert not STATE - {"Switch", "Merge"} & left.keys()
    assert left["Switch"] == left["Merge"] == 2 * ("w" in twin["values"])  # those of the loop
    assert sum(left.values()) <= len(twin["slim"])
    np.testing.assert_allclose(answer(frozen, twin["x"]), twin["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["switched", "plain", "without_bias", "references"])
def test_batch_normalization_goes_into_the_weights(name: str) -> None:
    with opened(TWINS[name]) as session:
        frozen = af.export.freeze(session, ["y"], ["x"])
    assert ops(frozen) == {
        "Placeholder": 1, "Conv2D": 1, "BiasAdd": 2, "Relu": 1, "Reshape": 1, "MatMul": 1, "Identity": 1,
        **{op: n for op, n in ops(frozen).items() if op in ("Shape", "StridedSlice", "Pack")},
    }  # fmt: skip


async def test_a_layers_graph_is_frozen_by_an_asynchronous_session() -> None:
    graph = af.Graph()
    with graph.as_default():
        training = af.placeholder_with_default(False, [], name="training")
        x = af.placeholder(af.float32, [None, 5], name="x")
        h = af.layers.batch_normalization(af.layers.dense(x, 4, name="d"), training=training)
        y = af.identity(af.layers.dropout(af.nn.relu(h), 0.5, training=training), name="y")
    async with af.Session(graph=graph) as session:
        with graph.as_default():
            await session.run(af.global_variables_initializer())
        fed = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
        want = await session.run(y, {x: fed})
        frozen = await af.export.freeze(session, [y], [x])
        trained = await af.export.freeze(session, [y], [x], {training: False}, fold=False)
    assert ops(frozen) == {"Placeholder": 1, "MatMul": 1, "BiasAdd": 1, "Relu": 1, "Identity": 1}
    for message in (frozen, trained):
        async with af.Session(graph=af.Graph()) as session:
            with session.graph.as_default():
                (found,) = af.import_graph_def(message, return_elements=["y:0"], name="")
            np.testing.assert_allclose(await session.run(found, {"x:0": fed}), want, rtol=1e-5, atol=1e-6)


async def test_what_writes_state_is_named() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [], name="x")
        total = af.Variable(0.0, name="total")
        counted = total.assign_add(x, name="count")
        queue = af.FIFOQueue(3, af.float32, name="queue")
        y = af.add(counted, queue.dequeue(name="take"), name="y")
    async with af.Session(graph=graph) as session:
        await session.run(total.initializer)
        with pytest.raises(InvalidArgumentError, match=r"2 of the nodes .*count.*\(\w+\), take \(QueueD"):
            await af.export.freeze(session, [y], [x])
        frozen = await af.export.freeze(session, [y], [counted, "take:0"])
    assert ops(frozen) == {"Placeholder": 2, "Add": 1}


async def test_a_placeholder_that_is_no_input_is_named() -> None:
    graph = af.Graph()
    with graph.as_default():
        x, scale = af.placeholder(af.float32, [None], name="x"), af.placeholder(af.float32, [], name="scale")
        y = af.multiply(x, scale, name="y")
    async with af.Session(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="placeholders scale, which are no inputs"):
            await af.export.freeze(session, [y], [x])
        frozen = await af.export.freeze(session, [y], [x], {scale: 2})
        with pytest.raises(ValueError, match="gone"):
            await af.export.freeze(session, ["gone"])
    assert answer(frozen, [1.0, 2.0]).tolist() == [2.0, 4.0]


def test_a_branch_that_is_not_taken_is_left_out_even_where_it_is_an_output() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(tf.constant(True, name="yes"), lambda: x + 1, lambda: tf.assign(tf.Variable(1.0), x), name="y")
        never = tf.cond(tf.constant(False), lambda: x * 2, lambda: x, name="z")
        inner = next(n for n in graph.nodes if n.startswith("z/") and graph.nodes[n].op == "Mul")
    merge = next(n.name for n in graph.as_graph_def().node if n.op == "Merge" and n.name.startswith("y"))
    message = af.export.fold_branches(tf.graph_util.extract_sub_graph(graph.as_graph_def(), [merge]), [merge])
    found = tf.graph_util.extract_sub_graph(message, [merge])
    assert not {"Merge", "Switch"} & ops(found).keys() and found.node[-1].name == merge
    assert never is not None
    with pytest.raises(InvalidArgumentError, match=f"{inner}' lies in a branch that is never taken"):
        af.export.fold_branches(tf.graph_util.extract_sub_graph(graph.as_graph_def(), [inner]), [inner])


def test_a_scale_stays_where_something_else_takes_the_value_before_it() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        product = tf.matmul(x, tf.constant([[1.0, 2.0], [3.0, 4.0]]))
        scaled = product * tf.constant([2.0, 3.0])
        tf.add(scaled, product, name="y")
    message = af.export.fold_scales(graph.as_graph_def())
    assert ops(message) == ops(graph.as_graph_def())
    assert answer(message, [[1.0, 1.0]]).tolist() == [[12.0, 24.0]]


def test_graphs_of_tensorflow_are_optimised_for_inference(twin: Any) -> None:
    message = tf.GraphDef.FromString(base64.b85decode(twin["graph"]))
    with opened(twin) as session:
        frozen = tf.graph_util.convert_variables_to_constants(session, message, ["y"])
    kind = tf.int32 if "table" in twin["values"] else tf.float32
    slim = af.export.optimize_for_inference(frozen, ["x"], ["y"], kind.as_datatype_enum)
    np.testing.assert_allclose(answer(slim, twin["x"]), twin["y"], rtol=1e-4, atol=1e-5)
    with pytest.raises(InvalidArgumentError, match="has variables"):
        af.export.optimize_for_inference(message, ["x"], ["y"])
