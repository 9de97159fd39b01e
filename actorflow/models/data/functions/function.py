"""`DatasetFunction`: a traced function of a dataset, a graph that runs as a compiled plan."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any

from actorflow.base.records.roots import FileRoots
from actorflow.engine.eager.tapes.recording import only
from actorflow.engine.session.session import Session
from actorflow.engine.session.settings import SessionLimits
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.models.data.functions.rowwise import of_rows
from actorflow.models.data.functions.several import of_several
from actorflow.models.data.node import DatasetNode, decode, decode_spec, encode, encode_spec, value_of
from actorflow.models.data.spec import Spec


class DatasetFunction:
    """A traced function. `arguments` are its placeholders, or the keys of nodes for datasets; `captured` the placeholders of
    values from around, which its node has as its last tensors. `leaves` tells for each leaf of the result which of the
    `outputs` it is, or of which description of a dataset."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        arguments: Sequence[Tensor | str],
        captured: Sequence[Tensor],
        outputs: Sequence[Tensor],
        effects: Sequence[Operation],
        leaves: Sequence[int | DatasetNode],
        spec: Spec,
    ) -> None:
        self.name, self.graph, self.spec = name, graph, spec
        self.arguments, self.captured = tuple(arguments), tuple(captured)
        self.outputs, self.effects, self.leaves = tuple(outputs), tuple(effects), tuple(leaves)
        places = {tensor: index for index, tensor in enumerate(self.arguments) if isinstance(tensor, Tensor)}
        self._passed = [places.get(tensor) for tensor in self.outputs]
        self._fetches: list[Any] = [t for t, passed in zip(self.outputs, self._passed) if passed is None]
        self._fetches += self.effects
        self._feeds = [index for index, tensor in enumerate(self.arguments) if isinstance(tensor, Tensor)]
        self._plain = list(self.leaves) == list(range(len(self.outputs))) and not any(
            passed is not None for passed in self._passed
        )
        self._calls: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
        self._of_rows: tuple[DatasetFunction, list[bool]] | None = None
        self._of_several: tuple[DatasetFunction, int] | None = None
        self._is_row_wise = not self.effects and all(isinstance(leaf, int) for leaf in self.leaves)

    async def prepare(self, roots: FileRoots, tables: Sequence[Any] = ()) -> Any:
        """The compiled plan on the running loop, or None where nothing is to be computed.

        Args:
            roots: below which files may be read.
            tables: those behind the captured handles, in order.
        """
        if not self._fetches:
            return None
        plans = self._calls.setdefault(asyncio.get_running_loop(), {})
        key = (None if roots is None else tuple(map(str, roots)), *map(id, tables))
        if key not in plans:
            session = Session("", self.graph, limits=SessionLimits(file_roots=roots))
            session.ends_with_its_owner = True
            feeds = [self.arguments[index] for index in self._feeds]
            feeds += [tensor for tensor in self.captured if not tensor.dtype.is_ref]
            handles = [tensor.op for tensor in self.captured if tensor.dtype.is_ref]
            for handle, table in zip(handles, tables):
                session._hold(handle.attrs["shared_name"], table)
            with only(()):
                call = await session.make_callable(self._fetches, feeds)
            plans[key] = call, session  # which closes its devices when no one holds it
        return plans[key][0]

    def of_rows(self) -> tuple[DatasetFunction, list[bool]] | None:
        """The function for a block of stacked elements, and which of its outputs are stacks, or None (see `rowwise`)."""
        if self._of_rows is None and self._is_row_wise:
            with only(()):
                vectorized = of_rows(self.arguments, self.captured, self.outputs)
            if vectorized is None:
                self._is_row_wise = False
            else:
                graph, arguments, captured, outputs, stacked = vectorized
                function = DatasetFunction(
                    self.name, graph, arguments, captured, outputs, (), range(len(outputs)), self.spec
                )
                self._of_rows = function, stacked
        return self._of_rows

    def of_several(self, most: int) -> tuple[DatasetFunction, int] | None:
        """The function for several elements in sequence, and how many, or None (see `several`)."""
        if self._of_several is None and not self.effects:
            with only(()):
                unrolled = of_several(self.arguments, self.captured, self.outputs, most)
            if unrolled is not None:
                graph, arguments, captured, outputs, count = unrolled
                function = DatasetFunction(
                    self.name, graph, arguments, captured, outputs, (), range(len(outputs)), self.spec
                )
                self._of_several = function, count
        return self._of_several

    def encode(self, tensors: dict[Any, int]) -> list[Any]:
        """The function in terms of msgpack. `tensors`: see `node.encode`."""
        own: dict[Any, int] = {}
        leaves = [leaf if isinstance(leaf, int) else encode(leaf, own) for leaf in self.leaves]
        numbers = {tensor: number for number, tensor in enumerate(self.outputs)}
        slots = []
        for key in own:
            tensor = value_of(key)
            if isinstance(tensor, Tensor):
                slots.append([True, numbers[tensor]])
            else:
                slots.append([False, tensors.setdefault(key, len(tensors))])
        return [
            self.name,
            self.graph.to_bytes(),
            [a if isinstance(a, str) else [a.name] for a in self.arguments],
            [c.name for c in self.captured],
            [o.name for o in self.outputs],
            [e.name for e in self.effects],
            leaves,
            slots,
            encode_spec(self.spec),
        ]

    @classmethod
    def decode(cls, record: Sequence[Any], tensors: Sequence[Any]) -> DatasetFunction:
        """The function of `encode`."""
        name, nodes, arguments, captured, outputs, effects, leaves, slots, spec = record
        graph = Graph.from_bytes(nodes)
        tensor, operation = graph.get_tensor_by_name, graph.get_operation_by_name
        own_tensors = [tensor(o) for o in outputs]
        own = [own_tensors[number] if is_output else tensors[number] for is_output, number in slots]
        return cls(
            name,
            graph,
            [a if isinstance(a, str) else tensor(a[0]) for a in arguments],
            [tensor(c) for c in captured],
            own_tensors,
            [operation(e) for e in effects],
            [leaf if isinstance(leaf, int) else decode(leaf, own) for leaf in leaves],
            decode_spec(spec),
        )

    def __repr__(self) -> str:
        return f"<function {self.name} of a dataset>"
