"""`Source`: a graph with signatures, and what gives it its values, out of each kind of file that can be served."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.engine.formats import installed
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.exchange.saved_model import folder as folders
from actorflow.exchange.saved_model import loader
from actorflow.frontends.serving.signature import PREDICT, Port, Signature
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import GraphDef, SignatureDef
from actorflow.graph.tensor import Tensor
from actorflow.models.train.saving.meta_graph import import_meta_graph, read_meta_graph

DEFAULT = "serving_default"
_META = ".meta"


@dataclass(frozen=True, slots=True)
class Source:
    """A graph, its signatures by name, and a coroutine function that gives a session's variables their values."""

    graph: Graph
    signatures: Mapping[str, Signature]
    start: Callable[[Session], Awaitable[object]]
    extra: str | None = None
    """The folder with files for servers, such as requests for warming up."""


Signatures = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Signatures that are given: (inputs, outputs) by name; each maps names to names of tensors."""


def is_model(path: str) -> bool:
    """Whether a path looks like a model that can be served: a saved model, `.pb`, `.onnx`, or a checkpoint with its graph."""
    if os.path.isdir(path):
        return folders.contains_saved_model(path)
    return path.endswith((".pb", ".onnx")) and os.path.isfile(path) or os.path.isfile(path + _META)


def read(path: str, tags: Collection[str] = ("serve",), signatures: Signatures | None = None) -> Source:
    """The model at a path. It takes as long as a disk does.

    Args:
        path: a folder with a saved model, a frozen graph (`.pb`), an ONNX file, or the prefix of a checkpoint that has its
            `.meta` file.
        tags: the tags of the graph of a saved model.
        signatures: signatures, where the files have none, or others.

    Raises:
        NotFoundError: there is no model.
        DataLossError, InvalidArgumentError: it is damaged.
        UnknownNameError, UnimplementedError: it has ops that are not here.
    """
    if os.path.isdir(path) and folders.contains_saved_model(path):
        return _saved_model(path, tags, signatures)
    if path.endswith(".onnx") and os.path.isfile(path):
        return _onnx(path, signatures)
    if path.endswith(".pb") and os.path.isfile(path):
        return _frozen(path, signatures)
    if os.path.isfile(path + _META):
        return _checkpoint(path, signatures)
    raise NotFoundError(
        f"There is no model at {path!r}.",
        hint="A model is a folder with a saved model, a frozen graph (.pb), an ONNX file, or a checkpoint with its .meta file.",
    )


async def _nothing(session: Session) -> None:
    """A model of constants has its values."""


def _given(graph: Graph, signatures: Signatures) -> dict[str, Signature]:
    def ports(tensors: Mapping[str, Any]) -> dict[str, Port]:
        by_key = {}
        for key, value in tensors.items():
            text = value if isinstance(value, str) else value.name
            tensor = graph.get_tensor_by_name(text if ":" in text else f"{text}:0")
            by_key[key] = _port(tensor)
        return by_key

    return {
        name: Signature.make(name, PREDICT, ports(inputs), ports(outputs))
        for name, (inputs, outputs) in signatures.items()
    }


def _told(graph: Graph, messages: Mapping[str, SignatureDef]) -> dict[str, Signature]:
    """The signatures of messages. The graph knows shapes that they leave open."""
    signatures = {}
    for name, message in messages.items():
        definition = Signature.of_message(name, message)
        several = [
            {k: p if p.shape is not None else _port(graph.get_tensor_by_name(p.tensor)) for k, p in ports.items()}
            for ports in (definition.inputs, definition.outputs)
        ]
        signatures[name] = Signature.make(name, definition.method, *several)
    return signatures


def _port(tensor: Tensor) -> Port:
    return Port(tensor.name, tensor.dtype.base_dtype, tensor.static_shape)


def _saved_model(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    folder = folders.read(path)
    message = folder.meta_graph(tags)
    graph = Graph()
    saver = loader.add_to(graph, message)
    described = _told(graph, {k: v for k, v in message.signature_def.items() if not k.startswith("__saved_model")})
    extra = os.path.join(path, "assets.extra")

    async def start(session: Session) -> None:
        await loader.start(session, folder, message, saver)

    return Source(graph, _given(graph, signatures) if signatures else described, start, extra)


def _onnx(path: str, signatures: Signatures | None) -> Source:
    from actorflow.exchange.onnx.model import load

    graph = Graph()
    with graph.as_default():
        model = load(path)
    for name, tensor in (*model.inputs.items(), *model.outputs.items()):
        if not isinstance(tensor, Tensor):
            raise InvalidArgumentError(f"{name!r} of {path!r} is no single dense tensor, and so it can't be served.")
    ports = {DEFAULT: (model.inputs, model.outputs)}
    return Source(graph, _given(graph, signatures or ports), _nothing)


def _frozen(path: str, signatures: Signatures | None) -> Source:
    with open(path, "rb") as file:
        message = GraphDef.FromString(file.read())
    graph = Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    return Source(graph, _given(graph, signatures or _ends(graph)), _nothing)


def _ends(graph: Graph) -> Signatures:
    """The placeholders of a graph as inputs, and the tensors that nothing takes as outputs."""
    taken = {edge.node for node in graph.nodes.values() for edge in node.inputs}
    nodes = graph.nodes.values()
    inputs = {node.name: f"{node.name}:0" for node in nodes if node.op == "Placeholder"}
    outputs = {node.name: f"{node.name}:0" for node in nodes if node.dtypes and node.name not in taken | inputs.keys()}
    return {DEFAULT: (inputs, outputs)}


def _checkpoint(path: str, signatures: Signatures | None) -> Source:
    message = read_meta_graph(path + _META)
    graph = Graph()
    with graph.as_default():
        saver = import_meta_graph(message)
    declared = _given(graph, signatures) if signatures else None
    if declared is None:
        declared = _told(graph, dict(message.signature_def.items()))
    if not declared:
        raise InvalidArgumentError(
            f"The checkpoint {path!r} has no signatures.",
            hint="Name them: signatures={'serving_default': ({'x': 'x:0'}, {'y': 'y:0'})}, or write a saved model.",
        )
    if saver is not None and installed.at(path) is None:
        raise NotFoundError(f"There is no checkpoint at {path!r}, only its graph.")

    async def start(session: Session) -> None:
        if saver is not None:
            await saver.restore(session, path)

    return Source(graph, declared, start)
