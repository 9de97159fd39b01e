"""Writes `graph/foreign.zip`: the graphs of `foreign_programs` as several TensorFlows write them, and their answers.

python tests/graph/graphs/dump_foreign.py tf115    with TensorFlow 1.15, under Python 3.7
python tests/graph/graphs/dump_foreign.py tf215    with TensorFlow 2.15, whose loops and branches are nodes
python tests/graph/graphs/dump_foreign.py tf221    with TensorFlow 2.21, whose loops and branches are functions
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from graph.graphs.foreign_programs import PROGRAMS, REFERENCES

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""


ARCHIVE = Path(__file__).resolve().parents[1] / "foreign.zip"


def main(maker: str) -> None:
    import tensorflow

    tf = tensorflow.compat.v1
    tf.disable_v2_behavior()
    if maker == "tf221":
        tf.enable_control_flow_v2()
        tf.enable_resource_variables()
    files: dict[str, bytes] = {}
    if ARCHIVE.exists():
        with zipfile.ZipFile(str(ARCHIVE)) as archive:
            files = {name: archive.read(name) for name in archive.namelist() if not name.startswith(maker)}
    for name, build in (PROGRAMS if maker == "tf221" else {**PROGRAMS, **REFERENCES}).items():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            program = build(tf)
            tf.group(tf.global_variables_initializer(), name="begin_all")
            session.run("begin_all")
            for step in program.steps:
                session.run(step, program.feeds)
            answers = session.run(list(program.fetches), program.feeds)
            text = maker == "tf221"  # which writes types that older readers do not know
            message = graph.as_graph_def(add_shapes=text)
            files[f"{maker}/{name}.{'pbtxt' if text else 'pb'}"] = (
                str(message).encode() if text else message.SerializeToString()
            )
            with tempfile.TemporaryDirectory() as folder:
                tf.train.export_meta_graph(f"{folder}/m.meta")
                files[f"{maker}/{name}.meta"] = Path(f"{folder}/m.meta").read_bytes()
            described = {"feeds": program.feeds, "steps": program.steps, "answers": dict(zip(program.fetches, answers))}
            files[f"{maker}/{name}.json"] = json.dumps(described, default=_plain).encode()
    with zipfile.ZipFile(str(ARCHIVE), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value.tolist()


if __name__ == "__main__":
    main(sys.argv[1])
