"""The scopes under which nodes are made: default graph, names, devices, control dependencies, colocation, containers.

They are context variables over one process-wide default graph, so that coroutines that build graphs side by side do
not see each other's scopes. The scopes of one graph are an immutable record; entering a scope sets a changed copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from actorflow.graph.graph import Graph
    from actorflow.graph.tensor import Operation, Tensor

DeviceFunction: TypeAlias = "Callable[[Operation], str | None]"


@dataclass(frozen=True, slots=True)
class ControlScope:
    """One `control_dependencies` block: what it waits for, and the nodes made inside it so far."""

    waits_for: tuple[str, ...]
    made_inside: set[str] = field(default_factory=set)


class Flow(Protocol):
    """A branch or a loop in which nodes are made (`actorflow.control_flow`)."""

    def admit(self, op: str, inputs: Sequence[Tensor], controls: Sequence[str]) -> tuple[list[Tensor], tuple[str, ...]]:
        """The inputs and control inputs that a new node in here takes in place of these, which may be from outside."""


class Launches(Protocol):
    """A thread on which ops run that were called, while the program goes on (`actorflow.eager.launches`)."""

    def launch(self, prepared: Any, inputs: Sequence[Any], shapes: Sequence[Any], name: str, where: Any) -> Any:
        """The tensors that an op will give; None where it is to run at once."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes that are in force for one graph."""

    names: str = ""
    devices: tuple[str | DeviceFunction | None, ...] = ()
    controls: tuple[ControlScope, ...] = ()
    colocate: tuple[str, ...] = ()
    container: str = ""
    origin: str | None = None
    gradients: Mapping[str, str] = field(default_factory=lambda: _NO_OVERRIDES)
    flow: Flow | None = None
    lossy: bool = False
    launches: Launches | None = None


class Keyed(Protocol):
    """A graph as far as its scopes go: `key` tells it from others."""

    key: int


_NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})
_NONE = Scopes()
_scopes: ContextVar[Mapping[int, Scopes]] = ContextVar("actorflow_scopes", default=MappingProxyType({}))
_default: ContextVar[Graph | None] = ContextVar("actorflow_default_graph", default=None)


def of(graph: Keyed) -> Scopes:
    """The scopes in force for `graph` here."""
    return _scopes.get().get(graph.key, _NONE)


@contextmanager
def changed(graph: Keyed, **changes: Any) -> Iterator[None]:
    """Changes fields of `graph`'s scopes inside the block."""
    before = _scopes.get()
    token = _scopes.set({**before, graph.key: replace(before.get(graph.key, _NONE), **changes)})
    try:
        yield
    finally:
        _scopes.reset(token)


def entered_graph() -> Graph | None:
    """The innermost `graph.as_default()` here, or None."""
    return _default.get()


@contextmanager
def default_graph(graph: Graph) -> Iterator[Graph]:
    """Makes `graph` the default inside the block."""
    token = _default.set(graph)
    try:
        yield graph
    finally:
        _default.reset(token)
