"""Writes `bundle_tf215.zip`: a checkpoint of TensorFlow 2.15 in two shards, and the values that are in it.

python tests/checkpoint/dump_bundle.py          with tensorflow-cpu==2.15.1, under Python 3.11
python tests/checkpoint/dump_bundle.py PREFIX   prints what TensorFlow reads from a checkpoint of ours, as JSON
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def write() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    rng = np.random.default_rng(0)
    for n in range(80):
        with tf.device(f"/cpu:{n % 2}"):
            tf.get_variable(f"many/v{n:03d}", initializer=rng.normal(size=n % 4 + 1).astype(np.float32))
    tf.get_variable("p", [300, 2], partitioner=tf.fixed_size_partitioner(3))
    tf.get_variable("complex", initializer=np.complex64(1 + 2j))
    tf.get_variable("half", initializer=np.float16([1.5, -2]))
    tf.get_variable("s", initializer=tf.constant([["ab", ""], ["x" * 300, "d"]]))
    with tempfile.TemporaryDirectory() as folder, tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True).save(session, f"{folder}/model", write_meta_graph=False)
        slices = session.run([v for v in tf.global_variables() if v.name.startswith("p/")])
        values = {v.op.name: session.run(v) for v in tf.global_variables() if "many" in v.name or v.op.name == "half"}
        out = Path(__file__).with_name("bundle_tf215.zip")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(folder).glob("model.*")):
                archive.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED)
            found = {name: value.tolist() for name, value in values.items()} | {"p": np.concatenate(slices).tolist()}
            archive.writestr(zipfile.ZipInfo("values.json"), json.dumps(found), zipfile.ZIP_DEFLATED)


def read(prefix: str) -> None:
    import tensorflow.compat.v1 as tf

    reader = tf.train.load_checkpoint(prefix)
    shapes = reader.get_variable_to_shape_map()
    print(json.dumps({name: np.ravel(reader.get_tensor(name)).tolist() for name in shapes if name[0] != "_"}))


if __name__ == "__main__":
    read(sys.argv[1]) if len(sys.argv) > 1 else write()
