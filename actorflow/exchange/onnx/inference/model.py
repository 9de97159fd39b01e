"""`InferenceModel`: a file, and the graphs that its feeds ask for.

Nearly all files have a single graph, which is built when the file is opened. Two kinds have more. Initializers that are inputs as
well are constants until a run feeds them, which then has a graph in which they are inputs. And some inputs decide about the graph
itself, such as the axes that a node squeezes: such a graph is built for the values that a run brings.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError, OpError
from actorflow.exchange.onnx.files import read
from actorflow.exchange.onnx.inference.arguments import ModelMetadata, NodeArg, declared, node_arg
from actorflow.exchange.onnx.inference.feeding import fed
from actorflow.exchange.onnx.inference.names import nearest
from actorflow.exchange.onnx.inference.options import SessionOptions
from actorflow.exchange.onnx.model import Model, built
from actorflow.exchange.onnx.types import ValueType
from actorflow.exchange.onnx.values import NotKnownError
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor

_OVERRIDABLE_SINCE = 4
"""The version of the format from which on initializers that are inputs may be fed."""
_MOST_VARIANTS = 16
_LARGEST_DECIDING = 64


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A graph of a model.

    Args:
        graph: the graph.
        inputs: what is fed, by name.
        outputs: what is fetched, by name.
    """

    graph: Graph
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]

    @staticmethod
    def of(model: Model) -> Variant:
        """The graph that `load` built."""
        return Variant(model.graph, dict(model.inputs), dict(model.outputs))


class InferenceModel:
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
        self.kinds: dict[str, ValueType] = {info.name: declared(info, options) for info in graph.input}
        """The types of all inputs, by name."""
        self._required = [name for name in self.kinds if name not in held]
        overridable = [name for name in self.kinds if name in held and self._proto.ir_version >= _OVERRIDABLE_SINCE]
        self._sizes = {
            name: kind.shape
            for name in self._required
            if (kind := self.kinds[name]).kind == "tensor" and kind.shape is not None
        }
        self.metadata = ModelMetadata.of(self._proto)
        self._lock = threading.Lock()
        self._variants: OrderedDict[tuple[Any, ...], Variant] = OrderedDict()
        self.plain: Variant | None = None
        """The graph of nearly all runs; None where values decide about it."""
        try:
            self.plain = self._build((), {}, self._sizes)
        except NotKnownError:
            pass  # the values of a run decide
        outputs = {} if self.plain is None else self.plain.outputs
        self.inputs = [node_arg(name, self.kinds[name]) for name in self._required]
        """The inputs that each run feeds."""
        self.overridable = [node_arg(name, self.kinds[name]) for name in overridable]
        """The initializers that a run may feed."""
        self.outputs = [self._output(info, outputs.get(info.name), options) for info in graph.output]
        """The outputs."""
        self._arguments = {argument.name: argument for argument in (*self.inputs, *self.overridable)}
        self._names = [argument.name for argument in self.outputs]

    @staticmethod
    def _output(info: Any, fetch: Any, options: SessionOptions) -> NodeArg:
        if not isinstance(fetch, Tensor):
            return node_arg(info.name, declared(info, options))
        return node_arg(info.name, declared(info, options), fetch.static_shape, fetch.dtype)

    def _build(self, fed_weights: Sequence[str], values: Mapping[str, Any], shapes: Mapping[str, Any]) -> Variant:
        try:
            with Graph().as_default():
                return Variant.of(built(self._proto, self._folders, shapes, values, fed=fed_weights))
        except OpError as error:
            if self._path:
                error.add_note(f"  in the model {self._path!r}")
            raise

    def names(self, output_names: Any) -> tuple[str, ...]:
        """The outputs that a program names; all unless it names any.

        Raises:
            TypeError: these are no names.
            InvalidArgumentError: there is no such output.
        """
        if isinstance(output_names, (str, bytes)) or not isinstance(output_names, (Sequence, type(None))):
            raise TypeError(
                f"output_names is a list of names, such as {self._names[:1]}, or None for all, but it is {output_names!r:.60}."
            )
        for name in output_names or ():
            if name not in self._names:
                raise InvalidArgumentError(
                    f"The model has no output {name!r}; it has {', '.join(map(repr, self._names))}."
                    f"{nearest(name, self._names)}"
                )
        return tuple(output_names or self._names)

    def values(self, feed: Any) -> dict[str, Any]:
        """The values of a feed as arrays that fit, in the order of the inputs.

        Raises:
            TypeError: the feed is no dict.
            InvalidArgumentError: inputs are missing or unknown, or a value does not fit.
        """
        if not isinstance(feed, Mapping):
            raise TypeError(
                f"input_feed is a dict from the names of inputs to arrays, but it was given {type(feed).__name__}; the model "
                f"takes {self._told()}."
            )
        arguments = self._arguments
        values = {}
        for name in self._required:
            if name in feed:
                values[name] = fed(arguments[name], self.kinds[name], feed[name])
            elif self.kinds[name].kind == "optional":
                values[name] = None
            else:
                self._refuse_missing(feed)
        if len(values) != len(feed):
            for name, value in feed.items():
                if name not in arguments:
                    raise InvalidArgumentError(
                        f"The model has no input {name!r}; it takes {self._told()}.{nearest(name, arguments)}"
                    )
                values.setdefault(name, None)
                if values[name] is None:
                    values[name] = fed(arguments[name], self.kinds[name], value)
        return values

    def _refuse_missing(self, feed: Mapping[str, Any]) -> None:
        missing = [n for n in self._required if n not in feed and self.kinds[n].kind != "optional"]
        unknown = [name for name in feed if name not in self._arguments]
        raise InvalidArgumentError(
            f"The feed has no value for {', '.join(map(repr, missing))}; the model takes {self._told()}.",
            hint=f"{unknown[0]!r} is no input.{nearest(unknown[0], missing)}" if unknown else None,
        )

    def _told(self) -> str:
        return ", ".join(f"{a.name!r} ({a.type})" for a in self._arguments.values()) or "none"

    def variant(self, values: Mapping[str, Any]) -> Variant:
        """The graph for these values, which are those of its inputs then and may be more."""
        if self.plain is not None and len(values) == len(self._required):
            return self.plain
        weights = tuple(name for name in values if name not in self._required)
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
