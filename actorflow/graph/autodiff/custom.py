"""`custom_gradient`: a function that says itself how to differentiate it (`tf.custom_gradient`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.graph import Graph
from actorflow.graph.ops.building import outputs_of
from actorflow.graph.ops.flow.control import custom_gradient_op
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

# The place of a graph's Python rules: a collection that holds one dictionary, so that they live as long as the graph.
_RULES = "_custom_gradients"


@public("af")
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function with a gradient of its own: for a better conditioned formula, a clipped gradient, and the like.

    `f(*xs)` takes tensors and returns `(ys, grad_fn)`, where ys is a tensor or a list of them and `grad_fn(*dys)`
    returns
    the gradients of the xs: a tensor, or a list with None for an x without a gradient. The gradient of `f` is only
    that; its own nodes are not differentiated, but `grad_fn` may be, for second derivatives. If `f` reads trainable
    variables, `grad_fn(*dys, variables)` takes their list by that keyword and returns two lists: the gradients of the
    xs, and those of the variables. Keyword arguments go to `f` as they are.

    The function is Python's, so a graph that was stored and loaded knows the values but not this gradient.

    Example:
        >>> @af.custom_gradient
        ... def clipped(x):
        ...     def grad(dy):
        ...         return af.clip_by_value(dy, -1.0, 1.0)
        ...     return x, grad
        >>> x = af.placeholder(af.float32)
        >>> await session.run(af.gradients(100.0 * clipped(x), x), {x: 3.0})
        [1.0]

    Raises:
        TypeError: `f` does not return two things, or reads variables that its `grad_fn` does not take.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        graph: Any = graph_of(args)
        if graph.eager:
            return graph.with_gradient(f, args, kwargs)
        with graph.as_default(), graph.name_scope("CustomGradient"):
            xs = [convert_to_tensor(x) for x in args]
            results, grad_fn = values_and_rule(f, f(*xs, **kwargs))
            several = isinstance(results, (list, tuple))
            ys = [convert_to_tensor(y) for y in (results if several else [results])]
            reads = _trainable_reads(ys, xs)
            rule = python_rule(f, grad_fn, len(ys), len(xs), [variable for variable, _ in reads])
            name = remember_rule(graph, rule)
            outputs = outputs_of(custom_gradient_op([*ys, *xs, *(read for _, read in reads)], rule=name))
        return type(results)(outputs[: len(ys)]) if several else outputs[0]

    return decorated


def values_and_rule(f: Callable[..., Any], result: Any) -> tuple[Any, Callable[..., Any]]:
    """The two things that a function with a gradient of its own gives. Raises TypeError for anything else."""
    if not isinstance(result, tuple) or len(result) != 2 or not callable(result[1]):
        raise TypeError(
            describe(
                f"A function with a custom gradient returns (ys, grad_fn), not {result!r:.80} as {f.__name__}.",
                where=user_line(),
            )
        )
    return result


def rule_of(node: Operation) -> Callable[..., list[Any]]:
    """The Python rule of a CustomGradient node. Raises LookupError where the graph was loaded without it."""
    table = node.graph.get_collection_ref(_RULES)
    rule = table[0].get(node.attrs["rule"]) if table else None
    if rule is None:
        raise LookupError(
            describe(
                "The custom gradient is a Python function, which is not part of a stored graph.",
                node=node.name,
                op=node.type,
                where=node.where,
                hint="Build this part of the graph by the program that defines the function.",
            )
        )
    return rule  # type: ignore[no-any-return]


def remember_rule(graph: Graph, rule: Callable[..., list[Any]]) -> str:
    """Keeps the rule of a CustomGradient node as long as `graph` lives. The result is its name there."""
    table = graph.get_collection_ref(_RULES)
    if not table:
        table.append({})
    name = f"rule_{len(table[0])}"
    table[0][name] = rule
    return name


def python_rule(
    f: Callable[..., Any], grad_fn: Callable[..., Any], ys: int, xs: int, read: Sequence[Any]
) -> Callable[..., list[Any]]:
    """`grad_fn`, which the function `f` gave, as the rule of a node whose inputs are the ys, the xs and the variables that were
    read. Raises TypeError if there are variables and `grad_fn` takes none."""
    parameters = inspect.signature(grad_fn).parameters
    takes_variables = "variables" in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    if read and not takes_variables:
        raise TypeError(
            describe(
                "If a function with a custom gradient uses variables, then its grad_fn must accept a "
                f"'variables' keyword argument. {f.__name__} reads: {', '.join(v.name for v in read)}.",
                where=user_line(),
            )
        )
    variables = read if takes_variables and read else None  # a function that reads none is called without them

    def rule(*dys: Tensor) -> list[Any]:
        if variables is None:
            slopes, of_variables = grad_fn(*dys[:ys]), []
        else:
            slopes, of_variables = grad_fn(*dys[:ys], variables=list(variables))
        of_xs = list(slopes) if isinstance(slopes, (list, tuple)) else [slopes]
        if len(of_xs) != xs:
            raise ValueError(f"The custom gradient gave {len(of_xs)} gradients for {xs} arguments.")
        if len(of_variables) != len(variables or ()):
            raise ValueError(
                f"The custom gradient gave {len(of_variables)} gradients for {len(variables or ())} variables."
            )
        return [None] * ys + of_xs + list(of_variables)

    return rule


def _trainable_reads(ys: Sequence[Tensor], xs: Sequence[Tensor]) -> list[tuple[Any, Tensor]]:
    """Each trainable variable that ys are computed from, not by way of xs, with one read of it."""
    from actorflow.graph.variables.collections import trainable_variables

    trainable = {v.op.name: v for v in trainable_variables()}
    reads: dict[str, tuple[Any, Tensor]] = {}
    seen = {x.op.name for x in xs}
    stack = [y.op for y in ys]
    while stack:
        operation = stack.pop()
        if operation.name in seen:
            continue
        seen.add(operation.name)
        if operation.type == "ReadVariableOp" and (name := operation.inputs[0].op.name) in trainable:
            reads.setdefault(name, (trainable[name], operation.outputs[0]))
        stack.extend(tensor.op for tensor in operation.inputs)
    return list(reads.values())
