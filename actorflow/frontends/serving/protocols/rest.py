"""TensorFlow Serving's REST interface: requests and answers of predict, classify and regress, status and metadata.

Functions from JSON to arrays and back. They know nothing of HTTP.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.records.example import Example
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.sources.signature import CLASSIFY, REGRESS, Port, Signature
from actorflow.exchange.sources.source import DEFAULT
from actorflow.frontends.serving.protocols.pieces import array_of
from actorflow.frontends.serving.protocols.writing import PIECE, WrittenRows
from actorflow.frontends.serving.versions import Version
from actorflow.graph.graphdef.attributes import shape_proto
from actorflow.graph.graphdef.protos import DATA_TYPES

_CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"),
    *("NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"),
    *("FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL"),
    *("UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)

_TYPES = dict(DATA_TYPES)
_BASE64_PIECE = 256 << 10


def signature_name(body: Mapping[str, Any]) -> str:
    """The name of the signature that a request asks for.

    Raises:
        InvalidArgumentError: it is no text.
    """
    name = body.get("signature_name") or DEFAULT
    if not isinstance(name, str):
        raise InvalidArgumentError("'signature_name' key must be a string value.")
    return name


def predict_inputs(body: Mapping[str, Any], signature: Signature) -> tuple[dict[str, Any], bool]:
    """The inputs of a predict request, and whether it has rows (`instances`) or columns (`inputs`).

    Raises:
        InvalidArgumentError: the request has another form.
    """
    if "instances" in body:
        if "inputs" in body:
            raise InvalidArgumentError("Not formatted correctly: a request has 'instances' or 'inputs', not both.")
        return _rows(body["instances"], signature), True
    if "inputs" not in body:
        raise InvalidArgumentError("Missing 'inputs' or 'instances' key")
    return _columns(body["inputs"], signature), False


def _rows(instances: Any, signature: Signature) -> dict[str, Any]:
    if not isinstance(instances, (list, np.ndarray)):
        raise InvalidArgumentError("Expecting 'instances' value to be a list/array")
    if not len(instances):
        raise InvalidArgumentError("No values in the value list: 'instances' is empty.")
    names = signature.inputs
    first = instances[0]
    if isinstance(first, dict) and not _is_bytes(first):
        several: dict[str, list[Any]] = {name: [] for name in first}
        for index, row in enumerate(instances):
            if not isinstance(row, dict) or row.keys() != first.keys():
                raise InvalidArgumentError(
                    f"Failed to process element: {index} of 'instances' list. Error: expected an object with the keys "
                    f"{sorted(first)}"
                )
            for name, value in row.items():
                several[name].append(value)
        return {name: _value(name, names.get(name), values) for name, values in several.items()}
    if len(names) != 1:
        raise InvalidArgumentError(
            f"instances is a plain list, but expecting list of objects as multiple input tensors required as per "
            f"tensorinfo_map: {sorted(names)}"
        )
    ((name, port),) = names.items()
    return {name: _value(name, port, instances)}


def _columns(inputs: Any, signature: Signature) -> dict[str, Any]:
    names = signature.inputs
    if isinstance(inputs, dict) and not _is_bytes(inputs):
        return {name: _value(name, names.get(name), value) for name, value in inputs.items()}
    if len(names) != 1:
        raise InvalidArgumentError(
            f"inputs is a plain value/list, but expecting an object as multiple input tensors required as per "
            f"tensorinfo_map: {sorted(names)}"
        )
    ((name, port),) = names.items()
    return {name: _value(name, port, inputs)}


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def _value(name: str, port: Port | None, value: Any) -> Any:
    """A JSON value as an array. Objects with `b64` are bytes."""
    if port is not None and port.dtype is string:
        shape: list[int] = []
        at = value
        while isinstance(at, list):
            shape.append(len(at))
            at = at[0] if at else None
            if len(shape) > 32:
                raise InvalidArgumentError(f"The input {name!r} is nested too deeply.")
        flat: list[bytes] = []
        _flatten(name, value, shape, 0, flat)
        texts = np.empty(len(flat), object)
        texts[:] = flat
        return texts.reshape(shape)
    try:
        array = array_of(value)
    except (ValueError, OverflowError, RecursionError):
        raise InvalidArgumentError(
            f"Tensor name: {name} has inconsistent batch size or shape: lists of one level have different sizes"
        ) from None
    if array.dtype.hasobject and any(item is None for item in array.flat):
        raise InvalidArgumentError(
            f"The input {name!r} has a null, which is no number. Missing values are sent as NaN."
        )
    return array


def _flatten(name: str, value: Any, shape: Sequence[int], depth: int, out: list[bytes]) -> None:
    if depth == len(shape):
        if isinstance(value, str):
            out.append(value.encode())
            return
        if _is_bytes(value) and isinstance(value["b64"], str):
            try:
                out.append(_decoded(value["b64"]))
                return
            except (binascii.Error, ValueError):
                raise InvalidArgumentError(f"Unable to base64 decode a value of the input {name!r}.") from None
        raise InvalidArgumentError(
            f"The input {name!r} takes text, or bytes as an object with 'b64', not {value!r:.60}."
        )
    if not isinstance(value, list) or len(value) != shape[depth]:
        raise InvalidArgumentError(f"Tensor name: {name} has inconsistent batch size or shape")
    for item in value:
        _flatten(name, item, shape, depth + 1, out)


def _decoded(text: str) -> bytes:
    """Bytes that were sent as base64; in pieces if there are many."""
    data = text.encode("ascii")
    parts = [
        binascii.a2b_base64(data[at : at + _BASE64_PIECE], strict_mode=True)
        for at in range(0, len(data), _BASE64_PIECE)
    ]
    if any(len(part) < _BASE64_PIECE // 4 * 3 for part in parts[:-1]):
        raise ValueError("The end is in the middle.")
    return b"".join(parts)


def predict_answer(outputs: Mapping[str, Any], by_rows: bool) -> dict[str, Any]:
    """The answer of a predict request.

    Raises:
        InvalidArgumentError: rows are asked for, and the outputs have different numbers of them.
    """
    values = {name: _shown(name, value) for name, value in outputs.items()}
    if len(values) == 1:
        (value,) = values.values()
        if by_rows and not np.ndim(next(iter(outputs.values()))):
            raise InvalidArgumentError("The output has no rows; ask with 'inputs' instead of 'instances'.")
        return {"predictions" if by_rows else "outputs": value}
    if not by_rows:
        return {"outputs": values}
    arrays = {name: np.asarray(value) for name, value in outputs.items()}
    for name, array in arrays.items():
        if not array.ndim:
            raise InvalidArgumentError(f"The output {name!r} has no rows; ask with 'inputs' instead of 'instances'.")
    first: int = next(iter(arrays.values())).shape[0]
    for name, array in arrays.items():
        if len(array) != first:
            raise InvalidArgumentError(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {first}"
            )
    width = sum(array.size for array in arrays.values()) // max(1, first)

    def part(begin: int, end: int) -> list[dict[str, Any]]:
        columns = [_listed(value[begin:end], width) for value in values.values()]
        return [dict(zip(values, row)) for row in zip(*columns)]

    return {"predictions": part(0, first) if first * width <= PIECE else WrittenRows(first, width, part)}


def _listed(rows: Any, width: int) -> Any:
    """Rows of an output as a list; of wide rows, each of which is written alone, as arrays."""
    return rows.tolist() if isinstance(rows, np.ndarray) and (width <= PIECE or rows.ndim == 1) else rows


def _shown(name: str, value: Any) -> Any:
    """An output as JSON takes it: text as it is, bytes that are none, or whose name says so, as `b64`."""
    array = np.asarray(value)
    if array.dtype.kind not in "OSV" or array.dtype.kind == "V":
        return array if array.dtype.kind in "fiub" and array.dtype.itemsize <= 8 else array.astype(np.float32)
    return _text(array.tolist(), name.endswith("_bytes"))


def _text(value: Any, coded: bool) -> Any:
    if isinstance(value, list):
        return [_text(item, coded) for item in value]
    if isinstance(value, bytes) and not coded:
        try:
            return value.decode()
        except UnicodeDecodeError:
            coded = True
    return {"b64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def examples(body: Mapping[str, Any], signature: Signature, method: str) -> dict[str, Any]:
    """The input of a classify or regress request: serialised examples.

    Raises:
        InvalidArgumentError: the signature has another method, or the request another form.
    """
    expected = CLASSIFY if method == "classify" else REGRESS
    if signature.method != expected:
        raise InvalidArgumentError(
            f"Expected {'classification' if method == 'classify' else 'regression'} signature method_name to be {expected}. "
            f"Was: {signature.method}"
        )
    rows = body.get("examples")
    if not isinstance(rows, list) or not rows:
        raise InvalidArgumentError(
            "When method is classify/regress, key 'examples' is expected and has to be a list/array"
        )
    context = body.get("context", {})
    if not isinstance(context, dict) or not all(isinstance(row, dict) for row in rows):
        raise InvalidArgumentError("'context' and each of 'examples' have to be objects of features.")
    column = np.empty(len(rows), object)
    keys = rows[0].keys()
    for index, row in enumerate(rows):
        if row.keys() != keys:
            raise InvalidArgumentError(
                f"Example: {index} has the keys {sorted(row)}; keys must be equal to {sorted(keys)}"
            )
        column[index] = _example({**context, **row})
    (name,) = signature.inputs
    return {name: column}


def _example(features: Mapping[str, Any]) -> bytes:
    example = Example()
    for name, value in features.items():
        values = value.tolist() if isinstance(value, np.ndarray) else value if isinstance(value, list) else [value]
        feature = example.features.feature[name]
        if any(isinstance(item, bool) for item in values):
            raise InvalidArgumentError(f"The feature {name!r} has a bool; numbers, text and b64 are taken.")
        if all(isinstance(item, int) for item in values) and values:
            if any(abs(item) >= 1 << 63 for item in values):
                raise InvalidArgumentError(f"The feature {name!r} has numbers that are no int64.")
            feature.int64_list.value.extend(values)
        elif all(isinstance(item, (int, float)) for item in values):
            try:
                feature.float_list.value.extend([float(item) for item in values])
            except OverflowError:
                raise InvalidArgumentError(f"The feature {name!r} has numbers that are no float.") from None
        else:
            flat: list[bytes] = []
            _flatten(name, values, [len(values)], 0, flat)
            feature.bytes_list.value.extend(flat)
    return example.SerializeToString()


def results(outputs: Mapping[str, Any], method: str, rows: int) -> dict[str, Any]:
    """The answer of a classify or regress request.

    Raises:
        InvalidArgumentError: the outputs are none of this method.
    """
    if method == "regress":
        if "outputs" not in outputs:
            raise InvalidArgumentError(f"A regression needs the output 'outputs'; the signature has {sorted(outputs)}.")
        value = np.asarray(outputs["outputs"])
        if value.size != rows:
            raise InvalidArgumentError(
                f"A regression gives a number for each example, but the shape is {list(value.shape)}."
            )
        return {"results": value.reshape(rows)}
    classes, scores = outputs.get("classes"), outputs.get("scores")
    shapes = [np.shape(value) for value in (scores, classes) if value is not None]
    if not shapes:
        raise InvalidArgumentError(
            f"A classification needs the output 'scores' or 'classes'; the signature has {sorted(outputs)}."
        )
    if len(shapes[0]) != 2 or any(shape != shapes[0] for shape in shapes) or shapes[0][0] != rows:
        raise InvalidArgumentError(
            f"A classification gives a row of classes for each example, but the shape is {list(shapes[0])}."
        )
    count = shapes[0][1]

    def part(begin: int, end: int) -> list[Any]:
        some = min(end, rows) - begin
        labels = [[""] * count] * some if classes is None else _text(np.asarray(classes[begin:end]).tolist(), False)
        numbers = [[0.0] * count] * some if scores is None else np.asarray(scores[begin:end]).tolist()
        return [[list(pair) for pair in zip(a, b)] for a, b in zip(labels, numbers)]

    return {"results": part(0, rows) if rows * count <= PIECE else WrittenRows(rows, count, part)}


def status(versions: Sequence[Version]) -> dict[str, Any]:
    """The states of versions, the newest first."""
    return {
        "model_version_status": [
            {
                "version": str(version.number),
                "state": version.state,
                "status": {
                    "error_code": _CODES[version.error.code if version.error is not None else 0],
                    "error_message": "" if version.error is None else version.error.message,
                },
            }
            for version in sorted(versions, key=lambda v: -v.number)
        ]
    }


def metadata(name: str, version: int, signatures: Mapping[str, Signature]) -> dict[str, Any]:
    """The signatures of a version."""
    described = {
        key: {
            "inputs": {n: _info(p) for n, p in signature.inputs.items()},
            "outputs": {n: _info(p) for n, p in signature.outputs.items()},
            "method_name": signature.method,
            "defaults": {},
        }
        for key, signature in signatures.items()
    }
    return {
        "model_spec": {"name": name, "signature_name": "", "version": str(version)},
        "metadata": {"signature_def": {"signature_def": described}},
    }


def _info(port: Port) -> dict[str, Any]:
    shape = shape_proto(port.shape)
    return {
        "dtype": _TYPES[port.dtype.code],
        "tensor_shape": {
            "dim": [{"size": str(dim.size), "name": ""} for dim in shape.dim],
            "unknown_rank": port.shape is None,
        },
        "name": port.tensor,
    }
