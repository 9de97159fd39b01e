"""The Open Inference Protocol (KServe v2) with its binary extension, as `tritonclient` speaks it.

Functions from JSON and bytes to arrays and back. They know nothing of HTTP.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorflow import __version__
from actorflow.base import dtypes
from actorflow.base.dtypes import DType
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.sources.signature import Port, Signature
from actorflow.frontends.serving.protocols.pieces import Work, array_of, load
from actorflow.frontends.serving.protocols.writing import dump_json

TYPES: dict[str, DType] = {
    "BOOL": dtypes.bool, "UINT8": dtypes.uint8, "UINT16": dtypes.uint16, "UINT32": dtypes.uint32, "UINT64": dtypes.uint64,
    "INT8": dtypes.int8, "INT16": dtypes.int16, "INT32": dtypes.int32, "INT64": dtypes.int64, "FP16": dtypes.float16,
    "FP32": dtypes.float32, "FP64": dtypes.float64, "BYTES": dtypes.string,
}  # fmt: skip
"""The types by the names of the protocol."""
_LITTLE = {name: np.dtype(dtype.numpy_dtype).newbyteorder("<") for name, dtype in TYPES.items() if name != "BYTES"}
"""How the bytes of tensors are sent."""
_BY_TYPE = {dtype: name for name, dtype in TYPES.items()}
_BINARY_ONLY = ("FP16", "BF16")
_MOST = 1 << 31
_MOST_HEADS = 64
"""The JSON of answers that is kept for requests of one form."""


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """An inference request: its inputs as arrays, the outputs that it asks for, and which of them as bytes."""

    inputs: dict[str, Any]
    outputs: tuple[str, ...] = ()
    binary: frozenset[str] = frozenset()
    all_binary: bool = False
    id: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def is_binary(self, name: str) -> bool:
        """Whether an output is asked for as bytes."""
        return name in self.binary or self.all_binary and (not self.outputs or name not in self.outputs)


@dataclass(frozen=True, slots=True)
class Input:
    """An input as the JSON of a request describes it: with its data, or with the size of those behind the JSON."""

    name: str
    kind: str
    shape: list[int]
    count: int
    size: Any
    data: Any

    def array(self, data: memoryview, at: int, work: Work) -> tuple[Any, int]:
        """The array, and the place behind its bytes."""
        what, size = f"The input {self.name!r}", self.size
        if size is None:
            return _of_json(what, self.kind, self.shape, self.count, self.data), at
        if type(size) is not int or size < 0 or at + size > len(data):
            raise InvalidArgumentError(
                f"{what} has binary_data_size {size!r:.40}, but {len(data) - at} bytes are left."
            )
        return of_bytes(what, self.kind, self.shape, self.count, data[at : at + size], work), at + size


@dataclass(frozen=True, slots=True)
class _Form:
    """The JSON of a request: all of it but the bytes of tensors."""

    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    binary: frozenset[str]
    all_binary: bool
    id: str
    parameters: Mapping[str, Any]


def datatype(port: Port) -> str:
    """The protocol's name of a port's type."""
    return "BF16" if port.dtype.name == "bfloat16" else _BY_TYPE.get(port.dtype, port.dtype.name.upper())


def json_size(json_length: str) -> int | None:
    """The number of bytes that a header says to be JSON; None if it is no such number."""
    return int(json_length) if json_length.isdecimal() and len(json_length) <= 18 else None


def split(body: bytes, json_length: str | None) -> tuple[bytes, int]:
    """The JSON of a request, and where the bytes of tensors begin.

    Args:
        body: the body, without compression.
        json_length: the header that says how much of it is JSON, where tensors follow.

    Raises:
        InvalidArgumentError: it says more than there is.
    """
    if json_length is None:
        return body, len(body)
    at = json_size(json_length)
    if at is None or at > len(body):
        raise InvalidArgumentError(f"Inference-Header-Content-Length is {json_length[:20]!r} for {len(body)} bytes.")
    return body[:at], at


def read(head: bytes, body: bytes, at: int, work: Work) -> InferenceRequest:
    """A request.

    Args:
        head: its JSON.
        body: the body, without compression.
        at: where the bytes of tensors begin.
        work: its bounds.

    Raises:
        InvalidArgumentError: it has another form; the message names the field.
    """
    form, data = _form(load(head, work)), memoryview(body)
    inputs: dict[str, Any] = {}
    for entry in form.inputs:
        work.check()
        array, at = entry.array(data, at, work)
        inputs[entry.name] = array
    if at != len(data):
        raise InvalidArgumentError(f"{len(data) - at} bytes behind the last tensor belong to no input.")
    return InferenceRequest(inputs, form.outputs, form.binary, form.all_binary, form.id, form.parameters)


def _form(content: Mapping[str, Any]) -> _Form:
    """The JSON of a request."""
    inputs = [input_of(index, entry) for index, entry in enumerate(_list(content, "inputs"))]
    names = [entry.name for entry in inputs]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentError(f"The input {name!r} is there twice.")
    parameters = _parameters(content, "the request")
    outputs, binary = [], set()
    for entry in _list(content, "outputs", needed=False):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise InvalidArgumentError("Each of 'outputs' has to be an object with a name.")
        outputs.append(entry["name"])
        own = _parameters(entry, f"the output {entry['name']!r}")
        if own.get("binary_data") or "binary_data" not in own and parameters.get("binary_data_output"):
            binary.add(entry["name"])
    identifier = content.get("id", "")
    if not isinstance(identifier, str):
        raise InvalidArgumentError("'id' has to be text.")
    all_binary = bool(parameters.get("binary_data_output"))
    return _Form(tuple(inputs), tuple(outputs), frozenset(binary), all_binary, identifier, parameters)


def _list(content: Mapping[str, Any], key: str, needed: bool = True) -> list[Any]:
    entries = content.get(key)
    if entries is None and not needed:
        return []
    if not isinstance(entries, list):
        raise InvalidArgumentError(f"{key!r} has to be a list.")
    return entries


def _parameters(content: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    parameters = content.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise InvalidArgumentError(f"The 'parameters' of {what} have to be an object.")
    return parameters


def input_of(index: int, entry: Any) -> Input:
    """The description of an input.

    Args:
        index: its place among the inputs.
        entry: what a request says of it.

    Raises:
        InvalidArgumentError: it has another form; the message names the field.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise InvalidArgumentError(f"inputs[{index}] has to be an object with a name.")
    name, kind, shape = entry["name"], entry.get("datatype"), entry.get("shape")
    what = f"The input {name!r}"
    if not isinstance(kind, str) or kind not in TYPES and kind != "BF16":
        raise InvalidArgumentError(f"{what} has the datatype {kind!r:.40}, which is not known.")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 32:
        raise InvalidArgumentError(f"{what} has the shape {shape!r:.80}; it has to be a list of sizes.")
    if math.prod(filter(None, shape)) > _MOST:
        raise InvalidArgumentError(f"{what} has the shape {shape!r:.80}, which is too many elements.")
    return Input(
        name, kind, shape, math.prod(shape), _parameters(entry, what).get("binary_data_size"), entry.get("data")
    )


def _of_json(what: str, kind: str, shape: list[int], count: int, values: Any) -> Any:
    if kind in _BINARY_ONLY:
        raise InvalidArgumentError(f"{what}: {kind} has no form in JSON; send it as binary data.")
    if not isinstance(values, (list, np.ndarray)):
        raise InvalidArgumentError(f"{what} has no 'data', which has to be a list.")
    if kind == "BYTES" and isinstance(values, list):
        flat: list[Any] = []
        _flatten(what, values, flat, 0)
        array = np.empty(len(flat), object)
        array[:] = [item.encode() if isinstance(item, str) else item for item in flat]
        if not all(isinstance(item, bytes) for item in array):
            raise InvalidArgumentError(f"{what} has data that is no text.")
    else:
        try:
            array = array_of(values)
            if array.dtype.hasobject and any(item is None for item in array.flat):
                raise ValueError("a null is no value")
            if kind == "BYTES" or array.dtype.kind not in "biuf":
                raise ValueError("they are of another type")
            if array.size and (array.dtype.kind == "b") != (kind == "BOOL"):
                raise ValueError("they are of another type")
            cast = array.astype(TYPES[kind].numpy_dtype)
            if TYPES[kind].is_integer and array.size and not np.array_equal(cast, array):
                raise ValueError("they are out of its range")
            array = cast
        except (ValueError, OverflowError, TypeError, RecursionError) as error:
            raise InvalidArgumentError(f"{what} has data that is no {kind}: {error}.") from None
    if array.size != count:
        raise InvalidArgumentError(f"{what} has {array.size} elements, but the shape {shape} has {count}.")
    return array.reshape(shape)


def _flatten(what: str, values: list[Any], out: list[Any], depth: int) -> None:
    if depth > 32:
        raise InvalidArgumentError(f"{what} has data that is nested too deeply.")
    for value in values:
        if isinstance(value, list):
            _flatten(what, value, out, depth + 1)
        else:
            out.append(value)


def of_bytes(what: str, kind: str, shape: list[int], count: int, data: memoryview, work: Work) -> Any:
    """The array of a tensor that was sent as bytes. Raises InvalidArgumentError for bytes that do not fit."""
    if kind == "BYTES":
        return _strings(what, shape, count, data, work)
    if kind == "BF16":
        if len(data) != 2 * count:
            raise InvalidArgumentError(f"{what} has {len(data)} bytes, but its shape {shape} has {2 * count}.")
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    dtype = _LITTLE[kind]
    if len(data) != dtype.itemsize * count:
        raise InvalidArgumentError(f"{what} has {len(data)} bytes, but its shape {shape} has {dtype.itemsize * count}.")
    if kind == "BOOL":
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    return np.frombuffer(data, dtype).astype(TYPES[kind].numpy_dtype, copy=False).reshape(shape)


def _strings(what: str, shape: list[int], count: int, data: memoryview, work: Work) -> Any:
    work.check_others(count)
    if count * 4 > len(data):
        raise InvalidArgumentError(f"{what} has {len(data)} bytes, too few for {count} elements.")
    texts = np.empty(count, object)
    at = 0
    for index in range(count):
        if at + 4 > len(data):
            raise InvalidArgumentError(f"{what} is cut off at the element {index}.")
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if at + size > len(data):
            raise InvalidArgumentError(f"{what} is cut off in the element {index}.")
        texts[index] = bytes(data[at : at + size])
        if not index % 4096:
            work.check()
        at += size
    if at != len(data):
        raise InvalidArgumentError(f"{what} has {len(data) - at} bytes behind its last element.")
    return texts.reshape(shape)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of the answers to a request: it is that of all requests which ask for the same outputs in the same way.

    content: the JSON without outputs.
    outputs: the name and the type of each output, and whether it goes as bytes.
    is_binary: whether all of them do.
    heads: where all of them do, the JSON that was written for outputs of some shapes and sizes, to be written again.
    """

    content: Mapping[str, Any]
    outputs: tuple[tuple[str, str, bool], ...]
    is_binary: bool
    heads: dict[Any, bytes] = field(default_factory=dict)

    @staticmethod
    def of(
        request: InferenceRequest, name: str, version: int, signature: Signature, wanted: Sequence[str]
    ) -> AnswerForm:
        """The form of the answers to a request.

        Args:
            request: the request.
            name: the model's name.
            version: its version.
            signature: the signature that answers.
            wanted: the names of the outputs.
        """
        kinds = {key: datatype(signature.outputs[key]) for key in wanted}
        ports = tuple([(key, kind, request.is_binary(key) or kind in _BINARY_ONLY) for key, kind in kinds.items()])
        content = {"model_name": name, "model_version": str(version)}
        return AnswerForm(content, ports, all([binary for _, _, binary in ports]))

    def body(self, outputs: Sequence[Any], identifier: str) -> tuple[bytes, int | None]:
        """The body of an answer, and how much of it is JSON where tensors follow.

        Args:
            outputs: the outputs in their order.
            identifier: the id of the request; empty for none.
        """
        arrays = [np.asarray(value) for value in outputs]
        tails = [to_bytes(array, kind) if binary else None for array, (_, kind, binary) in zip(arrays, self.outputs)]
        if self.is_binary:
            key = tuple([(array.shape, len(tail)) for array, tail in zip(arrays, tails)])  # type: ignore[arg-type]
            head = self.heads.get(key)
            if head is None:
                head = self._written(arrays, tails)
                if len(self.heads) < _MOST_HEADS:
                    self.heads[key] = head
        else:
            head = self._written(arrays, tails)
        if identifier:
            head = b'%b,"id":%b}' % (head[:-1], dump_json(identifier, plain=True))
        parts = [tail for tail in tails if tail is not None]
        return (b"".join([head, *parts]), len(head)) if parts else (head, None)

    def _written(self, arrays: Sequence[Any], tails: Sequence[bytes | None]) -> bytes:
        entries = [_output(key, kind, array, tail) for (key, kind, _), array, tail in zip(self.outputs, arrays, tails)]
        return dump_json({**self.content, "outputs": entries}, plain=self.is_binary)


def _output(key: str, kind: str, array: Any, tail: bytes | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": key, "datatype": kind, "shape": list(array.shape)}
    if tail is not None:
        entry["parameters"] = {"binary_data_size": len(tail)}
    elif kind == "BYTES":
        entry["data"] = [_decoded(key, item) for item in array.ravel().tolist()]
    else:
        entry["data"] = array.ravel()
    return entry


def _decoded(key: str, item: Any) -> str:
    try:
        return item.decode() if isinstance(item, bytes) else str(item)
    except UnicodeDecodeError:
        raise InvalidArgumentError(
            f"The output {key!r} has bytes that are no text in UTF-8, so they have no form in JSON. Ask for "
            'them as bytes: "parameters": {"binary_data": true}.'
        ) from None


def to_bytes(array: Any, kind: str) -> bytes:
    """The bytes of a tensor of a type."""
    if kind == "BYTES":
        parts = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel().tolist()]
        return b"".join(piece for part in parts for piece in (struct.pack("<I", len(part)), part))
    if kind == "BOOL":
        return array.astype(np.uint8).tobytes()  # type: ignore[no-any-return]
    return array.astype(_LITTLE.get(kind) or array.dtype.newbyteorder("<"), copy=False).tobytes()  # type: ignore[no-any-return]


def server_metadata() -> dict[str, Any]:
    """The name, the version and the extensions of the server."""
    extensions = ["binary_tensor_data", "model_repository", "model_configuration", "statistics"]
    return {"name": "actorflow", "version": __version__, "extensions": extensions}


def model_metadata(name: str, versions: Sequence[int], signature: Signature) -> dict[str, Any]:
    """The inputs and outputs of a model."""

    def ports(several: Mapping[str, Port]) -> list[dict[str, Any]]:
        return [{"name": key, "datatype": datatype(port), "shape": _sizes(port)} for key, port in several.items()]

    return {
        "name": name,
        "versions": [str(version) for version in versions],
        "platform": "actorflow_graph",
        "inputs": ports(signature.inputs),
        "outputs": ports(signature.outputs),
    }


def _sizes(port: Port) -> list[int]:
    return [-1 if size is None else size for size in (port.shape if port.shape is not None else (None,))]


def configuration(name: str, signature: Signature, max_size: int) -> dict[str, Any]:
    """The configuration of a model, as Triton's clients ask for it."""

    def ports(several: Mapping[str, Port]) -> list[dict[str, Any]]:
        skip = 1 if signature.is_batched else 0
        return [
            {"name": key, "data_type": "TYPE_" + datatype(port).replace("BYTES", "STRING"), "dims": _sizes(port)[skip:]}
            for key, port in several.items()
        ]

    return {
        "name": name,
        "platform": "actorflow_graph",
        "backend": "actorflow",
        "max_batch_size": max_size if signature.is_batched else 0,
        "input": ports(signature.inputs),
        "output": ports(signature.outputs),
    }
