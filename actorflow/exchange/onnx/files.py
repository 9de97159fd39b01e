"""Files of models: the message in a file, and what a file is that holds none."""

from __future__ import annotations

import io
import mmap
import os
import zipfile
from pathlib import Path
from typing import Any

from actorflow.base.paths import path_text
from actorflow.base.records.wire import BrokenMessageError
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.protos import ModelProto, TensorProto
from actorflow.exchange.onnx.tensors import DataFolders

_BEGINS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"version https://git-lfs", "a pointer of Git LFS; `git lfs pull` gets the file itself"),
    (0, b"/annex/objects/", "a pointer of git-annex; `git annex get` gets the file itself"),
    (0, b"outs:", "a pointer of DVC; `dvc pull` gets the file itself"),
    (4, b"TFL3", "a model of TensorFlow Lite"),
    (4, b"ORTM", "a model in the format ORT of onnxruntime; load the file .onnx that it was made from"),
    (0, b"\x89HDF", "an HDF5 file, as Keras writes its models"),
    (0, b"GGUF", "a GGUF file"),
    (0, b"\x93NUMPY", "an array of numpy"),
    (0, b"\x1f\x8b", "compressed by gzip; unpack it first"),
    (0, b"BZh", "compressed by bzip2; unpack it first"),
    (0, b"\xfd7zXZ", "compressed by xz; unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first"),
    (0, b"7z\xbc\xaf", "an archive of 7-Zip; unpack it first"),
    (0, b"Rar!", "an archive of RAR; unpack it first"),
    (257, b"ustar", "a tar archive; unpack it first"),
    (0, b"\x7fELF", "a program or a library"),
    (0, b"%PDF", "a PDF document"),
    (0, b"\x89PNG", "a picture in PNG"),
    (0, b"\xff\xd8\xff", "a picture in JPEG"),
    (0, b"GIF8", "a picture in GIF"),
    (0, b"\x08\x01\x12", "a SavedModel of TensorFlow; `af.saved_model.load` reads its folder"),
)  # fmt: skip
"""Kinds of files: the place of the mark, the mark, and the words for such a file."""

_INSIDE: tuple[tuple[str, str], ...] = (
    (".onnx", "a zip archive with an ONNX model in it; unpack it first"),
    ("data.pkl", "a checkpoint or program of PyTorch; `torch.onnx.export` makes ONNX models"),
    ("constants.pkl", "a program of PyTorch; `torch.onnx.export` makes ONNX models"),
    ("config.json", "a model of Keras; `model.export(path, format='onnx')` makes ONNX models"),
    (".npy", "an archive of numpy's arrays"),
)  # fmt: skip
"""Members of a zip archive by the ends of their names, and what the archive is."""


def kind_of(data: Any) -> str | None:
    """The kind of a file that is no ONNX model, in words; None for a file without a mark."""
    head = bytes(data[:512])
    for at, mark, kind in _BEGINS:
        if head[at : at + len(mark)] == mark:
            return kind
    if head[:2] == b"PK":
        return _archive(data)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a pickle of Python, as older PyTorch and scikit-learn write; export the model as ONNX"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32:
        return "a file of safetensors, which has weights and no graph"
    return _text(head)


def _archive(data: Any) -> str:
    try:
        names = zipfile.ZipFile(io.BytesIO(bytes(data))).namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return "a zip archive that is cut off"
    for end, kind in _INSIDE:
        if any(name.endswith(end) for name in names):
            return kind
    return "a zip archive"


def _text(head: bytes) -> str | None:
    text = head.decode("utf-8-sig", "replace").lstrip()
    lowered = text.lower()
    if lowered.startswith(("<!doctype html", "<html", "<head", "<body")):
        return "a page of HTML, as servers send in place of a file that is not there"
    if lowered.startswith("<?xml") or (lowered.startswith("<") and b"xml" in head[:64]):
        return "a file of XML"
    if lowered.startswith(("ir_version:", "<\nir_version", "< ir_version", "<ir_version", "<\n  ir_version")):
        return "an ONNX model as text; `onnx.parser` or `google.protobuf.text_format` reads that"
    if head and not any(byte < 9 or 13 < byte < 32 for byte in head) and "\ufffd" not in text[:-4]:
        return "text that begins " + repr(text[:40])
    return None


def read(source: Any, folder: Any = None) -> tuple[Any, DataFolders | None]:
    """The message of a model, and the folders of its external data.

    Raises:
        InvalidArgumentError: the source is no ONNX model, or cut off; the message says what the file is.
        OSError: the file can't be read.
    """
    if hasattr(source, "SerializeToString"):
        data: Any = source.SerializeToString()
        name, folders = "The message", None if folder is None else DataFolders.of(folder)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data, name = source, f"The source, {len(source)} bytes,"
        folders = None if folder is None else DataFolders.of(folder)
    else:
        path = Path(path_text(source, "source"))
        name, folders = f"The file {os.fspath(path)!r}", DataFolders.of(folder, path)
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
    return _message(data, name), folders


def _message(data: Any, name: str) -> Any:
    if not len(data):
        raise InvalidArgumentError(f"{name} is no ONNX model: it is empty, so it has no graph.")
    damage: BrokenMessageError | None = None
    try:
        proto = ModelProto.FromString(data)
        if proto.HasField("graph"):
            return proto
    except BrokenMessageError as error:
        damage = error
    kind = kind_of(data) or _other_message(data)
    if kind is not None:
        raise InvalidArgumentError(f"{name} is no ONNX model: it is {kind}.")
    if damage is None:
        raise InvalidArgumentError(f"{name} is no ONNX model: it has no graph.")
    failure = InvalidArgumentError(f"{name} is no ONNX model, or one that is damaged or cut off: {damage.message}")
    for note in getattr(damage, "__notes__", ()):
        failure.add_note(note)
    raise failure


def _other_message(data: Any) -> str | None:
    """The kind of a message of Protocol Buffers that is no model."""
    try:
        if TensorProto.FromString(data).HasField("raw_data"):
            return "a tensor of ONNX (a `TensorProto`), such as test data are"
    except BrokenMessageError:
        pass
    return "a GraphDef of TensorFlow, which `af.import_graph_def` reads" if bytes(data[:1]) == b"\x0a" else None
