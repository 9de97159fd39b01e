"""Arguments of a wrong kind at public entry points: each is refused by a sentence about it, and by no inner error."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

INNER = re.compile(
    r"has no attribute|not subscriptable|not iterable|unsupported operand|not supported between|"
    r"expected str, bytes or os.PathLike|not callable\b(?!;)|a bytes-like object is required|unhashable type|has no len\(\)|"
    r"cannot use a string pattern|Bad file descriptor|inhomogeneous|"
    r"invalid literal for int|int\(\) argument must be|truth value of an array|expected string or bytes-like"
)
"""Sentences of Python and numpy about their own objects."""

NO_PATHS: list[Any] = [None, 3, True, 2.5, [], {"a": 1}, object(), np.zeros(2), af.float32, lambda: 1]
NO_NAMES: list[Any] = [None, 3, 2.5, b"b", [], {}, np.zeros(2)]
NO_SESSIONS: list[Any] = [3, "text", b"b", [], object(), np.zeros(2), af.float32]
NO_FUNCTIONS: list[Any] = [None, 3, "text", [], np.zeros(2)]

PATHS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Saver.save": lambda path, session, saver: saver.save(session, path),
    "Saver.restore": lambda path, session, saver: saver.restore(session, path),
    "latest_checkpoint": lambda path, session, saver: af.train.latest_checkpoint(path),
    "load_checkpoint": lambda path, session, saver: tf.train.load_checkpoint(path),
    "checkpoint_exists": lambda path, session, saver: tf.train.checkpoint_exists(path),
    "import_meta_graph": lambda path, session, saver: tf.train.import_meta_graph(path),
    "onnx.load": lambda path, session, saver: af.onnx.load(path),
    "serving.Model": lambda path, session, saver: af.serving.Model(path),
    "saved_model.load": lambda path, session, saver: tf.saved_model.loader.load(session, ["serve"], path),
    "FileWriter": lambda path, session, saver: af.summary.FileWriter(path),
    "tf_record_iterator": lambda path, session, saver: list(tf.io.tf_record_iterator(path)),
}

OTHERS: dict[str, tuple[list[Any], Callable[[Any, Any, Any], Any]]] = {
    "the session of save": (NO_SESSIONS, lambda each, session, saver: saver.save(each, "m")),
    "the session of restore": (NO_SESSIONS, lambda each, session, saver: saver.restore(each, "m")),
    "the variables of a Saver": ([3, 2.5, "text", object()], lambda each, session, saver: af.train.Saver(each)),
    "the name of a tensor": (NO_NAMES, lambda each, session, saver: session.graph.get_tensor_by_name(each)),
    "the name of an operation": (NO_NAMES, lambda each, session, saver: session.graph.get_operation_by_name(each)),
    "the name of a variable": (NO_NAMES, lambda each, session, saver: af.get_variable(each, [1])),
    "the name of a feed": ([b"b", "text", 3], lambda each, session, saver: session.run(saver, {each: 1})),
    "the graph of a session": (NO_SESSIONS, lambda each, session, saver: af.Session(graph=each)),
    "the shape of a placeholder": ([2.5, object()], lambda each, session, saver: af.placeholder(af.float32, each)),
    "the shape of a constant": ([2.5, object()], lambda each, session, saver: af.constant(1, shape=each)),
    "the filters of a layer": (
        [None, "3", 2.5, object()],
        lambda each, session, saver: af.layers.conv2d(af.ones([1, 4, 4, 1]), each, 3),
    ),
    "the rate of a dropout": (
        ["a", b"0.5", [0.5]],
        lambda each, session, saver: af.nn.dropout(af.ones([2, 2]), rate=each),
    ),
    "what a dropout keeps": (
        ["a", b"0.5", object()],
        lambda each, session, saver: af.nn.dropout(af.ones([2, 2]), keep_prob=each),
    ),
    "the rate of a layer": (["a", b"0.5"], lambda each, session, saver: af.layers.dropout(af.ones([2, 2]), each)),
    "the units of a layer": (
        [None, "text", [], object()],
        lambda each, session, saver: af.layers.dense(af.ones([2, 2]), each),
    ),
    "the multiplier of a layer": (
        [None, "text", object()],
        lambda each, session, saver: af.layers.separable_conv2d(af.ones([1, 4, 4, 1]), 2, 2, depth_multiplier=each),
    ),
    "the units of a cell": ([None, "text", object()], lambda each, session, saver: af.nn.rnn_cell.LSTMCell(each)),
    "the activation of a layer": (
        [3, 2.5, "text", np.zeros(2), object()],
        lambda each, session, saver: af.layers.dense(af.ones([2, 2]), 2, activation=each),
    ),
    "the sizes of a shape": (["text", [[]], [object()]], lambda each, session, saver: af.get_variable("w", each)),
    "the target of a session": (
        [3, 2.5, b"b", [], np.zeros(2), object()],
        lambda each, session, saver: tf.Session(each, graph=session.graph),
    ),
    "the name of a scope": ([3, 2.5, b"b", object()], lambda each, session, saver: af.name_scope(each).__enter__()),
    "the function of map": (NO_FUNCTIONS, lambda each, session, saver: af.data.Dataset.range(2).map(each)),
    "the jobs of a cluster": ([3, "text", [1], None], lambda each, session, saver: af.LocalCluster(each)),
}
CASES = [(name, f, value) for name, f in PATHS.items() for value in NO_PATHS]
CASES += [(name, f, value) for name, (values, f) in OTHERS.items() for value in values]


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        af.Variable([1.0], name="v")
        yield made


@pytest.mark.parametrize(
    ("name", "call", "value"), CASES, ids=[f"{name} {type(value).__name__}" for name, _, value in CASES]
)
async def test_an_argument_of_another_kind_is_refused_with_a_sentence(
    name: str, call: Callable[[Any, Any, Any], Any], value: Any, graph: af.Graph, tmp_path: Path
) -> None:
    """A number is no path either: `open` would take it for the descriptor of a file, and close that."""
    held = os.open(tmp_path, os.O_RDONLY)
    saver = af.train.Saver()
    async with af.Session(graph=graph) as session:
        with pytest.raises(Exception) as caught:
            result = call(value, session, saver)
            if inspect.isawaitable(result):
                await result
    assert isinstance(caught.value, (TypeError, ValueError, KeyError))
    assert not INNER.search(str(caught.value)), str(caught.value)
    os.close(held)
