"""State that outlives steps: containers of named resources (paper sections 2 and 4.7)."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from actorflow.errors import InvalidArgumentError, NotFoundError

R = TypeVar("R")
_shared_state = threading.RLock()


def one_at_a_time(kernel: Callable[..., R]) -> Callable[..., R]:
    """`kernel` under a lock of the process: for those that touch named containers, which sessions on other threads use
    too. Others need none, because a session's kernels take turns by themselves."""

    @functools.wraps(kernel)
    def locked(*inputs: Any, **keywords: Any) -> R:
        with _shared_state:
            return kernel(*inputs, **keywords)

    return locked


class ResourceManager:
    """Named resources by (container, type, name) on one device.

    The default container (the empty name) is this manager's own; named ones belong to `shared` where that is given,
    so that all sessions of a process that use the device find the same state there.
    """

    def __init__(self, shared: ResourceManager | None = None) -> None:
        self._shared = shared
        self._containers: dict[str, dict[tuple[type, str], Any]] = {}
        self.file_roots: Sequence[str] | None = None
        """The directories below which kernels may touch files; None for all files."""

    def _container(self, name: str) -> dict[tuple[type, str], Any]:
        if name and self._shared is not None:
            return self._shared._container(name)
        return self._containers.setdefault(name, {})

    def lookup_or_create(self, container: str, name: str, kind: type[R], make: Callable[[], R]) -> R:
        """The resource of that name, made by `make` where there is none."""
        resources = self._container(container)
        found = resources.get((kind, name))
        if found is None:
            found = resources.setdefault((kind, name), make())
        resource: R = found
        return resource

    def lookup(self, container: str, name: str, kind: type[R]) -> R:
        """The resource of that name. Raises NotFoundError where there is none."""
        found = self._container(container).get((kind, name))
        if found is None:
            raise NotFoundError(f"Container {container!r} has no {kind.__name__} {name!r}.")
        resource: R = found
        return resource

    def reset(self, containers: Iterable[str] = ("",)) -> None:
        """Drops what these containers hold; by default the unnamed one. Others keep theirs."""
        for name in containers:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"Containers are named by strings; got {name!r}.")
            resources = self._container(name)
            dropped = list(resources.values())
            resources.clear()
            for resource in dropped:
                close = getattr(resource, "close", None)
                if close is not None:
                    close()

    def names(self) -> list[tuple[str, str, str]]:
        """(container, type, name) of each resource that this manager itself holds."""
        return [
            (container, kind.__name__, name)
            for container, resources in self._containers.items()
            for kind, name in resources
        ]
