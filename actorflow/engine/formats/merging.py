"""A commit makes one checkpoint of the parts that tasks have written: each tensor once, and all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from actorflow.engine.formats.regions import TensorRegion, covers
from actorflow.errors import InvalidArgumentError

LEFT = {"left node": "node", "left resource": "resource"}
"""Kinds that only parts of a save have: what a task was told by a restore of nodes and readers that it may not have itself."""


class Written(Protocol):
    """A tensor that a task has written, or a slice of a tensor, which begins at `begin`."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def begin(self) -> tuple[int, ...] | None: ...


W = TypeVar("W", bound=Written)


def merged(written: Iterable[W], of_kind: Callable[[W, str], W]) -> list[W]:
    """The tensors that several tasks have written, each once. Of a kind in `LEFT` a task knows by hearsay: such a tensor counts
    if no task has it itself, as `of_kind(tensor, LEFT[kind])`.

    Raises:
        InvalidArgumentError: two tasks have a variable of one name.
    """
    entries: dict[tuple[str, str, tuple[int, ...] | None], W] = {}
    left: list[W] = []
    for entry in written:
        if entry.kind in LEFT:
            left.append(of_kind(entry, LEFT[entry.kind]))
            continue
        key = (entry.kind, entry.name, entry.begin)
        if key in entries and entry.kind == "variable":
            raise InvalidArgumentError(f"Two tensors can't be saved under one name: {entry.name}.")
        entries.setdefault(key, entry)
    for entry in left:
        entries.setdefault((entry.kind, entry.name, entry.begin), entry)
    return list(entries.values())


def is_whole(regions: Iterable[TensorRegion | None]) -> bool:
    """Whether the slices of a variable are all of it; None stands for a variable that is not cut."""
    parts = list(regions)
    if None in parts:
        return len(parts) == 1
    return covers([part for part in parts if part is not None])


def variables(written: Iterable[W]) -> dict[str, list[W]]:
    """The variables by name, each with its slices."""
    by_name: dict[str, list[W]] = {}
    for entry in written:
        if entry.kind == "variable":
            by_name.setdefault(entry.name, []).append(entry)
    return by_name
