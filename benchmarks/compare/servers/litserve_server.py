"""LitServe, with one worker."""

from __future__ import annotations

import base64
import json
from typing import Any

from benchmarks.compare.server import JSON, PROGRAMS, Body, Server, instances


def _base64(array: Any) -> Body:
    return Body("/predict", JSON, json.dumps({"base64": base64.b64encode(array.tobytes()).decode()}).encode())


SERVER = Server(
    name="litserve",
    title="LitServe",
    packages=("litserve", "onnxruntime"),
    about="one worker, batches of 32 and 2 ms; its bodies are JSON, so bytes go as base64 in JSON",
    command=lambda place: [str(place.python), str(PROGRAMS / "litserve_program.py"), str(place.port)],
    bodies={"json": instances("/predict"), "binary": _base64},
    program="litserve_program.py",
)
