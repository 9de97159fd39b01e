"""Inputs as messages name them: `name`, `name:port` or `^name`."""

from __future__ import annotations

from collections.abc import Mapping

from actorflow.graph.graphdef.protos import NodeDef


def data_inputs(message: NodeDef) -> list[str]:
    """The inputs of a node that are tensors."""
    return [text for text in message.input if not text.startswith("^")]


def split(text: str) -> tuple[str, int]:
    """The node and the port of an input."""
    text = text.removeprefix("^")
    name, colon, port = text.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (text, 0)


def canonical(text: str) -> str:
    """An input with its port, if it is a tensor."""
    if text.startswith("^"):
        return text
    name, port = split(text)
    return f"{name}:{port}"


def has_back_edge(message: NodeDef, messages: Mapping[str, NodeDef]) -> bool:
    """Whether a node is the head of a loop, whose second input is the end of it."""
    data = data_inputs(message)
    if message.op not in ("Merge", "RefMerge") or len(data) != 2:
        return False
    last = messages.get(split(data[1])[0])
    return last is not None and last.op in ("NextIteration", "RefNextIteration")
