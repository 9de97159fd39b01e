"""The devices of an in-process session, and the state that outlives sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from actorflow.base.registry import plugins
from actorflow.engine.device.base import BlockSource, Device
from actorflow.engine.device.installed import find
from actorflow.engine.runtime.state.resources import ResourceManager
from actorflow.graph.device_spec import DeviceSpec


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


_HERE = DeviceSpec("localhost", 0, 0)


def open_devices(
    request: Mapping[str, int] | Sequence[Device] | None,
    memory_budget: int | None,
    task: DeviceSpec = _HERE,
    source: BlockSource | None = None,
) -> list[Device]:
    """The devices that a session asks for: as many of each type as given, or one CPU. `task` is whose they are,
    `source` where those in host memory take theirs from.

    Raises:
        InvalidArgumentError: nothing that is installed provides a type.
        PluginError: the package that brings it can't be imported.
        ValueError: no device at all is asked for.
    """
    plugins.load_kernels()
    if request is None:
        request = {"CPU": 1}
    if not isinstance(request, Mapping):
        devices = list(request)
    else:
        devices = [
            find(kind)(
                str(replace(task, kind=kind.upper(), index=index)),
                memory_budget=memory_budget,
                **({"source": source} if source is not None and kind.upper() == "CPU" else {}),
            )
            for kind, count in request.items()
            for index in range(count)
        ]
    if not devices:
        raise ValueError("A session needs at least one device.")
    return devices
