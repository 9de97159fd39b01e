"""`fold_branches`: branches whose predicate is known become straight lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.exchange.export.messages import Messages, constant, controls, data_inputs, split, with_inputs
from actorflow.graph.graphdef.protos import GraphDef, NodeDef
from actorflow.public import public

_LOGIC: dict[str, Any] = {
    "LogicalNot": np.logical_not,
    "LogicalAnd": np.logical_and,
    "LogicalOr": np.logical_or,
    "Identity": np.array,
}


@public("af.export")
def fold_branches(graph_def: GraphDef, outputs: Sequence[str] = ()) -> GraphDef:
    """The graph without the branches of `cond` that are never taken, because their predicates are constants.

    A Switch whose predicate is known is left out, and so is a Merge of which one input is left. Predicates may be constants,
    copies of them, and logical functions of those. Loops stay as they are.

    Example:
        >>> x = af.placeholder(af.float32, [], name="x")
        >>> y = af.identity(af.cond(af.constant(False), lambda: x * 2.0, lambda: x + 1.0), name="y")
        >>> folded = af.export.fold_branches(x.graph.as_graph_def(), ["y"])
        >>> [node.op for node in folded.node if node.op in ("Switch", "Merge", "Mul")]
        []

    Args:
        graph_def: the message, which stays as it is.
        outputs: names of nodes that keep their names, though they would be left out.

    Raises:
        InvalidArgumentError: an output lies in a branch that is never taken.
    """
    return _ExportFolding(Messages(graph_def), frozenset(outputs)).folded()


class _ExportFolding:
    """The constant values and the dead tensors of a graph, which a walk in the order of the nodes collects."""

    def __init__(self, messages: Messages, outputs: frozenset[str]) -> None:
        self._messages, self._outputs = messages, outputs
        self._alias: dict[tuple[str, int], str] = {}
        self._dead: set[tuple[str, int]] = set()
        self._known: dict[str, Any] = {}
        self._kept: list[NodeDef] = []

    def folded(self) -> GraphDef:
        for node in self._messages.ordered():
            self._visit(node)
        alive = {node.name for node in self._kept}
        back = [self._rewired(n) if n.op in ("Merge", "RefMerge") else n for n in self._kept]
        if lost := sorted(self._outputs - alive):
            raise InvalidArgumentError(
                f"The output {lost[0]!r} lies in a branch that is never taken, because its predicate is a constant."
            )
        return self._messages.message(back)

    def _visit(self, node: NodeDef) -> None:
        inputs = data_inputs(node)
        if any(self._is_dead(source, -1) for source in controls(node)):
            self._dead.add((node.name, -1))
        elif node.op in ("Merge", "RefMerge") and not self._closes_loop(inputs):
            self._merge(node, inputs)
        elif any(self._is_dead(*split(text)) for text in inputs):
            self._dead.add((node.name, -1))
        elif node.op in ("Switch", "RefSwitch") and (taken := self._value(inputs[1])) is not None:
            self._dead.add((node.name, 0 if taken else 1))
            self._stand_for(node, 1 if taken else 0, self._resolved(inputs[0]))
        else:
            self._keep(node, inputs)

    def _merge(self, node: NodeDef, inputs: Sequence[str]) -> None:
        alive = [index for index, text in enumerate(inputs) if not self._is_dead(*split(text))]
        if not alive:
            self._dead.add((node.name, -1))
        elif len(alive) == len(inputs):
            self._keep(node, inputs)
        elif len(alive) == 1:
            self._stand_for(node, 0, self._resolved(inputs[alive[0]]))
            index = constant(f"{node.name}/value_index", np.int32(alive[0]), device=node.device)
            self._kept.append(index)
            self._alias[node.name, 1] = index.name
        else:
            left = with_inputs(node, [inputs[i] for i in alive] + [f"^{c}" for c in controls(node)])
            left.attr["N"].i = len(alive)
            self._keep(left, data_inputs(left))

    def _stand_for(self, node: NodeDef, port: int, text: str) -> None:
        """`text` takes the place of an output of a node that is left out. An output of the graph stays, as a copy."""
        self._alias[node.name, port] = text
        self._alias[node.name, -1] = split(text)[0]
        if node.name in self._outputs:
            copy = NodeDef(name=node.name, op="Identity", input=[text], device=node.device)
            copy.attr["T"].CopyFrom(node.attr["T"])
            self._kept.append(copy)

    def _keep(self, node: NodeDef, inputs: Sequence[str]) -> None:
        self._kept.append(self._rewired(node))
        if node.op == "Const":
            self._known[node.name] = self._messages.constant(node.name)
        elif node.op in _LOGIC and len(inputs) < 3:
            values = [self._value(text) for text in inputs]
            if all(value is not None for value in values):
                self._known[node.name] = _LOGIC[node.op](*values)

    def _rewired(self, node: NodeDef) -> NodeDef:
        return with_inputs(
            node,
            [self._resolved(text) for text in data_inputs(node)]
            + [f"^{name}" for name in dict.fromkeys(self._alias.get((c, -1), c) for c in controls(node))],
        )

    def _resolved(self, text: str) -> str:
        alias = self._alias.get(split(text))
        return text if alias is None else alias

    def _is_dead(self, name: str, port: int) -> bool:
        return (name, -1) in self._dead or (name, port) in self._dead

    def _value(self, text: str) -> Any:
        name, port = split(self._resolved(text))
        value = None if port else self._known.get(name)
        return value if value is not None and value.ndim == 0 and value.dtype == bool else None

    def _closes_loop(self, inputs: Sequence[str]) -> bool:
        return any(self._messages.nodes[split(text)[0]].op in ("NextIteration", "RefNextIteration") for text in inputs)
