"""`Subject`: the format that is tried, files that forget and fail, and saves of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actorflow.base.process import machine
from actorflow.engine.formats import installed
from actorflow.engine.formats.base import Format, FormatReader, ReadRequest, SavedTensor
from actorflow.engine.formats.regions import TensorRegion
from actorflow.testing.contract import Broken
from actorflow.testing.files import SimulatedFiles

DEVICE = "/job:worker/replica:0/task:0/device:CPU:0"


@dataclass(frozen=True, slots=True)
class Subject:
    """A format of checkpoints, by its name."""

    name: str
    format: Format

    def __str__(self) -> str:
        return self.name


class _Machine:
    """The machine that is there, with other files. Work is done at once, so that each trial does the same operations."""

    is_real = False

    def __init__(self, files: SimulatedFiles) -> None:
        self.files = files
        self._there = machine.current()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._there, name)


@contextmanager
def on(files: SimulatedFiles) -> Iterator[None]:
    """A block whose files are these."""
    token = machine.put(_Machine(files))
    try:
        yield
    finally:
        token.var.reset(token)


@contextmanager
def folder() -> Iterator[str]:
    """A folder of the real file system, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as path:
        yield path


@contextmanager
def known(subject: Subject) -> Iterator[None]:
    """A block in which programs find the format by its name, whether or not it is installed."""
    installed.register(subject.name, subject.format)
    try:
        yield
    finally:
        installed.unregister(subject.name)


def content(number: float) -> dict[str, Any]:
    """Variables of several types, whose values tell `number`."""
    return {
        "w": np.full((20, 30), number, np.float32),
        "i": np.array(int(number), np.int64),
        "text": np.array([b"", b"\0zero", f"{number:g}".encode()], object),
        "none": np.zeros((0, 4), np.int8),
        "wide": np.array([number + 2j, 3 - 4j]),
        "flag": np.array([True, False]),
    }


def put_file(path: str, data: bytes) -> None:
    """Writes a file of the real file system."""
    Path(path).write_bytes(data)


def nothing() -> None:
    """A check of a step that goes on."""


def tensors(values: Mapping[str, Any]) -> list[SavedTensor]:
    return [SavedTensor(name, "variable", value) for name, value in values.items()]


def write(
    subject: Subject, prefix: str, saved: Sequence[SavedTensor], *, state: bool = False, step: int | None = 7
) -> bytes:
    """The bytes in which one task says what it has written."""
    return subject.format.write(prefix, {DEVICE: saved}, global_step=step, state=state, check=nothing)


def save(subject: Subject, prefix: str, number: float) -> None:
    """A whole save by one task."""
    subject.format.commit(prefix, [write(subject, prefix, tensors(content(number)))], nothing)


def number_of(reader: FormatReader) -> float:
    """The number that a checkpoint of `content` tells. Raises Broken where its values are not all of one save."""
    values = dict(zip(content(0), reader.load([ReadRequest(name, None) for name in content(0)])))
    number = float(values["i"])
    for name, value in content(number).items():
        if not equal(values[name], value):
            raise Broken(f"{name} is {values[name]!r:.100}, but {value!r:.100} was saved with the other values")
    return number


def equal(one: Any, other: Any) -> bool:
    """Whether two tensors are bit-equal."""
    x, y = np.asarray(one), np.asarray(other)
    if x.dtype == object or y.dtype == object:
        return bool(x.shape == y.shape and x.ravel().tolist() == y.ravel().tolist())
    return (x.shape, x.dtype, x.tobytes()) == (y.shape, y.dtype, y.tobytes())


def rows(whole: tuple[int, ...], begin: int, count: int) -> TensorRegion:
    """Some rows of a tensor."""
    return TensorRegion(whole, (begin, *(0 for _ in whole[1:])), (count, *whole[1:]))
