"""`tf.profiler`: parameters and float operations are those that TensorFlow 1.15.5 counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf

Builder = tf.profiler.ProfileOptionBuilder
FLOPS = {
    "Conv2D": 442368,
    "Conv2DBackpropFilter": 442368,
    "MatMul": 122880,
    "MaxPoolGrad": 10240,
    "BiasAdd": 8192,
    "MaxPool": 8192,
    "Softmax": 400,
    "Mean": 80,
    "Square": 80,
}
"""TensorFlow's, but for the nodes of gradients that are others there."""


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        zeros = tf.zeros_initializer()
        x = tf.placeholder(tf.float32, [8, 16, 16, 3], "x")
        kernel, bias = (
            tf.get_variable("c/k", [3, 3, 3, 4], initializer=zeros),
            tf.get_variable("c/b", [4], initializer=zeros),
        )
        h = tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME"), bias, name="c/o")
        h = tf.nn.max_pool(tf.nn.relu(h), [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="p")
        weights = tf.get_variable("d/w", [256, 10], initializer=zeros)
        y = tf.matmul(tf.reshape(h, [8, 256]), weights, name="d/m")
        loss = tf.reduce_mean(tf.square(tf.nn.softmax(y, name="s") - 0.1, name="q") * 2, name="l")
        tf.get_variable("step", [], trainable=False, initializer=zeros)
        tf.gradients(loss, [kernel, weights])
        yield graph


def quiet(options: Any) -> dict[str, Any]:
    return Builder(options).with_empty_output().build()


def test_parameters_of_trainable_variables(graph: Any) -> None:
    root = tf.profiler.profile(graph, options=quiet(Builder.trainable_variables_parameter()))
    assert root.total_parameters == 2672
    scopes = [
        (scope.name, scope.total_parameters, [(node.name, node.parameters) for node in scope.children])
        for scope in root.children
    ]
    assert scopes == [("c", 112, [("c/b", 4), ("c/k", 108)]), ("d", 2560, [("d/w", 2560)])]


def test_float_operations_by_types(graph: Any) -> None:
    kind = tf.profiler.profile(graph, cmd="op", options=quiet(Builder.float_operation()))
    total, counted = kind.total_float_ops, {}
    while kind.children:
        (kind,) = kind.children
        counted[kind.name] = kind.float_ops
    assert {name: counted.get(name) for name in FLOPS} == FLOPS
    assert sum(counted.values()) == total
    assert list(counted.values()) == sorted(counted.values(), reverse=True)


def test_float_operations_by_names(graph: Any) -> None:
    root = tf.profiler.profile(graph, options=quiet(Builder.float_operation()))
    names = [node.name for node in root.children if not node.name.startswith("gradients")]
    assert names[:5] == ["Conv2D", "d/m", "c/o", "p", "s"]  # scopes have no operations of their own
    assert sorted(names[5:]) == ["l", "mul", "q", "sub"]


def test_times_of_a_step(graph: Any, tmp_path: Path) -> None:
    told = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        session.run(tf.global_variables_initializer())
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        feeds = {"x:0": np.ones([8, 16, 16, 3], np.float32)}
        session.run("l:0", feeds, options=full, run_metadata=told)
    profiler = tf.profiler.Profiler(graph)
    profiler.add_step(3, told)
    path = tmp_path / "report"
    root = profiler.profile_name_scope(Builder(Builder.time_and_memory()).with_file_output(str(path)).build())
    assert root.total_exec_micros > 0
    assert root.total_requested_bytes >= 8 * 10 * 4
    assert path.read_text().startswith("node name | exec_micros | requested_bytes\n_TFProfRoot (0/")
    empty = Builder(Builder.time_and_memory()).with_step(4).with_empty_output().build()
    assert profiler.profile_operations(empty).total_exec_micros == 0


def test_nodes_are_chosen_by_their_names(graph: Any, capsys: Any) -> None:
    options = Builder(Builder.trainable_variables_parameter())
    options = options.with_node_names(hide_name_regexes=["d/.*"]).with_min_parameters(5).order_by("params")
    root = tf.profiler.profile(graph, options=options.build())
    assert capsys.readouterr().out.splitlines() == ["node name | parameters", "_TFProfRoot (0/108)", "  c/k (108/108)"]
    assert root.total_parameters == 108


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tf.profiler.profile(cmd="graph"), ValueError, "cmd='scope'"),
        (lambda: tf.profiler.profile(op_log=object()), ValueError, "op_log"),
        (
            lambda: tf.profiler.profile(options=Builder().with_timeline_output("trace").build()),
            ValueError,
            "not as timeline",
        ),
        (lambda: tf.profiler.Profiler().serialize_to_string(), NotImplementedError, "RunMetadata"),
        (lambda: tf.profiler.Profiler().advise(), NotImplementedError, "actorflow trace"),
        (lambda: tf.profiler.write_op_log, AttributeError, "not offered by actorflow"),
    ],
)
def test_what_a_profile_refuses(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=words):
        call()
