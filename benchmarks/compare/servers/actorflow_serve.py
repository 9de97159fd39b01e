"""`actorflow serve`, with a folder of versions."""

from __future__ import annotations

import json
import shutil
from typing import Any

from benchmarks.compare.server import Body, Place, Server, await_reload, status


def _binary(array: Any) -> Body:
    tensor = {
        "name": "x",
        "shape": array.shape,
        "datatype": "FP32",
        "parameters": {"binary_data_size": array.nbytes},
    }
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    length = f"Inference-Header-Content-Length: {len(head)}\r\n"
    return Body("/v2/models/m/infer", length, head + array.tobytes())


def _json(array: Any) -> Body:
    nested = [[round(value, 4) for value in row] for row in array.reshape(len(array), -1).tolist()]
    tensor = {"name": "x", "shape": array.shape, "datatype": "FP32", "data": nested}
    return Body("/v2/models/m/infer", "", json.dumps({"inputs": [tensor]}).encode())


def _version(place: Place, number: int) -> None:
    """The file as a version; the folder has its name when the file is whole."""
    beside = place.folder / "beside"
    beside.mkdir()
    shutil.copy(place.model, beside / "model.onnx")
    (place.folder / "versions").mkdir(exist_ok=True)
    beside.rename(place.folder / "versions" / str(number))


def _reload(place: Place, process: int) -> None:
    _version(place, 2)
    await_reload(lambda: status(place.port, "GET", "/v2/models/m/versions/2/ready") == 200)


SERVER = Server(
    name="actorflow",
    title="`actorflow serve`",
    packages=("httptools", "orjson", "uvloop"),
    has_actorflow=True,
    about="the command, with its own batches and bounds, and the packages of the extra `serving`",
    command=lambda place: [
        *(str(place.python), "-m", "actorflow", "serve", f"m={place.folder / 'versions'}"),
        *("--port", str(place.port), "--timeout", "60"),
    ],
    bodies={"json": _json, "binary": _binary},
    prepare=lambda place: _version(place, 1),
    reload=_reload,
)
