# `make names` writes this file from the marks in the sources.

"""ONNX models in and out, without another package: `af.onnx.load`, `af.onnx.save`.

A file is read by our own reader of Protocol Buffers. Each of its nodes is brought to its newest form, and then built by the
builder of its op, over public ops. Weights are constants, or variables that can be trained.

files.py       the message of a file, and what a file is that holds none
protos.py      the messages of files
types.py       element types and types of values
tensors.py     tensors of files as arrays, external data
nodes.py       `OnnxNode`, and the table of builders
upgrade.py     nodes in their newest form
values.py      values while a graph is built: tensors, known arrays, sequences, optionals
importer.py    `Scope`: walks over the nodes and builds them
functions.py   functions of a model
ports.py       what is fed and fetched
model.py       `load`
source.py      ONNX files as a kind of files with models
backend.py     `Backend`, for ONNX's own test suite
builders/      the builders of ops, by family
exporter/      `save`: graphs as ONNX files, by a rule for each op
inference/     `InferenceSession`: the names that users of onnxruntime know, with `await session.run_async(...)`
"""

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
