# `make names` writes this file from the marks in the sources.

from actorflow.onnx.backend import Backend as Backend
from actorflow.onnx.exporter.save import save as save
from actorflow.onnx.model import Model as Model
from actorflow.onnx.model import load as load

__all__ = [
    "Backend",
    "Model",
    "load",
    "save",
]
