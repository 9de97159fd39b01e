"""MLServer, with the model in its own process."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.compare.server import JSON, PROGRAMS, Body, Place, Server, status


def _prepare(place: Place) -> None:
    """The two files that MLServer reads."""
    settings: dict[str, Any] = {
        "host": "127.0.0.1",
        "http_port": place.port,
        "parallel_workers": 0,
        "metrics_port": place.port + 1,
    }
    settings |= {"grpc_port": place.port + 2, "debug": False}
    model: dict[str, Any] = {
        "name": "m",
        "implementation": "mlserver_program.Model",
        "parameters": {"uri": str(place.model)},
    }
    model |= {"max_batch_size": 32, "max_batch_time": 0.002}
    (place.folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (place.folder / "model-settings.json").write_text(json.dumps(model), encoding="utf-8")


def _json(array: Any) -> Body:
    data = [round(value, 4) for value in array.ravel().tolist()]
    tensor = {"name": "x", "shape": array.shape, "datatype": "FP32", "data": data}
    return Body("/v2/models/m/infer", JSON, json.dumps({"inputs": [tensor]}).encode())


def _reload(place: Place) -> None:
    if (answer := status(place.port, "POST", "/v2/repository/models/m/load")) != 200:
        raise RuntimeError(f"MLServer answers {answer} to the load of its model.")


SERVER = Server(
    name="mlserver",
    title="MLServer",
    packages=("mlserver", "onnxruntime"),
    about="a runtime of its own, batches of 32 and 2 ms, no parallel workers",
    command=lambda place: [str(place.script / "mlserver"), "start", str(place.folder)],
    bodies={"json": _json},
    program="mlserver_program.py",
    prepare=_prepare,
    reload=lambda place, process: _reload(place),
    environment={"PYTHONPATH": str(PROGRAMS)},
    has_loop=True,
)
