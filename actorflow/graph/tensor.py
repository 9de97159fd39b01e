"""The handles that a program holds: `Operation`, a node of a graph, and `Tensor`, one of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from traceback import FrameSummary
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from actorflow.base import shapes
from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.reports import markup
from actorflow.base.shapes import ShapeLike, TensorShape
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import Where, with_topic
from actorflow.graph.node import Node, TensorId
from actorflow.graph.overloads import OPERATORS, Overloads
from actorflow.public import public

if TYPE_CHECKING:
    from actorflow.base.registry.opdef import OpDef
    from actorflow.graph.graph import Graph
    from actorflow.graph.graphdef.protos import NodeDef

# The values that an op takes for a tensor: a tensor, a variable, or a value that becomes a constant.
TensorLike: TypeAlias = "Tensor | Any | np.ndarray[Any, Any] | np.generic | complex | bytes | str | Sequence[Any]"
public("af", of="TensorLike")


default_session: Callable[[], Any] | None = None
"""The function that gives `eval` its session; set by `actorflow.compat.v1`, whose sessions can be entered as the
default session."""


def _session_for(session: Any, method: str) -> Any:
    chosen = default_session() if session is None and default_session is not None else session
    if chosen is None:
        raise ValueError(
            f"{method}() needs a blocking session: pass session=..., or enter one of actorflow.compat.v1. "
            f"In async code, await session.run(...)."
        )
    return chosen


@public("af")
class Operation:
    """A node of a graph. Compared and hashed by identity; all it knows is in its immutable `node`.

    Example:
        >>> x = af.placeholder(af.float32, [2], name="x")
        >>> op = af.square(x, name="y").op
        >>> op.name, op.type, [tensor.name for tensor in op.inputs], len(op.outputs)
        ('y', 'Square', ['x:0'], 1)
    """

    __slots__ = ("__dict__", "__weakref__", "_outputs", "graph", "name")  # programs note things of their own on nodes

    __reduce_ex__ = unpicklable(
        "The operation {self.name} is not pickled, for it belongs to a graph of this process: hand over its name, and"
        " the graph with to_bytes()."
    )

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.name = node.name
        self._outputs = tuple(Tensor(self, port) for port in range(len(node.dtypes)))

    @property
    def node(self) -> Node:
        """The immutable record."""
        return self.graph.nodes[self.name]

    @property
    def type(self) -> str:
        """The name of the op, such as `MatMul`."""
        return self.node.op

    @property
    def definition(self) -> OpDef:
        from actorflow.base.registry.opdef import lookup

        return lookup(self.node.op)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return tuple(self.graph.tensor_at(tensor_id) for tensor_id in self.node.inputs)

    @property
    def control_inputs(self) -> list[Operation]:
        return [self.graph.get_operation_by_name(name) for name in self.node.controls]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return self._outputs

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.node.attrs

    def get_attr(self, name: str) -> Any:
        """The value of an attribute; also of those that say the types of inputs under TensorFlow's names, such as `T`.

        Raises ValueError listing those that there are.

        Example:
            >>> x = af.placeholder(af.float32, [2, 3])
            >>> y = af.matmul(x, x, transpose_b=True)
            >>> y.op.type, y.op.get_attr("transpose_b"), y.op.get_attr("T")
            ('MatMul', True, actorflow.float32)
        """
        attrs = self.node.attrs
        if name not in attrs:
            from actorflow.base.registry.type_attrs import type_attr

            inferred = type_attr(self.definition, name, [t.dtype for t in self.inputs], self.node.dtypes)
            if inferred is not None:
                return inferred
            raise ValueError(f"Node {self.name} ({self.type}) has no attribute {name!r}; it has: {sorted(attrs)}.")
        return attrs[name]

    @property
    def device(self) -> str:
        """The requested device, a full or partial name, empty for any."""
        return self.node.device

    @property
    def where(self) -> Where | None:
        """The user's file and line."""
        return self.node.where

    @property
    def node_def(self) -> NodeDef:
        """The node as a `NodeDef` message."""
        from actorflow.graph.graphdef.export import node_def_of

        return node_def_of(self.graph.nodes, self.node)

    @property
    def op_def(self) -> OpDef:
        """The declaration of its op, by TensorFlow's name: `op_def.name` is the type."""
        return self.definition

    @property
    def traceback(self) -> list[FrameSummary]:
        """The user's line that made it, as a traceback has it: (file, line, function, source); empty if unknown."""
        where = self.where
        return [] if where is None else [FrameSummary(where.file, where.line, "<module>")]

    def values(self) -> tuple[Tensor, ...]:
        """The outputs.

        Example:
            >>> af.square(af.placeholder(af.float32), name="y").op.values()
            (<actorflow.Tensor 'y:0' shape=<unknown> dtype=float32>,)
        """
        return self._outputs

    def colocation_groups(self) -> list[str]:
        """The names of the nodes whose device it shares, as TensorFlow writes them; its own name without such nodes.

        Example:
            >>> x = af.placeholder(af.float32, name="x")
            >>> with af.colocate_with(x):
            ...     y = af.square(x)
            >>> y.op.colocation_groups()
            ['loc:@x']
        """
        return [f"loc:@{name}" for name in self.node.colocate or (self.name,)]

    def add_control_input(self, other: Operation) -> None:
        """Makes this node wait for `other`. Takes effect for signatures that have not run yet.

        Example:
            >>> x = af.placeholder_with_default(1.0, [], name="x")
            >>> check = af.assert_positive(x)
            >>> x.op.control_inputs
            []
            >>> y = af.identity(x)
            >>> y.op.add_control_input(check)
            >>> await session.run(y)
            1.0
        """
        self.graph.add_control_input(self, other)

    _add_control_input = add_control_input

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """`session.run(self, feed_dict)`; see `Tensor.eval`."""
        _session_for(session, "run").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<actorflow.Operation '{self.name}' type={self.type}>"


@public("af")
class Tensor(Overloads):
    """A symbolic value: output `value_index` of `op`. Its name is `op:index`.

    `==` and `hash` go by identity, as in TensorFlow 1, so tensors may be keys of a feed; `af.equal` compares values.

    Example:
        >>> x = af.placeholder(af.float32, [None, 3])
        >>> y = af.square(x, name="y")
        >>> y.name, y.shape, y.dtype, y.op.type
        ('y:0', TensorShape([None, 3]), actorflow.float32, 'Square')
        >>> await session.run(y[0] + 1.0, {x: [[1.0, 2.0, 3.0]]})
        [ 2.  5. 10.]
    """

    __slots__ = ("__dict__", "__weakref__", "op", "value_index")  # and on tensors
    OVERLOADABLE_OPERATORS: ClassVar[set[str]] = set(OPERATORS)
    """The names of the methods that build nodes, which libraries copy to their own types."""
    __array_priority__ = 100  # numpy leaves `array + tensor` to us

    __reduce_ex__ = unpicklable(
        "The tensor {self.name} is not pickled, for it belongs to a graph of this process: hand over its name, and "
        "the graph with to_bytes()."
    )

    def __init__(self, op: Operation, value_index: int, dtype: DTypeLike | None = None) -> None:
        """
        Args:
            op: the operation.
            value_index: which of its outputs.
            dtype: the output's type, from those who want to be sure of it.

        Raises:
            TypeError: the output has another type.
        """
        if dtype is not None and as_dtype(dtype).base_dtype is not op.node.dtypes[value_index].base_dtype:
            raise TypeError(f"Output {value_index} of {op.name} has type {op.node.dtypes[value_index]}, not {dtype}.")
        self.op = op
        self.value_index = value_index

    @property
    def name(self) -> str:
        return f"{self.op.name}:{self.value_index}"

    @property
    def _op(self) -> Operation:
        """`op`, as programs name it too."""
        return self.op

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def tensor_id(self) -> TensorId:
        return TensorId(self.op.name, self.value_index)

    @property
    def dtype(self) -> DType:
        return self.op.node.dtypes[self.value_index]

    @property
    def static_shape(self) -> shapes.Shape:
        """The static shape as a plain tuple."""
        return self.op.node.shapes[self.value_index]

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.static_shape)

    @property
    def ndim(self) -> int | None:
        """The number of axes, as of an array; None if it is not known."""
        shape = self.static_shape
        return None if shape is None else len(shape)

    def get_shape(self) -> TensorShape:
        """The static shape, as `shape` gives it.

        Example:
            >>> af.placeholder(af.float32, [None, 3]).get_shape()
            TensorShape([None, 3])
        """
        return self.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds to what is known of the shape. Raises ValueError for a contradiction.

        Example:
            >>> x = af.placeholder(af.float32, [None, 3])
            >>> x.set_shape([2, None])
            >>> x.shape
            TensorShape([2, 3])
        """
        self.op.graph.refine_shape(self, shapes.as_shape(shape))

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def where(self) -> Where | None:
        return self.op.where

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input.

        Example:
            >>> x = af.placeholder(af.float32)
            >>> y, z = af.square(x, name="y"), af.sqrt(x, name="z")
            >>> [op.name for op in x.consumers()]
            ['y', 'z']
        """
        return self.graph.consumers(self.tensor_id)

    def __repr__(self) -> str:
        return f"<actorflow.Tensor '{self.name}' shape={shapes.show(self.static_shape)} dtype={self.dtype}>"

    def _repr_html_(self) -> str:
        facts = {"type": self.dtype, "shape": shapes.show(self.static_shape), "op": self.op.type}
        where = f"{self.where}  {self.where.source()}" if self.where else ""
        return markup.card(f"Tensor {self.name}", facts, markup.text(where) if where else "")

    def __iter__(self) -> Iterator[Tensor]:
        static = self.static_shape
        if not static or static[0] is None:
            why = (
                "can't be iterated over: its first dimension is not known here. af.map_fn applies a function to each row, and "
                "af.unstack(x, num) gives the rows where their number is known."
            )
            self._refuse(with_topic(why, "tensor-as-list"))
        return (self[i] for i in range(static[0]))

    def __contains__(self, item: Any) -> bool:
        # By itself, because Python would replace the error of a tensor without known rows.
        return any(row is item or row == item for row in self)

    def __len__(self) -> int:
        self._refuse(f"has no len(); use {self.name.split(':')[0]}.shape[0] or af.shape.")

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> Any:
        """`session.run(self, feed_dict)` with a blocking session, by default the innermost that was entered (TensorFlow 1's
        shorthand). Raises ValueError without such a session.

        Example:
            >>> with af.Graph().as_default(), af.blocking.Session() as blocking:
            ...     x = af.placeholder(af.float32)
            ...     print(af.square(x).eval({x: 3.0}, blocking))
            9.0
        """
        return _session_for(session, "eval").run(self, feed_dict)
