"""`while_loop` (`tf.while_loop`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import TensorShape
from actorflow.errors import describe
from actorflow.graph.control_flow.context import current
from actorflow.graph.control_flow.loop_context import LoopVariable, WhileContext
from actorflow.graph.control_flow.variable_reads import read_in_each_iteration
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.math.logic import less, logical_and
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af")
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` while `cond` holds (`tf.while_loop`).

    Both are called once with the loop's variables, and build their part of the graph: `cond` a boolean scalar, `body` the
    variables of the next iteration, in the same structure and of the same types.

    Example:
        >>> n = af.placeholder(af.int32, [])
        >>> _, factorial = af.while_loop(lambda i, f: i <= n, lambda i, f: [i + 1, f * i], [1, 1])
        >>> await session.run(factorial, {n: 5})
        120

    Args:
        cond: a function of the variables that gives a boolean scalar.
        body: a function of the variables that gives those of the next iteration, in the same structure and of the same
            types.
        loop_vars: a list or tuple (or a nested structure) of tensors: the variables before the first iteration.
        shape_invariants: the shapes that all iterations keep to, in the structure of `loop_vars`; else each variable
            keeps the static shape that it starts with.
        parallel_iterations: the maximum number of iterations that run concurrently.
        back_prop: whether gradients may be taken.
        swap_memory: whether values that the gradient needs may be kept on the host.
        maximum_iterations: the maximum number of iterations, a number or an int32 scalar; no limit unless given.
        return_same_structure: whether a list of one variable is given as a list, instead of the variable.

    Returns:
        The variables after the last iteration, in the structure of `loop_vars`.

    Raises:
        TypeError: `cond` or `body` is not a function, or a type changes.
        ValueError: there are no variables, structures differ, or a shape changes without an invariant.
    """
    if not callable(cond) or not callable(body):
        raise TypeError(f"while_loop() takes two functions, but it was given {cond!r:.40} and {body!r:.40}.")
    if parallel_iterations is None or int(parallel_iterations) < 1:
        raise TypeError(f"parallel_iterations is a positive number, but {parallel_iterations!r} was given.")
    flat = nest.flatten(loop_vars)
    if not flat:
        raise ValueError("while_loop() needs at least one loop variable.")
    single = not nest.is_nested(loop_vars)
    graph = graph_of(flat)
    if graph.eager:
        result_at_once = _at_once(cond, body, loop_vars, single, maximum_iterations)
        if not return_same_structure and isinstance(result_at_once, (list, tuple)) and len(result_at_once) == 1:
            return result_at_once[0]
        return result_at_once
    with graph.as_default(), graph.name_scope(name or "while") as scope:
        tensors = [convert_to_tensor(leaf) for leaf in flat]
        original = loop_vars
        counting = maximum_iterations is not None
        limit = _limit(maximum_iterations) if counting else None
        context = WhileContext(
            graph,
            scope.rstrip("/"),
            current(graph),
            parallel_iterations=int(parallel_iterations),
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        counter = context.variable(convert_to_tensor(0, graph=graph)) if counting else None
        invariants = _invariants(shape_invariants, loop_vars, tensors)
        variables = [
            context.variable(t, invariant, invariant=invariant is not None) for t, invariant in zip(tensors, invariants)
        ]
        _condition(context, cond, original, variables, counter, limit, single)
        with context.entered():
            values = nest.pack_sequence_as(original, [_value(v) for v in variables])
            result = body(values) if single else body(**values) if isinstance(values, dict) else body(*values)
            result = _in_form(result, original, single)
            updated = [convert_to_tensor(leaf) for leaf in nest.flatten(result)]
            if counter is not None:
                updated.insert(0, _value(counter) + 1)
        for variable, tensor in zip([counter, *variables] if counter is not None else variables, updated):
            context.close(variable, tensor)
        read_in_each_iteration(context)
        exits = nest.pack_sequence_as(result, [v.exit for v in variables])
        if not return_same_structure and isinstance(exits, (list, tuple)) and len(exits) == 1:
            return exits[0]
        return exits


def _at_once(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, single: bool, limit: Any) -> Any:
    """The variables after the last iteration, each of which runs as it comes."""

    def called(function: Callable[..., Any], values: Any) -> Any:
        return function(values) if single else function(**values) if isinstance(values, dict) else function(*values)

    left = None if limit is None else int(convert_to_tensor(limit))
    values = _tensors(loop_vars)
    while (left is None or left > 0) and convert_to_tensor(called(cond, values)):
        values = _tensors(_in_form(called(body, values), loop_vars, single))
        left = None if left is None else left - 1
    return values


def _tensors(structure: Any) -> Any:
    return nest.pack_sequence_as(structure, [convert_to_tensor(leaf) for leaf in nest.flatten(structure)])


def _limit(maximum_iterations: Any) -> Tensor:
    limit = convert_to_tensor(maximum_iterations, "int32")
    if limit.static_shape not in (None, ()):
        raise ValueError(
            describe(f"maximum_iterations is a scalar, but {limit.name} has shape {limit.shape}.", where=user_line())
        )
    return limit


def _condition(
    context: WhileContext,
    cond: Callable[..., Any],
    structure: Any,
    variables: list[LoopVariable],
    counter: LoopVariable | None,
    limit: Tensor | None,
    single: bool,
) -> None:
    with context.entered():
        merged = nest.pack_sequence_as(structure, [v.merged for v in variables])
        pred = convert_to_tensor(
            cond(merged) if single else cond(**merged) if isinstance(merged, dict) else cond(*merged)
        )
        if pred.dtype is not bool_dtype or pred.static_shape not in (None, ()):
            raise (TypeError if pred.dtype is not bool_dtype else ValueError)(
                describe(
                    f"The condition of while_loop() is a boolean scalar, but {pred.name} is {pred.dtype} of shape "
                    f"{pred.shape}.",
                    where=user_line(),
                )
            )
        if counter is not None and limit is not None:
            pred = logical_and(less(counter.merged, limit), pred)
    context.decide(pred)


def _value(variable: LoopVariable) -> Tensor:
    assert variable.value is not None
    return variable.value


def _in_form(result: Any, original: Any, single: bool) -> Any:
    """The result of the body, in the structure of the variables. Raises TypeError, ValueError."""
    if result is None:
        raise ValueError(describe("The body of while_loop() gave None instead of the variables.", where=user_line()))
    if single and isinstance(result, (list, tuple)) and len(result) == 1:
        result = result[0]
    elif not single and len(original) == 1 and not nest.is_nested(result):
        result = type(original)([result]) if isinstance(original, (list, tuple)) else result
    if isinstance(original, list) and type(result) is tuple:
        result = list(result)
    elif type(original) is tuple and isinstance(result, list):
        result = tuple(result)
    try:
        nest.assert_same_structure(original, result, check_types=False)
    except (TypeError, ValueError) as error:
        raise type(error)(
            describe(f"The body of while_loop() gave another structure than the variables. {error}", where=user_line())
        ) from None
    return result


def _invariants(shape_invariants: Any, loop_vars: Any, tensors: list[Tensor]) -> list[Any]:
    if shape_invariants is None:
        return [None] * len(tensors)
    flat_shapes: list[Any] = []

    def walk(shape: Any, value: Any) -> None:
        if nest.is_nested(value) and not isinstance(shape, TensorShape):
            shapes = [shape[k] for k in sorted(value)] if isinstance(value, dict) else shape
            parts = [value[k] for k in sorted(value)] if isinstance(value, dict) else value
            if len(shapes) != len(parts):
                raise ValueError(
                    f"shape_invariants has {len(shapes)} entries where loop_vars has {len(parts)} variables."
                )
            for part, other in zip(shapes, parts):
                walk(part, other)
        elif hasattr(value, "_nest_parts"):
            count = len(nest.flatten(value))
            flat_shapes.extend([shape] if count == 1 else [None] * count)
        else:
            flat_shapes.append(TensorShape(None) if shape is None else shape)

    walk(shape_invariants, loop_vars)
    if len(flat_shapes) != len(tensors):
        raise ValueError(
            f"shape_invariants has {len(flat_shapes)} entries, but there are {len(tensors)} loop variables."
        )
    return flat_shapes
