"""Graphs as msgpack: nodes as lists, and the few kinds of attribute values as extension types. Nothing else is decoded.

The outer message is [format, CRC-32 of the content, content]; the content is the list of nodes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgpack
import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.base.registry import opdef
from actorflow.errors import Where
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import NO_ATTRS, Node, TensorId

FORMAT = 2
_DTYPE, _ARRAY, _STRINGS, _TUPLE, _COMPLEX = 1, 2, 3, 4, 5
_MOST_NODES = 10_000_000
_ERRORS = "surrogateescape"  # a path need not be UTF-8


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
    content = _pack(records)
    return _pack([FORMAT, zlib.crc32(content), content])


def decode_nodes(data: bytes) -> list[Node]:
    """The nodes of `encode_nodes`. Raises ValueError for damaged data or another format."""
    try:
        version, checksum, content = msgpack.unpackb(data, raw=False, use_list=True)
        if version != FORMAT:
            raise ValueError(f"it has format {version}, but this version reads {FORMAT}")
        if zlib.crc32(content) != checksum:
            raise ValueError("its checksum is wrong, so some of it was changed on the way")
        records = msgpack.unpackb(
            content,
            raw=False,
            strict_map_key=True,
            ext_hook=_decode_extension,
            use_list=True,
            max_array_len=_MOST_NODES,
            unicode_errors=_ERRORS,
        )
        return [_decode_node(record) for record in records]
    except Exception as error:
        raise ValueError(f"The data is no serialised graph: {error}") from error


def _decode_node(record: Sequence[Any]) -> Node:
    name, op, inputs, controls, attrs, types, shapes, device, where, origin, colocate = record
    strings = [name, op, device, *controls, *colocate, *types, *attrs, *(source for source, _ in inputs)]
    if not all(isinstance(text, str) for text in strings) or not name or not isinstance(attrs, dict):
        raise ValueError(f"the record of node {name!r:.40} is malformed")
    if not all(_is_attribute(value) for value in attrs.values()):
        raise ValueError(f"node {name!r} has an attribute of a kind that there is not")
    if origin is not None and not isinstance(origin, str) or len(types) != len(shapes):
        raise ValueError(f"the record of node {name!r} is malformed")
    if where is not None and [type(part) for part in where] != [str, int]:
        raise ValueError(f"node {name!r} has a malformed line")
    ports = [port for _, port in inputs] + [size for s in shapes if s is not None for size in s if size is not None]
    if not all(type(number) is int and number >= 0 for number in ports):
        raise ValueError(f"node {name!r} has a malformed input or shape")
    DeviceSpec.parse(device)
    return Node(
        name=name,
        op=op,
        inputs=tuple(TensorId(node, port) for node, port in inputs),
        controls=tuple(controls),
        attrs=MappingProxyType(attrs) if attrs else NO_ATTRS,
        dtypes=tuple(dtypes.as_dtype(d) for d in types),
        shapes=tuple(None if s is None else tuple(s) for s in shapes),
        device=device,
        where=None if where is None else Where(*where),
        origin=origin,
        colocate=tuple(colocate),
    )


def _is_attribute(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_attribute, value))
    return not isinstance(value, (list, dict, msgpack.Timestamp))


def check_nodes(nodes: Sequence[Node], present: Mapping[str, Node]) -> None:
    """Checks decoded nodes against the ops that are registered, and their edges against the nodes that there are.

    Raises:
        ValueError: an edge leads nowhere, or a node is not what its op's declaration says.
        UnknownNameError: there is no such op.
    """
    by_name = {node.name: node for node in nodes}
    if len(by_name) != len(nodes):
        raise ValueError("The data is no serialised graph: two nodes have one name.")
    for node in nodes:
        definition = opdef.lookup(node.op)
        # Attributes that start with _ belong to no op, such as that of `gradient_override_map`.
        if {name for name in node.attrs if name[:1] != "_"} != {attr.name for attr in definition.attrs}:
            raise ValueError(
                f"Node {node.name!r} has the attributes {sorted(node.attrs)}, but its op is {definition.signature}."
            )
        several = any(spec.kind == "list" for spec in definition.inputs)
        if (
            len(node.inputs) < len(definition.inputs) - several
            or not several
            and len(node.inputs) > len(definition.inputs)
        ):
            raise ValueError(f"Node {node.name!r} has {len(node.inputs)} inputs, but its op is {definition.signature}.")
        for name, port in (*node.inputs, *((name, -1) for name in (*node.controls, *node.colocate))):
            source = by_name.get(name) or present.get(name)
            if source is None or port >= len(source.dtypes):
                raise ValueError(f"Node {node.name!r} refers to {TensorId(name, port)}, which is not there.")


def _pack(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True, unicode_errors=_ERRORS)
    return packed


def _encode(value: Any) -> Any:
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise TypeError(f"an attribute holds {value}, which does not fit 64 bits")
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, DType):
        return msgpack.ExtType(_DTYPE, value.name.encode())
    if isinstance(value, tuple):
        return msgpack.ExtType(_TUPLE, _pack([_encode(v) for v in value]))
    if isinstance(value, complex):
        return msgpack.ExtType(_COMPLEX, _pack([value.real, value.imag]))
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return msgpack.ExtType(_STRINGS, _pack([list(value.shape), list(value.flat)]))
        content = np.ascontiguousarray(value).tobytes()
        return msgpack.ExtType(_ARRAY, _pack([value.dtype.name, list(value.shape), content]))
    raise TypeError(f"an attribute holds a {type(value).__name__}")


def _decode_extension(code: int, data: bytes) -> Any:
    if code == _DTYPE:
        return dtypes.as_dtype(data.decode())
    content = msgpack.unpackb(data, raw=False, ext_hook=_decode_extension, unicode_errors=_ERRORS)
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
        dtype = dtypes.as_dtype(name).numpy_dtype
        return _sealed(np.frombuffer(raw, dtype).reshape(shape).copy())
    raise ValueError(f"unknown extension type {code}")


def _sealed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array.flags.writeable = False
    return array
