"""The inputs and outputs of a model: tensors, and composites for sequences, optionals and maps.

A sequence crosses the border of the graph as a vector of strings, each of which is a tensor in its serialised form. So it is fed
and fetched wherever tensors are, on a cluster too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.errors import UnimplementedError
from actorflow.exchange.onnx.types import ValueType
from actorflow.exchange.onnx.values import Listed, Mapped, Optional_, Value, flatten
from actorflow.graph.ops.flow import lists


class SequencePort:
    """A sequence that is fed or fetched as a list of arrays."""

    def __init__(self, tensor: Any, dtype: Any) -> None:
        self.tensor = tensor
        self.dtype = dtype

    def __tensor_components__(self) -> list[Any]:
        return [self.tensor]

    def __from_components__(self, *values: Any) -> Any:
        return [np.asarray(read_tensor(item)[1]) for item in values[0]]

    def __to_components__(self, value: Any) -> list[Any]:
        column = np.empty(len(value), object)
        kind = self.dtype.numpy_dtype
        column[:] = [write_tensor(_array(item, kind), self.dtype) for item in value]
        return [column]

    def __repr__(self) -> str:
        return f"<sequence of {self.dtype} tensors>"


class OptionalPort:
    """An optional that is fed or fetched as None or a value."""

    def __init__(self, present: Any, content: Any, empty: Any) -> None:
        self.present = present
        self.content = content
        self._empty = empty

    def __tensor_components__(self) -> list[Any]:
        inner = self.content.__tensor_components__() if isinstance(self.content, SequencePort) else [self.content]
        return [self.present, *inner]

    def __from_components__(self, *values: Any) -> Any:
        if not values[0]:
            return None
        return self.content.__from_components__(values[1]) if isinstance(self.content, SequencePort) else values[1]

    def __to_components__(self, value: Any) -> list[Any]:
        content = self._empty if value is None else value
        inner = self.content.__to_components__(content) if isinstance(self.content, SequencePort) else [content]
        return [value is not None, *inner]

    def __repr__(self) -> str:
        return f"<optional {self.content!r}>"


class MapPort:
    """A map that is fed or fetched as a dictionary, or a list of dictionaries."""

    def __init__(self, keys: Any, values: Any, rows: bool) -> None:
        self.keys = keys
        self.values = values
        self.rows = rows

    def __tensor_components__(self) -> list[Any]:
        return [self.keys, self.values]

    def __from_components__(self, *values: Any) -> Any:
        keys = [key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else key for key in values[0].tolist()]
        return [dict(zip(keys, row)) for row in values[1]] if self.rows else dict(zip(keys, values[1]))

    def __to_components__(self, value: Any) -> list[Any]:
        mapping = dict(value)
        return [_array(list(part), tensor.dtype.numpy_dtype) for part, tensor in
                ((mapping.keys(), self.keys), (mapping.values(), self.values))]  # fmt: skip

    def __repr__(self) -> str:
        return f"<map of {self.keys.dtype} to {self.values.dtype}>"


def _array(value: Any, kind: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        return np.array([w.encode() if isinstance(w, str) else w for w in array.reshape(-1)], object).reshape(
            array.shape
        )
    return array.astype(kind, copy=False)


def port_of(kind: ValueType, name: str) -> tuple[Any, Value]:
    """The key by which an input of this type is fed, and its value in the graph."""
    dtype: Any = kind.dtype
    if kind.kind == "tensor":
        placeholder = af.placeholder(dtype, kind.shape, name=name)
        return placeholder, placeholder
    if kind.kind == "map":
        keys = af.placeholder(kind.key or af.string, [None], name=f"{name}_keys")
        values = af.placeholder(dtype, [None], name=name)
        return MapPort(keys, values, False), Mapped(keys, values)
    if kind.inside == "map":
        raise UnimplementedError(f"The input {name!r} is a sequence of maps, which no op takes.")
    if kind.kind == "sequence":
        return _sequence(kind, name)
    present = af.placeholder(af.bool, [], name=f"{name}_present")
    if kind.inside == "sequence":
        port, value = _sequence(kind, name)
        return OptionalPort(present, port, []), Optional_(present, value)
    content = af.placeholder(dtype, kind.shape, name=name)
    empty = np.zeros([size or 0 for size in kind.shape or ()], dtype.numpy_dtype)
    return OptionalPort(present, content, empty), Optional_(present, content)


def _sequence(kind: ValueType, name: str) -> tuple[SequencePort, Listed]:
    words = af.placeholder(af.string, [None], name=name)
    dtype: Any = kind.dtype

    def step(at: Any, items: Any) -> Any:
        item = af.ensure_shape(af.parse_tensor(words[at], dtype), kind.shape)
        return at + 1, lists.set_item(items, at, item)

    count = af.size(words)
    _, items = af.while_loop(lambda at, _: at < count, step, [0, lists.reserve(count)])
    return SequencePort(words, kind.dtype), Listed(kind.dtype, kind.shape, flow=items)


def fetch_of(value: Value, kind: ValueType) -> Any:
    """The key by which an output is fetched."""
    if isinstance(value, Optional_) and kind.kind != "optional":
        value = value.value
    if isinstance(value, Listed):
        return _fetched(value)
    if isinstance(value, Mapped):
        return MapPort(af.convert_to_tensor(value.keys), af.convert_to_tensor(value.values), value.rows)
    if isinstance(value, Optional_):
        present, *inner = flatten(value, kind)
        listed = isinstance(value.value, Listed) or kind.inside == "sequence"
        content = _fetched(Listed(kind.dtype, kind.shape, flow=inner[0])) if listed else inner[0]
        return OptionalPort(present, content, None)
    tensor = af.convert_to_tensor(value)
    return tensor


def _fetched(value: Listed) -> SequencePort:
    flow = value.flow
    count = lists.length(flow)
    words = af.TensorArray(af.string, size=count, element_shape=[])

    def step(at: Any, flows: Any) -> Any:
        item = lists.get_item(flow, at, **value.element)
        return at + 1, af.TensorArray(af.string, flow=flows, element_shape=[]).write(
            at, af.io.serialize_tensor(item)
        ).flow

    _, flows = af.while_loop(lambda at, _: at < count, step, [0, words.flow])
    return SequencePort(af.TensorArray(af.string, flow=flows, element_shape=[]).stack(), value.dtype)
