"""Execution providers, as hints on devices. The CPU's is always there; others where a package brings their device."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from actorflow.engine.session.devices import open_devices
from actorflow.public import public

CPU = "CPUExecutionProvider"
_KINDS = {
    "CUDAExecutionProvider": "GPU",
    "TensorrtExecutionProvider": "GPU",
    "NvTensorRtRtxExecutionProvider": "GPU",
    CPU: "CPU",
}
"""The kinds of devices that stand behind providers."""


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers of a session.

    Args:
        options: the options of each, by name, in the order of preference. The CPU's is the last.
        devices: how many devices of each kind a session has.
    """

    options: Mapping[str, Mapping[str, str]]
    devices: Mapping[str, int]


@public("af.onnx")
def get_available_providers() -> list[str]:
    """The providers whose devices are here.

    Example:
        >>> "CPUExecutionProvider" in af.onnx.get_available_providers()
        True
    """
    return [name for name, kind in _KINDS.items() if kind == "CPU" or _is_here(kind)]


@public("af.onnx")
def get_device() -> str:
    """The kind of the first provider's device, such as CPU or GPU.

    Example:
        >>> af.onnx.get_device() in ("CPU", "GPU")
        True
    """
    return _KINDS[get_available_providers()[0]]


@lru_cache
def _is_here(kind: str) -> bool:
    """Whether a device of that kind can be opened."""
    try:
        (device,) = open_devices({kind: 1}, None)
    except Exception:  # no package brings it, a library lacks, or there is no such device
        return False
    device.close()
    return True


def chosen(providers: Any, provider_options: Any = None) -> Providers:
    """The providers that a program names, as far as they are here. A warning names the others.

    Args:
        providers: names, or pairs of a name and its options. The CPU unless given.
        provider_options: the options of each provider, where `providers` are names.

    Raises:
        TypeError: these are no names.
        ValueError: the numbers of providers and of options differ.
    """
    if providers is None:
        providers = [CPU]
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise TypeError(f"providers is a list of names, such as [{CPU!r}], but it was given {providers!r:.60}.")
    if provider_options is not None and len(provider_options) != len(providers):
        raise ValueError(
            f"provider_options has {len(provider_options)} entries for {len(providers)} providers; it takes a dict for each."
        )
    options: dict[str, dict[str, str]] = {}
    available = get_available_providers()
    for at, entry in enumerate(providers):
        name, own = (entry, {}) if isinstance(entry, str) else _pair(entry)
        if provider_options is not None:
            own = provider_options[at]
        if name not in available:
            warnings.warn(
                f"The provider {name!r} is not here; there is {', '.join(available)}.", UserWarning, stacklevel=4
            )
        elif name not in options:
            options[name] = {str(key): str(value) for key, value in own.items()}
    options.setdefault(CPU, {})
    kinds = dict.fromkeys(_KINDS[name] for name in options)
    return Providers(options, dict.fromkeys(kinds, 1))


def _pair(entry: Any) -> tuple[str, Mapping[Any, Any]]:
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], Mapping):
        return entry
    raise TypeError(f"A provider is a name, or a tuple of a name and a dict of options, but one is {entry!r:.60}.")
