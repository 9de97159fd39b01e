"""The devices of an in-process session, and the state that outlives sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorflow.device.base import Device
from actorflow.registry import plugins
from actorflow.runtime.resources import ResourceManager


class SharedResources:
    """The named containers of each device name in this process."""

    def __init__(self) -> None:
        self._by_device: dict[str, ResourceManager] = {}

    def __call__(self, device: str) -> ResourceManager:
        """The manager of a device's named containers, which all sessions share."""
        return self._by_device.setdefault(device, ResourceManager())

    def all(self) -> list[ResourceManager]:
        return list(self._by_device.values())


shared_resources = SharedResources()


def open_devices(wanted: Mapping[str, int] | Sequence[Device] | None, memory_budget: int | None) -> list[Device]:
    """The devices that a session asks for: so many of each type, or one CPU.

    Raises:
        NotFoundError: nothing that is installed provides a type.
        ValueError: no device at all is asked for.
    """
    plugins.load_kernels()
    if wanted is None:
        wanted = {"CPU": 1}
    if not isinstance(wanted, Mapping):
        devices = list(wanted)
    else:
        devices = [
            plugins.load("devices", kind.upper())(
                f"/job:localhost/replica:0/task:0/device:{kind.upper()}:{index}", memory_budget=memory_budget
            )
            for kind, count in wanted.items()
            for index in range(count)
        ]
    if not devices:
        raise ValueError("A session needs at least one device.")
    return devices
