"""Finds implementations through entry points, so that the core names none: kernels, devices, transports, checkpoints.

A third party's package adds its own with the same lines in its `pyproject.toml`:

    [project.entry-points."actorflow.kernels"]
    mine = "my_package.kernels"

actorflow's own parts are found in the same way, and without the metadata of the package as well. So a program that was frozen,
a zip, and a checkout that is only on the path have these parts.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from actorflow.base.registry import kernel, opdef
from actorflow.base.registry.standard import ENTRY_POINTS
from actorflow.base.reports.logs import get_logger
from actorflow.errors import FailedPreconditionError, NotFoundError, OpError

_LOG = get_logger("plugins")


@functools.cache
def _installed() -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of other packages by our groups. One look has them all, as it reads a file of each package."""
    every = entry_points()
    groups = [group for group in every.groups if group.startswith("actorflow.")]
    return {group: tuple(entry for entry in every.select(group=group) if not is_own(entry)) for group in groups}


@functools.cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of `actorflow.<group>`: those of other packages, then our own.

    Our own come from our own table. The metadata of an installation may be older than the code, in a checkout.
    """
    name = f"actorflow.{group}"
    return (*_installed().get(name, ()), *(EntryPoint(*item, name) for item in ENTRY_POINTS.get(name, {}).items()))


def is_own(entry: EntryPoint) -> bool:
    """Whether an entry point names a module of actorflow."""
    return entry.value.partition(":")[0].partition(".")[0] == "actorflow"


def package_of(entry: EntryPoint) -> str:
    """The package that an entry point comes from, with its version where that is known, such as `streams 1.0`."""
    dist = entry.dist
    return entry.value.partition(".")[0].partition(":")[0] if dist is None else f"{dist.name} {dist.version}"


def names(group: str) -> list[str]:
    """The names of all that is installed for `actorflow.<group>`; none of it is imported."""
    return sorted({entry.name for entry in entries(group)})


def packages(group: str, name: str) -> str:
    """The packages that an entry point of this name comes from."""
    return ", ".join(package_of(entry) for entry in entries(group) if entry.name == name)


def who_may_bring(group: str, what: str, name: str, known: Sequence[str]) -> str:
    """Advice to a user who asked for `name`, which is none of the `known` names of `actorflow.<group>`: the name that may be
    meant, the package that may bring it, and the packages that bring others."""
    near = difflib.get_close_matches(name, known, 1)
    others = {package_of(entry) for entry in entries(group) if not is_own(entry)}
    return (
        (f"Is {near[0]!r} meant? " if near else "")
        + f"A package brings {what} by an entry point of actorflow.{group}, and by custom has its name: "
        + f"actorflow-{name.lower()}. Such packages that are installed here: {', '.join(sorted(('actorflow', *others)))}. "
        + "Each host of a cluster needs the package."
    )


@functools.cache
def load_all(group: str) -> Mapping[str, Any]:
    """The objects that the entry points of `actorflow.<group>` name, by their names.

    A plug-in of another package that can't be imported is left out. The log tells of it once, with its traceback.
    """
    loaded: dict[str, Any] = {}
    for entry in entries(group):
        try:
            plugin = _imported(entry)
        except PluginError:
            continue
        loaded.setdefault(entry.name, plugin)
    return MappingProxyType(loaded)


def look_again() -> None:
    """Forgets what was found of plug-ins: there may be more of them than before."""
    for kept in (_installed, entries, load_all, load):
        kept.cache_clear()


_told: set[tuple[str, str]] = set()


def tell_once(group: str, name: str, error: OpError) -> None:
    """Logs that what an entry point names is left out, and why; once in a process."""
    if (group, name) not in _told:
        _told.add((group, name))
        _LOG.warning("a plug-in is left out", plugin=name, group=f"actorflow.{group}", reason=error.message)


class PluginError(FailedPreconditionError):
    """A plug-in of another package can't be imported."""


_broken: dict[tuple[str, str, str], Exception] = {}


def _imported(entry: EntryPoint) -> Any:
    """The object that `entry` names. Raises PluginError where that is another package's and can't be imported, and
    tells of it once."""
    if is_own(entry):
        return entry.load()
    key = (entry.group, entry.name, entry.value)
    if key not in _broken:
        try:
            return entry.load()
        except Exception as error:
            _broken[key] = error
            _LOG.warning(
                "a plug-in can't be imported, and is left out",
                plugin=entry.name,
                group=entry.group,
                package=package_of(entry),
                exc_info=error,
            )
    why = _broken[key]
    raise PluginError(
        f"{entry.name!r} of {entry.group} comes from the package {package_of(entry)}, which can't be imported: "
        f"{type(why).__name__}: {why}",
        hint="The log has its traceback. Mend that package, or install the version that fits this actorflow.",
    ) from why


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
    for package in load_all("ops").values():
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


@functools.cache
def _import_kernels() -> None:
    import_ops()  # each op has a declaration before it has a kernel
    load_all("kernels")


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
        PluginError: another package brings it, and can't be imported.
    """
    group_entries = entries(group)
    for entry in group_entries:
        if entry.name == name:
            return _imported(entry)
    names = ", ".join(sorted(entry.name for entry in group_entries)) or "none"
    raise NotFoundError(
        f"Nothing named {name!r} is installed for actorflow.{group}; there are: {names}.",
        hint="Install the package that provides it, or reinstall actorflow if it should.",
    )
