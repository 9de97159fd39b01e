"""What a kernel may reach beside its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from actorflow.device.base import Device
from actorflow.graph.node import Node
from actorflow.runtime.resources import ResourceManager


class Cancellation(Protocol):
    """The part of a step that an asynchronous kernel may see."""

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` when the step is stopped; returns a function that takes it back."""


@dataclass(slots=True)
class KernelContext:
    """Belongs to one node of a session: the same object for all its runs, so a kernel may count in it.

    `xp` is the device's array module; `container` the one in which the node's resource lives.
    """

    node: Node
    device: Device
    resources: ResourceManager
    step: Cancellation | None = None
    state: dict[str, Any] = field(default_factory=dict)
