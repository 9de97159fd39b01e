"""`Function`: a function of Python that a dataset calls for each element, traced once into a graph and run as a compiled plan."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow import machine
from actorflow.data.node import Node, bind, decode, decode_spec, encode, encode_spec, unbound, value_of
from actorflow.data.rowwise import of_rows
from actorflow.data.spec import DatasetSpec, Element, Spec, parse, size_of, stack
from actorflow.eager.functions.func_graph import FuncGraph
from actorflow.eager.functions.signature import TensorSpec
from actorflow.eager.tapes.recording import only
from actorflow.eager.tensor import EagerTensor
from actorflow.errors import OpError, describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.node import NO_ATTRS
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.array.constant import placeholder_op
from actorflow.records.roots import FileRoots
from actorflow.session.session import Session
from actorflow.user_line import Where, user_line

STACKED_BYTES = 1 << 16
"""How large the elements of a block may be together: larger arrays gain nothing, and leave the cache of the processor."""
_MOST_MISFITS = 3
"""The number of blocks in turn that do not go together, after which a function is called for each element."""


class TracedGraph(FuncGraph):
    """The graph to which a function of a dataset adds its nodes. Tensors of graphs around become parameters of it: their values
    are those of the moment in which the iterator is made."""

    takes_outer = True

    def __init__(self, name: str) -> None:
        super().__init__(name, may_make=False)
        self.outer: dict[Tensor, Tensor] = {}

    def inside(self, tensor: Tensor) -> Tensor:
        """The node that stands for a tensor of a graph around."""
        found = self.outer.get(tensor)
        if found is None:
            if tensor.dtype.is_ref:
                raise NotImplementedError(
                    describe(
                        f"The function uses {tensor.name}, which is no value but a {tensor.op.type} of another graph.",
                        where=user_line(),
                        hint="Use it on the elements of the iterator, after get_next().",
                    )
                )
            found = self.outer[tensor] = self._placeholder(tensor.dtype, tensor.static_shape, "outer")
        return found

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] = NO_ATTRS,
        name: str | None = None,
        where: Where | None = None,
    ) -> Operation:
        """Adds a node, whose inputs may come from around.

        Args:
            op_type, inputs, attrs, name, where: see `Graph.create_op`.
        """
        own = [t if isinstance(t, EagerTensor) or t.graph is self else self.inside(t) for t in inputs]
        return super().create_op(op_type, own, attrs, name, where)

    def _placeholder(self, dtype: Any, shape: Any, name: str) -> Tensor:
        with self.control_dependencies(None):
            return super().create_op("Placeholder", (), {"dtype": dtype, "shape": shape}, name).outputs[0]


class Function:
    """A traced function. `arguments` are its placeholders, or the keys of nodes where an argument is a dataset; `captured` the
    placeholders of values from around, which its node has as its last tensors; `leaves` tells for each leaf of the result which
    of the `outputs` it is, or of which description of a dataset."""

    def __init__(
        self,
        name: str,
        graph: Graph,
        arguments: Sequence[Tensor | str],
        captured: Sequence[Tensor],
        outputs: Sequence[Tensor],
        effects: Sequence[Operation],
        leaves: Sequence[int | Node],
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
        self._of_rows: tuple[Function, list[bool]] | None = None
        self._is_row_wise = not self.effects and all(isinstance(leaf, int) for leaf in self.leaves)

    async def prepare(self, roots: FileRoots) -> Any:
        """The compiled plan on the running loop, or None where nothing is to be computed."""
        if not self._fetches:
            return None
        plans = self._calls.setdefault(asyncio.get_running_loop(), {})
        key = None if roots is None else tuple(map(str, roots))
        if key not in plans:
            session = Session("", self.graph, file_roots=roots)
            session.ends_with_its_owner = True
            feeds = [self.arguments[index] for index in self._feeds]
            with only(()):
                made = await session.make_callable(self._fetches, [*feeds, *self.captured])
            plans[key] = made, session  # which closes its devices when no one holds it
        return plans[key][0]

    def of_rows(self) -> tuple[Function, list[bool]] | None:
        """The function for a block of elements, which are stacked, and which of its outputs are stacks; None where there is none
        (see `rowwise`)."""
        if self._of_rows is None and self._is_row_wise:
            with only(()):
                found = of_rows(self.arguments, self.captured, self.outputs)
            if found is None:
                self._is_row_wise = False
            else:
                graph, arguments, captured, outputs, stacked = found
                made = Function(self.name, graph, arguments, captured, outputs, (), range(len(outputs)), self.spec)
                self._of_rows = made, stacked
        return self._of_rows

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
    def decode(cls, record: Sequence[Any], tensors: Sequence[Any]) -> Function:
        """The function of `encode`."""
        name, nodes, arguments, captured, outputs, effects, leaves, slots, spec = record
        graph = Graph.from_bytes(nodes)
        tensor, operation = graph.get_tensor_by_name, graph.get_operation_by_name
        made = [tensor(o) for o in outputs]
        own = [made[number] if is_output else tensors[number] for is_output, number in slots]
        return cls(
            name,
            graph,
            [a if isinstance(a, str) else tensor(a[0]) for a in arguments],
            [tensor(c) for c in captured],
            made,
            [operation(e) for e in effects],
            [leaf if isinstance(leaf, int) else decode(leaf, own) for leaf in leaves],
            decode_spec(spec),
        )

    def __repr__(self) -> str:
        return f"<function {self.name} of a dataset>"


class Caller:
    """A function with the values that it captured, ready to be called by a stage."""

    is_traced = True

    def __init__(self, function: Function, captured: Sequence[Any], roots: FileRoots) -> None:
        self._function, self._captured, self._roots = function, tuple(captured), roots
        self._call: Any = None
        self._prepared = False
        self._several: Caller | None = None
        self._stacked: list[bool] = []
        self._is_row_wise = True
        self._misfits = 0
        self._size = 0

    async def rows(self, elements: Sequence[Element]) -> list[Element] | None:
        """The results for the first elements of a sequence, computed at once. None where they are to be computed one by one: the
        function is not row-wise, or the elements are large or differ in their shapes, or one of them has an error."""
        first = elements[0]
        self._size = max(self._size, size_of(first))
        count = min(len(elements), STACKED_BYTES // max(self._size, 1))
        if count < 2 or not self._is_row_wise or not self._has_rows():
            return None
        assert self._several is not None
        given = [elements[index] for index in range(count)]
        function = self._function
        try:
            stacks = [stack([element[index] for element in given]) for index in range(len(first))]
            values = await self._several.values(tuple(stacks))
        except (OpError, ValueError):  # the call of the element that is the cause raises it
            self._misfits += 1
            self._is_row_wise = self._misfits < _MOST_MISFITS
            return None
        self._misfits = 0
        columns: list[Any] = []
        for value, stacked, passed in zip(values, self._stacked, function._passed):
            if passed is not None:
                columns.append([element[passed] for element in given])
            else:
                columns.append(list(value) if stacked else [value] * count)
        results = list(zip(*[columns[leaf] for leaf in function.leaves]))  # type: ignore[index]
        self._size = max(self._size, size_of(results[0]))
        return results

    def _has_rows(self) -> bool:
        if self._several is None:
            found = self._function.of_rows()
            if found is None:
                self._is_row_wise = False
            else:
                function, self._stacked = found
                self._several = Caller(function, self._captured, self._roots)
        return self._is_row_wise

    async def __call__(self, element: Element) -> Element:
        """The leaves of the result."""
        values = await self.values(element)
        return tuple(values) if self._function._plain else self.result(element, values)

    async def values(self, element: Element) -> list[Any]:
        """The values of the function's outputs."""
        function = self._function
        if not self._prepared:
            self._call, self._prepared = await function.prepare(self._roots), True
        found: list[Any] = []
        if self._call is not None:
            if len(function._feeds) == len(element):
                found = await self._call(*element, *self._captured)
            else:
                found = await self._call(*[element[index] for index in function._feeds], *self._captured)
        if function._plain:
            return found[: len(function.outputs)]
        computed = iter(found)
        return [next(computed) if passed is None else element[passed] for passed in function._passed]

    def result(self, element: Element, values: Sequence[Any]) -> Element:
        """The leaves of the result, from the values of the outputs."""
        function = self._function
        known: dict[Any, Any] | None = None
        leaves = []
        for leaf in function.leaves:
            if isinstance(leaf, int):
                leaves.append(values[leaf])
            else:
                if known is None:
                    known = dict(zip(function.outputs, values))
                    known.update(
                        (key, given) for key, given in zip(function.arguments, element) if isinstance(key, str)
                    )
                leaves.append(bind(leaf, known))
        return tuple(leaves)


def trace(function: Callable[..., Any], spec: Spec, what: str, extra: Spec | None = None) -> tuple[Function, list[Any]]:
    """A function of Python as a graph, called once with nodes for the leaves of an element; and what it takes from around, to be
    the last tensors of its node.

    Args:
        function: the function. A tuple's parts are its arguments; other elements are one argument.
        spec: what elements look like.
        what: what it is called for, for errors.
        extra: what an argument before the element looks like, such as the state of a reduction.
    """
    from actorflow.data.dataset import Dataset

    name = getattr(function, "__name__", type(function).__name__)
    graph = TracedGraph("function" if name == "<lambda>" else name)
    arguments: list[Tensor | str] = []

    def argument(leaf: Any) -> Any:
        if isinstance(leaf, DatasetSpec):
            key = machine.fresh_hex(8)
            arguments.append(key)
            return Dataset(Node("argument", leaf.spec, options={"key": key}))
        made = placeholder_op(dtype=leaf.dtype, shape=leaf.static_shape, name="element")
        arguments.append(made)
        return made

    with graph.as_default(), only(()):
        before = [] if extra is None else [extra.of([argument(leaf) for leaf in extra.leaves])]
        given = spec.of([argument(leaf) for leaf in spec.leaves])
        try:
            result = function(*before, *given) if isinstance(given, tuple) else function(*before, given)
        except Exception as error:
            error.add_note(f"  while {name} was traced for {what} at {user_line()}")
            raise
        parts, rebuild = parse(result)
        outputs: dict[Tensor, int] = {}
        leaves: list[int | Node] = []
        specs: list[Any] = []
        for part in parts:
            leaf: int | Node
            if isinstance(part, Dataset):
                leaf = _description(graph, part.node, outputs)
                specs.append(DatasetSpec(part.node.spec))
            else:
                tensor = _tensor(graph, part, name)
                leaf = outputs.setdefault(tensor, len(outputs))
                specs.append(TensorSpec(tensor.static_shape, tensor.dtype))
            leaves.append(leaf)
    captures = list(graph.captures.values())
    effects = [e for e in graph.effects() if not any(t in outputs for t in e.outputs)]
    taken = [symbol for _, symbol in captures] + list(graph.outer.values())
    values = [tensor.numpy() for tensor, _ in captures] + list(graph.outer)
    made = Function(name, graph, arguments, taken, list(outputs), effects, leaves, Spec(rebuild(specs)))
    return made, values


def _tensor(graph: TracedGraph, part: Any, name: str) -> Tensor:
    """A leaf of a result as a tensor of the graph."""
    if part is None:
        raise TypeError(f"The function {name} gave None in its result, which is no tensor.")
    if isinstance(part, SparseTensor):
        raise NotImplementedError(
            f"The function {name} gave a SparseTensor: a dataset's elements are dense. Take af.sparse_tensor_to_dense, or parse "
            "with FixedLenFeature."
        )
    tensor = convert_to_tensor(part)
    if isinstance(tensor, EagerTensor):
        return graph.capture(tensor)
    return tensor if tensor.graph is graph else graph.inside(tensor)


def _description(graph: TracedGraph, node: Node, outputs: dict[Tensor, int]) -> Node:
    """A description of a dataset that a function made, whose tensors become outputs of the function."""
    needed = unbound(node)
    node = bind(node, {tensor: graph.inside(tensor) for tensor in needed if tensor.graph is not graph})
    for tensor in unbound(node):
        outputs.setdefault(tensor, len(outputs))
    return node
