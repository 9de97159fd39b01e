"""Sources that wait for nothing: tensors, ranges, names of files."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.data.node import array
from actorflow.data.spec import Element
from actorflow.data.stage import EndOfSequence, Source, Stage, stage
from actorflow.errors import InvalidArgumentError
from actorflow.records.reading.opening import matching, on_thread


@stage("tensors")
class Tensors(Source):
    """One element: its tensors."""

    def take(self, most: int) -> list[Element]:
        return [] if self.index else [tuple([_scalar(value) for value in self.node.tensors])]


@stage("slices")
class Slices(Source):
    """The rows of its tensors."""

    def setup(self) -> None:
        super().setup()
        self.columns = [array(tensor) for tensor in self.node.tensors]
        sizes = {column.shape[0] if column.ndim else None for column in self.columns}
        if len(sizes) != 1 or None in sizes:
            raise InvalidArgumentError(
                f"Slices are taken of tensors of one first size, but the shapes are {[c.shape for c in self.columns]}."
            )

    def take(self, most: int) -> list[Element]:
        return list(zip(*[column[self.index : self.index + most] for column in self.columns]))


@stage("range")
class Range(Source):
    """Numbers from the first of its tensors to the second, by the third."""

    def setup(self) -> None:
        super().setup()
        start, stop, step = (int(t) for t in self.node.tensors)
        if step == 0:
            raise InvalidArgumentError("The step of a range is not 0.")
        self.numbers = range(start, stop, step)
        self.kind: Any = self.node.spec.leaves[0].dtype.numpy_dtype.type

    def take(self, most: int) -> list[Element]:
        return [(self.kind(number),) for number in self.numbers[self.index : self.index + most]]


@stage("elements")
class Elements(Source):
    """The elements that its tensors are, one after another: the content of a window."""

    def take(self, most: int) -> list[Element]:
        width, tensors = len(self.node.spec.leaves), self.node.tensors
        begin = self.index * width
        end = min(begin + most * width, len(tensors))
        return [tensors[start : start + width] for start in range(begin, end, width)]


@stage("files")
class Files(Stage):
    """The names of the files that are like its patterns when it is first asked, sorted."""

    def setup(self) -> None:
        self.names: list[bytes] | None = None
        self.index = 0

    async def next(self, most: int) -> list[Element]:
        if self.names is None:
            patterns = [p.decode(errors="surrogateescape") for p in np.atleast_1d(array(self.node.tensors[0]))]
            self.names = await on_thread(matching, patterns, self.running.roots)
            if not self.names:
                raise InvalidArgumentError(f"No files matched pattern: {', '.join(patterns)}")
        if self.index >= len(self.names):
            raise EndOfSequence
        found = [(name,) for name in self.names[self.index : self.index + most]]
        self.index += len(found)
        return found

    def own(self) -> Any:
        return [self.names, self.index]

    def set_own(self, state: Any) -> None:
        self.names, self.index = state


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value
