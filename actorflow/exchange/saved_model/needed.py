"""`Needed`: the nodes of a saved model's graph that its signatures and its main operation need.

A graph may hold more: what trains, what reads inputs, ops that actorflow does not have. That never stops a load.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.saved_model import constants
from actorflow.graph.graphdef.attributes import dtype_of, shape_of
from actorflow.graph.graphdef.partial import StandIn, import_part
from actorflow.graph.graphdef.protos import GraphDef, MetaGraphDef, NodeDef, TensorInfo, VariableDef
from actorflow.graph.graphdef.rewrites.functions import calls_functions, inlined
from actorflow.graph.graphdef.saving import source
from actorflow.graph.graphdef.subgraphs import VARIABLES, extract_sub_graph
from actorflow.graph.variables.collections import GraphKeys


@dataclass(frozen=True, slots=True)
class Needed:
    """The tensors and operations for which a graph is loaded.

    Attributes:
        inputs, outputs: the tensors of the signatures.
        main_op: the operation that runs after a load.
        initial: tensors of initial values, for which checkpoints have values.
    """

    inputs: Mapping[str, StandIn]
    outputs: tuple[str, ...]
    main_op: str | None
    initial: Mapping[str, StandIn]

    @staticmethod
    def of(message: MetaGraphDef) -> Needed:
        """The tensors that the signatures of a graph name."""
        signatures = [s for key, s in message.signature_def.items() if key != constants.INIT_OP_SIGNATURE_KEY]
        inputs = {
            name: StandIn(dtype_of(info.dtype), shape_of(info.tensor_shape))
            for signature in signatures
            for name, info in _tensors(signature.inputs)
        }
        outputs = tuple([name for signature in signatures for name, _ in _tensors(signature.outputs)])
        return Needed(inputs, outputs, main_op_name(message), dict(_initial_values(message)))

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes."""
        several = [*self.outputs, *self.inputs, *([self.main_op] if self.main_op else [])]
        return list(dict.fromkeys(source(name) for name in several))

    def part_of(self, graph_def: GraphDef) -> GraphDef:
        """The nodes that are needed, and their inputs."""
        return extract_sub_graph(graph_def, self.nodes)

    def import_from(self, graph_def: GraphDef, prefix: str) -> None:
        """Adds the nodes that can be read, all those that are needed among them, to the default graph.

        Args:
            graph_def: the nodes.
            prefix: what comes before their names.

        Raises:
            UnknownNameError, UnimplementedError, ValueError: a node that is needed can't be read.
        """
        if calls_functions(graph_def):
            try:
                graph_def = inlined(graph_def)
            except (InvalidArgumentError, UnimplementedError):
                graph_def = inlined(self.part_of(graph_def))
        part = import_part(graph_def, prefix, {**self.initial, **self.inputs}, self._gates(graph_def))
        part.require(self.nodes)
        part.require(self._needed_effects(graph_def, part.dropped))

    def _needed_effects(self, graph_def: GraphDef, dropped: Collection[str]) -> list[str]:
        """Those of some operations that write a variable or a table which a signature's outputs read."""
        written = {node.name: source(node.input[0]) for node in graph_def.node if node.name in dropped and node.input}
        outputs = list(dict.fromkeys(source(name) for name in self.outputs))
        read = {node.name for node in extract_sub_graph(graph_def, outputs).node}
        return [name for name, handle in written.items() if handle in read]

    def _gates(self, graph_def: GraphDef) -> set[str]:
        """The main operation, and what it only waits for: that of a table that no signature needs may be left out."""
        nodes: dict[str, NodeDef] = {node.name: node for node in graph_def.node}
        gates: set[str] = set()
        stack = [self.main_op] if self.main_op else []
        while stack:
            node = nodes.get(stack.pop())
            if node is not None and node.op == "NoOp" and node.name not in gates:
                gates.add(node.name)
                stack.extend(source(text) for text in node.input)
        return gates


def _tensors(infos: Mapping[str, TensorInfo]) -> Iterator[tuple[str, TensorInfo]]:
    """The tensors of a signature with their types; a sparse tensor has three."""
    for info in infos.values():
        if info.name:
            yield info.name, info
        elif info.HasField("coo_sparse"):
            parts = info.coo_sparse
            yield parts.values_tensor_name, info
            for name, rank in ((parts.indices_tensor_name, 2), (parts.dense_shape_tensor_name, 1)):
                shape = TensorInfo(dtype=9)
                for _ in range(rank):
                    shape.tensor_shape.dim.add(size=-1)
                yield name, shape


def _initial_values(message: MetaGraphDef) -> Iterator[tuple[str, StandIn]]:
    nodes = {node.name: node for node in message.graph_def.node}
    for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
        for data in message.collection_def[key].bytes_list.value if key in message.collection_def else ():
            variable = VariableDef.FromString(data)
            node, assign = (nodes.get(source(name)) for name in (variable.variable_name, variable.initializer_name))
            if node is None or node.op not in VARIABLES:
                continue
            stand_in = StandIn(dtype_of(node.attr["dtype"].type), shape_of(node.attr["shape"].shape))
            if assign is not None and len(assign.input) > 1:
                yield assign.input[1], stand_in
            if variable.initial_value_name:
                yield variable.initial_value_name, stand_in


def main_op_name(message: MetaGraphDef) -> str | None:
    """The name of the operation that runs after a load. Raises RuntimeError for several operations."""
    key = constants.INIT_OP_SIGNATURE_KEY
    if key in message.signature_def:
        return str(message.signature_def[key].outputs[key].name).partition(":")[0]
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        names = list(message.collection_def[key].node_list.value) if key in message.collection_def else []
        if len(names) > 1:
            raise RuntimeError(f"Expected exactly one SavedModel init op. Found {len(names)}: {names}.")
        if names:
            return str(names[0])
    return None
