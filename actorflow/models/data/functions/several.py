"""A function of one element as a function of several: its nodes once for each of them, in one plan.

The cost of a plan beside its kernels is paid once for all of them then. This is for functions that are not row-wise (see
`rowwise`). Each element has its own nodes, so the bits are those of single calls. It is not for nodes with effects, random
numbers, branches or loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Tensor
from actorflow.models.data.functions.rowwise import BlockGraph, needed

Repeated: TypeAlias = "tuple[Graph, list[Tensor], list[Tensor], list[Tensor], int]"
"""A graph with the arguments of all elements in sequence, the captured values, the outputs of all elements, and how many
elements there are."""

MOST = 16
"""How many elements are computed at once: with more of them a plan costs little less for each, and the results come later."""
_MOST_NODES = 512
_FLOW = {
    "Switch",
    "RefSwitch",
    "Merge",
    "RefMerge",
    "Enter",
    "RefEnter",
    "Exit",
    "RefExit",
    "NextIteration",
    "LoopCond",
}


def of_several(
    arguments: Sequence[Any], captured: Sequence[Tensor], outputs: Sequence[Tensor], most: int
) -> Repeated | None:
    """The graph of a function for several elements; None if the graph is impossible, or would gain nothing.

    Args:
        arguments: the placeholders of an element's leaves.
        captured: the placeholders of values that are the same for all elements.
        outputs: what it computes.
        most: how many elements there may be at most.
    """
    if not all(isinstance(argument, Tensor) for argument in arguments):
        return None
    operations = needed(outputs, {*arguments, *captured})
    count = min(most, MOST, _MOST_NODES // max(1, len(operations)))
    if count < 2 or not operations:
        return None
    for operation in operations:
        definition = operation.definition
        alone = definition.stateful or definition.asynchronous or operation.type.startswith("Placeholder")
        if alone or operation.control_inputs or operation.type in _FLOW:
            return None
    block = BlockGraph(FuncGraph("several", may_make=False))
    inputs: list[Tensor] = []
    results: list[Tensor] = []
    with block.graph.as_default():
        same = [block.same(tensor) for tensor in captured]
        shared = dict(block.known)
        for _ in range(count):
            block.known = dict(shared)
            inputs += [block.placeholder(tensor, tensor.static_shape) for tensor in arguments]
            for operation in operations:
                copies = block.again(operation, [block.known[tensor] for tensor in operation.inputs])
                block.known.update(zip(operation.outputs, copies))
            results += [block.known[tensor] for tensor in outputs]
    return block.graph, inputs, same, results, count
