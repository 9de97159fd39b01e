"""The things that a kernel may reach beside its inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from actorflow.engine.device.base import Device
from actorflow.engine.runtime.diagnostics.waits import Reason
from actorflow.engine.runtime.state.resources import NOWHERE, Holder, Place, ResourceManager
from actorflow.engine.transport.rendezvous import Rendezvous
from actorflow.graph.node import Node


class StepHandle(Protocol):
    """The part of a step that a kernel may see."""

    id: int

    @property
    def rendezvous(self) -> Rendezvous:
        """The place at which the step's Send and Recv nodes meet."""

    def on_cancel(self, callback: Callable[[], None], reason: Reason | None = None) -> Callable[[], None]:
        """Calls `callback` when the step is stopped; the returned function takes it back.

        `reason` tells, until then, what the kernel waits for: reports of waiting steps ask it.
        """

    def waits_for(self, reason: Reason | str) -> AbstractContextManager[None]:
        """A block for the time that an asynchronous kernel waits, so that reports say for what.

        `reason` goes on after the node's name, as in "waits for the answer of db-3", or is a function that gives the `Wait`.
        """

    def waits(self) -> AbstractContextManager[None]:
        """A block in which a kernel that is registered as threaded waits for something else than its thread."""

    def on_end(self, callback: Callable[[], object]) -> None:
        """Calls `callback` when the step has ended, in whatever way."""


class NodeContexts(dict[str, "KernelContext"]):
    """The kernel contexts of a session's nodes in one task, by the nodes' names. A checkpoint is made from them."""

    def __init__(self) -> None:
        super().__init__()
        self.restored: dict[str, dict[str, Any]] = {}
        """The `state` that a checkpoint has for nodes without a context yet."""
        self.after_snapshot: list[Callable[[], None]] = []
        """Called when the values for a checkpoint have been taken, and only the writing is left."""
        self.holder = Holder()
        """The session, as the holder of resources that it does not share."""

    def resume(self, name: str) -> None:
        """Gives the node its restored state, if the node and such a state exist."""
        context = self.get(name)
        if context is not None:
            context.state.update(self.restored.pop(name, {}))


@dataclass(slots=True)
class KernelContext:
    """Belongs to one node of a session and stays the same for all its runs; `state` is what the kernel keeps between them.

    Of `state`, a checkpoint keeps the integers and arrays (counters of random numbers, say)."""

    node: Node
    device: Device
    resources: ResourceManager
    state: dict[str, Any] = field(default_factory=dict)
    nodes: NodeContexts = field(default_factory=NodeContexts, repr=False)
    place: Place = field(default=NOWHERE, repr=False)
    """It holds the resource that the node is the handle of, when that has been looked up."""
