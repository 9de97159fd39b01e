"""Programs of one layer, as data: run by TensorFlow 2.15 (`dump_layers.py`) and by us (`test_layer_twins.py`), by the same code.

`run(tf, program)` takes either one's `compat.v1`. Weights and inputs are functions of their names and sizes, so both have the
same. An answer is small: numbers are told by four projections of them.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np


def filled(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers between -1 and 1 that depend on the name; variances and deviations are positive."""
    start = zlib.crc32(name.encode()) % 97
    values = np.sin(np.arange(int(np.prod(shape))) * 0.7310585 + start).reshape(shape)
    if any(word in name for word in ("variance", "stddev")):
        values = np.abs(values) + 0.5
    return values.astype(np.float32)


def projections(values: Any) -> list[float]:
    """Four numbers that differ where values do."""
    flat = np.asarray(values, np.float64).ravel()
    places = np.arange(flat.size)
    return [round(float(np.dot(flat, np.cos(places * rate))), 6) for rate in (0.0, 0.1, 0.73, 2.1)]


def arguments(tf: Any, given: dict[str, Any], flag: Any) -> dict[str, Any]:
    """Keyword arguments from their names in data."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name == "activation":
            value = getattr(tf.nn, value) if isinstance(value, str) else value
        elif name.endswith("_regularizer"):
            value = tf.nn.l2_loss
        elif name.endswith("_initializer"):
            value = tf.constant_initializer(value)
        elif name == "training" and value in ("fed true", "fed false"):
            value = flag
        elif name == "adjustment":

            def value(shape: Any) -> tuple[Any, Any]:
                return tf.constant(1.25), tf.constant(0.5)

        made[name] = tuple(value) if isinstance(value, list) and name != "axis" else value
    return made


def run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    """The observations of a program: its variables, the shape and the name of its outputs, collections, and values."""
    with tf.Graph().as_default():
        try:
            return _run(tf, program)
        except (ValueError, TypeError) as error:
            return {"error": type(error).__name__ if type(error) in (ValueError, TypeError) else "ValueError"}


def _run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    x = tf.placeholder(tf.as_dtype(program.get("dtype", "float32")), program["static"], name="x")
    flag = tf.placeholder(tf.bool, [], name="flag")
    given = arguments(tf, program["arguments"], flag)
    outputs = _build(tf, program, x, given)
    variables = tf.global_variables()
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    answer: dict[str, Any] = {
        "variables": [[v.name, [int(size) for size in v.shape.as_list()]] for v in variables],
        "trainable": [v.name for v in tf.trainable_variables()],
        "shapes": [y.shape.as_list() for y in outputs],
        "ops": [y.op.name for y in outputs],
        "updates": len(updates),
        "losses": len(losses),
    }
    feeds = {x: filled("x", tuple(program["shape"])) + 0.25, flag: program["arguments"].get("training") == "fed true"}
    start = {v.name: filled(v.name, tuple(v.shape.as_list())) for v in variables}
    with tf.Session() as session:
        session.run([v.initializer for v in variables], {v.initial_value: start[v.name] for v in variables})
        try:
            values = session.run([*outputs, *losses], feeds)
        except tf.errors.OpError as error:
            return {**answer, "failed": type(error).__name__}
        if not program.get("random"):
            answer["values"] = [projections(value) for value in values]
        if updates:
            kept = [v for v in variables if v not in tf.trainable_variables()]
            answer["untouched"] = all(np.array_equal(value, start[v.name]) for v, value in zip(kept, session.run(kept)))
            # Of calls that share variables, one: two updates of a variable come in any order.
            shared = program["way"] in ("shared", "scope", "object")
            session.run(updates[: len(updates) // 2] if shared else updates, feeds)
            answer["moved"] = {v.name: projections(value) for v, value in zip(kept, session.run(kept))}
    return answer


def _build(tf: Any, program: dict[str, Any], x: Any, given: dict[str, Any]) -> list[Any]:
    function, way = getattr(tf.layers, program["function"]), program["way"]
    if way == "twice":
        return [function(x, **given), function(x, **given)]
    if way == "shared":
        return [function(x, name="fc", **given), function(x, name="fc", reuse=True, **given)]
    if way == "named twice":
        return [function(x, name="fc", **given), function(x, name="fc", **given)]
    if way == "missing":
        return [function(x, name="fc", reuse=True, **given)]
    if way == "scope":
        with tf.variable_scope("outer"):
            first = function(x, **given)
        with tf.variable_scope("outer", reuse=tf.AUTO_REUSE):
            return [first, function(x, **given)]
    if way == "object":
        layer = getattr(tf.layers, program["class"])(**{k: v for k, v in given.items() if k != "training"})
        call = {"training": given["training"]} if "training" in given else {}
        return [layer(x, **call), layer.apply(x, **call)]
    return [function(x, **given)]
