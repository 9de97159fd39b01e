"""Graphs as msgpack: nodes as lists, and the few kinds of attribute values as extension types. Nothing else is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import msgpack
import numpy as np

from actorflow import dtypes
from actorflow.dtypes import DType
from actorflow.graph.node import NO_ATTRS, Endpoint, Node, Where

FORMAT = 1
_DTYPE, _ARRAY, _STRINGS, _TUPLE, _COMPLEX = 1, 2, 3, 4, 5
_MOST_NODES = 10_000_000


def encode_nodes(nodes: Sequence[Node]) -> bytes:
    """`nodes` in msgpack. Raises TypeError, naming the node, for an attribute that has no spelling on the wire."""
    records = []
    for node in nodes:
        try:
            attrs = {name: _encode(value) for name, value in node.attrs.items()}
        except TypeError as error:
            raise TypeError(
                f"Node {node.name} ({node.op}), made at {node.where}, can't be serialised: {error}"
            ) from None
        records.append(
            [
                node.name,
                node.op,
                [[e.node, e.port] for e in node.inputs],
                list(node.controls),
                attrs,
                [d.name for d in node.dtypes],
                [None if s is None else list(s) for s in node.shapes],
                node.device,
                list(node.where) if node.where else None,
                node.origin,
                list(node.colocate),
            ]
        )
    packed: bytes = msgpack.packb([FORMAT, records], use_bin_type=True)
    return packed


def decode_nodes(data: bytes) -> list[Node]:
    """The nodes of `encode_nodes`. Raises ValueError for damaged data or another format."""
    try:
        version, records = msgpack.unpackb(
            data, raw=False, strict_map_key=True, ext_hook=_decode_extension, use_list=True, max_array_len=_MOST_NODES
        )
        if version != FORMAT:
            raise ValueError(f"it has format {version}, but this version reads {FORMAT}")
        return [_decode_node(record) for record in records]
    except Exception as error:
        raise ValueError(f"The data is no serialised graph: {error}") from error


def _decode_node(record: Sequence[Any]) -> Node:
    name, op, inputs, controls, attrs, types, shapes, device, where, origin, colocate = record
    return Node(
        name=name,
        op=op,
        inputs=tuple(Endpoint(node, port) for node, port in inputs),
        controls=tuple(controls),
        attrs=MappingProxyType(attrs) if attrs else NO_ATTRS,
        dtypes=tuple(dtypes.as_dtype(d) for d in types),
        shapes=tuple(None if s is None else tuple(s) for s in shapes),
        device=device,
        where=None if where is None else Where(*where),
        origin=origin,
        colocate=tuple(colocate),
    )


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, DType):
        return msgpack.ExtType(_DTYPE, value.name.encode())
    if isinstance(value, tuple):
        return msgpack.ExtType(_TUPLE, msgpack.packb([_encode(v) for v in value], use_bin_type=True))
    if isinstance(value, complex):
        return msgpack.ExtType(_COMPLEX, msgpack.packb([value.real, value.imag]))
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return msgpack.ExtType(_STRINGS, msgpack.packb([list(value.shape), list(value.flat)], use_bin_type=True))
        content = np.ascontiguousarray(value).tobytes()
        return msgpack.ExtType(_ARRAY, msgpack.packb([value.dtype.name, list(value.shape), content], use_bin_type=True))
    raise TypeError(f"an attribute holds a {type(value).__name__}")


def _decode_extension(code: int, data: bytes) -> Any:
    if code == _DTYPE:
        return dtypes.as_dtype(data.decode())
    content = msgpack.unpackb(data, raw=False, ext_hook=_decode_extension)
    if code == _TUPLE:
        return tuple(content)
    if code == _COMPLEX:
        return complex(*content)
    if code == _STRINGS:
        shape, items = content
        strings = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            if not isinstance(item, bytes):
                raise ValueError("a string tensor holds something else than bytes")
            strings[i] = item
        return _sealed(strings.reshape(shape))
    if code == _ARRAY:
        name, shape, raw = content
        dtype = dtypes.as_dtype(name).as_numpy_dtype
        return _sealed(np.frombuffer(raw, dtype).reshape(shape).copy())
    raise ValueError(f"unknown extension type {code}")


def _sealed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array
