"""A node of a graph as an immutable record, and the line of the user's program that made it."""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from actorflow.dtypes import DType
from actorflow.shapes import Shape

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class Where(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int

    def source(self) -> str:
        """The line's text, or an empty string where it can't be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Endpoint(NamedTuple):
    """One output of a node; a tensor's name is `node:port`."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True)
class Node:
    """One instance of an op (paper section 2).

    `inputs` are the data edges in the op's order (lists flattened), `controls` the names of nodes that must finish
    first. `device` is the requested, possibly partial name until placement, which makes it a full one. `origin` names
    the forward node for which a gradient node was made. `colocate` names nodes that must share this one's device.
    """

    name: str
    op: str
    inputs: tuple[Endpoint, ...] = ()
    controls: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRS)
    dtypes: tuple[DType, ...] = ()
    shapes: tuple[Shape, ...] = ()
    device: str = ""
    where: Where | None = None
    origin: str | None = None
    colocate: tuple[str, ...] = ()

    def __str__(self) -> str:
        inputs = [e.node if e.port == 0 else str(e) for e in self.inputs] + [f"^{c}" for c in self.controls]
        return f"{self.name} = {self.op}({', '.join(inputs)})"


@functools.lru_cache(maxsize=4096)
def _where(file: str, line: int) -> Where:
    """One record for all nodes of a line."""
    return Where(file, line)


def user_line() -> Where | None:
    """The innermost frame outside actorflow."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("actorflow.") and module != "actorflow":
            return _where(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
