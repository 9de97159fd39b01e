"""Graphs that three versions of TensorFlow wrote are read, in the forms that they have, and have TensorFlow's answers.

`foreign.zip` has them (`graphs/dump_foreign.py`): of 1.15 and 2.15 with branches and loops of nodes, of 2.21 with those of
functions, with resource variables, and as text.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import actorflow.compat.v1 as tf
from actorflow.base.records.messages.text import read_text

ARCHIVE = Path(__file__).parent / "foreign.zip"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def names(ending: str) -> list[str]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return [name for name in archive.namelist() if name.endswith(ending)]


def check(files: dict[str, bytes], name: str, prefix: str = "") -> None:
    """Runs the program's steps in the default graph, and compares what it fetches."""
    described = json.loads(files[f"{name.rpartition('.')[0]}.json"])
    graph = tf.get_default_graph()
    with tf.Session(graph=graph) as session:
        feeds = {}
        for key, value in described["feeds"].items():
            tensor = graph.get_tensor_by_name(prefix + key)
            kind = object if tensor.dtype is tf.string else tensor.dtype.as_numpy_dtype
            feeds[tensor] = np.array(value, kind)
        for step in ("begin_all", *described["steps"]):
            session.run(prefix + step, feeds)
        found = session.run([prefix + key for key in described["answers"]], feeds)
    for (key, answer), value in zip(described["answers"].items(), found, strict=True):
        if np.asarray(value).dtype.kind in "OSU":
            assert np.vectorize(bytes.decode)(np.array(value, object)).tolist() == answer, key
        else:
            np.testing.assert_allclose(value, answer, rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", [*names(".pb"), *names(".pbtxt")])
def test_a_graph_has_tensorflows_answers(files: dict[str, bytes], name: str) -> None:
    message = tf.GraphDef()
    if name.endswith(".pb"):
        message.ParseFromString(files[name])
    else:
        read_text(files[name], message)
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        check(files, name)


@pytest.mark.parametrize("scope", [None, "within"])
@pytest.mark.parametrize("name", names(".meta"))
def test_a_meta_graph_has_tensorflows_answers(
    files: dict[str, bytes], name: str, scope: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "m.meta"
    path.write_bytes(files[name])
    with tf.Graph().as_default():
        tf.train.import_meta_graph(path, import_scope=scope)
        check(files, name, f"{scope}/" if scope else "")
