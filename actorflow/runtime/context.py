"""What a kernel may reach beside its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from actorflow.device.base import Device
from actorflow.graph.node import Node
from actorflow.runtime.resources import ResourceManager
from actorflow.transport.base import Rendezvous


class StepHandle(Protocol):
    """The part of a step that a kernel may see."""

    id: int

    @property
    def rendezvous(self) -> Rendezvous:
        """Where the step's Send and Recv nodes meet."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` when the step is stopped; the returned function takes it back."""

    def on_end(self, callback: Callable[[], object]) -> None:
        """Calls `callback` when the step has ended, in whatever way."""


@dataclass(slots=True)
class KernelContext:
    """Belongs to one node of a session and stays the same for all its runs; `state` is what the kernel keeps between them."""

    node: Node
    device: Device
    resources: ResourceManager
    state: dict[str, Any] = field(default_factory=dict)
