"""State that outlives steps: containers of named resources (paper sections 2 and 4.7)."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from actorflow.base.process import forks
from actorflow.errors import InvalidArgumentError, NotFoundError

R = TypeVar("R")
shared_state = forks.new_library_lock()
"""Held by kernels that touch variables and containers: a fork waits, or a child would have values that are in part new."""


def one_at_a_time(kernel: Callable[..., R]) -> Callable[..., R]:
    """`kernel` under a lock of the process: for those that touch named containers, which sessions on other threads use
    too. Others need none, because a session's kernels take turns by themselves."""

    @functools.wraps(kernel)
    def locked(*inputs: Any, **keywords: Any) -> R:
        with shared_state:
            return kernel(*inputs, **keywords)

    return locked


@runtime_checkable
class Resumable(Protocol):
    """A resource whose place a checkpoint keeps, such as a reader's in its file."""

    def state(self) -> bytes:
        """Its position now."""

    def restore(self, state: bytes) -> None:
        """Goes to that position. The empty state is that of a fresh resource."""


class Holder:
    """A session in one task, as the holder of resources that it shares with no other session."""

    __slots__ = ("__weakref__", "gone")

    def __init__(self) -> None:
        self.gone = False
        """Whether the session has ended, so that another may take over the resources."""


class Place:
    """It holds one resource. It is empty (None) when the resource has been dropped, and stays so."""

    __slots__ = ("resource",)

    def __init__(self, resource: Any = None) -> None:
        self.resource = resource


NOWHERE = Place()
"""The place of what has not been looked up."""


def _numbered(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ({count})"


class ResourceManager:
    """Named resources by (container, type, name) on one device.

    The default container (the empty name) is this manager's own; named containers belong to `shared` where that is
    given, so that all sessions of a process that use the device find the same state there.
    """

    def __init__(self, shared: ResourceManager | None = None) -> None:
        self._shared = shared
        self._containers: dict[str, dict[tuple[type, str], Any]] = {}
        self._places: dict[tuple[type, str], Place] = {}
        self._resuming: dict[tuple[str, str, str], bytes] = {}
        self._held: dict[tuple[str, type, str], dict[str, weakref.ref[Holder]]] = {}
        """The holders of resources that are not shared: by container, type and name, and there by key."""
        self.file_roots: Sequence[str] | None = None
        """The directories below which kernels may touch files; None for all files."""

    def _container(self, name: str) -> dict[tuple[type, str], Any]:
        if name and self._shared is not None:
            return self._shared._container(name)
        return self._containers.setdefault(name, {})

    def lookup_or_create(self, container: str, name: str, kind: type[R], make: Callable[[], R]) -> R:
        """The resource of that name, made by `make` if it does not exist."""
        return self._made(container, name, kind, make, name)

    def _made(self, container: str, key: str, kind: type[R], make: Callable[[], R], name: str) -> R:
        """The resource with that key, made if it does not exist, at the place that a checkpoint has under `name`."""
        resources = self._container(container)
        stored = resources.get((kind, key))
        if stored is None:
            fresh = make()
            state = self._resuming.pop((container, kind.__name__, name), None)
            if state is not None and isinstance(fresh, Resumable):
                fresh.restore(state)
            stored = resources.setdefault((kind, key), fresh)
        resource: R = stored
        return resource

    def lookup_or_create_alone(
        self,
        holder: Holder,
        container: str,
        name: str,
        kind: type[R],
        make: Callable[[], R],
        fits: Callable[[R], bool],
    ) -> tuple[str, R]:
        """The resource that `holder` has under that name for itself, and the key by which `lookup` finds the resource.

        A holder that comes later takes over the resource of a holder that is gone, if the resource `fits`. Beside those of
        others who are there a resource of its own is made.
        """
        manager = self._shared if container and self._shared is not None else self
        resources = manager._container(container)
        held = manager._held.setdefault((container, kind, name), {})
        free: list[str] = []
        for key, reference in held.items():
            present, owner = (kind, key) in resources, reference()
            if owner is holder and present:
                return key, resources[kind, key]
            if owner is None or owner.gone or not present:
                free.append(key)
        taken = [key for key in free if (kind, key) in resources and fits(resources[kind, key])]
        fresh = (key for count in itertools.count(1) if (kind, key := _numbered(name, count)) not in resources)
        key = taken[0] if taken else free[-1] if free else next(fresh)
        if not taken and (former := resources.pop((kind, key), None)) is not None:
            manager._places.pop((kind, key), NOWHERE).resource = None
            former.close()
        held[key] = weakref.ref(holder)
        return key, self._made(container, key, kind, make, name)

    def place(self, kind: type, name: str) -> Place:
        """The place of a resource of the default container, for kernels that look often. `reset` empties it."""
        place = self._places.get((kind, name))
        if place is None:
            place = self._places[kind, name] = Place(self._container("").get((kind, name)))
        return place

    def resumable(self, holder: Holder | None = None) -> dict[tuple[str, str, str], Resumable]:
        """The resumable resources that are held here or shared, by container, type and name. Those that a session other than
        `holder` has for itself are left out."""
        resumable: dict[tuple[str, str, str], Resumable] = {}
        for manager in (self._shared, self):
            if manager is None:
                continue
            holders = {
                (container, kind, key): (name, reference())
                for (container, kind, name), held in list(manager._held.items())
                for key, reference in list(held.items())
            }
            for container, resources in list(manager._containers.items()):
                for (kind, key), resource in list(resources.items()):
                    name, owner = holders.get((container, kind, key), (key, None))
                    if isinstance(resource, Resumable) and (owner is None or owner.gone or owner is holder):
                        place = container, kind.__name__, name
                        resumable[place] = resource if owner is holder else resumable.get(place, resource)
        return resumable

    @property
    def resuming(self) -> Mapping[tuple[str, str, str], bytes]:
        """The states that `resume` brought for resources that are not there yet."""
        return self._resuming

    def resume(self, states: Mapping[tuple[str, str, str], bytes], holder: Holder | None = None) -> None:
        """Brings each resumable resource to its state among `states`, or to that of a fresh resource. A resource that
        is made later starts there. Those that a session other than `holder` has for itself stay as they are."""
        self._resuming = dict(states)
        for key, resource in self.resumable(holder).items():
            resource.restore(self._resuming.pop(key, b""))

    def lookup(self, container: str, name: str, kind: type[R]) -> R:
        """The resource of that name. Raises NotFoundError for an unknown name."""
        stored = self._container(container).get((kind, name))
        if stored is None:
            raise NotFoundError(f"Container {container!r} has no {kind.__name__} {name!r}.")
        resource: R = stored
        return resource

    def reset(self, containers: Iterable[str] = ("",)) -> None:
        """Drops what these containers hold; by default the unnamed container. Others keep theirs."""
        for name in containers:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"Containers are named by strings; got {name!r}.")
            resources = self._container(name)
            dropped = list(resources.values())
            resources.clear()
            if not name:  # from here on, what a step looks up is fresh, so no place of a dropped resource is left
                places, self._places = self._places, {}
                for place in places.values():
                    place.resource = None
            for resource in dropped:
                close = getattr(resource, "close", None)
                if close is not None:
                    close()

    def drop(self, container: str, name: str, kind: type) -> bool:
        """Drops one resource, and says whether it was there."""
        dropped = self._container(container).pop((kind, name), None)
        self._places.pop((kind, name), NOWHERE).resource = None
        close = getattr(dropped, "close", None)
        if close is not None:
            close()
        return dropped is not None

    def names(self) -> list[tuple[str, str, str]]:
        """(container, type, name) of each resource that this manager itself holds."""
        return [
            (container, kind.__name__, name)
            for container, resources in self._containers.items()
            for kind, name in resources
        ]

    def held(self) -> list[tuple[str, str, str, Any]]:
        """(container, type, name, resource) of each resource that this manager itself holds."""
        return [
            (container, kind.__name__, name, resource)
            for container, resources in list(self._containers.items())
            for (kind, name), resource in list(resources.items())
        ]
