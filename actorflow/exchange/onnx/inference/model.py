"""`OnnxModel`: an ONNX file, and the graphs that its feeds ask for.

Nearly all files have a single graph, which is built when the file is opened. Two kinds have more. Initializers that are inputs as
well are constants until a run feeds them, which then has a graph in which they are inputs. And some inputs decide about the graph
itself, such as the axes that a node squeezes: such a graph is built for the values that a run brings.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from actorflow.base.process import forks
from actorflow.errors import OpError
from actorflow.exchange.onnx.files import read
from actorflow.exchange.onnx.inference.arguments import ModelMetadata, NodeArg, declared, node_arg
from actorflow.exchange.onnx.inference.interface import Interface, Variant
from actorflow.exchange.onnx.inference.options import SessionOptions
from actorflow.exchange.onnx.model import built
from actorflow.exchange.onnx.values import NotKnownError
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor

_OVERRIDABLE_SINCE = 4
"""The version of the format from which on initializers that are inputs may be fed."""
_MOST_VARIANTS = 16
_LARGEST_DECIDING = 64


class OnnxModel(Interface):
    """A file. Threads may share it.

    Args:
        source: a path, or the bytes of a file.
        options: the options of the session.

    Raises:
        TypeError: the source is neither.
        OpError, OSError: see `af.onnx.load`.
    """

    def __init__(self, source: Any, options: SessionOptions) -> None:
        if not isinstance(source, (str, bytes, bytearray, memoryview, os.PathLike)):
            raise TypeError(
                f"An InferenceSession takes the path of an ONNX file, or its bytes, but it was given {source!r:.60}."
            )
        self._path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else ""
        self._proto, self._folders = read(source)
        graph = self._proto.graph
        held = {tensor.name for tensor in graph.initializer} | {s.values.name for s in graph.sparse_initializer}
        kinds = {info.name: declared(info, options) for info in graph.input}
        required = [name for name in kinds if name not in held]
        overridable = [name for name in kinds if name in held and self._proto.ir_version >= _OVERRIDABLE_SINCE]
        self._sizes = {
            name: kind.shape for name in required if (kind := kinds[name]).kind == "tensor" and kind.shape is not None
        }
        self._lock = forks.new_lock()
        self._variants: OrderedDict[tuple[Any, ...], Variant] = OrderedDict()
        plain: Variant | None = None
        with suppress(NotKnownError):  # the values of a run decide
            plain = self._build((), {}, self._sizes)
        fetches = {} if plain is None else plain.outputs
        super().__init__(
            kinds,
            [node_arg(name, kinds[name]) for name in required],
            [node_arg(name, kinds[name]) for name in overridable],
            [self._output(info, fetches.get(info.name), options) for info in graph.output],
            ModelMetadata.of(self._proto),
            plain,
        )

    @staticmethod
    def _output(info: Any, fetch: Any, options: SessionOptions) -> NodeArg:
        if not isinstance(fetch, Tensor):
            return node_arg(info.name, declared(info, options))
        return node_arg(info.name, declared(info, options), fetch.static_shape, fetch.dtype)

    def _build(self, fed_weights: Sequence[str], values: Mapping[str, Any], shapes: Mapping[str, Any]) -> Variant:
        try:
            with Graph().as_default():
                model = built(self._proto, self._folders, shapes, values, fed=fed_weights)
            return Variant(model.graph, dict(model.inputs), dict(model.outputs))
        except OpError as error:
            if self._path:
                error.add_note(f"  in the model {self._path!r}")
            raise

    def variant(self, values: Mapping[str, Any]) -> Variant:
        if self.plain is not None and len(values) == len(self.required):
            return self.plain
        weights = tuple(name for name in values if name not in self.required)
        fixed: dict[str, Any] = {}
        shapes: dict[str, Any] = dict(self._sizes)
        if self.plain is None:
            fixed = {name: value for name, value in values.items() if _decides(value)}
            shapes = {name: np.shape(value) for name, value in values.items() if isinstance(value, np.ndarray)}
            shapes = {name: shape for name, shape in shapes.items() if name not in fixed}
        key = (weights, tuple((n, v.shape, v.tobytes()) for n, v in fixed.items()), tuple(shapes.items()))
        with self._lock:
            variant = self._variants.get(key)
            if variant is None:
                variant = self._variants[key] = self._build(weights, fixed, shapes)
            self._variants.move_to_end(key)
            if len(self._variants) > _MOST_VARIANTS:
                self._variants.popitem(last=False)
        return variant


def _decides(value: Any) -> bool:
    """Whether a value may decide about the graph: numbers, and short vectors of numbers."""
    return (
        isinstance(value, np.ndarray)
        and value.ndim <= 1
        and value.dtype.kind in "biuf"
        and value.size <= _LARGEST_DECIDING
    )
