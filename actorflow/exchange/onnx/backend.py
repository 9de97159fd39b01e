"""`Backend`: actorflow under the interface that ONNX's own test suite runs (`onnx.backend.base`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.engine.session.blocking import Session
from actorflow.exchange.onnx.files import read
from actorflow.exchange.onnx.model import Model, load
from actorflow.exchange.onnx.nodes import text
from actorflow.exchange.onnx.protos import ModelProto, NodeProto
from actorflow.exchange.onnx.types import type_proto
from actorflow.exchange.onnx.values import NotKnownError
from actorflow.graph.graph import Graph
from actorflow.public import public


class BackendRep:
    """A model that is ready to run.

    Some inputs decide about the graph itself, such as the axes that a node squeezes. A model with such inputs is built for the
    values that a run brings: for all numbers among them, and for short vectors.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._model: Model | None = None
        with Graph().as_default():
            try:
                self._model = load(source)
            except NotKnownError:
                proto, _ = read(source)
                weights = {tensor.name for tensor in proto.graph.initializer}
                self._names = [info.name for info in proto.graph.input if info.name not in weights]
            else:
                self._names = list(self._model.inputs)

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs for `inputs`, a list in the order of the model's inputs or a dictionary by their names."""
        named = dict(inputs if isinstance(inputs, Mapping) else zip(self._names, _listed(inputs)))
        model = self._model
        if model is None:
            fixed = {name: value for name, value in named.items() if _decides(value)}
            shapes = {name: np.shape(value) for name, value in named.items() if isinstance(value, np.ndarray)}
            with Graph().as_default():
                model = load(self._source, values=fixed, shapes={n: s for n, s in shapes.items() if n not in fixed})
            named = {name: value for name, value in named.items() if name not in fixed}
        feeds = {model.inputs[name]: value for name, value in named.items()}
        with Session(graph=model.graph) as session:
            outputs = session.run(list(model.outputs.values()), feeds)
        return tuple(map(told, outputs))


def _decides(value: Any) -> bool:
    """Whether a value may decide about shapes."""
    array = np.asarray(value) if not isinstance(value, (list, tuple)) and value is not None else None
    return array is not None and array.ndim <= 1 and array.dtype.kind in "biuf" and array.size <= 64


def _listed(inputs: Any) -> Sequence[Any]:
    return inputs if isinstance(inputs, (list, tuple)) else [inputs]


def told(value: Any) -> Any:
    """A result in the form of numpy: strings are text."""
    if isinstance(value, list):
        return [told(item) for item in value]
    array: Any = np.asarray(value, object) if isinstance(value, bytes) else value
    if isinstance(array, np.ndarray) and array.dtype == object:
        words = np.empty(array.shape, object)
        words.reshape(-1)[:] = [text(w) if isinstance(w, bytes) else w for w in array.reshape(-1).tolist()]
        return words
    return value


@public("af.onnx")
class Backend:
    """The interface that `onnx.backend.test.BackendTest` asks for. Its methods are class methods.

    Example:
        >>> x = af.placeholder(af.float32, [2], name="x")
        >>> y = af.identity(x * 2.0, name="y")
        >>> await af.onnx.save("double.onnx", session, {"y": y}, {"x": x})
        >>> with open("double.onnx", "rb") as file:
        ...     model = file.read()
        >>> af.onnx.Backend.run_model(model, [np.array([1.0, 2.0], np.float32)])
        ([2. 4.],)
    """

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **options: Any) -> bool:
        """Whether the model can be tried. Ops that are missing are an error of `prepare`.

        Example:
            >>> af.onnx.Backend.is_compatible("model.onnx", "CPU")
            True

        Args:
            model: a path, bytes, or a `ModelProto`.
            device: CPU.
            options: without effect.
        """
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **options: Any) -> BackendRep:
        """A model in a graph of its own. Raises as `load` does.

        Example:
            >>> x = af.placeholder(af.float32, [2], name="x")
            >>> await af.onnx.save("double.onnx", session, {"y": af.identity(x * 2.0)}, {"x": x})
            >>> af.onnx.Backend.prepare("double.onnx").run([np.array([1.0, 2.0], np.float32)])
            ([2. 4.],)

        Args:
            model: a path, bytes, or a `ModelProto`.
            device: CPU.
            options: without effect.
        """
        return BackendRep(model)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **options: Any) -> tuple[Any, ...]:
        """The outputs of a model.

        Args:
            model: a path, bytes, or a `ModelProto`.
            inputs: arrays in the order of its inputs, or by name.
            device: CPU.
            options: without effect.
        """
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None, **options: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node, by the newest opset unless `opset_version` is given.

        Args:
            node: a `NodeProto`.
            inputs: arrays, for the inputs that the node names.
            device: CPU.
            outputs_info: without effect.
            options: `opset_version`; others are without effect.
        """
        model = ModelProto(ir_version=10)
        model.opset_import.add(domain=node.domain, version=int(options.get("opset_version", NEWEST)))
        model.graph.node.append(NodeProto.FromString(node.SerializeToString()))
        arrays = [np.asarray(value) for value in inputs]
        for name, array in zip([name for name in node.input if name], arrays):
            model.graph.input.add(name=name, type=type_proto(as_dtype(array.dtype), array.shape))
        for name in node.output:
            model.graph.output.add(name=name)
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is a CPU.

        Example:
            >>> af.onnx.Backend.supports_device("CPU:0"), af.onnx.Backend.supports_device("CUDA")
            (True, False)
        """
        return device.split(":")[0].upper() == "CPU"


NEWEST = 28
"""The newest version of ONNX's own ops that the builders know."""
