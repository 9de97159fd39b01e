"""`inlined`: a graph whose calls of functions are replaced by the functions' nodes, as TensorFlow 2 writes graphs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.graph.analysis.inline import inline
from actorflow.graph.graphdef.protos import FunctionDef, GraphDef, NodeDef
from actorflow.graph.graphdef.rewrites.control_flow import CASES, IFS, WHILES, write_case, write_if, write_while
from actorflow.graph.graphdef.rewrites.outputs import output_number
from actorflow.graph.node import Node

CALLS = frozenset({"BatchFunction", "PartitionedCall", "StatefulPartitionedCall"})
"""Ops that call a function. `BatchFunction` calls it for several requests together, whose results are the same."""
_BRANCHING = frozenset({"For", "SymbolicGradient", "RemoteCall"})
_FUNCTIONAL = IFS | WHILES | CASES
_DEEPEST = 64
_MOST = 1_000_000  # nodes: functions that call each other twice grow exponentially


def without_functions(nodes: Mapping[str, Node]) -> Mapping[str, Node]:
    """The nodes of a graph of actorflow's, where the nodes of functions are in the place of their calls."""
    expanded, _ = inline(nodes)
    if expanded is nodes:
        return nodes
    inside: set[str] = set()
    for node in expanded.values():  # each comes after its inputs, but for the ends of loops
        if node.op in ("_Arg", "_Return") or any(e.node in inside for e in node.inputs) or inside & {*node.controls}:
            inside.add(node.name)
    return {name: node for name, node in expanded.items() if name not in inside}


def calls_functions(graph_def: GraphDef) -> bool:
    """Whether a graph has nodes that call functions."""
    if any(node.op in CALLS | IFS | WHILES | CASES for node in graph_def.node):
        return True
    own = _library(graph_def)
    return any(node.op in own for node in graph_def.node)


def _library(graph_def: GraphDef) -> dict[str, FunctionDef]:
    return {function.signature.name: function for function in graph_def.library.function}


def inlined(graph_def: GraphDef) -> GraphDef:
    """The graph with the nodes of functions in the place of their calls. A call's name stands for its results.

    Args:
        graph_def: the message, which stays as it is.

    Raises:
        InvalidArgumentError: a function is not there, or functions call each other without an end.
        UnimplementedError: there are gradients of functions, branches by a text, or outputs of an unknown order, which are named.
    """
    library = _library(graph_def)
    flat = GraphDef()
    flat.versions.CopyFrom(graph_def.versions)
    _FunctionInliner(library, flat).add(graph_def.node, "", {}, (), 0)
    return flat


class _FunctionInliner:
    def __init__(self, library: Mapping[str, FunctionDef], target: GraphDef) -> None:
        self._library, self._made = library, target

    def add(
        self, nodes: Sequence[NodeDef], prefix: str, arguments: Mapping[str, str], after: Sequence[str], depth: int
    ) -> None:
        """Adds nodes, of the graph or of a function's body.

        Args:
            nodes: the nodes.
            prefix: what comes before their names.
            arguments: what the names of a function's arguments stand for.
            after: the nodes that all of them wait for.
            depth: how many calls lead here.
        """
        if depth > _DEEPEST:
            raise InvalidArgumentError(f"The functions of the graph call each other more than {_DEEPEST} deep.")
        body = {node.name: node for node in nodes}
        for node in nodes:
            if node.op in _BRANCHING:
                raise UnimplementedError(
                    f"The node {prefix + node.name!r} is of the op {node.op}, which works on functions, and is not read."
                )
            data = [self.resolved(t, prefix, arguments, body) for t in node.input if not t.startswith("^")]
            waits = [f"^{prefix}{text[1:]}" for text in node.input if text.startswith("^")]
            inside = any(t.partition(":")[0] not in arguments for t in node.input if not t.startswith("^"))
            called = node.op in CALLS or node.op in self._library  # as TensorFlow 1's Defun writes calls
            if called or node.op in _FUNCTIONAL or not inside:  # a node behind another of the body waits with that node
                waits += [f"^{name}" for name in after]
            if called:
                self._call(node, prefix + node.name, data, [text[1:] for text in waits], depth)
                continue
            if node.op in _FUNCTIONAL:
                name, names = prefix + node.name, [text[1:] for text in waits]
                write = write_if if node.op in IFS else write_while if node.op in WHILES else write_case
                write(node, name, data, names, functools.partial(self._body, name, depth), self._add)
                continue
            copy = NodeDef(name=prefix + node.name, op=node.op, input=[*data, *waits], device=node.device)
            for name, value in node.attr.items():
                copy.attr[name].CopyFrom(value)
            self._add(copy)

    def _add(self, node: NodeDef) -> None:
        if len(self._made.node) >= _MOST:
            raise InvalidArgumentError(
                f"The functions of the graph have more than {_MOST} nodes when they are inlined."
            )
        self._made.node.append(node)

    def _call(self, node: NodeDef, name: str, data: Sequence[str], waits: Sequence[str], depth: int) -> None:
        function = node.attr["f"].func.name if node.op in CALLS else node.op
        results, run = self._body(name, depth, function, f"{name}/", data, waits)
        ends = [f"^{text}" for text in (*run, *waits)]
        end = NodeDef(name=name, op="IdentityN" if results else "NoOp", input=[*results, *dict.fromkeys(ends)])
        if results:
            end.attr["T"].list.type.extend([result.type for result in self._library[function].signature.output_arg])
        self._add(end)

    def _body(
        self, name: str, depth: int, called: str, prefix: str, data: Sequence[str], waits: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Adds the nodes of a function that the node `name` calls. Gives its results, and the nodes that have to run."""
        function = self._library.get(called)
        if function is None:
            raise InvalidArgumentError(f"The node {name!r} calls {called!r}, which is not in the graph.")
        signature = function.signature
        if len(signature.input_arg) != len(data):
            raise InvalidArgumentError(
                f"The node {name!r} calls {signature.name!r} with {len(data)} arguments; it takes {len(signature.input_arg)}."
            )
        arguments = {argument.name: text for argument, text in zip(signature.input_arg, data)}
        self.add(list(function.node_def), prefix, arguments, waits, depth + 1)
        body = {inner.name: inner for inner in function.node_def}
        results = [self.resolved(function.ret[r.name], prefix, arguments, body) for r in signature.output_arg]
        return results, [f"{prefix}{text}" for text in function.control_ret.values()]

    @staticmethod
    def resolved(text: str, prefix: str, arguments: Mapping[str, str], body: Mapping[str, NodeDef]) -> str:
        """An input of a node as a graph names it. The bodies of functions write `argument` and `node:output:number`."""
        if not prefix:
            return text
        parts = text.split(":")
        if len(parts) < 3:
            return arguments[parts[0]] if parts[0] in arguments else prefix + text
        name, output, number = parts
        port = int(number) + (output_number(body[name], output) if name in body else 0)
        return f"{prefix}{name}" + (f":{port}" if port else "")
