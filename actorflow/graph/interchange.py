"""`Interchange`: the part of a `Graph` that hands it to others: as bytes, as TensorFlow's message, to the lint, to notebooks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from actorflow.base.reports import markup
from actorflow.graph.elements import Elements
from actorflow.graph.node import Node
from actorflow.graph.tensor import Operation

if TYPE_CHECKING:
    from actorflow.graph.graphdef.protos import GraphDef
    from actorflow.graph.lint.forgotten_updates import ForgottenUpdates
    from actorflow.graph.lint.races import Race


_DRAWN = 60
"""The most nodes that a notebook shows as a picture."""


class Interchange(Elements):
    """Ways of a graph to what reads it."""

    def add_node(self, node: Node) -> Operation:
        """See `Graph.add_node`."""
        raise NotImplementedError

    def _check_open(self) -> None:
        raise NotImplementedError

    def lint(self, fetches: Any = None, *others: Any) -> list[Race | ForgottenUpdates]:
        """Finds what a program can't mean in its runs: races of variables, and updates of layers that training leaves behind.

            for finding in graph.lint([loss, train]):
                print(finding)  # names the lines

        A race is two accesses of one variable that nothing orders, with at least one write. Updates that commute are no race
        unless their values are taken. Neither are accesses inside of critical sections of one mutex, nor accesses of which a
        run never makes both, such as those of two branches. An update of a layer, such as that of a batch normalization's
        moving average, is left behind by a run that trains with the layer's outputs and does not run the update.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     v = af.Variable(1.0, name="v")
            ...     set_it, add = v.assign(5.0), v.assign_add(1.0)
            >>> len(graph.lint([set_it, add]))  # the order of the two is open
            1

        Args:
            fetches: what one run will be asked for, as for `session.run`; only what it executes is looked at. Without it
                all of the graph counts as one run, but for initialisers; an unused result of an update counts as fetched.
            others: further runs, each looked at by itself; what these and the first do to each other is no race.

        Returns:
            A `Race` for each pair of nodes, in the order of the graph, and a `ForgottenUpdates` for each layer. `kind` says
            which, and `lines` are the lines of the program.

        Raises:
            InvalidArgumentError: the nodes form a cycle.
            KeyError, TypeError, ValueError: something can't be fetched, as `session.run` says.
        """
        from actorflow.graph.lint.forgotten_updates import forgotten_updates_of_runs
        from actorflow.graph.lint.races import races_of_runs

        graph: Any = self
        runs = () if fetches is None and not others else (fetches, *others)
        return [*races_of_runs(graph, runs), *forgotten_updates_of_runs(graph, runs)]

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """The graph as a `GraphDef` message, which TensorFlow reads too (`tf.Graph.as_graph_def`).

        An op that TensorFlow does not have keeps its name, and TensorFlow refuses it by name.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     y = af.square(af.ones([2], name="x"), name="y")
            >>> [node.name for node in graph.as_graph_def().node]
            ['x/Const', 'x', 'y']

        Args:
            from_version: leaves out the nodes that the graph had at this `version`.
            add_shapes: each node has the static shapes of its outputs, as the attribute `_output_shapes`.

        Raises:
            TypeError: a node has an attribute that no message has; the node is named.
        """
        from actorflow.graph.graphdef.export import graph_def_of

        graph: Any = self
        return graph_def_of(graph, from_version or 0, add_shapes)

    def to_bytes(self, since: int = 0) -> bytes:
        """The graph (or what was added after its first `since` nodes) in msgpack.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.ones([2], name="x")
            >>> len(af.Graph.from_bytes(graph.to_bytes()))
            2
        """
        from actorflow.graph.codec import encode_nodes

        return encode_nodes(list(self._nodes.values())[since:])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """A graph from `to_bytes()`.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     y = af.square(af.ones([2], name="x"), name="y")
            >>> copy = af.Graph.from_bytes(graph.to_bytes())
            >>> [op.name for op in copy.get_operations()]
            ['x/Const', 'x', 'y']

        Raises:
            ValueError: the data is damaged, or of another format.
            UnknownNameError: an op is not registered here.
        """
        graph = cls()
        graph.extend_from_bytes(data)
        return graph

    def extend_from_bytes(self, data: bytes) -> list[Operation]:
        """Adds the nodes of `to_bytes()`, all or none.

        Example:
            >>> with af.Graph().as_default() as graph:
            ...     x = af.ones([2], name="x")
            ...     copy, seen = af.Graph.from_bytes(graph.to_bytes()), graph.version
            ...     y = af.square(x, name="y")
            >>> [op.name for op in copy.extend_from_bytes(graph.to_bytes(since=seen))]
            ['y']

        Raises:
            ValueError: the data is damaged, or a name is taken.
            UnknownNameError: an op is not registered here.
        """
        from actorflow.graph.codec import check_nodes, decode_nodes

        self._check_open()
        nodes = decode_nodes(data)
        taken = [n.name for n in nodes if n.name in self._nodes]
        if taken:
            raise ValueError(f"The graph has nodes of these names already: {', '.join(taken[:5])}.")
        check_nodes(nodes, self._nodes)
        return [self.add_node(node) for node in nodes]

    def _repr_html_(self) -> str:
        """For notebooks: counts, ops, scopes and variables; a small graph is drawn."""
        nodes = list(self._nodes.values())
        variables = self.get_collection("variables")
        ops = Counter(node.op for node in nodes)
        scopes = Counter(node.name.partition("/")[0] + "/" for node in nodes if "/" in node.name)
        drawn = ""
        if len(nodes) <= _DRAWN:
            edges = [(edge.node, node.name) for node in nodes for edge in node.inputs]
            drawn = markup.picture({node.name: node.name for node in nodes}, edges)
        return markup.card(
            "Graph",
            {"nodes": f"{len(nodes):,}", "variables": len(variables)},
            markup.fold("picture", drawn, opened=True),
            markup.fold("ops", markup.table(["op", "nodes"], ops.most_common(), 20)),
            markup.fold("scopes", markup.table(["scope", "nodes"], scopes.most_common(), 30)),
            markup.fold("variables", markup.table(["name", "type", "shape"], map(_of_variable, variables), 40)),
        )


def _of_variable(variable: Any) -> tuple[str, str, str]:
    return str(variable.name), str(variable.dtype), str(variable.shape)
