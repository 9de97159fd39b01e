"""Writes `saved_model/unneeded.zip`: saved models of TensorFlow 2.21 whose graphs hold more than their signatures need.

python tests/exchange/saved_model/dump_unneeded.py    with tensorflow==2.21, under Python 3.11
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def strange(tf: Any) -> Any:
    """The result of an op that actorflow does not have."""
    return tf.raw_ops.UnicodeScript(input=[97])


def beside(tf: Any) -> Any:
    """Ops, a branch and a loop that no signature needs."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, tf.get_variable("w", initializer=np.ones((3, 2), np.float32)))
    tf.py_func(lambda a: a, [tf.raw_ops.BesselJ1(x=y)], tf.float32)
    tf.cond(tf.size(x) > 0, lambda: tf.cast(strange(tf), tf.float32), lambda: tf.constant([1.0]))
    tf.while_loop(lambda i: i < 2, lambda i: i + tf.size(strange(tf)), [0])
    return {"x": x}, {"y": y}, {"x": np.ones((2, 3), np.float32)}, None


def tables(tf: Any) -> Any:
    """A main operation that begins two tables, of which one is needed."""
    x = tf.placeholder(tf.string, [None])
    rows = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([5], tf.int64))
    strange_rows = tf.lookup.KeyValueTensorInitializer(["a"], tf.cast(strange(tf)[:1], tf.int64))
    tf.lookup.StaticHashTable(strange_rows, -1)
    with tf.control_dependencies([strange(tf)]):
        late = tf.no_op()
    found = tf.lookup.StaticHashTable(rows, -1).lookup(x)
    main_op = tf.group(tf.tables_initializer(), late)
    return {"x": x}, {"y": found}, {"x": np.array([b"a", b"?"])}, main_op


def initials(tf: Any) -> Any:
    """A variable whose initial value can't be computed here."""
    x = tf.placeholder(tf.float32, [None, 3])
    start = tf.reshape(tf.cast(strange(tf), tf.float32)[0] * tf.constant([0.0, 0, 0]) + 2, [3])
    return {"x": x}, {"y": x * tf.get_variable("w", initializer=start)}, {"x": np.ones((2, 3), np.float32)}, None


def pipeline(tf: Any) -> Any:
    """Inputs that an iterator would give."""
    data = tf.data.Dataset.from_tensor_slices(np.ones((2, 3), np.float32)).map(lambda row: (row, row * 2)).batch(1)
    a, b = tf.data.make_initializable_iterator(data).get_next()
    feeds = {"a": np.ones((1, 3), np.float32), "b": np.ones((1, 3), np.float32)}
    return {"a": a, "b": b}, {"y": a * tf.get_variable("w", initializer=3.0) + b}, feeds, None


def computed(tf: Any) -> Any:
    """Inputs that are two results of an op that actorflow does not have."""
    values, starts = tf.raw_ops.UnicodeDecode(input=["a"], input_encoding="UTF-8")
    feeds = {"a": np.array([1, 2]), "b": np.array([3, 4], np.int32)}
    return {"a": values, "b": starts}, {"y": tf.cast(values, tf.int32) * starts}, feeds, None


def no_inputs(tf: Any) -> Any:
    """A signature without inputs."""
    return {}, {"y": tf.get_variable("w", initializer=3.0) * 2}, {}, None


def slices(tf: Any) -> Any:
    """A variable in slices of different values."""
    x = tf.placeholder(tf.float32, [None, 5])

    def start(shape: Any, dtype: Any, partition_info: Any = None) -> Any:
        return tf.fill(shape, 1.0 if partition_info is None else partition_info.var_offset[0] + 1.0)

    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", [5, 2], initializer=start)
    return {"x": x}, {"y": tf.matmul(x, tf.convert_to_tensor(w))}, {"x": np.ones((1, 5), np.float32)}, None


def main() -> None:
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    answers = {}
    out = Path(__file__).with_name("unneeded.zip")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for functions in (False, True):
            (tf.enable_control_flow_v2 if functions else tf.disable_control_flow_v2)()
            (tf.enable_resource_variables if functions else tf.disable_resource_variables)()
            for build in (beside, tables, initials, pipeline, computed, no_inputs, slices):
                name = f"{build.__name__}_{'functions' if functions else 'nodes'}"
                with tf.Graph().as_default(), tf.Session() as session:
                    inputs, outputs, feeds, main_op = build(tf)
                    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
                    infos = [
                        {k: tf.saved_model.build_tensor_info(t) for k, t in ports.items()}
                        for ports in (inputs, outputs)
                    ]
                    signature = tf.saved_model.build_signature_def(*infos, "tensorflow/serving/predict")
                    builder = tf.saved_model.Builder(f"{folder}/{name}")
                    builder.add_meta_graph_and_variables(
                        session, ["serve"], {"serving_default": signature}, main_op=main_op
                    )
                    builder.save()
                    found = session.run(outputs, {inputs[k]: value for k, value in feeds.items()})
                    plain = {key: _plain(value) for key, value in feeds.items()}
                    answers[name] = [plain, {key: value.tolist() for key, value in found.items()}]
        for file in sorted(Path(folder).glob("*/**/*")):
            if file.is_file() and file.name != "fingerprint.pb":
                archive.writestr(
                    zipfile.ZipInfo(file.relative_to(folder).as_posix()), file.read_bytes(), zipfile.ZIP_DEFLATED
                )
        archive.writestr(zipfile.ZipInfo("answers.json"), json.dumps(answers), zipfile.ZIP_DEFLATED)


def _plain(value: Any) -> Any:
    return [text.decode() for text in value] if value.dtype.kind == "S" else value.tolist()


if __name__ == "__main__":
    main()
