"""Stages that make one element of several, or several elements of a single element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.errors import DataLossError, InvalidArgumentError
from actorflow.models.data.node import DatasetNode, array
from actorflow.models.data.spec import Element, stack
from actorflow.models.data.stage import BLOCK, EndOfSequence, OneInput, pack, stage, unpack


@stage("batch")
class BatchStage(OneInput):
    """A number of elements, each leaf stacked. The last batch may be smaller, unless the remainder is dropped."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        if node.number(0) < 1:
            raise InvalidArgumentError(f"Batch size must be greater than zero, but it is {node.number(0)}.")

    def setup(self) -> None:
        super().setup()
        self.size, self.drop = self.node.number(0), bool(self.node.tensors[1])
        self.elements: list[Element] = []
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        elements, block = self.elements, self.input.block
        try:
            while len(elements) < self.size and not self.ended:
                elements.extend(await block(self.size - len(elements)))
        except EndOfSequence:
            self.ended = True
        except Exception:  # those of the batch before it are lost with it, as in TensorFlow
            elements.clear()
            raise
        if self.ended and (not elements or self.drop and len(elements) < self.size):
            raise EndOfSequence
        self.elements = []
        return [self.join(elements)]

    def join(self, elements: Sequence[Element]) -> Element:
        """One element of several."""
        columns = list(zip(*elements))
        places = self.node.inputs[0].spec.sparse
        if not places:
            return tuple([_stacked(column, index) for index, column in enumerate(columns)])
        leaves: list[Any] = []
        for index, column in enumerate(columns):
            if index in places:
                leaves += _sparse_rows(*columns[index : index + 3])
            elif len(leaves) == index:
                leaves.append(_stacked(column, index))
        return tuple(leaves)

    def own(self) -> Any:
        return [[pack(element) for element in self.elements], self.ended]

    def set_own(self, state: Any) -> None:
        elements, self.ended = state
        self.elements = [unpack(element) for element in elements]


def _sparse_rows(indices: Sequence[Any], values: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Sparse tensors as the rows of a single tensor, as large as the largest of them."""
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1:
        raise InvalidArgumentError(
            f"Sparse tensors of one batch have the same rank, but the ranks are {sorted(ranks)}."
        )
    rows = np.repeat(np.arange(len(indices)), [len(row) for row in indices])
    joined = np.concatenate((rows[:, None], np.concatenate(indices)), axis=1)
    return [joined, np.concatenate(values), np.array([len(shapes), *np.max(shapes, axis=0)], np.int64)]


def _stacked(column: Sequence[Any], index: int) -> Any:
    first = column[0]
    if isinstance(first, DatasetNode):
        raise InvalidArgumentError("Datasets are not batched: take their elements out with flat_map first.")
    try:
        return stack(column)
    except ValueError:
        for number, value in enumerate(column):
            if value.shape != first.shape:
                raise InvalidArgumentError(
                    f"Cannot batch tensors with different shapes in component {index}. First element had shape "
                    f"{list(first.shape)} and element {number} had shape {list(value.shape)}.",
                    hint="padded_batch makes them equally long.",
                ) from None
        raise


@stage("padded_batch")
class PaddedBatch(BatchStage):
    """A batch whose leaves are filled up to the longest of each size, or to given sizes."""

    def join(self, elements: Sequence[Element]) -> Element:
        leaves = []
        for index, column in enumerate(zip(*elements)):
            padding, sizes = self.node.tensors[2 + index], self.node.tensors[2 + len(elements[0]) + index]
            leaves.append(_padded([array(value) for value in column], array(sizes).tolist(), padding, index))
        return tuple(leaves)


def _padded(column: Sequence[Any], shape: Sequence[int], padding: Any, index: int) -> Any:
    rank = len(shape)
    if any(value.ndim != rank for value in column):
        raise InvalidArgumentError(
            f"All elements in a batch must have the same rank as the padded shape for component {index}: expected rank "
            f"{rank}, but the ranks are {sorted({v.ndim for v in column})}."
        )
    longest = [max(value.shape[axis] for value in column) for axis in range(rank)]
    sizes = [most if size < 0 else size for size, most in zip(shape, longest)]
    for number, value in enumerate(column):
        if any(has > size for has, size in zip(value.shape, sizes)):
            raise DataLossError(
                f"Attempted to pad to a smaller size than the input element: element {number} of component {index} has shape "
                f"{list(value.shape)}, and the padded shape is {sizes}."
            )
    block = np.full(
        (len(column), *sizes), padding if column[0].dtype != object else array(padding).item(), column[0].dtype
    )
    for number, value in enumerate(column):
        places: Any = (number, *(slice(size) for size in value.shape))
        block[places] = value
    return block


@stage("unbatch")
class Unbatch(OneInput):
    """The rows of each element in sequence."""

    def setup(self) -> None:
        super().setup()
        self.element: Element | None = None
        self.index = 0

    async def next(self, most: int) -> list[Element]:
        while True:
            if self.element is None:
                element = tuple([array(value) for value in await self.input.pull()])
                if len({value.shape[:1] for value in element}) > 1 or any(not value.ndim for value in element):
                    raise InvalidArgumentError(
                        "Input element must have the same batch size in each component, but the shapes are "
                        f"{[v.shape for v in element]}."
                    )
                self.element, self.index = element, 0
            if self.index < len(self.element[0]):
                elements = list(zip(*[value[self.index : self.index + most] for value in self.element]))
                self.index += len(elements)
                return elements
            self.element = None

    def own(self) -> Any:
        return [None if self.element is None else pack(self.element), self.index]

    def set_own(self, state: Any) -> None:
        element, self.index = state
        self.element = None if element is None else unpack(element)


@stage("window")
class Window(OneInput):
    """Datasets of neighbours: by their size, how much further the next one begins, and how far apart elements are."""

    @classmethod
    def check(cls, node: DatasetNode) -> None:
        for index, name in enumerate(("size", "shift", "stride")):
            if (value := node.number(index)) < 1:
                raise InvalidArgumentError(f"Window {name} must be greater than zero, but it is {value}.")

    def setup(self) -> None:
        super().setup()
        self.size, self.shift, self.stride = (self.node.number(index) for index in range(3))
        self.drop = bool(self.node.tensors[3])
        self.buffer: list[Element] = []
        self.skips = 0
        self.ended = False

    async def next(self, most: int) -> list[Element]:
        whole = (self.size - 1) * self.stride + 1
        try:
            while self.skips and not self.ended:
                self.skips -= len(await self.input.block(min(self.skips, BLOCK)))
            while len(self.buffer) < whole and not self.ended:
                self.buffer.extend(await self.input.block(whole - len(self.buffer)))
        except EndOfSequence:
            self.ended = True
        if not self.buffer or self.drop and len(self.buffer) < whole:
            raise EndOfSequence
        elements = self.buffer[:: self.stride]
        self.skips = max(0, self.shift - len(self.buffer))
        self.buffer = self.buffer[self.shift :]
        leaves = []
        for index, leaf in enumerate(self.node.spec.leaves):
            column = tuple([element[index] for element in elements])
            leaves.append(DatasetNode("elements", leaf.spec, tensors=column, where=self.node.where))
        return [tuple(leaves)]

    def own(self) -> Any:
        return [[pack(element) for element in self.buffer], self.skips, self.ended]

    def set_own(self, state: Any) -> None:
        buffer, self.skips, self.ended = state
        self.buffer = [unpack(element) for element in buffer]
