"""Writes `frozen_tf215.json.gz`: graphs of TensorFlow 2.15, and what its own tools make of them.

python tests/exchange/export/dump_frozen.py      with tensorflow-cpu==2.15.1, under Python 3.11
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def programs(tf: Any) -> dict[str, Any]:
    """Programs by name: each builds a graph in which `x` is fed and `y` is the answer."""

    def image(training: Any, layout: str = "NHWC", resources: bool = True, bias: bool = True) -> None:
        tf.disable_resource_variables() if not resources else tf.enable_resource_variables()
        x = tf.placeholder(tf.float32, [None, 6, 6, 2], name="x")
        h = tf.layers.conv2d(x, 4, 3, use_bias=bias, name="conv")
        h = tf.layers.batch_normalization(h, training=training, name="norm")
        h = tf.nn.relu(h)
        h = tf.layers.dropout(h, 0.5, training=training)
        tf.identity(tf.layers.dense(tf.layers.flatten(h), 3, name="dense"), name="y")

    def switched() -> None:
        image(tf.placeholder_with_default(False, [], name="training"))

    def plain() -> None:
        image(False)

    def without_bias() -> None:
        image(False, bias=False)

    def references() -> None:
        image(False, resources=False)

    def rows() -> None:
        tf.enable_resource_variables()
        x = tf.placeholder(tf.float32, [None, 5], name="x")
        h = tf.layers.batch_normalization(tf.layers.dense(x, 4), training=False)
        tf.nn.softmax(tf.layers.dense(tf.nn.relu(h), 3), name="y")

    def words() -> None:
        tf.enable_resource_variables()
        x = tf.placeholder(tf.int32, [None, 4], name="x")
        table = tf.get_variable("table", [7, 3])
        tf.reduce_mean(tf.nn.embedding_lookup(table, x), 1, name="y")

    def loop() -> None:
        tf.enable_resource_variables()
        tf.disable_control_flow_v2()
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 3])
        _, h = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [0, x])
        tf.identity(h, name="y")

    return {f.__name__: f for f in (switched, plain, without_bias, references, rows, words, loop)}


def main() -> None:
    import tensorflow.compat.v1 as tf
    from tensorflow.python.tools.optimize_for_inference_lib import optimize_for_inference

    tf.disable_eager_execution()
    tf.disable_v2_behavior()
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for name, program in programs(tf).items():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            program()
            values = {}
            for variable in tf.global_variables():
                value = rng.uniform(0.5, 1.5, variable.shape).astype(np.float32)
                value -= 0 if "variance" in variable.name or "table" in variable.name else 1
                variable.load(value, session)
                values[variable.op.name] = value.ravel().tolist()
            x = graph.get_tensor_by_name("x:0")
            shape = [3, *x.shape.as_list()[1:]]
            fed = rng.integers(0, 7, shape) if x.dtype.is_integer else rng.normal(size=shape).astype(np.float32)
            message = graph.as_graph_def()
            frozen = tf.graph_util.convert_variables_to_constants(session, message, ["y"])
            slim = optimize_for_inference(frozen, ["x"], ["y"], x.dtype.as_datatype_enum)
            part = tf.graph_util.extract_sub_graph(message, ["y"])
            found[name] = {
                "graph": base64.b85encode(message.SerializeToString()).decode(),
                "values": values,
                "x": fed.tolist(),
                "y": session.run("y:0", {x: fed}).tolist(),
                "part": [n.name for n in part.node],
                "frozen": sorted([n.name, n.op] for n in frozen.node if n.op != "Const"),
                "slim": sorted([n.name, n.op] for n in slim.node if n.op != "Const"),
                "trained": sorted(n.name for n in tf.graph_util.remove_training_nodes(frozen, ["y"]).node),
            }
    path = Path(__file__).with_name("frozen_tf215.json.gz")
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        packed.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
