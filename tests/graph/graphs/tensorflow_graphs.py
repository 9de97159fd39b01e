"""Makes the files of this folder: with TensorFlow installed, `tensorflow_graphs.py` writes the graphs of `graph_programs` and
TensorFlow's answers, and checks that TensorFlow imports the graphs that actorflow writes and answers the same.

    PYTHONPATH=. python tests/graph/graphs/tensorflow_graphs.py actorflow    # first, with actorflow: writes its own graphs
    python tests/graph/graphs/tensorflow_graphs.py                           # then, with TensorFlow
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from graph.graphs.graph_programs import PROGRAMS, answers

FOLDER = Path(__file__).parent


def write_own() -> None:
    """Writes actorflow's graphs."""
    tf: Any = importlib.import_module("actorflow.compat.v1")
    for name, build in PROGRAMS.items():
        with tf.Graph().as_default():
            build(tf, False)
            tf.train.export_meta_graph(str(FOLDER / f"actorflow_{name}.meta"))


def main() -> None:
    """Writes TensorFlow's graphs and answers, and checks actorflow's."""
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_eager_execution()
    tf.disable_control_flow_v2()
    found = {}
    for name, build in PROGRAMS.items():
        for resource in (False, True):
            kind = "resource" if resource else "reference"
            with tf.Graph().as_default(), tf.Session() as session:
                build(tf, resource)
                tf.train.export_meta_graph(
                    str(FOLDER / f"tensorflow_{name}_{kind}.meta"), saver_def=tf.train.Saver().as_saver_def()
                )
                found[name] = answers(session)
        with tf.Graph().as_default(), tf.Session() as session:
            saver = tf.train.import_meta_graph(str(FOLDER / f"actorflow_{name}.meta"))
            theirs = answers(session)
            np.testing.assert_allclose(theirs, found[name], rtol=1e-4, err_msg=name)
            assert [v.name for v in tf.trainable_variables()], "the collections came along"
            with tempfile.TemporaryDirectory() as folder:
                saver.restore(session, saver.save(session, f"{folder}/model", write_meta_graph=False))
    (FOLDER / "answers.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write_own() if sys.argv[1:] == ["actorflow"] else main()
