"""Writes `saved_models_tf215.zip`: saved models of TensorFlow 2.15 and their answers.

python tests/exchange/saved_model/dump_saved_models.py          with tensorflow-cpu==2.15.1, under Python 3.11
python tests/exchange/saved_model/dump_saved_models.py FOLDER
    loads a saved model of ours with TensorFlow 1's loader and TensorFlow 2's, and prints their answers to ones, as JSON
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""


def lines(folder: str, resources: bool) -> None:
    """y = x·w + b, and a vocabulary in a file."""
    import tensorflow.compat.v1 as tf

    vocabulary = os.path.join(os.path.dirname(folder), "words.txt")
    Path(vocabulary).write_text("a\nb\nc\n")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=resources)
        b = tf.get_variable("b", initializer=np.array([1, 2], np.float32), use_resource=resources)
        path = tf.constant(vocabulary)
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, path)
        rows = tf.lookup.TextFileInitializer(
            path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        table = tf.lookup.StaticHashTable(rows, -1)
        words = tf.placeholder(tf.string, [None], name="words")
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        inputs, outputs = {"x": x, "words": words}, {"y": tf.matmul(x, w) + b, "ids": table.lookup(words)}
        tf.saved_model.simple_save(session, folder, inputs, outputs, legacy_init_op=tf.tables_initializer())


def half_plus_two(folder: str) -> None:
    """The model of TensorFlow Serving's own tests: x / 2 + 2, with its three kinds of signatures."""
    import tensorflow.compat.v1 as tf

    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(0.5, name="a"), tf.Variable(2.0, name="b")
        serialized = tf.placeholder(tf.string, name="tf_example")
        parsed = tf.parse_example(serialized, {"x": tf.FixedLenFeature([1], tf.float32)})
        x = tf.identity(parsed["x"], name="x")
        y = tf.add(tf.multiply(a, x), b, name="y")
        session.run(tf.global_variables_initializer())
        sm = tf.saved_model
        builder = sm.Builder(folder)
        signatures = {
            "regress_x_to_y": sm.regression_signature_def(serialized, y),
            "classify_x_to_y": sm.classification_signature_def(serialized, None, y),
            "serving_default": sm.predict_signature_def({"x": x}, {"y": y}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()


def functions(folder: str) -> None:
    """A module of TensorFlow 2 whose signature calls functions, one within another."""
    import tensorflow as tf

    class Model(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
            self.b = tf.Variable([1.0, 2.0])

        @tf.function
        def line(self, x: Any) -> Any:
            return tf.matmul(x, self.w) + self.b

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def serve(self, x: Any) -> Any:
            values, places = tf.math.top_k(self.line(x), 1)
            return {"y": self.line(x), "top": values, "place": places}

    made = Model()
    tf.saved_model.save(made, folder, signatures=made.serve)


def branches(folder: str) -> None:
    """A module of TensorFlow 2 with branches and loops, in each other, some of which read and write variables."""
    import tensorflow as tf

    class Model(tf.Module):
        def __init__(self) -> None:
            self.w = tf.Variable(2.0)
            self.calls = tf.Variable(0)

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
        def serve(self, x: Any) -> Any:
            total = tf.reduce_sum(x)
            if total > 0.0:
                y = x * self.w
            else:
                y = x - 1.0
            rounds = tf.constant(0)
            while tf.reduce_sum(y) < 100.0:
                y = y * 2.0 if rounds % 2 == 0 else y + tf.abs(total) + 1.0
                rounds += 1
            nested = tf.constant(0.0)
            for i in tf.range(3):
                for j in tf.range(i + 1):
                    nested += tf.cast(i * j, tf.float32)
            if total > 5.0:
                self.calls.assign_add(10)
            else:
                self.calls.assign_add(1)
            return {"y": y, "rounds": rounds, "nested": nested, "calls": self.calls.read_value()}

    made = Model()
    tf.saved_model.save(made, folder, signatures=made.serve)


def layers(folder: str) -> Any:
    """A small network of Keras, and its answer."""
    import tensorflow as tf

    tf.random.set_seed(1)
    made = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1), name="conv"),
            tf.keras.layers.BatchNormalization(name="norm"),
            tf.keras.layers.Flatten(name="flat"),
            tf.keras.layers.Dense(3, activation="softmax", name="out"),
        ]
    )
    tf.saved_model.save(made, folder)
    (Path(folder) / "keras_metadata.pb").unlink(missing_ok=True)
    return made(np.arange(64, dtype=np.float32).reshape(1, 8, 8, 1) / 64).numpy().tolist()


def write() -> None:
    out = Path(__file__).with_name("saved_models_tf215.zip")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        lines(f"{folder}/references", False)
        lines(f"{folder}/resources", True)
        half_plus_two(f"{folder}/half_plus_two")
        functions(f"{folder}/functions")
        branches(f"{folder}/branches")
        answers = {"layers": layers(f"{folder}/layers")}
        for file in sorted(Path(folder).glob("*/**/*")):
            if file.is_file() and file.name != "fingerprint.pb":
                name = file.relative_to(folder).as_posix()
                archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("answers.json"), json.dumps(answers), zipfile.ZIP_DEFLATED)


def read(folder: str) -> None:
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        model = v1.saved_model.loader.load(session, ["serve"], folder)
        signature = model.signature_def["serving_default"]
        feeds = {info.name: ones(tf.as_dtype(info.dtype), info.tensor_shape) for info in signature.inputs.values()}
        first = {key: session.run(info.name, feeds) for key, info in signature.outputs.items()}
        names = {key: feeds[info.name] for key, info in signature.inputs.items()}
    second = tf.saved_model.load(folder).signatures["serving_default"](**{k: tf.constant(v) for k, v in names.items()})
    for key, value in first.items():
        np.testing.assert_array_equal(value, second[key].numpy())
    print(json.dumps({key: value.tolist() for key, value in first.items()}))


def ones(dtype: Any, shape: Any) -> Any:
    sizes = [2 if dim.size < 0 else dim.size for dim in shape.dim]
    return np.full(sizes, "b") if dtype.name == "string" else np.ones(sizes, dtype.as_numpy_dtype)


if __name__ == "__main__":
    read(sys.argv[1]) if len(sys.argv) > 1 else write()
