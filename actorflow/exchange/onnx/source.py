"""ONNX files as a kind of files with models."""

from __future__ import annotations

import os
from collections.abc import Collection

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.model import load
from actorflow.exchange.sources.source import DEFAULT, Signatures, Source, SourceKind, no_values, stated
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor


def _read(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    graph = Graph()
    with graph.as_default():
        model = load(path)
    for name, tensor in (*model.inputs.items(), *model.outputs.items()):
        if not isinstance(tensor, Tensor):
            raise InvalidArgumentError(f"{name!r} of {path!r} is no single dense tensor, and so it can't be served.")
    ports = {DEFAULT: (model.inputs, model.outputs)}
    return Source(graph, stated(graph, signatures or ports), no_values)


KIND = SourceKind("an ONNX file", lambda path: path.endswith(".onnx") and os.path.isfile(path), _read)
