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

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.onnx", __name__)
