"""Finds implementations through entry points, so that the core names none: kernels, devices, transports, checkpoints.

A third party's package adds its own with the same lines in its `pyproject.toml`:

    [project.entry-points."actorflow.kernels"]
    mine = "my_package.kernels"

actorflow's own parts are found in the same way, and without the metadata of the package as well: in a program that was frozen,
from a zip, in a checkout that is only on the path.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from actorflow.errors import NotFoundError
from actorflow.registry import kernel, opdef
from actorflow.registry.standard import ENTRY_POINTS


def entries(group: str) -> list[EntryPoint]:
    """The entry points of `actorflow.<group>`: those that are installed, then our own that are not among them."""
    name = f"actorflow.{group}"
    found = list(entry_points(group=name))
    installed = {(entry.name, entry.value) for entry in found}
    own = [EntryPoint(*item, name) for item in ENTRY_POINTS.get(name, {}).items() if item not in installed]
    return found + own


def load_kernels() -> None:
    """Imports each package of kernels, then checks that all registrations are complete, those made since as well.

    Raises:
        TypeError: an op lacks its gradient, or a kernel has no op.
    """
    _import_kernels()
    _verify(len(opdef.registered()), sum(map(len, kernel.registered().values())))


@functools.cache
def import_ops() -> None:
    """Imports all declarations of ops: those of the core, and those of other packages. A program's own imports load those that
    it uses."""
    for entry in entries("ops"):
        package = entry.load()
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


@functools.cache
def _import_kernels() -> None:
    import_ops()  # each op has a declaration before it has a kernel
    for entry in entries("kernels"):
        entry.load()


@functools.lru_cache(maxsize=1)
def _verify(ops: int, kernels: int) -> None:
    """Looks again only when there is more than last time."""
    opdef.verify()
    kernel.verify()


@functools.cache
def load(group: str, name: str) -> Any:
    """The object that the entry point `name` of `actorflow.<group>` names.

    Raises:
        NotFoundError: there is none; the message lists those that there are.
    """
    found = entries(group)
    for entry in found:
        if entry.name == name:
            return entry.load()
    names = ", ".join(sorted(entry.name for entry in found)) or "none"
    raise NotFoundError(
        f"Nothing named {name!r} is installed for actorflow.{group}; there are: {names}.",
        hint="Install the package that provides it, or reinstall actorflow if it should.",
    )
