"""`load`: an ONNX file becomes a part of a graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import actorflow.exchange.onnx.builders  # noqa: F401  (they enter themselves into the table)
from actorflow.base.shapes import as_shape, compatible
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError
from actorflow.exchange.onnx.files import read
from actorflow.exchange.onnx.importer import ImportedFile, Scope, missing_ops
from actorflow.exchange.onnx.ports import fetch_of, port_of
from actorflow.exchange.onnx.tensors import array_of
from actorflow.exchange.onnx.types import ValueType, value_type
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.variables.variable import Variable
from actorflow.public import public

_MOST_NAMED = 20


@public("af.onnx")
@dataclass(frozen=True, slots=True)
class Model:
    """An ONNX model in a graph: `await session.run(model.outputs, {model.inputs["x"]: x})`.

    Example:
        >>> x = af.placeholder(af.float32, [None], name="x")
        >>> await af.onnx.save("model.onnx", session, {"y": x * 3.0}, {"x": x})
        >>> model = af.onnx.load("model.onnx")
        >>> sorted(model.inputs), sorted(model.outputs)
        (['x'], ['y'])
        >>> await session.run(model.outputs["y"], {model.inputs["x"]: [1.0, 2.0]})
        [3. 6.]

    Args:
        graph: the graph that it is in.
        inputs: what is fed, by name. A sequence is fed with a list of arrays, an optional with None or a value.
        outputs: what is fetched, by name. `run` gives a dictionary for it.
        weights: the variables, by the names of the initializers; empty where weights are constants. They need to be
            initialised, by `af.variables_initializer(model.weights.values())`.
        opsets: the version of each domain that the file asks for.
        producer: the program that wrote the file, and its version.
        metadata: what the file says of itself.
    """

    graph: Graph = field(repr=False)
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    weights: Mapping[str, Variable]
    opsets: Mapping[str, int]
    producer: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@public("af.onnx")
def load(
    source: Any,
    *,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    values: Mapping[str, Any] | None = None,
    trainable: bool | Callable[[str], bool] = False,
    folder: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> Model:
    """Builds an ONNX model in the default graph. No other package is needed.

    Args:
        source: the path of a file, its bytes, or a `ModelProto` of the package onnx.
        shapes: the shapes of inputs, where the file leaves sizes open: `{"x": (1, 3, 224, 224)}`. With them the arithmetic
            of shapes is done here, and is no part of the graph.
        values: the values of inputs that are the same in each run, such as sizes and axes. They are no inputs any more.
        trainable: whether the weights become trainable variables instead of constants: all that have a floating type, or those
            for whose names the function gives True.
        folder: the folder in which external data lie, or below which the files are that links in the model's folder lead to.
            Without it they lie below the model's folder; where the model's file is a link, also beside the file itself.
        name: a name scope for the nodes.

    Returns:
        A `Model`. A file that was written for training runs as it would after it: nothing is dropped, averages are used.

    Raises:
        InvalidArgumentError: the file is no ONNX model, or damaged; the message names the field. A shape does not fit.
        UnimplementedError: it has ops that are not supported. All of them are named, with their nodes and versions.
        OSError: the file can't be read.

        >>> model = af.onnx.load(b"")
        Traceback (most recent call last):
        ...
        actorflow.errors.InvalidArgumentError: The source, 0 bytes, is no ONNX model: it is empty, so it ...
    """
    proto, folders = read(source, folder)
    try:
        return built(proto, folders, shapes or {}, values or {}, trainable, name or "")
    except OpError as error:
        if isinstance(source, (str, os.PathLike)):
            error.add_note(f"  in the model {os.fspath(source)!r}")
        raise


def built(
    proto: Any,
    folders: Any,
    shapes: Mapping[str, Sequence[int | None]],
    values: Mapping[str, Any],
    trainable: bool | Callable[[str], bool] = False,
    name: str = "",
    fed: Collection[str] = (),
) -> Model:
    """`load` for the message of a file. Initializers that are `fed` are inputs."""
    opsets = {("" if i.domain == "ai.onnx" else i.domain): i.version for i in proto.opset_import} or {"": 1}
    functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
    file = ImportedFile(opsets, functions, folders)
    file.measure(proto.graph)
    missing = list(dict.fromkeys(missing_ops(proto.graph, file, opsets)))
    if missing:
        more = f"\n  and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        lines = "".join(f"\n  {line}" for line in missing[:_MOST_NAMED])
        raise UnimplementedError(f"The model has ops that are not supported:{lines}{more}")
    graph = get_default_graph()
    scope = Scope(file)
    with graph.as_default(), graph.name_scope(name):
        weights = _weights(proto.graph, scope, trainable, fed)
        _take_values(proto.graph, scope, values)
        inputs = _inputs(proto.graph, scope, dict(shapes))
        scope.build(proto.graph)
        outputs = {}
        for info in proto.graph.output:
            value = scope.get(info.name)
            outputs[info.name] = fetch_of(value, _type_of(info))
    return Model(
        graph,
        inputs,
        outputs,
        weights,
        opsets,
        f"{proto.producer_name} {proto.producer_version}".strip(),
        {entry.key: entry.value for entry in proto.metadata_props},
    )


def _type_of(info: Any) -> ValueType:
    return value_type(info.type, info.name)


def _weights(
    graph: Any, scope: Scope, trainable: bool | Callable[[str], bool], fed: Collection[str]
) -> dict[str, Variable]:
    """Puts the initializers that are not fed into the scope; those that are trained as variables."""
    variables: dict[str, Variable] = {}
    chosen = trainable if callable(trainable) else lambda name: bool(trainable)
    for tensor in graph.initializer:
        if tensor.name in fed:
            continue
        value = array_of(tensor, scope.file.folder)
        if value.dtype.kind == "f" and chosen(tensor.name):
            variables[tensor.name] = Variable(np.array(value), name=_plain(tensor.name))
            scope.values[tensor.name] = convert_to_tensor(variables[tensor.name])
        else:
            scope.values[tensor.name] = value
    return variables


def _take_values(graph: Any, scope: Scope, values: Mapping[str, Any]) -> None:
    kinds = {info.name: _type_of(info) for info in graph.input}
    for name, value in values.items():
        if name not in kinds or kinds[name].kind != "tensor" or kinds[name].dtype is None:
            raise InvalidArgumentError(f"The model has no input {name!r} that is a tensor, whose value could be given.")
        kind: Any = kinds[name].dtype
        scope.values[name] = np.array(value, kind.numpy_dtype)


def _plain(name: str) -> str:
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c in "_.-/") else "_" for c in name).strip("/")
    return cleaned if cleaned and (cleaned[0].isalnum() or cleaned[0] == ".") else f"v{cleaned}"


def _inputs(graph: Any, scope: Scope, shapes: dict[str, Any]) -> dict[str, Any]:
    ports: dict[str, Any] = {}
    for info in graph.input:
        if info.name in scope.values:
            continue  # a weight, which files of the first versions list here as well
        kind = _type_of(info)
        if info.name in shapes:
            shape = as_shape(shapes.pop(info.name))
            if not compatible(kind.shape, shape):
                raise InvalidArgumentError(
                    f"The input {info.name!r} has the shape {kind.shape}, but {shape} was given."
                )
            kind = ValueType(kind.kind, kind.dtype, shape, kind.inside)
        if kind.dtype is None:
            raise InvalidArgumentError(f"elem_type of the input {info.name!r} is missing.")
        ports[info.name], scope.values[info.name] = port_of(kind, _plain(info.name))
    if shapes:
        raise InvalidArgumentError(
            f"The model has no input {next(iter(shapes))!r}; it has: {', '.join(ports) or 'none'}."
        )
    return ports
