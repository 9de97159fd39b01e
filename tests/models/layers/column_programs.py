"""Programs of feature columns, as data: run by TensorFlow 2.15 (`dump_columns.py`) and by us, by the same code.

`run(tf, program)` takes either one's `compat.v1`. Weights are functions of their names and sizes, so both have the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from models.layers.layer_programs import filled, projections


def run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    """The observations of a program: its variables, the shape and the values of the output, and the spec for parsing."""
    with tf.Graph().as_default():
        try:
            return _run(tf, program)
        except (ValueError, TypeError) as error:
            return {"error": "TypeError" if isinstance(error, TypeError) else "ValueError"}


def _run(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    columns = [made for described in program["columns"] for made in _listed(column(tf, described))]
    features = {key: feature(tf, given) for key, given in program["features"].items()}
    names: dict[Any, Any] = {}
    model = getattr(tf.feature_column, program["model"])
    output = model(features, columns, cols_to_vars=names, **program["arguments"])
    variables = tf.global_variables()
    answer: dict[str, Any] = {
        "variables": [[v.name, v.shape.as_list()] for v in variables],
        "trainable": [v.name for v in tf.trainable_variables()],
        "model": [v.name for v in tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)],
        "names": sorted([getattr(c, "name", c), sorted(v.name for v in owned)] for c, owned in names.items()),
        "width": output.shape.as_list()[1],
        "spec": {key: _spec(found) for key, found in tf.feature_column.make_parse_example_spec(columns).items()},
    }
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        start = {v.initial_value: filled(v.name, tuple(v.shape.as_list())) for v in variables}
        session.run([v.initializer for v in variables], start)
        value = session.run(output)
        answer["shape"] = list(value.shape)
        answer["values"] = projections(value)
    return answer


def run_of_sequences(tf: Any, program: dict[str, Any]) -> dict[str, Any]:
    """The observations of a program whose columns are sequences. TensorFlow 2.15 has a layer of Keras in the place of
    `sequence_input_layer`; the variables of both end in the same names."""
    with tf.Graph().as_default():
        try:
            columns = [made for described in program["columns"] for made in _listed(column(tf, described))]
            features = {key: feature(tf, given) for key, given in program["features"].items()}
            module = tf.feature_column
            if hasattr(module, "sequence_input_layer"):
                output, lengths = module.sequence_input_layer(features, columns)
            else:
                module = tf.compat.v2.feature_column
                output, lengths = tf.keras.experimental.SequenceFeatures(columns)(features)
            spec = {key: _spec(found) for key, found in module.make_parse_example_spec(columns).items()}
            variables = {"/".join(v.name.split("/")[-2:]): v for v in tf.global_variables()}
            with tf.Session() as session:
                session.run(tf.tables_initializer())
                for name, variable in variables.items():
                    start = filled(name, tuple(variable.shape.as_list()))
                    session.run(variable.initializer, {variable.initializer.inputs[1]: start})
                value, found = session.run([output, lengths])
        except tf.errors.InvalidArgumentError:
            return {"error": "InvalidArgumentError"}
        except (ValueError, TypeError) as error:
            return {"error": "TypeError" if isinstance(error, TypeError) else "ValueError"}
        return {
            "variables": sorted([name, v.shape.as_list()] for name, v in variables.items()),
            "spec": spec,
            "lengths": found.tolist(),
            "shape": list(value.shape),
            "values": projections(value),
        }


def _listed(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def _spec(found: Any) -> list[Any]:
    default = getattr(found, "default_value", None)
    shape = [int(size) for size in found.shape] if hasattr(found, "shape") else None
    given = None if default is None else np.asarray(default, np.float64).tolist()
    return [type(found).__name__, found.dtype.name, shape, given]


def feature(tf: Any, given: Any) -> Any:
    """A feature: a sparse tensor from a dict, a constant from a list."""
    if isinstance(given, dict):
        kind = {"string": tf.string, "int64": tf.int64, "float32": tf.float32}[given["dtype"]]
        return tf.SparseTensor(
            tf.constant(np.asarray(given["indices"], np.int64).reshape(-1, len(given["shape"]))),
            tf.constant(given["values"], kind, shape=[len(given["values"])]),
            tf.constant(given["shape"], tf.int64),
        )
    return tf.constant(given)


def column(tf: Any, described: dict[str, Any]) -> Any:
    """A column from a dict: `kind`, its arguments, and under `of` the columns that it is made of."""
    arguments = {key: value for key, value in described.items() if key not in ("kind", "of")}
    if "of" in described:
        inner = [one if isinstance(one, str) else column(tf, one) for one in described["of"]]
        first = inner if described["kind"] in ("crossed_column", "shared_embedding_columns") else inner[0]
        return getattr(tf.feature_column, described["kind"])(first, **_read(tf, arguments))
    return getattr(tf.feature_column, described["kind"])(**_read(tf, arguments))


def _read(tf: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    read = dict(arguments)
    if "dtype" in read:
        read["dtype"] = tf.as_dtype(read["dtype"])
    if read.get("normalizer_fn") == "halved":
        read["normalizer_fn"] = _halved
    if isinstance(read.get("shape"), list):
        read["shape"] = tuple(read["shape"])
    return read


def _halved(x: Any) -> Any:
    return (x - 1.0) / 2.0 if hasattr(x, "op") and not hasattr(x, "dense_shape") else _of_values(x)


def _of_values(x: Any) -> Any:
    """The same of a sparse tensor."""
    return type(x)(x.indices, (x.values - 1.0) / 2.0, x.dense_shape)
