"""Signatures and files of graphs as JSON, in the standard form of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.dtypes import as_dtype
from actorflow.errors import DataLossError
from actorflow.graph.graphdef.attributes import shape_of, shape_proto
from actorflow.graph.graphdef.protos import BY_CODE, MetaGraphDef, SignatureDef, TensorInfo

FORMAT = "actorflow.saved_model"
VERSION = 1


def described(message: MetaGraphDef, file: str, checksum: str) -> dict[str, Any]:
    """One graph of a folder: its tags, its file, its signatures and assets.

    Args:
        message: the graph.
        file: the name of the file that has its nodes.
        checksum: the SHA-256 of that file.
    """
    return {
        "tags": sorted(message.meta_info_def.tags),
        "graph": file,
        "sha256": checksum,
        "signatures": {name: _signature(entry) for name, entry in sorted(message.signature_def.items())},
        "assets": {entry.filename: entry.tensor_info.name for entry in message.asset_file_def},
    }


def restored(entry: Mapping[str, Any], message: MetaGraphDef) -> MetaGraphDef:
    """The message with what the description of its graph says.

    Args:
        entry: the description.
        message: the nodes, which get the rest.

    Raises:
        DataLossError: the description has other fields or types than it should.
    """
    try:
        message.meta_info_def.ClearField("tags")
        message.meta_info_def.tags.extend([str(tag) for tag in entry["tags"]])
        for name, signature in entry["signatures"].items():
            message.signature_def[name].CopyFrom(_restored_signature(signature))
        for filename, tensor in entry["assets"].items():
            asset = message.asset_file_def.add(filename=filename)
            asset.tensor_info.name = tensor
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataLossError(f"The description of a saved model can't be read: {error!r:.200}.") from None
    return message


def _signature(message: SignatureDef) -> dict[str, Any]:
    return {
        "method": message.method_name,
        "inputs": {name: _tensor(info) for name, info in sorted(message.inputs.items())},
        "outputs": {name: _tensor(info) for name, info in sorted(message.outputs.items())},
    }


def _tensor(info: TensorInfo) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if info.WhichOneof("encoding") == "coo_sparse":
        sparse = info.coo_sparse
        names = (sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name)
        record["sparse"] = list(names)
    else:
        record["name"] = info.name
    if info.dtype in BY_CODE:
        record["dtype"] = BY_CODE[info.dtype].name
        shape = shape_of(info.tensor_shape)
        record["shape"] = None if shape is None else [-1 if size is None else size for size in shape]
    return record


def _restored_signature(entry: Mapping[str, Any]) -> SignatureDef:
    signature = SignatureDef(method_name=entry["method"])
    for place, several in ((signature.inputs, entry["inputs"]), (signature.outputs, entry["outputs"])):
        for name, tensor in several.items():
            place[name].CopyFrom(_restored_tensor(tensor))
    return signature


def _restored_tensor(entry: Mapping[str, Any]) -> TensorInfo:
    info = TensorInfo()
    if "sparse" in entry:
        indices, values, shape = entry["sparse"]
        sparse = info.coo_sparse
        sparse.indices_tensor_name, sparse.values_tensor_name, sparse.dense_shape_tensor_name = indices, values, shape
    else:
        info.name = entry["name"]
    if "dtype" in entry:
        info.dtype = as_dtype(entry["dtype"]).code
        sizes = entry["shape"]
        static = None if sizes is None else tuple(None if size < 0 else int(size) for size in sizes)
        info.tensor_shape.CopyFrom(shape_proto(static))
    return info
