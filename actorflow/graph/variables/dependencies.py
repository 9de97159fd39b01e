"""Initial values that are computed from other variables, which may have no value yet when an initializer runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.base.registry import opdef
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys

if TYPE_CHECKING:
    from actorflow.graph.variables.variable import Variable


def with_initialized_variables(value: Tensor) -> Tensor:
    """`value`, computed from each variable's `initialized_value` instead of its read.

    All initializers run at once and in any order, so `Variable(2 * v)` may find `v` without a value; then it takes the
    initial value. The nodes between the reads and `value` are copied; without a read, the result is `value` itself.
    """
    graph = value.graph
    between = _reading(value)
    if not between:
        return value
    variables = _variables(graph)
    copies: dict[str, tuple[Tensor, ...]] = {}
    for operation in between:
        if operation.type == "ReadVariableOp":
            variable = variables.get(operation.inputs[0].op.name)
            copies[operation.name] = operation.outputs if variable is None else (variable.initialized_value(),)
            continue
        inputs = [copies[t.op.name][t.value_index] if t.op.name in copies else t for t in operation.inputs]
        name = operation.name.rpartition("/")[2]
        copies[operation.name] = graph.create_op(operation.type, inputs, operation.attrs, name).outputs
    return copies[value.op.name][value.value_index]


def _reading(value: Tensor) -> list[Operation]:
    """The reads on which `value` depends and the nodes between, inputs first."""
    order: list[Operation] = []
    depends: dict[str, bool] = {}
    begun: set[str] = set()
    stack = [value.op]
    while stack:
        operation = stack[-1]
        if operation.name in depends:
            stack.pop()
            continue
        if operation.type == "ReadVariableOp" or opdef.lookup(operation.type).stateful:
            # what has an effect of its own, or another result each time, is not done twice
            depends[operation.name] = operation.type == "ReadVariableOp"
        else:
            needs = [t.op for t in operation.inputs]
            if waiting := [need for need in needs if need.name not in depends]:
                if operation.name in begun:
                    return []  # a loop: left as it is
                begun.add(operation.name)
                stack.extend(waiting)
                continue
            depends[operation.name] = any(depends[need.name] for need in needs)
        if depends[operation.name]:
            order.append(operation)
        stack.pop()
    return order


def _variables(graph: Graph) -> dict[str, Variable]:
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    return {variable.op.name: variable for key in keys for variable in graph.get_collection(key)}
