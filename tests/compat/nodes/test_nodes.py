"""Nodes whose ops actorflow builds of others have TensorFlow's answers: `dump_nodes.py` has the graphs, each of some inputs and
outputs, in `nodes_tf221.zip`."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.nodes import FORMS
from actorflow.compat.nodes.text import characters

ARCHIVE = Path(__file__).parent / "nodes_tf221.zip"


def names() -> list[str]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return [Path(name).stem for name in archive.namelist() if name.endswith(".pb")]


def read(name: str) -> tuple[tf.GraphDef, dict[str, Any]]:
    """A graph, and the arrays of its inputs and outputs."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        return tf.GraphDef.FromString(archive.read(f"{name}.pb")), dict(
            np.load(io.BytesIO(archive.read(f"{name}.npz")))
        )


def as_text(value: Any) -> Any:
    return np.asarray(value).astype("S").astype(object)


@pytest.mark.parametrize("name", names())
def test_a_node_has_tensorflows_answers(name: str) -> None:
    message, arrays = read(name)
    outputs = {key: value for key, value in arrays.items() if key.startswith("out")}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        feeds = {f"{key}:0": value for key, value in arrays.items() if key not in outputs}
        values = session.run([f"{key}:0" for key in outputs], feeds)
    for value, answer in zip(values, outputs.values(), strict=True):
        if answer.dtype.kind == "S":
            assert as_text(value).tolist() == answer.tolist()
            continue
        assert np.asarray(value).dtype == answer.dtype
        np.testing.assert_allclose(value, answer, rtol=1e-3, atol=1e-4)


def test_each_form_has_a_sample() -> None:
    sampled = {node.op for name in names() for node in read(name)[0].node}
    assert FORMS.keys() - sampled == {
        "BatchNormWithGlobalNormalization",
        "InplaceAdd",
        "InplaceSub",
        "QuantizeAndDequantizeV4",
    }


@pytest.mark.parametrize(("scales", "answer"), [(True, [7.0, 10.0]), (False, [5.0, 7.0])])
def test_normalization_of_graphs_of_2015(scales: bool, answer: list[float]) -> None:
    """TensorFlow 2.21 makes no such node any more."""
    values = {"t": [[[[3.0, 4.0]]]], "m": [1.0, 1.0], "v": [1.0, 1.0], "beta": [3.0, 4.0], "gamma": [2.0, 2.0]}
    with tf.Graph().as_default() as graph:
        for name, value in values.items():
            tf.constant(value, name=name)
        message = graph.as_graph_def()
    node = message.node.add(name="normal", op="BatchNormWithGlobalNormalization", input=list(values))
    node.attr["T"].type = tf.float32.as_datatype_enum
    node.attr["variance_epsilon"].f = 0.0
    node.attr["scale_after_normalization"].b = scales
    with tf.Graph().as_default(), tf.Session() as session:
        (normal,) = tf.import_graph_def(message, return_elements=["normal:0"], name="")
        assert session.run(normal).ravel().tolist() == answer


@pytest.mark.parametrize(("op", "answer"), [("InplaceAdd", [1.0, 7.0]), ("InplaceSub", [1.0, -3.0])])
def test_updates_in_place(op: str, answer: list[float]) -> None:
    with tf.Graph().as_default() as graph:
        for name, value in {"x": [1.0, 2.0], "i": [1], "v": [5.0]}.items():
            tf.constant(value, name=name)
        message = graph.as_graph_def()
    message.node.add(name="update", op=op, input=["x", "i", "v"]).attr["T"].type = tf.float32.as_datatype_enum
    with tf.Graph().as_default(), tf.Session() as session:
        (updated,) = tf.import_graph_def(message, return_elements=["update:0"], name="")
        assert session.run(updated).tolist() == answer


def test_a_form_refuses_by_its_name_what_it_does_not_build() -> None:
    message, _ = read("sparsecross")
    node = next(node for node in message.node if node.op == "SparseCross")
    node.attr["hashed_output"].b = False
    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match=r"'SparseCross' .* crosses texts, which is not read here"),
    ):
        tf.import_graph_def(message, name="")


@pytest.mark.parametrize(
    ("name", "feeds", "problem"),
    [
        ("dbin2", {"x0:0": [[1, -1], [0, 2]]}, "Counted integers are zero or more"),
        ("rbin", {"x0:0": [1, -1, 0, 2, 3], "x1:0": [0, 2, 2, 5]}, "Counted integers are zero or more"),
        ("rrange", {"x0:0": [0], "x1:0": [3], "x2:0": [0]}, "A delta is not zero"),
        ("msetdiag_k", {"x0:0": np.zeros((1, 4, 5)), "x1:0": np.zeros((1, 5))}, "diagonals do not fit"),
    ],
)
def test_values_that_tensorflow_refuses_are_refused(name: str, feeds: dict[str, Any], problem: str) -> None:
    message, _ = read(name)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        with pytest.raises(tf.errors.InvalidArgumentError, match=problem):
            session.run("out0:0", feeds)


@pytest.mark.parametrize(
    ("text", "errors", "points"),
    [
        (b"a\xc3\xa9\xe2\x82\xac", "strict", [97, 233, 8364]),
        (b"a\xffb", "replace", [97, 0xFFFD, 98]),
        (b"a\xffb", "ignore", [97, 98]),
        (b"a\xe2\x82", "replace", [97, 0xFFFD]),
        (b"", "strict", []),
    ],
)
def test_characters_of_a_text(text: bytes, errors: str, points: list[int]) -> None:
    assert characters([text], "utf-8", errors, 0xFFFD, False)[0].tolist() == points


def test_bytes_that_are_no_character_are_an_error_if_they_are_to_be() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Byte 1 of b'a"):
        characters([b"a\xff"], "utf-8", "strict", 0xFFFD, False)
