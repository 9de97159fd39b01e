"""`tf.config.experimental`: devices, and their memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import actorflow as af


class PhysicalDevice(NamedTuple):
    """A device of this machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device of a session."""

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """The memory of a part of a device, in MiB."""

    memory_limit: int | None = None


_growth: dict[Any, bool] = {}
_visible: dict[str | None, list[Any]] = {}
_virtual: dict[Any, list[Any]] = {}
_settings: dict[str, Any] = {"device_policy": "silent", "synchronous_execution": True}


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices of a session here, or those of a type."""
    with af.blocking.Session(graph=af.Graph()) as session:
        names = [str(device.name) for device in session.list_devices()]
    devices = [LogicalDevice(f"/{name.rpartition('/')[2]}", name.rpartition("/")[2].split(":")[1]) for name in names]
    return [device for device in devices if device_type in (None, device.device_type)]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, or those of a type."""
    devices = list_logical_devices(device_type)
    return [PhysicalDevice(f"/physical_{device.name.removeprefix('/')}", device.device_type) for device in devices]


def get_visible_devices(device_type: str | None = None) -> list[Any]:
    """The devices that were chosen; all unless some were."""
    return list(_visible.get(device_type, list_physical_devices(device_type)))


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Keeps the choice. The variable CUDA_VISIBLE_DEVICES hides GPUs."""
    _visible[device_type] = list(devices) if isinstance(devices, (list, tuple)) else [devices]


def get_memory_growth(device: Any) -> bool:
    """The setting that was kept. Memory always grows as it is needed."""
    return _growth.get(device, True)


def set_memory_growth(device: Any, enable: bool) -> None:
    """Keeps the setting: memory always grows as it is needed."""
    _growth[device] = enable


def get_virtual_device_configuration(device: Any) -> list[Any] | None:
    """The parts that were set, or None."""
    return _virtual.get(device)


def set_virtual_device_configuration(device: Any, virtual_devices: list[Any]) -> None:
    """Keeps the parts; a session says `devices={"CPU": 2}`."""
    _virtual[device] = list(virtual_devices)


def get_device_policy() -> str:
    """The setting that was kept."""
    return str(_settings["device_policy"])


def set_device_policy(device_policy: str | None) -> None:
    """Keeps the setting: tensors always move between devices."""
    _settings["device_policy"] = device_policy or "silent"


def get_synchronous_execution() -> bool:
    """The setting that was kept."""
    return bool(_settings["synchronous_execution"])


def set_synchronous_execution(enable: bool | None) -> None:
    """Keeps the setting: eager ops are synchronous."""
    _settings["synchronous_execution"] = bool(enable)
