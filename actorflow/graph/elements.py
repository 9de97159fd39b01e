"""`Elements`: the part of a `Graph` that finds what is in it: operations and tensors by name, consumers, collections."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

from actorflow.errors import UnknownNameError, Where, describe, with_topic
from actorflow.graph.node import Node, TensorId
from actorflow.graph.scopes import Scoped, of
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

_GROWTH_WARNING = 1000


@public("af")
class GraphGrowthWarning(UserWarning):
    """One line of the program keeps making nodes after the graph has run: usually graph building inside a loop.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", af.GraphGrowthWarning)  # a test fails whose loop makes nodes
        ...     x = af.constant(1.0)
    """


class Elements(Scoped):
    """The nodes of a graph, and the questions about them."""

    _nodes: dict[str, Node]
    _operations: dict[str, Operation]
    _consumers: dict[TensorId, list[str]]
    _collections: dict[str, list[Any]]
    _has_run: bool
    _made_by_line: Counter[Where]
    _not_fed: frozenset[TensorId] = frozenset()
    _not_fetched: frozenset[str] = frozenset()

    def get_operations(self) -> list[Operation]:
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Raises UnknownNameError (a KeyError) with the nearest names for an unknown name.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     y = af.square(af.ones([2]), name="y")
            >>> graph.get_operation_by_name("y").type
            'Square'
        """
        _check_text(name, "an operation")
        operation = self._operations.get(name)
        if operation is None:
            raise UnknownNameError(
                with_topic(f"The graph has no operation {name!r}.{self._similar(name)}", "no-such-name")
            )
        return operation

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor `op:index`. Raises ValueError for another form of name and UnknownNameError for an unknown name."""
        _check_text(name, "a tensor")
        op_name, colon, port = name.rpartition(":")
        if not colon or not port.isdigit():
            raise ValueError(
                f"{name!r} is no name of a tensor; one has the form 'operation:output', such as '{name}:0'."
            )
        operation = self.get_operation_by_name(op_name)
        if int(port) >= len(operation.outputs):
            names = ", ".join(t.name for t in operation.outputs) or "none"
            raise UnknownNameError(
                describe(
                    f"There is no tensor {name!r}; the outputs of {op_name!r}: {names}.",
                    node=op_name,
                    op=operation.type,
                    where=operation.where,
                )
            )
        return operation.outputs[int(port)]

    def as_graph_element(
        self, element: Any, *, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """`element` as a tensor or an operation of this graph.

        Args:
            element: a tensor, variable or operation, or its name: `name:0` for a tensor, `name` for an
                operation.
            allow_tensor: whether the result may be a tensor.
            allow_operation: whether the result may be an operation.

        Raises:
            ValueError: it belongs to another graph.
            UnknownNameError: the graph does not have a tensor or an operation of that name.
            TypeError: it is not an element of a graph, or not of an allowed kind.
        """
        converted: Any = element
        if isinstance(element, bytes):
            element = element.decode()
        if isinstance(element, str):
            if ":" in element and allow_tensor:
                return self.get_tensor_by_name(element)
            return self.get_operation_by_name(element)
        convert = getattr(element, "_as_graph_element", None)
        if convert is not None:
            converted = convert()
        if isinstance(converted, Tensor) and allow_tensor or isinstance(converted, Operation) and allow_operation:
            if converted.graph is not self:
                raise ValueError(
                    describe(
                        f"{converted.name} belongs to another graph than the one it is used with.",
                        where=converted.where,
                        hint=with_topic(
                            "A session runs one graph, by default the one that is the default where it is made; for "
                            "another say so: af.Session(graph=graph).",
                            "another-graph",
                        ),
                    )
                )
            return converted
        raise TypeError(f"{element!r:.80} (of type {type(element).__name__}) is no tensor or operation of a graph.")

    def tensor_at(self, tensor_id: TensorId) -> Tensor:
        return self._operations[tensor_id.node].outputs[tensor_id.port]

    def consumers(self, tensor_id: TensorId) -> list[Operation]:
        return [self._operations[name] for name in self._consumers.get(tensor_id, ())]

    def _similar(self, name: str) -> str:
        import difflib

        near = difflib.get_close_matches(name, self._operations, n=3)
        return f" Similar names: {', '.join(near)}." if near else ""

    # Growth

    def mark_run(self) -> None:
        """From now on growth is watched: a session calls this as it first runs the graph."""
        self._has_run = True

    def _watch_growth(self, where: Where) -> None:
        self._made_by_line[where] += 1
        if self._made_by_line[where] == _GROWTH_WARNING:
            warnings.warn_explicit(
                f"{where} made {_GROWTH_WARNING} nodes after the graph first ran. A graph that grows in a loop gets slower "
                f"and keeps its memory: build the nodes once, before the loop, and feed what changes. "
                f"graph.finalize() makes this an error.",
                GraphGrowthWarning,
                where.file,
                where.line,
            )

    def nodes_by_line(self) -> list[tuple[Where, int]]:
        """How many nodes each line of the program made, most first."""
        return Counter(n.where for n in self._nodes.values() if n.where is not None).most_common()

    # Collections

    @property
    def collections(self) -> list[str]:
        """The names of the collections that have values."""
        return self.get_all_collection_keys()

    def add_to_collection(self, name: str, value: Any) -> None:
        tower = of(self).tower
        if tower is not None and not tower.collects(name):
            return
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Iterable[str], value: Any) -> None:
        """Adds `value` to each of these collections; a string is a single name.

        Example:
            >>> graph = af.Graph()
            >>> graph.add_to_collections(["rates", "shown"], 0.5)
            >>> graph.get_collection("rates"), graph.get_collection("shown")
            ([0.5], [0.5])
        """
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_all_collection_keys(self) -> list[str]:
        """The names of the collections that have values.

        Example:
            >>> graph = af.Graph()
            >>> graph.add_to_collection("rates", 0.5)
            >>> graph.get_all_collection_keys()
            ['rates']
        """
        return [name for name, values in self._collections.items() if values]

    def clear_collection(self, name: str) -> None:
        """Takes all values out of a collection.

        Example:
            >>> graph = af.Graph()
            >>> graph.add_to_collection("rates", 0.5)
            >>> graph.clear_collection("rates")
            >>> graph.get_collection("rates")
            []
        """
        self._collections.pop(name, None)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """The values of a collection; with `scope`, those whose name matches it as a prefix pattern.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v = af.Variable(1.0, name="layer/v")
            ...     w = af.Variable(1.0, name="w")
            >>> [v.name for v in graph.get_collection("trainable_variables", scope="layer")]
            ['layer/v:0']
        """
        values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def get_collection_ref(self, name: str) -> list[Any]:
        return self._collections.setdefault(name, [])

    # Limits of what runs ask for

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Has runs refuse feeds of a tensor.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.constant(1.0)
            ...     graph.prevent_feeding(x)
            ...     print(graph.is_feedable(x))
            False
        """
        self._not_fed = self._not_fed | {tensor.tensor_id}

    def is_feedable(self, tensor: Tensor | Operation) -> bool:
        """Whether a run takes a value for a tensor.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.constant(1.0)
            ...     print(graph.is_feedable(x))
            True
        """
        return isinstance(tensor, Operation) or tensor.tensor_id not in self._not_fed

    def prevent_fetching(self, op: Operation) -> None:
        """Has runs refuse fetches of an operation and its outputs.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.constant(1.0)
            ...     graph.prevent_fetching(x.op)
            ...     print(graph.is_fetchable(x))
            False
        """
        self._not_fetched = self._not_fetched | {op.name}

    def is_fetchable(self, tensor_or_op: Tensor | Operation | str) -> bool:
        """Whether a run gives the value of a tensor, or executes an operation for a fetch.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.constant(1.0)
            ...     print(graph.is_fetchable(x))
            True
        """
        element = self.as_graph_element(tensor_or_op)
        return (element if isinstance(element, Operation) else element.op).name not in self._not_fetched


def _check_text(name: object, what: str) -> None:
    """Raises TypeError for a name that is no text."""
    if not isinstance(name, str):
        raise TypeError(f"The name of {what} is a text, not {name!r:.60}, of type {type(name).__name__}.")
