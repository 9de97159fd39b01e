"""Sources that wait for nothing: tensors, ranges, names of files."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.records.reading.opening import matching, on_thread
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.models.data.node import DatasetNode, array
from actorflow.models.data.spec import Element
from actorflow.models.data.stage import EndOfSequence, SourceStage, Stage, stage


@stage("tensors")
class Tensors(SourceStage):
    """One element: its tensors."""

    def take(self, most: int) -> list[Element]:
        return [] if self.index else [tuple([_scalar(value) for value in self.node.tensors])]


@stage("slices")
class Slices(SourceStage):
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


@stage("sparse_slices")
class SparseSlices(SourceStage):
    """The rows of its tensors, of which some are sparse: indices, values and shape of each."""

    def setup(self) -> None:
        super().setup()
        self.columns = [array(tensor) for tensor in self.node.tensors]
        self.places = set(self.node.options["sparse"])
        self.sizes = {int(self.columns[place + 2][0]) for place in self.places}
        inner = {place + part for place in self.places for part in range(3)}
        self.dense = [place for place in range(len(self.columns)) if place not in inner]
        self.sizes |= {self.columns[place].shape[0] for place in self.dense}
        if len(self.sizes) != 1:
            raise InvalidArgumentError(
                f"Slices are taken of tensors of one first size, but the sizes are {sorted(self.sizes)}."
            )
        (self.size,) = self.sizes
        for place in self.places:
            if np.any(np.diff(self.columns[place][:, 0]) < 0):
                raise UnimplementedError(
                    "The indices of a sparse tensor are not in order: sort them by tf.sparse.reorder first."
                )

    def take(self, most: int) -> list[Element]:
        return [self._row(index) for index in range(self.index, min(self.index + most, self.size))]

    def _row(self, index: int) -> Element:
        row: list[Any] = []
        for place, column in enumerate(self.columns):
            if place in self.places:
                begin, end = np.searchsorted(column[:, 0], [index, index + 1])
                values, shape = self.columns[place + 1 : place + 3]
                row += [column[begin:end, 1:], values[begin:end], shape[1:]]
            elif place in self.dense:
                row.append(column[index])
        return tuple(row)


@stage("range")
class Range(SourceStage):
    """Numbers from the first of its tensors to the second, by the third."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        if node.number(2) == 0:
            raise InvalidArgumentError("The step of a range is not 0.")

    def setup(self) -> None:
        super().setup()
        self.numbers = range(*(int(t) for t in self.node.tensors))
        self.kind: Any = self.node.spec.leaves[0].dtype.numpy_dtype.type

    def take(self, most: int) -> list[Element]:
        return [(self.kind(number),) for number in self.numbers[self.index : self.index + most]]


@stage("elements")
class ElementsStage(SourceStage):
    """The elements that its tensors are, in sequence: the content of a window."""

    def take(self, most: int) -> list[Element]:
        width, tensors = len(self.node.spec.leaves), self.node.tensors
        begin = self.index * width
        end = min(begin + most * width, len(tensors))
        return [tensors[start : start + width] for start in range(begin, end, width)]


@stage("files")
class FilesStage(Stage):
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
        block = [(name,) for name in self.names[self.index : self.index + most]]
        self.index += len(block)
        return block

    def own(self) -> Any:
        return [self.names, self.index]

    def set_own(self, state: Any) -> None:
        self.names, self.index = state


def _scalar(value: Any) -> Any:
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value
