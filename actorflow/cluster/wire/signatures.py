"""Signatures on the wire, by which a client asks a master for plans; small tensors in requests and replies; checks of fed values.

A signature is [feeds, fetches, targets], with a fourth entry, true, for a partial run. A feed is [node, port, type,
shape], a fetch [node, port], a target the name of a node. A shape is a list of sizes, with nil for an unknown size, or
nil. After a fourth entry, false, a fifth entry may list predicates with the values that are fed for them: [node, port,
value].

A small tensor is [type, shape, elements]: a token of its own costs more. A list of them stands for the feeds or the fetches of a
step. A tensor travels as a token if the list has nil for it, or is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgpack
import numpy as np

from actorflow.base import dtypes
from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.shapes import Shape, compatible, show
from actorflow.engine.passes.compile import RunSignature
from actorflow.errors import InvalidArgumentError
from actorflow.graph.node import Node, TensorId

Form: TypeAlias = "tuple[DType, Shape]"
"""The type and the static shape of what is fed."""
_LARGEST = 16 * 1024
"""The most bytes of a tensor that is enclosed; and of all together, so that a message seldom needs a second piece."""
_MOST = 1024
_TYPES = {d.name: np.dtype(d.numpy_dtype) for d in dtypes.ALL if d not in (dtypes.string, dtypes.bfloat16)}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def encode_signature(signature: RunSignature) -> bytes:
    """`signature` in msgpack."""
    packed: bytes = msgpack.packb(
        [
            [[*e, d.name, None if s is None else list(s)] for e, (d, s) in signature.feeds.items()],
            [list(tensor_id) for tensor_id in signature.fetches],
            list(signature.targets),
            *([True] if signature.partial else []),
            *([False, [[*e, value] for e, value in signature.given.items()]] if signature.given else []),
        ]
    )
    return packed


def decode_signature(data: bytes, nodes: Mapping[str, Node]) -> RunSignature:
    """The way back, for the graph of these nodes. Raises InvalidArgumentError for data that are no signature, or do not
    fit the graph."""
    try:
        feeds, fetches, targets, *more = msgpack.unpackb(data, strict_map_key=True)
        partial: Any = more[0] if more else False
        values: Any = more[1] if len(more) > 1 else []
        if type(partial) is not bool or (partial and values) or len(more) > 2:
            raise ValueError("its fourth entry is no boolean, or goes with no fifth one")
        signature = RunSignature(
            dict(map(decode_feed, feeds)),
            tuple(map(decode_tensor_id, fetches)),
            tuple(map(_text, targets)),
            partial,
            dict(map(_given, values)),
        )
        if not signature.given.keys() <= signature.feeds.keys():
            raise ValueError("a value is given for what is not fed")
    except Exception as error:
        raise InvalidArgumentError(f"What was to be planned is no signature: {error}") from error
    for tensor_id in (*signature.feeds, *signature.fetches):
        node = nodes.get(tensor_id.node)
        if node is None or tensor_id.port >= len(node.dtypes):
            raise InvalidArgumentError(f"The graph has no tensor {str(tensor_id)[:200]}.")
    for target in signature.targets:
        if target not in nodes:
            raise InvalidArgumentError(f"The graph has no node {target[:200]!r}.")
    for tensor_id, (dtype, shape) in signature.feeds.items():
        node = nodes[tensor_id.node]
        declared, static = node.dtypes[tensor_id.port], node.shapes[tensor_id.port]
        if dtype is not declared or dtype.is_ref or not compatible(static, shape):
            raise InvalidArgumentError(
                f"{tensor_id} can't be fed as {dtype.name} of shape {show(shape)}: it is {declared.name} of {show(static)}."
            )
        if tensor_id in signature.given and (dtype is not dtypes.bool or len(node.dtypes) != 1):
            raise InvalidArgumentError(f"{tensor_id} is no predicate for which a value can be given.")
    return signature


def check_feeds(values: Sequence[Any], forms: Sequence[Form], names: Sequence[TensorId]) -> None:
    """Whether these are tensors of the types and shapes that the plan was made for; its code relies on them.

    Raises:
        InvalidArgumentError: a value is no such tensor.
    """
    for value, (dtype, shape), name in zip(values, forms, names, strict=True):
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype != dtype.numpy_dtype:
            kind = str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else "no tensor"
            raise InvalidArgumentError(f"{name} was fed with {kind}, but it is {dtype.name}.")
        if value.shape != shape and not compatible(shape, value.shape):
            raise InvalidArgumentError(f"{name} was fed with shape {value.shape}, but it has {show(shape)}.")


def decode_tensor_id(pair: Any) -> TensorId:
    """[node, port]. Raises ValueError."""
    node, port = pair
    if type(port) is not int or port < 0:
        raise ValueError("a port is no number")
    return TensorId(_text(node), port)


def decode_feed(entry: Any) -> tuple[TensorId, Form]:
    """[node, port, type, shape]. Raises ValueError, TypeError."""
    node, port, dtype, shape = entry
    if shape is not None and not all(size is None or (type(size) is int and size >= 0) for size in shape):
        raise ValueError("a shape has something other than sizes")
    return decode_tensor_id((node, port)), (as_dtype(_text(dtype)), None if shape is None else tuple(shape))


def _given(entry: Any) -> tuple[TensorId, bool]:
    """[node, port, value]. Raises ValueError."""
    node, port, value = entry
    if type(value) is not bool:
        raise ValueError("a value that is given is no boolean")
    return decode_tensor_id((node, port)), value


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError("a name is no text")
    return text


def encode_inline(values: Sequence[Any], enclosed: Callable[[Any], Any] | None = None) -> list[Any]:
    """The forms of small tensors, and of tensors to which `enclosed` gives a form, in the order of `values`; nil for
    what has to go as a token."""
    forms: list[Any] = []
    space = _LARGEST
    for value in values[:_MOST]:
        form = None
        if isinstance(value, np.ndarray | np.generic) and value.nbytes <= space:
            name = _NAMES.get(value.dtype)
            if name is not None:
                space -= value.nbytes
                form = [name, value.shape, value.tobytes()]
        elif enclosed is not None:
            form = enclosed(value)
        forms.append(form)
    return forms


def decode_inline(form: Any) -> Any:
    """The tensor of a form, read-only: an array, or a numpy scalar for a number without dimensions. An enclosed tensor
    has arrived as such.

    Raises:
        InvalidArgumentError: it is no form of a tensor.
    """
    if isinstance(form, np.ndarray | np.generic):
        return form
    try:
        name, shape, elements = form
        if type(elements) is not bytes or type(shape) is not list:
            raise TypeError("it is no type, shape and bytes")
        if shape and min(shape) < 0:  # numpy would take -1 for whatever fits
            raise ValueError("it has a size below zero")
        array: Any = np.ndarray(shape, _TYPES[name], elements)
        if array.nbytes != len(elements):
            raise ValueError("it has more bytes than elements")
    except (TypeError, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise InvalidArgumentError(f"What was sent as a small tensor is none: {error}") from error
    return array if array.ndim else array[()]
