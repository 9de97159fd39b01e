"""Programs over names of TensorFlow 1.15 that run over TensorFlow 1.15 and over actorflow: each gives named values.

A program gets the module `tf`. Values are arrays, or texts, numbers and lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {}


def program(function: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def run(tf: Any, fetches: dict[str, Any]) -> dict[str, Any]:
    """The values of tensors, in a session whose variables have their initial values."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return dict(session.run(fetches))


def plain(value: Any) -> Any:
    """A config as lists and texts."""
    if isinstance(value, dict):
        return [[key, plain(value[key])] for key in sorted(value)]
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@program
def configs_of_initializers(tf: Any) -> dict[str, Any]:
    kinds = [
        tf.zeros_initializer(),
        tf.ones_initializer(),
        tf.constant_initializer(3.0),
        tf.random_uniform_initializer(-1, 1),
        tf.random_normal_initializer(stddev=0.5),
        tf.truncated_normal_initializer(seed=3),
        tf.uniform_unit_scaling_initializer(),
        tf.variance_scaling_initializer(),
        tf.orthogonal_initializer(),
        tf.glorot_uniform_initializer(),
        tf.glorot_normal_initializer(),
    ]
    return {type(each).__name__: plain(type(each).from_config(each.get_config()).get_config()) for each in kinds}


@program
def configs_of_layers(tf: Any) -> dict[str, Any]:
    layers = [
        tf.layers.Dense(2, activation=tf.nn.relu, name="a"),
        tf.layers.Conv2D(3, 2, name="b"),
        tf.layers.MaxPooling2D(2, 2, name="c"),
        tf.layers.Dropout(name="d"),
        tf.layers.Flatten(name="e"),
    ]
    answers = {each.name: plain(type(each).from_config(each.get_config()).get_config()) for each in layers}
    answers["shape"] = layers[0].compute_output_signature(tf.TensorSpec([None, 3], tf.float32)).shape.as_list()
    answers["mask"] = layers[0].compute_mask(None)
    answers["inner"] = [len(layers[0].submodules), layers[0].dynamic, layers[0].metrics]
    return answers


@program
def configs_of_cells(tf: Any) -> dict[str, Any]:
    cells = tf.nn.rnn_cell
    configs = [
        cells.BasicLSTMCell(3, name="a").get_config(),
        cells.LSTMCell(3, name="b").get_config(),
        cells.GRUCell(3, name="c").get_config(),
        cells.BasicRNNCell(3, name="d").get_config(),
        cells.DeviceWrapper(cells.GRUCell(2, name="e"), "/cpu:0").get_config()["cell"]["config"],
    ]
    return {each["name"]: plain({key: each[key] for key in each if key != "reuse"}) for each in configs}


@program
def cells_are_layers(tf: Any) -> dict[str, Any]:
    cell = tf.nn.rnn_cell.GRUCell(3, name="g")
    x = tf.placeholder(tf.float32, [2, 4])
    cell(x, cell.zero_state(2, tf.float32))
    names = [
        [each.name for each in part] for part in (cell.weights, cell.trainable_weights, cell.non_trainable_weights)
    ]
    kinds = [isinstance(cell, tf.layers.Layer), cell.built, cell.trainable, len(cell.losses), len(cell.updates)]
    return {"names": names, "kinds": kinds, "count": int(cell.count_params()), "dtype": tf.as_dtype(cell.dtype).name}


@program
def modules(tf: Any) -> dict[str, Any]:
    class Part(tf.Module):
        def __init__(self, name: Any = None) -> None:
            super().__init__(name=name)
            self.w = tf.Variable(1.0, name="w")
            self.list = [tf.Variable(2.0, trainable=False, name="fixed")]
            self.child = tf.Module("child")
            self.child.v = {"b": tf.Variable(3.0, name="b"), "a": tf.Variable(4.0, name="a")}

        @tf.Module.with_name_scope
        def value(self) -> Any:
            return tf.identity(self.w)

    part = Part()
    refused = ""
    try:
        Part("no name")
    except ValueError as error:
        refused = str(error)[:30]
    return {
        "variables": [each.name for each in part.variables],
        "trainable": [each.name for each in part.trainable_variables],
        "submodules": [each.name for each in part.submodules],
        "names": [part.name, part.value().name, part.value().name],
        "refused": refused,
    }


@program
def messages_of_options(tf: Any) -> dict[str, Any]:
    config = tf.ConfigProto(device_count={"CPU": 2}, gpu_options=tf.GPUOptions(allow_growth=True))
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.gpu_options.experimental.use_unified_memory = True
    config.session_inter_op_thread_pool.add(num_threads=3)
    config.graph_options.rewrite_options.layout_optimizer = 2
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=5)
    parsed = tf.ConfigProto.FromString(config.SerializeToString())
    return {
        "text": str(config),
        "bytes": config.SerializeToString().hex(),
        "options": options.SerializeToString().hex(),
        "same": parsed == config,
        "fields": [
            config.HasField("gpu_options"),
            config.HasField("cluster_def"),
            len(config.FindInitializationErrors()),
        ],
    }
