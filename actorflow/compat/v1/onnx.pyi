# `make names` writes this file from the marks in the sources.

from actorflow.exchange.onnx.backend import Backend as Backend
from actorflow.exchange.onnx.exporter.save import save as save
from actorflow.exchange.onnx.inference.arguments import ModelMetadata as ModelMetadata
from actorflow.exchange.onnx.inference.arguments import NodeArg as NodeArg
from actorflow.exchange.onnx.inference.options import ExecutionMode as ExecutionMode
from actorflow.exchange.onnx.inference.options import GraphOptimizationLevel as GraphOptimizationLevel
from actorflow.exchange.onnx.inference.options import RunOptions as RunOptions
from actorflow.exchange.onnx.inference.options import SessionOptions as SessionOptions
from actorflow.exchange.onnx.inference.providers import get_available_providers as get_available_providers
from actorflow.exchange.onnx.inference.providers import get_device as get_device
from actorflow.exchange.onnx.inference.session import InferenceSession as InferenceSession
from actorflow.exchange.onnx.inference.values import IOBinding as IOBinding
from actorflow.exchange.onnx.inference.values import OrtValue as OrtValue
from actorflow.exchange.onnx.model import Model as Model
from actorflow.exchange.onnx.model import load as load

__all__ = [
    "Backend",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "Model",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_available_providers",
    "get_device",
    "load",
    "save",
]
