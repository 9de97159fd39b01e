# `make names` writes this file from the marks in the sources.

from actorflow.exchange.onnx.backend import Backend as Backend
from actorflow.exchange.onnx.exporter.save import save as save
from actorflow.exchange.onnx.model import Model as Model
from actorflow.exchange.onnx.model import load as load

__all__ = [
    "Backend",
    "Model",
    "load",
    "save",
]
