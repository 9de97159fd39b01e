"""The formats of checkpoints that are installed: by name, and by what is at a path."""

from __future__ import annotations

from actorflow.base import dialect
from actorflow.base.registry import plugins
from actorflow.engine.formats.base import Format, SmallFiles
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

STANDARD = "standard"
"""The format that savers write unless they are told another format."""
BUNDLE = "tensor_bundle"
"""TensorFlow's format."""
_GROUP = "checkpoint"
_registered: dict[str, Format] = {}
_METHODS = ("write", "commit", "discard", "open", "exists", "remove", "clean")


def find(name: str) -> Format:
    """The format of that name.

    Raises:
        InvalidArgumentError: nothing of that name is installed.
        PluginError: the package that brings it can't be imported.
        FailedPreconditionError: what its entry point names is no format.
    """
    if name in _registered:
        return _registered[name]
    installed = names()
    if name not in installed:
        raise InvalidArgumentError(
            f"format={name!r}: no such format of checkpoints is installed; there are {', '.join(installed)}.",
            hint=plugins.who_may_bring(_GROUP, "a format of checkpoints", name, installed),
        )
    return _checked(name, plugins.load(_GROUP, name))


def default() -> str:
    """The format of savers that actorflow makes for a program: TensorFlow's for a program that is written against
    `actorflow.compat.v1`."""
    return BUNDLE if dialect.speaks_v1() else STANDARD


def names() -> list[str]:
    """The names of all formats; none of them is imported."""
    return sorted({*_registered, *plugins.names(_GROUP)})


def register(name: str, format: Format) -> None:
    """Lets this process find a format that no package brings. Each process of a cluster has to do so."""
    _registered[name] = _checked(name, format)


def unregister(name: str) -> None:
    """Forgets a format that was registered."""
    _registered.pop(name, None)


def _checked(name: str, plugin: object) -> Format:
    lacking = [method for method in _METHODS if not callable(getattr(plugin, method, None))]
    if lacking:
        raise FailedPreconditionError(
            f"The entry point {name!r} of actorflow.{_GROUP} names {plugin!r:.80}, which is no format of checkpoints: it lacks "
            f"{', '.join(lacking)}.",
            hint=f"It comes from the package {plugins.packages(_GROUP, name)}.",
        )
    return plugin  # type: ignore[return-value]


def usable() -> dict[str, Format]:
    """All that can be imported, the standard one first. Of the others the log tells once."""
    formats: dict[str, Format] = {STANDARD: find(STANDARD), **_registered}
    for name, plugin in sorted(plugins.load_all(_GROUP).items()):
        try:
            formats.setdefault(name, _checked(name, plugin))
        except FailedPreconditionError as error:
            plugins.tell_once(_GROUP, name, error)
    return formats


def at(prefix: str) -> Format | None:
    """The format of the checkpoint at a path; None if no format finds a checkpoint."""
    standard = find(STANDARD)
    try:
        if standard.exists(prefix):
            return standard  # the others need not be imported
        return next((candidate for candidate in usable().values() if candidate.exists(prefix)), None)
    except InvalidArgumentError:
        return None  # no checkpoint can be there


def of(prefix: str) -> Format:
    """The format of the checkpoint at a path.

    Raises:
        NotFoundError: there is none of any format that is installed.
    """
    plugin = at(prefix)
    if plugin is not None:
        return plugin
    try:
        find(STANDARD).open(prefix)
    except NotFoundError as error:
        others = [name for name in names() if name != STANDARD]
        if not others:
            raise
        looked = f"Formats that are installed on this host: {', '.join([STANDARD, *others])}."
        raise NotFoundError(error.message, details=error.details, hint=f"{error.hint or ''} {looked}".strip()) from None
    return find(STANDARD)


def remove_others(prefix: str, name: str) -> None:
    """Removes what formats of other names have at a path: a save replaces the checkpoint that was there."""
    if len(names()) > 1:
        for other, candidate in usable().items():
            if other != name and candidate.exists(prefix):
                candidate.remove(prefix)


def small_files() -> SmallFiles:
    """The keeper of the small files of folders with checkpoints."""
    files: SmallFiles = plugins.load("files", "standard")
    return files
