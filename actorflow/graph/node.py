"""A node of a graph as an immutable record, and the line of the user's program that made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from actorflow.base.dtypes import DType
from actorflow.base.registry.opdef import ROLES
from actorflow.base.registry.roles import Role
from actorflow.base.shapes import Shape
from actorflow.errors import Where

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class TensorId(NamedTuple):
    """One output of a node; a tensor's name is `node:port`."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True)
class Node:
    """One instance of an op (paper section 2).

    `inputs` are the data edges in the op's order (lists flattened), `controls` the names of nodes that must finish
    first. `device` is the requested, possibly partial name until placement, which gives the full name. `origin` names
    the forward node for which a gradient node was made. `colocate` names nodes that must share this one's device.
    """

    name: str
    op: str
    inputs: tuple[TensorId, ...] = ()
    controls: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRS)
    dtypes: tuple[DType, ...] = ()
    shapes: tuple[Shape, ...] = ()
    device: str = ""
    where: Where | None = None
    origin: str | None = None
    colocate: tuple[str, ...] = ()
    role: Role | None = field(init=False, repr=False, compare=False)
    """The role of its op, which the runtime and the passes ask for; None for most."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", ROLES[self.op])

    def __str__(self) -> str:
        inputs = [e.node if e.port == 0 else str(e) for e in self.inputs] + [f"^{c}" for c in self.controls]
        return f"{self.name} = {self.op}({', '.join(inputs)})"
