"""`write_if`, `write_while`: branches and loops that are functions, as TensorFlow 2 writes them, in the primitives of graphs.

A branch is Switch and Merge, and a loop is Enter, Merge, LoopCond, Switch, NextIteration and Exit, as TensorFlow lowers them too.
Handles of variables go in as they are: what reads one waits for the branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.errors import UnimplementedError
from actorflow.graph.graphdef.protos import NodeDef

IFS, WHILES = frozenset({"If", "StatelessIf"}), frozenset({"While", "StatelessWhile"})
CASES = frozenset({"Case", "StatelessCase"})
_INT32, _STRING, _BOOL, _RESOURCE = 3, 7, 10, 20

Body = Callable[[str, str, Sequence[str], Sequence[str]], tuple[list[str], list[str]]]
"""Adds the nodes of a function: for its name, what comes before its nodes' names, its arguments, and the nodes that all of them
wait for. It gives the results, and the nodes that have to run."""
Add = Callable[[NodeDef], None]


def write_if(node: NodeDef, name: str, data: Sequence[str], waits: Sequence[str], body: Body, add: Add) -> None:
    """Adds a branch.

    Args:
        node: the node.
        name: its name in the graph.
        data: its inputs: the predicate, and the arguments of both functions.
        waits: names of nodes that it waits for.
        body: adds the nodes of a function.
        add: adds a node.

    Raises:
        UnimplementedError: the predicate is a text.
    """
    predicate, *inputs = data
    decides = node.attr["Tcond"].type if "Tcond" in node.attr else _BOOL
    if decides == _STRING:
        raise UnimplementedError(f"The node {name!r} is a branch whose predicate is a text, which is not read.")
    if decides != _BOOL:
        add(_node(f"{name}/predicate", "Cast", [predicate], SrcT=decides, DstT=_BOOL))
        predicate = f"{name}/predicate"
    types, results = list(node.attr["Tin"].list.type), list(node.attr["Tout"].list.type)
    controls = [f"^{other}" for other in waits]
    add(_node(f"{name}/decided", "Switch", [predicate, predicate, *controls], T=_BOOL))
    for index, (text, kind) in enumerate(zip(inputs, types)):
        if kind != _RESOURCE:
            add(_node(f"{name}/given_{index}", "Switch", [text, predicate, *controls], T=kind))
    ends: list[list[str]] = []
    for port, key in enumerate(("else_branch", "then_branch")):
        side = f"{name}/{key}"
        add(_node(f"{side}_taken", "Identity", [_output(f"{name}/decided", port)], T=_BOOL))
        arguments = [
            text if kind == _RESOURCE else _output(f"{name}/given_{index}", port)
            for index, (text, kind) in enumerate(zip(inputs, types))
        ]
        outputs, run = body(node.attr[key].func.name, f"{side}/", arguments, [f"{side}_taken"])
        add(_node(f"{side}_done", "Identity", [f"{side}_taken", *(f"^{other}" for other in run)], T=_BOOL))
        ends.append([*outputs, f"{side}_done"])
    merged = []
    for index, (pair, kind) in enumerate(zip(zip(*ends), [*results, _BOOL])):
        merged.append(f"{name}/merged_{index}")
        add(_node(merged[-1], "Merge", pair, T=kind, N=2))
    add(_results(name, merged[:-1], results, [merged[-1]]))


def write_case(node: NodeDef, name: str, data: Sequence[str], waits: Sequence[str], body: Body, add: Add) -> None:
    """Adds a choice of one of several functions by a number; the last function is that of all other numbers.

    Args:
        node: the node.
        name: its name in the graph.
        data: its inputs: the number, and the arguments of all functions.
        waits: names of nodes that it waits for.
        body: adds the nodes of a function.
        add: adds a node.
    """
    number, *inputs = data
    types, results = list(node.attr["Tin"].list.type), list(node.attr["Tout"].list.type)
    branches = [function.name for function in node.attr["branches"].list.func]
    controls = [f"^{other}" for other in waits]
    chosen = []
    for index in range(len(branches) - 1):
        constant = f"{name}/place_{index}"
        add(_number(constant, index, number))
        chosen.append(f"{name}/is_{index}")
        add(_node(chosen[-1], "Equal", [number, constant, *controls], T=_INT32))
    if not chosen:
        add(_node(f"{name}/is_any", "Equal", [number, number, *controls], T=_INT32))
        last = f"{name}/is_any"
    else:
        among = chosen[0]
        for index, other in enumerate(chosen[1:]):
            add(_node(f"{name}/among_{index}", "LogicalOr", [among, other]))
            among = f"{name}/among_{index}"
        add(_node(f"{name}/is_last", "LogicalNot", [among]))
        last = f"{name}/is_last"
    ends: list[list[str]] = []
    for index, (predicate, function) in enumerate(zip([*chosen, last], branches)):
        side = f"{name}/branch_{index}"
        add(_node(f"{side}_decided", "Switch", [predicate, predicate], T=_BOOL))
        add(_node(f"{side}_taken", "Identity", [f"{side}_decided:1"], T=_BOOL))
        arguments = []
        for place, (text, kind) in enumerate(zip(inputs, types)):
            arguments.append(text if kind == _RESOURCE else f"{side}_given_{place}:1")
            if kind != _RESOURCE:
                add(_node(f"{side}_given_{place}", "Switch", [text, predicate, *controls], T=kind))
        outputs, run = body(function, f"{side}/", arguments, [f"{side}_taken"])
        add(_node(f"{side}_done", "Identity", [f"{side}_taken", *(f"^{other}" for other in run)], T=_BOOL))
        ends.append([*outputs, f"{side}_done"])
    merged = []
    for index, (several, kind) in enumerate(zip(zip(*ends), [*results, _BOOL])):
        merged.append(f"{name}/merged_{index}")
        add(_node(merged[-1], "Merge", several, T=kind, N=len(several)))
    add(_results(name, merged[:-1], results, [merged[-1]]))


def write_while(node: NodeDef, name: str, data: Sequence[str], waits: Sequence[str], body: Body, add: Add) -> None:
    """Adds a loop.

    Args:
        node: the node.
        name: its name in the graph.
        data: its inputs: the first values.
        waits: names of nodes that it waits for.
        body: adds the nodes of a function.
        add: adds a node.

    Raises:
        UnimplementedError: it has handles of variables alone.
    """
    types = list(node.attr["T"].list.type)
    varying = [index for index, kind in enumerate(types) if kind != _RESOURCE]
    if not varying:
        raise UnimplementedError(f"The node {name!r} is a loop without values, which is not read.")
    controls = [f"^{other}" for other in waits]
    for index, (text, kind) in enumerate(zip(data, types)):
        entered = _node(f"{name}/enter_{index}", "Enter", [text, *controls], T=kind)
        entered.attr["frame_name"].s = name
        entered.attr["is_constant"].b = kind == _RESOURCE
        entered.attr["parallel_iterations"].i = max(1, node.attr["parallel_iterations"].i)
        add(entered)
    for index in varying:
        back = [f"{name}/enter_{index}", f"{name}/next_{index}"]
        add(_node(f"{name}/value_{index}", "Merge", back, T=types[index], N=2))

    def arguments(prefix: str) -> list[str]:
        return [f"{name}/{prefix if index in varying else 'enter'}_{index}" for index in range(len(types))]

    (more,), run = body(
        node.attr["cond"].func.name, f"{name}/cond/", arguments("value"), [f"{name}/value_{varying[0]}"]
    )
    add(_node(f"{name}/more", "LoopCond", [more, *(f"^{other}" for other in run)]))
    for index in varying:
        kind, split = types[index], f"{name}/split_{index}"
        add(_node(split, "Switch", [f"{name}/value_{index}", f"{name}/more"], T=kind))
        add(_node(f"{name}/exit_{index}", "Exit", [split], T=kind))
        add(_node(f"{name}/inner_{index}", "Identity", [_output(split, 1)], T=kind))
    outputs, run = body(
        node.attr["body"].func.name, f"{name}/body/", arguments("inner"), [f"{name}/inner_{varying[0]}"]
    )
    for index in varying:
        ends = [f"^{other}" for other in run] if index == varying[0] else []
        add(_node(f"{name}/next_{index}", "NextIteration", [outputs[index], *ends], T=types[index]))
    add(
        _results(
            name, [f"{name}/exit_{index}" if index in varying else data[index] for index in range(len(types))], types
        )
    )


def _output(name: str, port: int) -> str:
    return f"{name}:{port}" if port else name


def _number(name: str, value: int, beside: str) -> NodeDef:
    """A constant in the frame of another node."""
    node = NodeDef(name=name, op="Const", input=[f"^{beside.partition(':')[0]}"])
    node.attr["dtype"].type = _INT32
    node.attr["value"].tensor.dtype = _INT32
    node.attr["value"].tensor.int_val.append(value)
    node.attr["value"].tensor.tensor_shape.SetInParent()
    return node


def _node(name: str, op: str, inputs: Sequence[str], **attrs: Any) -> NodeDef:
    node = NodeDef(name=name, op=op, input=list(inputs))
    for key, value in attrs.items():
        if key in ("T", "SrcT", "DstT"):
            node.attr[key].type = value
        else:
            node.attr[key].i = value
    return node


def _results(name: str, values: Sequence[str], types: Sequence[int], waits: Sequence[str] = ()) -> NodeDef:
    """The node that has the name of a branch or loop, and its results."""
    node = _node(name, "IdentityN" if values else "NoOp", [*values, *(f"^{other}" for other in waits)])
    if values:
        node.attr["T"].list.type.extend(types)
    return node
