"""Names of devices: `/job:worker/replica:0/task:17/device:GPU:3`, partial names, merging and matching (paper section 3)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

_PART = re.compile(
    r"(?:(job):([A-Za-z_][A-Za-z0-9_\-]*)|(replica|task):(\d+|\*)|(?:device:)?([A-Za-z_]+)(?::(\d+|\*))?)"
)

_NUMBERED = re.compile(r"(?<=[/:])([A-Za-z]+?)_?(\d+)(?=/|$)")


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device's name, or a part of it: a field that is None matches anything. `kind` is upper case (CPU, GPU, ...)."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    kind: str | None = None
    index: int | None = None

    @staticmethod
    def parse(name: str) -> DeviceSpec:
        """Reads a full or partial name; `/cpu:0` is short for `/device:CPU:0`. Raises ValueError with the faulty part."""
        return _parse(name)

    def merge(self, default: DeviceSpec) -> DeviceSpec:
        """This name, with what it leaves open taken from `default`. An index goes with its kind."""
        index = self.index
        if index is None and self.kind in (None, default.kind):
            index = default.index
        return DeviceSpec(
            job=self.job if self.job is not None else default.job,
            replica=self.replica if self.replica is not None else default.replica,
            task=self.task if self.task is not None else default.task,
            kind=self.kind if self.kind is not None else default.kind,
            index=index,
        )

    def task_of(self) -> DeviceSpec:
        """The part of the name that says in which task the device is."""
        return DeviceSpec(job=self.job, replica=self.replica, task=self.task)

    def matches(self, full: DeviceSpec) -> bool:
        """Whether the device `full` is one of those that this (partial) name means."""
        return all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.job, full.job),
                (self.replica, full.replica),
                (self.task, full.task),
                (self.kind, full.kind),
                (self.index, full.index),
            )
        )

    def __str__(self) -> str:
        parts = []
        if self.job is not None:
            parts.append(f"/job:{self.job}")
        if self.replica is not None:
            parts.append(f"/replica:{self.replica}")
        if self.task is not None:
            parts.append(f"/task:{self.task}")
        if self.kind is not None:
            parts.append(f"/device:{self.kind}:{'*' if self.index is None else self.index}")
        return "".join(parts)


@functools.lru_cache(maxsize=4096)
def _parse(name: str) -> DeviceSpec:
    fields: dict[str, str | int | None] = {}
    if name and not name.startswith("/"):
        raise ValueError(
            f"Device name {name!r} has to start with '/', as in '/job:worker/task:1/device:CPU:0'.{_likely('/' + name)}"
        )
    for part in name.split("/")[1:]:
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(
                f"Device name {name!r}: the part {part!r} is none of job:NAME, replica:N, task:N, device:KIND:N."
                f"{_likely(name)}"
            )
        job, job_name, numbered, number, kind, index = match.groups()
        new: dict[str, str | int | None]
        if job:
            new = {"job": job_name}
        elif numbered:
            new = {numbered: None if number == "*" else int(number)}
        else:
            if kind.lower() in ("job", "replica", "task", "device"):
                raise ValueError(f"Device name {name!r}: the part {part!r} names no {kind.lower()}.")
            new = {"kind": kind.upper(), "index": None if index in (None, "*") else int(index)}
        twice = fields.keys() & new.keys()
        if twice:
            raise ValueError(f"Device name {name!r} gives its {max(twice)} twice.")  # kind rather than index
        fields.update(new)
    return DeviceSpec(**fields)  # type: ignore[arg-type]


def _likely(name: str) -> str:
    """The name that was probably meant: a number that follows its kind without a colon gets the colon."""
    mended = _NUMBERED.sub(r"\1:\2", name)
    if mended == "/" or not all(_PART.fullmatch(part) for part in mended.split("/")[1:]):
        return ""
    return f" Did you mean {mended!r}?"


def canonical(name: str) -> str:
    """`name` in its full spelling: `/gpu:1` becomes `/device:GPU:1`."""
    return str(_parse(name))
