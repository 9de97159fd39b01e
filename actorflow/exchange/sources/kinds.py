"""Saved models, frozen graphs, and checkpoints with their graph, as kinds of files with models."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from actorflow.engine.formats import installed
from actorflow.engine.session.session import Session
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.exchange.saved_model import folder as folders
from actorflow.exchange.saved_model import loader
from actorflow.exchange.sources.signature import Signature
from actorflow.exchange.sources.source import DEFAULT, Signatures, Source, SourceKind, no_values, port, stated
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import GraphDef, SignatureDef
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.models.train.saving.meta_graph import import_meta_graph, read_meta_graph

_META = ".meta"
_SUFFIXES = (_META, ".manifest", ".index")
"""The files of a checkpoint that have its prefix and one ending."""
_SHARD = re.compile(r"(?P<prefix>.+)(-[0-9a-f]{12}-\d{3,}-[^/]*\.safetensors|\.data-\d{5}-of-\d{5})")


def _described(graph: Graph, messages: Mapping[str, SignatureDef]) -> dict[str, Signature]:
    """The signatures of messages. The graph knows shapes that they leave open."""
    signatures = {}
    for name, message in messages.items():
        definition = Signature.of_message(name, message)
        several = [
            {k: p if p.shape is not None else port(graph.get_tensor_by_name(p.tensor)) for k, p in ports.items()}
            for ports in (definition.inputs, definition.outputs)
        ]
        signatures[name] = Signature.make(name, definition.method, *several)
    return signatures


def _saved_model(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    folder = folders.read(path)
    message = folder.meta_graph(tags)
    graph = Graph()
    saver = loader.add_to(graph, message)
    messages = {k: v for k, v in message.signature_def.items() if not k.startswith("__saved_model")}
    described = _described(graph, messages)
    extra = os.path.join(path, "assets.extra")

    async def start(session: Session) -> None:
        await loader.start(session, folder, message, saver)

    return Source(graph, stated(graph, signatures) if signatures else described, start, extra)


def _frozen(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    with open(path, "rb") as file:
        message = GraphDef.FromString(file.read())
    graph = Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    return Source(graph, stated(graph, signatures or _ends(graph)), no_values)


def _ends(graph: Graph) -> Signatures:
    """The placeholders of a graph as inputs, and the tensors that nothing takes as outputs."""
    taken = {edge.node for node in graph.nodes.values() for edge in node.inputs}
    nodes = graph.nodes.values()
    inputs = {node.name: f"{node.name}:0" for node in nodes if node.op == "Placeholder"}
    outputs = {node.name: f"{node.name}:0" for node in nodes if node.dtypes and node.name not in taken | inputs.keys()}
    return {DEFAULT: (inputs, outputs)}


def _prefix(path: str) -> str | None:
    """The prefix of the checkpoint that a path means: the prefix itself, one of its files, or a folder with checkpoints, of which
    it is the latest. None for anything else, or a checkpoint whose graph is not beside it."""
    prefixes = [path]
    if os.path.isdir(path):
        prefixes = [] if folders.contains_saved_model(path) else [latest_checkpoint(path) or ""]
    elif os.path.isfile(path):
        shard = _SHARD.fullmatch(path)
        prefixes = [path.removesuffix(suffix) for suffix in _SUFFIXES if path.endswith(suffix)]
        prefixes += [shard["prefix"]] if shard else []
    return next((prefix for prefix in prefixes if prefix and os.path.isfile(prefix + _META)), None)


def _checkpoint(path: str, tags: Collection[str], signatures: Signatures | None) -> Source:
    path = _prefix(path) or path
    message = read_meta_graph(path + _META)
    graph = Graph()
    with graph.as_default():
        saver = import_meta_graph(message)
    declared = stated(graph, signatures) if signatures else _described(graph, dict(message.signature_def.items()))
    if not declared:
        raise InvalidArgumentError(
            f"The checkpoint {path!r} has no signatures.",
            hint="Name them: signatures={'serving_default': ({'x': 'x:0'}, {'y': 'y:0'})}; Saver.save(..., signatures=...) "
            "writes them with a checkpoint.",
        )
    if saver is not None and installed.at(path) is None:
        raise NotFoundError(f"There is no checkpoint at {path!r}, only its graph.")

    async def start(session: Session) -> None:
        if saver is not None:
            await saver.restore(session, path)

    return Source(graph, declared, start)


SAVED_MODEL = SourceKind("a folder with a saved model", folders.contains_saved_model, _saved_model)
FROZEN = SourceKind("a frozen graph (.pb)", lambda path: path.endswith(".pb") and os.path.isfile(path), _frozen)
CHECKPOINT = SourceKind("a checkpoint with its .meta file", lambda path: _prefix(path) is not None, _checkpoint)
