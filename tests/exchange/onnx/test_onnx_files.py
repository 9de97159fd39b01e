"""Files of models: caches of links, and what is said of a file that holds no model."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_models import answers, model, node

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.tensors import tensor_proto

WEIGHTS = np.arange(3, dtype=np.float32)
X = np.ones(3, np.float32)


def plain() -> Any:
    return model([node("Add", "x w", "y")], {"x": ("float32", (3,))}, "y", {"w": WEIGHTS})


def apart(location: str = "model.onnx_data") -> bytes:
    """A model whose weight lies in another file."""
    proto = plain()
    weight = proto.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = 1
    weight.external_data.add(key="location", value=location)
    return bytes(proto.SerializeToString())


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name in names:
            made.writestr(name, b"abc")
    return buffer.getvalue()


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        made.addfile(tarfile.TarInfo("model.onnx"), io.BytesIO())
    return buffer.getvalue()


def numpys() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, WEIGHTS)
    return buffer.getvalue()


def graph_def() -> bytes:
    with af.Graph().as_default() as graph:
        af.placeholder(af.float32, [3], name="x")
    return bytes(graph.as_graph_def().SerializeToString())


WHOLE = plain().SerializeToString()
NO_MODELS = {
    "a page of HTML": b"<!DOCTYPE html>\n<html><body>404</body></html>",
    "page of HTML": b"<html>404</html>",
    "pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n",
    "pointer of git-annex": b"/annex/objects/SHA256E-s5--0.onnx\n",
    "pointer of DVC": b"outs:\n- md5: 0\n  path: model.onnx\n",
    "text that begins": b"Repository not found",
    "text that begins '{": b'{"error": "not found"}',
    "XML": b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>',
    "ONNX model as text": b'ir_version: 8\nproducer_name: "me"\n',
    "PyTorch": archive("archive/data.pkl", "archive/version"),
    "model of Keras": archive("metadata.json", "config.json", "model.weights.h5"),
    "with an ONNX model in it": archive("model.onnx"),
    "archive of numpy's arrays": archive("w.npy"),
    "zip archive that is cut off": archive("model.onnx")[:40],
    "pickle of Python": pickle.dumps([1, 2]),
    "safetensors": (2).to_bytes(8, "little") + b"{}",
    "TensorFlow Lite": b"\x1c\0\0\0TFL3" + bytes(20),
    "onnxruntime": b"\x1c\0\0\0ORTM" + bytes(20),
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(20),
    "GGUF": b"GGUF\x03\0\0\0" + bytes(20),
    "array of numpy": numpys(),
    "gzip": gzip.compress(WHOLE),
    "tar archive": tar(),
    "SavedModel": b"\x08\x01\x12\x02\x0a\x00",
    "GraphDef": graph_def(),
    "TensorProto": tensor_proto(WEIGHTS, "w").SerializeToString(),
    "empty": b"",
    "has no graph": b"\x08\x08",
    "cut off": WHOLE[: len(WHOLE) // 2],
}
"""Words of the message, and the bytes of a file."""


@pytest.mark.parametrize("said", NO_MODELS)
def test_a_file_that_is_no_model_is_named_by_what_it_is(said: str, tmp_path: Path) -> None:
    path = tmp_path / "resnet.onnx"
    path.write_bytes(NO_MODELS[said])
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError) as caught:
        af.onnx.load(path)
    assert said in str(caught.value)
    assert "resnet.onnx" in str(caught.value)
    assert "is no ONNX model" in str(caught.value)


def test_an_error_within_a_model_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "resnet.onnx"
    path.write_bytes(model([node("Add", "x gone", "y")], {"x": ("float32", (3,))}, "y").SerializeToString())
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match="gone") as caught:
        af.onnx.load(path)
    assert any("resnet.onnx" in note for note in caught.value.__notes__)


LAYOUTS = {
    "blobs of a hub": ("blobs/1", "blobs/2", "snapshots/1/model.onnx", "snapshots/1/model.onnx_data"),
    "blobs of a hub, in a folder": ("blobs/1", "blobs/2", "snapshots/1/onnx/m.onnx", "snapshots/1/onnx/model.onnx_data"),
    "the model is a link": ("store/m.onnx", "store/model.onnx_data", "here/m.onnx", None),
    "links below the folder": ("here/m.onnx", "here/big/1", None, "here/model.onnx_data"),
}  # fmt: skip
"""The files of a model and of its data, and the links to them."""


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_external_data_are_read_through_links(layout: str, tmp_path: Path) -> None:
    model_file, data_file, model_link, data_link = LAYOUTS[layout]
    for name, content in ((model_file, apart()), (data_file, WEIGHTS.tobytes())):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for link, name in ((model_link, model_file), (data_link, data_file)):
        if link is not None:
            (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / link).symlink_to("../" * link.count("/") + name)
    found = await answers(tmp_path / (model_link or model_file), {"x": X})
    np.testing.assert_array_equal(found["y"], WEIGHTS + 1)


async def test_a_link_to_another_place_is_followed_where_the_caller_names_the_folder_around_both(
    tmp_path: Path,
) -> None:
    for folder in ("model", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "model" / "m.onnx").write_bytes(apart())
    (tmp_path / "elsewhere" / "secret").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "model" / "model.onnx_data").symlink_to("../elsewhere/secret")
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match="outside of the model's folder") as caught:
        af.onnx.load(tmp_path / "model" / "m.onnx")
    assert "folder=" in str(caught.value.hint)
    found = await answers(tmp_path / "model" / "m.onnx", {"x": X}, folder=tmp_path)
    np.testing.assert_array_equal(found["y"], WEIGHTS + 1)


@pytest.mark.parametrize("location", ["../secret", "a/../../secret", "/etc/hostname", "", "a\0b", "."])
def test_a_location_that_leads_out_is_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(WEIGHTS.tobytes())
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "m.onnx"
    path.write_bytes(apart(location))
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match="external_data of the tensor 'w'"):
        af.onnx.load(path)
