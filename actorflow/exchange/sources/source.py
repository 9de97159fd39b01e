"""`Source`: a graph with signatures, and what gives it its values. `read` makes it of a file, by the kind of the file."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from actorflow.base.registry import plugins
from actorflow.engine.session.session import Session
from actorflow.errors import NotFoundError
from actorflow.exchange.sources.signature import PREDICT, Port, Signature
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor

DEFAULT = "serving_default"


@dataclass(frozen=True, slots=True)
class Source:
    """A graph, its signatures by name, and a coroutine function that gives a session's variables their values.

    Args:
        graph: the graph.
        signatures: the signatures by name.
        start: gives the variables of a session their values.
        extra: the folder with files for servers, such as requests for warming up.
    """

    graph: Graph
    signatures: Mapping[str, Signature]
    start: Callable[[Session], Awaitable[object]]
    extra: str | None = None


Signatures = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
"""Signatures by name, as a program states them: (inputs, outputs). Each maps names to tensors or their names."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of files with models: an entry point of the group `actorflow.model_files`.

    Args:
        name: a noun with its ending, for errors, such as `an ONNX file`.
        matches: whether a path looks like such a file. It reads no more than names.
        read: the model at a path, from the path, the tags of a saved model, and signatures in place of those in the file.
    """

    name: str
    matches: Callable[[str], bool]
    read: Callable[[str, Collection[str], Signatures | None], Source]


def kinds() -> list[SourceKind]:
    """The kinds of files that are installed."""
    return [entry.load() for entry in plugins.entries("model_files")]


def is_model(path: str) -> bool:
    """Whether a path looks like a model."""
    return any(kind.matches(path) for kind in kinds())


def read(path: str, tags: Collection[str] = ("serve",), signatures: Signatures | None = None) -> Source:
    """The model at a path. It takes as long as a disk does.

    Args:
        path: a folder with a saved model, a frozen graph (`.pb`), a checkpoint that has its `.meta` file, an ONNX file, or a file
            of a kind that a package adds. A checkpoint is found by its prefix, by any of its files, or by its folder.
        tags: the tags of the graph of a saved model.
        signatures: signatures, where the files have none, or others.

    Raises:
        NotFoundError: there is no model.
        DataLossError, InvalidArgumentError: it is damaged.
        UnknownNameError, UnimplementedError: it has ops that are not here.
    """
    for kind in kinds():
        if kind.matches(path):
            return kind.read(path, tags, signatures)
    if path.endswith(".safetensors") and os.path.isfile(path):
        raise NotFoundError(
            f"The file {path!r} has the values of variables, but there is no graph beside it.",
            hint="Build the graph, and write it with the values: Saver.save(..., signatures=...), or a saved model.",
        )
    raise NotFoundError(
        f"There is no model at {path!r}.",
        hint=f"A model is {', '.join(sorted(kind.name for kind in kinds()))}.",
    )


async def no_values(session: Session) -> None:
    """Starts a model of constants, which have their values."""


def stated(graph: Graph, signatures: Signatures) -> dict[str, Signature]:
    """The signatures that a program states.

    Args:
        graph: the graph with their tensors.
        signatures: the signatures.

    Raises:
        ValueError, KeyError: the graph has no such tensor.
    """

    def ports(tensors: Mapping[str, Any]) -> dict[str, Port]:
        by_key = {}
        for key, value in tensors.items():
            text = value if isinstance(value, str) else value.name
            by_key[key] = port(graph.get_tensor_by_name(text if ":" in text else f"{text}:0"))
        return by_key

    return {
        name: Signature.make(name, PREDICT, ports(inputs), ports(outputs))
        for name, (inputs, outputs) in signatures.items()
    }


def port(tensor: Tensor) -> Port:
    """A tensor as an input or output."""
    return Port(tensor.name, tensor.dtype.base_dtype, tensor.static_shape)
