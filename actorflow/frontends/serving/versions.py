"""`Served`: a model under a name, with numbered versions that come and go while requests are answered."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio

from actorflow.base.process import machine
from actorflow.base.reports.logs import get_logger
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks
from actorflow.errors import InternalError, NotFoundError, OpError, UnavailableError
from actorflow.exchange.sources.source import is_model
from actorflow.frontends.serving.model import Model
from actorflow.frontends.serving.plugin import Flow
from actorflow.public import public

_LOG = get_logger("serving")
_SHARE = 0.25
"""Of a processor's time, for the reading of a version while others answer."""
_MOST_GONE = 16
"""Versions of a model that have ended and whose files are gone, of which the status still tells."""
State = Literal["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]


@public("af.serving")
@dataclass(frozen=True, slots=True)
class VersionPolicy:
    """Which of the versions in a folder are served.

    Example:
        >>> af.serving.VersionPolicy(latest=2), af.serving.VersionPolicy(specific=(3, 7)).specific
        (VersionPolicy(latest=2, specific=()), (3, 7))

    Args:
        latest: how many of the highest versions; 0 serves all.
        specific: these versions instead, if given.
    """

    latest: int = 1
    specific: tuple[int, ...] = ()

    def wanted(self, there: list[int]) -> list[int]:
        """The versions to serve, of those that are `there`, in increasing order.

        Example:
            >>> af.serving.VersionPolicy(latest=2).wanted([1, 2, 3])
            [2, 3]
        """
        if self.specific:
            return [number for number in there if number in self.specific]
        return there[-self.latest :] if self.latest else there


@dataclass(slots=True, eq=False)
class Version:
    """A version: its model if it is loaded, its state, and why it is not there."""

    number: int
    path: str | Flow
    state: State = "START"
    model: Model | None = None
    error: OpError | None = None
    seen: Any = None
    """The times of the files that could not be loaded: it is tried again when they change."""
    since: int = 0
    """The second, by the clock of the system, from which it has answered."""


@dataclass(eq=False)
class Served:
    """A model under a name.

    A new version is loaded and warmed up beside the old version. Then it answers, and the old version ends the requests that it
    has before its memory is given back. A version that can't be loaded leaves the old version in place, and is tried again when
    its files change.

    Args:
        name: the name.
        path: a folder of numbered folders or files (`1/`, `2/`), or one model or pipeline, which is version 1.
        open: makes the model of a path, not yet open.
        policy: which versions are served.
        labels: numbers of versions by label.
        is_beside_others: whether requests are answered meanwhile, of any model, so that versions are loaded at leisure.
    """

    name: str
    path: str | Flow
    open: Callable[[str | Flow], Model]
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = field(default_factory=dict)
    is_beside_others: Callable[[], bool] = lambda: False
    versions: dict[int, Version] = field(default_factory=dict)
    reloads: int = 0
    is_unloaded: bool = False
    """Whether it was unloaded on request: no version is loaded until `load`."""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _ends: BackgroundTasks | None = None

    def available(self) -> list[int]:
        """The numbers of the versions that answer, increasing."""
        return sorted(number for number, version in self.versions.items() if version.state == "AVAILABLE")

    def find(self, version: int | None = None, label: str | None = None) -> tuple[int, Model]:
        """The model that answers: of a version, of a label, or the latest.

        Raises:
            NotFoundError: there is none.
            UnavailableError: it is being loaded.
        """
        if label is not None:
            if label not in self.labels:
                raise NotFoundError(f"Unrecognized servable version label: {label}")
            version = self.labels[label]
        if version is None:
            for number in sorted(self.versions, reverse=True):
                if self.versions[number].state == "AVAILABLE":
                    version = number
                    break
        state = None if version is None else self.versions.get(version)
        if state is None or state.model is None or state.state != "AVAILABLE":
            if state is not None and state.state in ("START", "LOADING"):
                raise UnavailableError(f"The version {state.number} of {self.name!r} is being loaded.")
            what = f"Latest({self.name})" if version is None else f"Specific({self.name}, {version})"
            raise NotFoundError(f"Servable not found for request: {what}")
        assert version is not None
        return version, state.model

    async def refresh(self) -> None:
        """Looks at the folder: loads versions that are new, and then drains those that are wanted no more."""
        async with self._turn:
            if self.is_unloaded:
                return
            there = await machine.on_thread(lambda: _versions(self.path))
            numbers = self.policy.wanted(sorted(there))
            for number in numbers:
                version = self.versions.get(number)
                if version is None or version.state == "END":
                    await self._load(number, there[number], version)
            if not self.available():
                await self._load_older(there, numbers)
            loaded = set(self.available())
            if not (loaded & set(numbers)) and not numbers:
                return  # an empty folder is more often a mistake than a wish: what answers goes on
            for number in sorted(loaded - set(numbers)):
                if loaded & set(numbers):
                    self._end(self.versions[number])
            gone = [n for n, version in self.versions.items() if version.state == "END" and n not in there]
            for number in sorted(gone)[:-_MOST_GONE]:
                del self.versions[number]

    async def _load_older(self, there: Mapping[int, str | Flow], numbers: list[int]) -> None:
        """Loads the highest version below those that can't be loaded, if the latest versions are wanted: an old answer is
        better than none, and a restart must not change what answers."""
        if not numbers or self.policy.specific:
            return
        for number in sorted(number for number in there if number < min(numbers))[::-1]:
            await self._load(number, there[number], self.versions.get(number))
            if self.available():
                _LOG.warning("an older version answers", model=self.name, version=number, instead_of=max(numbers))
                return

    async def _load(self, number: int, path: str | Flow, before: Version | None) -> None:
        seen = None if isinstance(path, Flow) else await machine.on_thread(lambda: _times(path))
        if before is not None and before.error is not None and before.seen == seen and seen is not None:
            return
        version = self.versions[number] = Version(number, path, "LOADING", seen=seen)
        try:
            model = self.open(path)
            with machine.taking(_SHARE if self.is_beside_others() else 1.0):
                await model.__aenter__()
        except Exception as error:  # damaged files raise errors of all kinds; other models are loaded all the same
            version.state = "END"
            is_op_error = isinstance(error, OpError)
            version.error = error if isinstance(error, OpError) else InternalError(f"{type(error).__name__}: {error}")
            _LOG.error(
                "a version can't be loaded", model=self.name, version=number, error=str(error), exc_info=not is_op_error
            )
            return
        except BaseException:
            version.state = "END"
            raise
        version.model, version.state, version.since = model, "AVAILABLE", int(time.time())
        self.reloads += 1
        _LOG.info("a version answers", model=self.name, version=number)

    def _end(self, version: Version) -> None:
        if self._ends is None:
            self._ends = BackgroundTasks()
        version.state = "UNLOADING"
        self._ends.start(self._drain(version))

    async def _drain(self, version: Version) -> None:
        model = version.model
        assert model is not None
        try:
            await model.drain()
        finally:
            await _end(version, model)

    async def load(self) -> None:
        """Loads versions again after `unload`."""
        self.is_unloaded = False
        await self.refresh()

    async def unload(self) -> None:
        """Closes all versions, and loads none until `load`."""
        self.is_unloaded = True
        await self.close()

    async def close(self) -> None:
        """Closes all versions, also a version that is being loaded. Requests that wait end with UnavailableError."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                async with contextlib.AsyncExitStack() as closing:  # the last comes first, and each where others fail
                    ends, self._ends = self._ends, None
                    if ends is not None:
                        closing.push_async_callback(
                            ends.close
                        )  # after their models are closed, here or by their drains
                    for version in list(self.versions.values()):
                        if version.model is not None:
                            closing.push_async_callback(_end, version, version.model)


async def _end(version: Version, model: Model) -> None:
    """Closes the model of a version, which has ended then, also where the close fails."""
    try:
        await model.close()
    finally:
        version.model, version.state = None, "END"


def _versions(place: str | Flow) -> Mapping[int, str | Flow]:
    return {1: place} if isinstance(place, Flow) else numbered(place)


def numbered(path: str) -> dict[int, str]:
    """The versions at a path: the number and the path of each. One model is version 1."""
    if is_model(path):
        return {1: path}
    folders = {}
    try:
        names = os.listdir(path)
    except OSError:
        return {}
    for name in names:
        whole = os.path.join(path, name)
        stem = _stem(whole)
        if stem.isdecimal() and stem.isascii() and len(stem) < 19:
            if os.path.isdir(whole) and not is_model(whole):
                try:
                    inner = sorted(os.listdir(whole))
                except OSError:  # it has gone meanwhile
                    continue
                files = [os.path.join(whole, file) for file in inner if file.endswith((".onnx", ".pb"))]
                whole = files[0] if len(files) == 1 else whole
            if is_model(whole):
                folders[int(stem)] = whole
    return folders


def _stem(path: str) -> str:
    """The name of a folder, or that of a file without its ending: `2.tmp/` is not the version 2."""
    name = os.path.basename(path)
    return name if os.path.isdir(path) else os.path.splitext(name)[0]


def _times(path: str) -> list[Any]:
    """The files of a model with their sizes and times."""
    if not os.path.isdir(path):
        return [_time(path)]
    return sorted(_time(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _time(path: str) -> Any:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, status.st_size, status.st_mtime_ns


def models_in(folder: str) -> dict[str, str]:
    """The models of a folder by name: each folder with a model or with numbered versions, each ONNX file and frozen graph.

    Args:
        folder: the folder; a folder that is itself a model, or has versions, is one model of its own name.

    Raises:
        NotFoundError: there is no such folder, or it can't be read.
    """
    folder = os.path.abspath(folder)
    if is_model(folder) or numbered(folder):
        return {_stem(folder): folder}
    folders = {}
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        hint = "Name a folder of models, or a model: actorflow serve models/."
        raise NotFoundError(f"The folder {folder} can't be read: {error.strerror or error}.", hint=hint) from error
    for name in names:
        whole = os.path.join(folder, name)
        if name.startswith("."):
            continue
        if os.path.isdir(whole):
            if is_model(whole) or numbered(whole):
                folders[name] = whole
        elif is_model(whole):
            folders[_stem(whole)] = whole
    return folders
