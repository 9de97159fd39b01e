"""The types of devices that are installed: by name, and what a type that is not there is refused with."""

from __future__ import annotations

from actorflow.base.registry import plugins
from actorflow.engine.device.base import DeviceFactory
from actorflow.errors import FailedPreconditionError, InvalidArgumentError

_GROUP = "devices"


def find(kind: str) -> DeviceFactory:
    """The factory of devices of that type.

    Raises:
        InvalidArgumentError: nothing that is installed provides the type.
        PluginError: the package that brings it can't be imported.
        FailedPreconditionError: what its entry point names makes no devices of that type.
    """
    kind = kind.upper()
    installed = plugins.names(_GROUP)
    if kind not in installed:
        raise InvalidArgumentError(
            f"devices={{{kind!r}: ...}}: no such type of device is installed; there are {', '.join(installed)}.",
            hint=plugins.who_may_bring(_GROUP, "a type of device", kind, installed),
        )
    entry = plugins.load(_GROUP, kind)
    if callable(entry) and getattr(entry, "type", None) == kind:
        return entry  # type: ignore[no-any-return]
    raise FailedPreconditionError(
        f"The entry point {kind!r} of actorflow.{_GROUP} names {entry!r:.80}, but it has to name a class of devices whose `type` "
        "is its own name.",
        hint=f"It comes from the package {plugins.packages(_GROUP, kind)}.",
    )
