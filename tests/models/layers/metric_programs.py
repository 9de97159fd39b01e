"""Streams of batches through one metric, as data: run by TensorFlow 2.15 (`dump_metrics.py`) and by us, by the same code.

`run(tf, program)` takes either one's `compat.v1`.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    """The observations of a program: the variables, the value before and after, and what each update gives."""
    with tf.Graph().as_default():
        try:
            return _run(tf, program)
        except (ValueError, TypeError) as error:
            return {"error": "TypeError" if type(error) is TypeError else "ValueError"}


def _run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    fed, given = [], dict(program["arguments"])
    for name, kind, shape in program["fed"]:
        if kind == "sparse":
            tensor: Any = tf.sparse_placeholder(tf.int64, shape, name=name)
        else:
            tensor = tf.placeholder(tf.as_dtype(kind), shape, name=name)
        fed.append(tensor)
        given[name] = tensor
    value, update = getattr(tf.metrics, program["function"])(**given)
    answer: dict[str, Any] = {
        "variables": [[v.name, v.shape.as_list()] for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)],
        "local": [v.name for v in tf.local_variables()],
        "global": [v.name for v in tf.global_variables()],
    }
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        answer["start"] = _numbers(session.run(value))
        answer["updates"] = []
        for batch in program["batches"]:
            feeds = {tensor: _sparse(tf, each) if isinstance(each, dict) else each for tensor, each in zip(fed, batch)}
            answer["updates"].append(_numbers(session.run(update, feeds)))
        answer["value"] = _numbers(session.run(value))
    return answer


def _sparse(tf: Any, rows: dict[str, Any]) -> Any:
    indices = np.asarray(rows["indices"], np.int64).reshape(-1, 2)
    return tf.SparseTensorValue(indices, np.asarray(rows["values"], np.int64), rows["shape"])


def _numbers(value: Any) -> Any:
    return [None if np.isnan(one) else round(float(one), 6) for one in np.asarray(value, np.float64).ravel()]
