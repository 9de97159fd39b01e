"""How stages call functions. A compiled plan runs a traced function: for a block of elements if the function works row by row,
or for several elements beside each other. Coroutine functions are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from actorflow.base.records.roots import FileRoots
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import OpError
from actorflow.graph.ops.flow.py_func import PythonFunction, raised
from actorflow.models.data.functions.conversion import converted
from actorflow.models.data.functions.function import DatasetFunction
from actorflow.models.data.node import DatasetNode, array, bind
from actorflow.models.data.spec import Element, Spec, size_of, stack
from actorflow.models.data.stage import TURN, Running

STACKED_BYTES = 1 << 16
"""How large the elements of a block may be together: larger arrays gain nothing, and leave the cache of the processor."""
_MOST_MISFITS = 3
"""The number of blocks in turn that do not go together, after which a function is called for each element."""
_MEASURED = 64
"""The calls of one element that are measured, before a plan for several is made."""


class Caller:
    """A function with the values that it captured, ready to be called by a stage."""

    is_traced = True

    def __init__(self, function: DatasetFunction, captured: Sequence[Any], roots: FileRoots) -> None:
        self._function, self._captured, self._roots = function, tuple(captured), roots
        self._fed = [value for tensor, value in zip(function.captured, captured) if not tensor.dtype.is_ref]
        self._tables = [value for tensor, value in zip(function.captured, captured) if tensor.dtype.is_ref]
        self._call: Any = None
        self._prepared = False
        self._rows: Caller | None = None
        self._stacked: list[bool] = []
        self._is_row_wise = True
        self._several: Caller | None = None
        self._count = 0
        self._is_repeated = True
        self._misfits = 0
        self._size = 0
        self._calls = 0
        self._seconds = 0.0

    async def rows(self, elements: Sequence[Element]) -> list[Element] | None:
        """The results for the first elements of a sequence, computed at once: as stacked rows, or by a plan that has the nodes of
        the function for each of them. None if the elements are to be computed separately: they are large, an element has an
        error, or the function is slow, or random, or has effects."""
        if not self._is_row_wise or not self._has_rows():
            return await self._repeated(elements)
        first = elements[0]
        self._size = max(self._size, size_of(first))
        count = min(len(elements), STACKED_BYTES // max(self._size, 1))
        if count < 2:
            return None
        assert self._rows is not None
        block = [elements[index] for index in range(count)]
        function = self._function
        try:
            stacks = [stack([element[index] for element in block]) for index in range(len(first))]
            values = await self._rows.values(tuple(stacks))
        except (OpError, ValueError):  # the call of the element that is the cause raises it
            self._misfits += 1
            if self._misfits == _MOST_MISFITS:
                self._is_row_wise, self._misfits = False, 0  # plans for several elements have a count of their own
            return None
        self._misfits = 0
        columns: list[Any] = []
        for value, stacked, passed in zip(values, self._stacked, function._passed):
            if passed is not None:
                columns.append([element[passed] for element in block])
            else:
                columns.append(list(value) if stacked else [value] * count)
        results = list(zip(*[columns[leaf] for leaf in function.leaves]))  # type: ignore[index]
        self._size = max(self._size, size_of(results[0]))
        return results

    def _has_rows(self) -> bool:
        if self._rows is None:
            rowwise = self._function.of_rows()
            if rowwise is None:
                self._is_row_wise = False
            else:
                function, self._stacked = rowwise
                self._rows = Caller(function, self._captured, self._roots)
        return self._is_row_wise

    async def _repeated(self, elements: Sequence[Element]) -> list[Element] | None:
        """The results for as many elements as one plan has, or None."""
        if not self._is_repeated or self._calls < _MEASURED or len(elements) < self._count:
            return None
        if self._several is None:
            self._repeat()
            return None
        block = [elements[index] for index in range(self._count)]
        try:
            values = await self._several.values(tuple([leaf for element in block for leaf in element]))
        except (OpError, ValueError):  # the call of the element that is the cause raises it
            self._misfits += 1
            self._is_repeated = self._misfits < _MOST_MISFITS
            return None
        self._misfits = 0
        width = len(self._function.outputs)
        return [
            self.result(element, values[index * width : (index + 1) * width]) for index, element in enumerate(block)
        ]

    def _repeat(self) -> None:
        """Makes the plan for several elements, as many as end within a turn."""
        repeated = self._function.of_several(int(TURN * self._calls / max(self._seconds, 1e-9)))
        if repeated is None:
            self._is_repeated = False
        else:
            function, self._count = repeated
            self._several = Caller(function, self._captured, self._roots)

    async def __call__(self, element: Element) -> Element:
        """The leaves of the result."""
        if self._calls < _MEASURED and self._prepared:
            began = perf_counter()
            values = await self.values(element)
            self._seconds += perf_counter() - began
            self._calls += 1
        else:
            values = await self.values(element)
        return tuple(values) if self._function._plain else self.result(element, values)

    async def values(self, element: Element) -> list[Any]:
        """The values of the function's outputs."""
        function = self._function
        if not self._prepared:
            self._call, self._prepared = await function.prepare(self._roots, self._tables), True
        results: list[Any] = []
        if self._call is not None:
            if len(function._feeds) == len(element):
                begun = self._call.begin(*element, *self._fed)
            else:
                begun = self._call.begin(*[element[index] for index in function._feeds], *self._fed)
            results = begun.value if begun.done else await begun
        if function._plain:
            return results[: len(function.outputs)]
        computed = iter(results)
        return [next(computed) if passed is None else element[passed] for passed in function._passed]

    def result(self, element: Element, values: Sequence[Any]) -> Element:
        """The leaves of the result, from the values of the outputs."""
        function = self._function
        mapping: dict[Any, Any] | None = None
        leaves = []
        for leaf in function.leaves:
            if isinstance(leaf, int):
                leaves.append(values[leaf])
            else:
                if mapping is None:
                    mapping = dict(zip(function.outputs, values))
                    mapping.update(
                        (key, value) for key, value in zip(function.arguments, element) if isinstance(key, str)
                    )
                leaves.append(bind(leaf, mapping))
        return tuple(leaves)


class CoroutineCaller:
    """A coroutine function with the structure of its arguments and its result."""

    is_traced = False

    def __init__(self, function: PythonFunction, spec_in: Spec, spec: Spec) -> None:
        self._function, self._given, self._spec = function, spec_in, spec
        self._unpacks = type(spec_in.structure) is tuple
        self._takes_leaf = isinstance(spec_in.structure, TensorSpec)
        self._who = f"the function {function.name}"

    async def __call__(self, element: Element) -> Element:
        """The leaves of the result. Raises an OpError for what the function raises, and for a result of other types."""
        values = [array(value) if not isinstance(value, (bytes, np.generic)) else value for value in element]
        argument: Any = values[0] if self._takes_leaf else self._given.of(values)
        try:
            result = await self._function.call(*argument) if self._unpacks else await self._function.call(argument)
        except OpError:
            raise
        except asyncio.CancelledError as error:
            if asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            raise raised(self._function, error) from error  # the function's own: no one cancelled the task
        except Exception as error:
            raise raised(self._function, error) from error
        return converted(result, self._spec, self._who)


def caller(node: DatasetNode, running: Running) -> Any:
    """The caller of a node's function."""
    if isinstance(node.function, PythonFunction):
        return CoroutineCaller(node.function, node.inputs[0].spec, node.spec)
    count = len(node.function.captured)
    return Caller(node.function, node.tensors[len(node.tensors) - count :], running.roots)
