"""Features by tables and scales: `ai.onnx.ml`'s scalers, encoders, imputers, and maps of names to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.builders.common import at_least, number, rank_of, size_of, vector
from actorflow.exchange.onnx.builders.texts import words
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import Mapped, dtype_of

_ML = "ai.onnx.ml"


@onnx_op("Binarizer", domain=_ML)
def binarizer(node: OnnxNode, x: Any) -> Any:
    return af.cast(x > number(node.attr("threshold", 0.0), x), dtype_of(x))


_DEFAULTS = {"strings": "_Unused", "int64s": -1, "floats": -0.0}


@onnx_op("LabelEncoder", domain=_ML)
def label_encoder(node: OnnxNode, x: Any) -> Any:
    """Each element looked up in a table of keys and values."""
    keys, _ = _column(node, "keys")
    values, kind = _column(node, "values")
    default = node.attr("default_tensor") if kind == "tensor" else node.attr(f"default_{kind.removesuffix('s')}")
    if default is None:
        default = _DEFAULTS.get(kind, 0)
    other = words([default])[0] if values.dtype == object and isinstance(default, str) else np.reshape(default, ())
    if len(keys) != len(values):
        raise InvalidArgumentError(f"{node} has {len(keys)} keys and {len(values)} values.")
    same = af.equal(af.expand_dims(x, -1), keys)
    if keys.dtype.kind == "f":
        same = af.logical_or(same, af.logical_and(af.expand_dims(af.is_nan(x), -1), np.isnan(keys)))
    labels = af.gather(values, af.argmax(af.cast(same, af.int32), -1))
    last = np.array(other, object) if values.dtype == object else np.asarray(other).astype(values.dtype)
    return af.where_v2(af.reduce_any(same, -1), labels, last)


def _column(node: OnnxNode, name: str) -> tuple[Any, str]:
    """The keys or the values, and the kind of attribute that has them."""
    for kind, dtype in (("strings", object), ("int64s", np.int64), ("floats", np.float32)):
        column = node.attr(f"{name}_{kind}")
        if column is not None:
            return (words(column) if kind == "strings" else np.asarray(column, dtype)), kind
    return node.required(f"{name}_tensor"), "tensor"


def _floats(node: OnnxNode, name: str) -> Any:
    return np.asarray(node.attr(name, []), np.float32)


def _real(x: Any) -> Any:
    """Numbers as floats, as the ops of this domain compute with them."""
    return x if dtype_of(x) in (af.float32, af.float64) else af.cast(x, af.float32)


@onnx_op("Scaler", domain=_ML)
def scaler(node: OnnxNode, x: Any) -> Any:
    return af.cast(
        (_real(x) - number(_floats(node, "offset"), _real(x))) * number(_floats(node, "scale"), _real(x)), af.float32
    )


@onnx_op("Normalizer", domain=_ML)
def normalizer(node: OnnxNode, x: Any) -> Any:
    """Rows over their largest element, their sum of sizes, or their length. A row of norm 0 stays as it is."""
    x = _real(x)
    norms = {
        "MAX": lambda: af.reduce_max(af.abs(x), -1, keepdims=True),
        "L1": lambda: af.reduce_sum(af.abs(x), -1, keepdims=True),
        "L2": lambda: af.sqrt(af.reduce_sum(x * x, -1, keepdims=True)),
    }
    kind = node.attr("norm", "MAX")
    if kind not in norms:
        raise InvalidArgumentError(f"norm of {node} is {kind!r}; known are {', '.join(norms)}.")
    norm = norms[kind]()
    return af.cast(x / af.where_v2(af.equal(norm, number(0, x)), number(1, x), norm), af.float32)


@onnx_op("Imputer", domain=_ML)
def imputer(node: OnnxNode, x: Any) -> Any:
    """Elements that are missing, by a value for each column or a value for all."""
    if dtype_of(x).is_floating:
        values, missing = _floats(node, "imputed_value_floats"), node.attr("replaced_value_float", 0.0)
        gone = af.is_nan(x) if np.isnan(missing) else af.equal(x, number(missing, x))
    else:
        values, gone = np.asarray(node.attr("imputed_value_int64s", []), np.int64), None
        gone = af.equal(x, number(node.attr("replaced_value_int64", 0), x))
    if not len(values):
        raise InvalidArgumentError(f"{node} has no values to put in for elements of {dtype_of(x)}.")
    return af.where_v2(gone, number(values if len(values) > 1 else values[0], x), x)


@onnx_op("FeatureVectorizer", domain=_ML)
def feature_vectorizer(node: OnnxNode, *values: Any) -> Any:
    """Columns side by side. An input that is wider or narrower than its number says is cut, or filled up with zeros."""
    parts = []
    for value, width in zip(values, node.attr("inputdimensions") or [None] * len(values)):
        part = af.cast(value, af.float32)
        part = af.reshape(part, [-1, 1]) if rank_of(part) < 2 else part
        own = size_of(part, 1)
        if width is not None and own != width:
            part = af.pad(part[:, :width], af.reshape(vector([0, 0, 0, at_least(width - own, 0)]), [2, 2]))
        parts.append(part)
    return af.concat(parts, 1)


@onnx_op("OneHotEncoder", domain=_ML)
def one_hot_encoder(node: OnnxNode, x: Any) -> Any:
    """A dimension more, with a 1 at the place of the category. An unknown category has zeros, or is an error."""
    names, numbers = node.attr("cats_strings"), node.attr("cats_int64s")
    if dtype_of(x) is af.string:
        categories: Any = words(names or [])
    else:
        x, categories = af.cast(x, af.int64), np.asarray(numbers or [], np.int64)
    hit = af.equal(af.expand_dims(x, -1), categories)
    columns = af.cast(hit, af.float32)
    if node.attr("zeros", 1):
        return columns
    every = af.reduce_all(af.reduce_any(hit, -1))
    with af.control_dependencies([af.Assert(every, [f"{node} got a category that it does not have."])]):
        return af.identity(columns)


@onnx_op("CategoryMapper", domain=_ML)
def category_mapper(node: OnnxNode, x: Any) -> Any:
    names, numbers = words(node.attr("cats_strings") or []), np.asarray(node.attr("cats_int64s") or [], np.int64)
    if len(names) != len(numbers):
        raise InvalidArgumentError(f"{node} has {len(names)} names and {len(numbers)} numbers.")
    if dtype_of(x) is af.string:
        return _looked_up(x, names, numbers, np.int64(node.attr("default_int64", -1)))
    return _looked_up(x, numbers, names, words([node.attr("default_string", "_Unused")])[0])


def _looked_up(x: Any, keys: Any, values: Any, default: Any) -> Any:
    same = af.equal(af.expand_dims(x, -1), keys)
    picked = af.gather(values, af.argmax(af.cast(same, af.int32), -1))
    last = np.array(default, object) if values.dtype == object else np.asarray(default).astype(values.dtype)
    return af.where_v2(af.reduce_any(same, -1), picked, last)


@onnx_op("ZipMap", domain=_ML)
def zip_map(node: OnnxNode, x: Any) -> Any:
    """For each row a map from the labels to its numbers."""
    names, numbers = node.attr("classlabels_strings"), node.attr("classlabels_int64s")
    keys = words(names) if names else np.asarray(numbers or [], np.int64)
    return Mapped(keys, x, rows=True)


@onnx_op("DictVectorizer", domain=_ML)
def dict_vectorizer(node: OnnxNode, x: Any) -> Any:
    """The values of a map in the order of a vocabulary, 0 for missing keys."""
    names, numbers = node.attr("string_vocabulary"), node.attr("int64_vocabulary")
    vocabulary = words(names) if names else np.asarray(numbers or [], np.int64)
    return af.reshape(_values_of(x, vocabulary), [1, -1])


def _values_of(x: Any, keys: Any) -> Any:
    if not isinstance(x, Mapped):
        raise InvalidArgumentError("A map is needed, but there is a tensor.")
    same = af.equal(af.expand_dims(keys, 1), x.keys)
    kind = dtype_of(x.values)
    missing = np.array(b"", object) if kind is af.string else number(0, x.values)
    padded = af.concat([x.values, af.reshape(missing, [1])], 0)
    place = af.argmax(af.cast(af.concat([same, af.fill([len(keys), 1], True)], 1), af.int32), 1)
    return af.gather(padded, place)


@onnx_op("CastMap", domain=_ML)
def cast_map(node: OnnxNode, x: Any) -> Any:
    """The values of a map in the order of its keys; with `map_form` SPARSE by them, in a row of `max_map` elements."""
    from actorflow.exchange.onnx.builders.shapes import converted

    kinds = {"TO_FLOAT": af.float32, "TO_INT64": af.int64, "TO_STRING": af.string}
    target = kinds.get(node.attr("cast_to", "TO_FLOAT"))
    if target is None or not isinstance(x, Mapped):
        raise UnimplementedError(f"{node} casts to {node.attr('cast_to')!r}, or what is no map.")
    if node.attr("map_form", "DENSE") == "SPARSE":
        values = _values_of(x, np.arange(node.attr("max_map", 1)))
    else:
        values = af.gather(x.values, af.argsort(x.keys))
    return af.reshape(converted(values, target), [1, -1])
