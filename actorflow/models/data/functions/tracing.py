"""How a function of Python becomes a graph: it is called once, with nodes for the leaves of an element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.base.process import machine
from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.engine.eager.tapes.recording import only
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.engine.runtime.state.resources import Resumable
from actorflow.errors import Where, describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.node import NO_ATTRS
from actorflow.graph.ops.array.constant import placeholder_op
from actorflow.graph.tensor import Operation, Tensor
from actorflow.models.data.functions.function import DatasetFunction
from actorflow.models.data.node import DatasetNode, bind, unbound
from actorflow.models.data.spec import DatasetSpec, Spec, parse

TABLES = ("HashTableV2", "MutableHashTableV2")
"""Resources that functions may take from around: their handles are found in the function under a name."""


class TracedGraph(FuncGraph):
    """The graph to which a function of a dataset adds its nodes. Tensors of graphs around become parameters of it: their values
    are those of the moment in which the iterator is made."""

    takes_outer = True

    def __init__(self, name: str) -> None:
        super().__init__(name, may_make=False)
        self.outer: dict[Tensor, Tensor] = {}

    def inside(self, tensor: Tensor) -> Tensor:
        """The node that stands for a tensor of a graph around."""
        handle = self.outer.get(tensor)
        if handle is None:
            if (table := _table(tensor)) is not None:
                op_type, attrs = table
                attrs |= {"container": "", "shared_name": f"table_{len(self.outer)}"}
                with self.control_dependencies(None):
                    handle = self.outer[tensor] = super().create_op(op_type, (), attrs, "table").outputs[0]
            elif tensor.dtype.is_ref:
                raise NotImplementedError(
                    describe(
                        f"The function uses {tensor.name}, which is no value but a {tensor.op.type} of another graph.",
                        where=user_line(),
                        hint="Use it on the elements of the iterator, after get_next().",
                    )
                )
            else:
                handle = self.outer[tensor] = self._placeholder(tensor.dtype, tensor.static_shape, "outer")
        return handle

    def capture(self, tensor: EagerTensor) -> Tensor:
        """The node that stands for a value of the program."""
        return super().capture(tensor) if _table(tensor) is None else self.inside(tensor)

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


def trace(
    function: Callable[..., Any], spec: Spec, what: str, extra: Spec | None = None
) -> tuple[DatasetFunction, list[Any]]:
    """A function of Python as a graph, called once with nodes for the leaves of an element; and what it takes from around, to be
    the last tensors of its node.

    Args:
        function: the function. A tuple's parts are its arguments; other elements, named tuples too, are one argument.
        spec: what elements look like.
        what: what it is called for, for errors.
        extra: what an argument before the element looks like, such as the state of a reduction.
    """
    from actorflow.models.data.dataset import Dataset

    name = getattr(function, "__name__", type(function).__name__)
    graph = TracedGraph("function" if name == "<lambda>" else name)
    arguments: list[Tensor | str] = []

    def argument(leaf: Any) -> Any:
        if isinstance(leaf, DatasetSpec):
            key = machine.fresh_hex(8)
            arguments.append(key)
            return Dataset(DatasetNode("argument", leaf.spec, options={"key": key}))
        placeholder = placeholder_op(dtype=leaf.dtype, shape=leaf.static_shape, name="element")
        arguments.append(placeholder)
        return placeholder

    if not callable(function):
        raise TypeError(f"{what} takes a function, not {function!r:.60}, of type {type(function).__name__}.")
    with graph.as_default(), only(()):
        before = [] if extra is None else [extra.of([argument(leaf) for leaf in extra.leaves])]
        elements = spec.of([argument(leaf) for leaf in spec.leaves])
        try:
            result = function(*before, *elements) if type(elements) is tuple else function(*before, elements)
        except Exception as error:
            error.add_note(f"  while {name} was traced for {what} at {user_line()}")
            raise
        parts, rebuild = parse(
            tuple(result) if isinstance(result, list) else result
        )  # as `py_func` and `decode_csv` give
        outputs: dict[Tensor, int] = {}
        leaves: list[int | DatasetNode] = []
        specs: list[Any] = []
        for part in parts:
            leaf: int | DatasetNode
            if isinstance(part, Dataset):
                leaf = _description(graph, part.node, outputs)
                specs.append(DatasetSpec(part.node.spec))
            else:
                tensor = _tensor(graph, part, name)
                leaf = outputs.setdefault(tensor, len(outputs))
                specs.append(TensorSpec(tensor.static_shape, tensor.dtype))
            leaves.append(leaf)
    captures = list(graph.captures.values())
    effects = [e for e in graph.effects() if e.type not in TABLES and not any(t in outputs for t in e.outputs)]
    taken = [symbol for _, symbol in captures] + list(graph.outer.values())
    values = [tensor.numpy() for tensor, _ in captures]
    values += [tensor._value if isinstance(tensor, EagerTensor) else tensor for tensor in graph.outer]
    traced = DatasetFunction(name, graph, arguments, taken, list(outputs), effects, leaves, Spec(rebuild(specs)))
    return traced, values


def _table(tensor: Tensor) -> tuple[str, dict[str, Any]] | None:
    """The op and attributes of the handle of a table; None for other tensors."""
    if not isinstance(tensor, EagerTensor):
        return (tensor.op.type, dict(tensor.op.attrs)) if tensor.op.type in TABLES else None
    table = tensor._value
    if tensor.dtype.kind != "R" or not hasattr(table, "once"):
        return None
    attrs = {"key_dtype": table.key, "value_dtype": table.value}
    if table.once:
        return "HashTableV2", attrs
    return "MutableHashTableV2", {**attrs, "value_shape": table.shape, "checkpoint": isinstance(table, Resumable)}


def _tensor(graph: TracedGraph, part: Any, name: str) -> Tensor:
    """A leaf of a result as a tensor of the graph."""
    if part is None:
        raise TypeError(f"The function {name} gave None in its result, which is no tensor.")
    tensor = convert_to_tensor(part)
    if isinstance(tensor, EagerTensor):
        return graph.capture(tensor)
    return tensor if tensor.graph is graph else graph.inside(tensor)


def _description(graph: TracedGraph, node: DatasetNode, outputs: dict[Tensor, int]) -> DatasetNode:
    """A description of a dataset that a function made, whose tensors become outputs of the function."""
    needed = unbound(node)
    node = bind(node, {tensor: graph.inside(tensor) for tensor in needed if tensor.graph is not graph})
    for tensor in unbound(node):
        outputs.setdefault(tensor, len(outputs))
    return node
