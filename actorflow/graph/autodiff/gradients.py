"""`gradients`: derivatives by extending the graph (paper section 4.1).

The walk goes backward over the nodes between xs and ys. Each node waits until all its consumers have given their part;
the parts of one tensor are summed, and the rule of the node's op builds the nodes of its inputs' gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import broadcast, compatible, num_elements, show
from actorflow.errors import describe
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.autodiff.branches import Mirror, zeros_of
from actorflow.graph.autodiff.reasons import NoneGradient
from actorflow.graph.autodiff.walk import Gradient, Walk, differentiable
from actorflow.graph.control_flow.context import CondContext, current
from actorflow.graph.convert import convert_to_tensor, graph_of, is_symbolic
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import ones_like
from actorflow.graph.ops.array.shape import broadcast_to, reshape, shape
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af")
class AggregationMethod:
    """TensorFlow's names for ways to sum gradients. All of them make one AddN here, which adds in place.

    Example:
        >>> af.AggregationMethod.ADD_N, af.AggregationMethod.DEFAULT
        (0, 0)
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


@public("af")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: str = "none",
) -> list[Gradient | None]:
    """The derivatives of the sum of `ys` with respect to each of `xs` (paper section 4.1; `tf.gradients`).

    For each x the result is a tensor of x's type and shape, sum over y of (dy/dx)ᵀ · grad_y. It is `IndexedSlices` if
    only some rows of x were gathered, and None if no y depends on x in a differentiable way. Integers, booleans and
    strings have no derivative. For complex types it is TensorFlow's convention: the gradient of a holomorphic f is
    conj(f'(x)) · grad_y.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> (slope,) = af.gradients(x ** 3, [x])
        >>> await session.run(slope, {x: [1.0, 2.0]})
        [ 3. 12.]

    Args:
        ys: a tensor or a list of them. A number or a list in place of a tensor becomes a constant.
        xs: a tensor, a variable (for which all its reads count), or a list of them. A number in place of a tensor becomes a
            constant, on which no y depends.
        grad_ys: weights of the ys, of their types and of shapes that broadcast to theirs or have as many elements; None, or None
            entries, stand for the weight 1.
        name: the scope of the nodes made; those for node `a/b` are named `gradients/a/b_grad/...`.
        colocate_gradients_with_ops: put them on the devices of their forward nodes.
        gate_gradients: make all gradients of a node's inputs wait for each other.
        aggregation_method: a value of `AggregationMethod`.
        stop_gradients: tensors, or a single tensor, that count as constants for all xs; an x among them still gets its
            own gradient.
        unconnected_gradients: a value of `UnconnectedGradients`: whether an x on which no y depends gets None, or zeros.

    Raises:
        LookupError: an op on the way has no gradient registered, nor is declared to have none.
        TypeError: an x or y is None, a name, or can't be a tensor; a complex y has no grad_y, or a type does not fit.
        ValueError: the lengths of ys and grad_ys differ, a shape does not fit, a tensor is of another graph or inside of
            another loop, or `unconnected_gradients` is unknown.
    """
    if get_default_graph().eager:
        raise RuntimeError(
            describe(
                "gradients() is not supported when eager execution is enabled: nothing remembers how a value came about.",
                where=user_line(),
                hint="Use a tape: with af.GradientTape() as tape: ... and then tape.gradient(y, x).",
            )
        )
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}.")
    home = graph_of([*_as_list(ys), *_as_list(xs)])
    y_list = [_as_tensor(y, f"ys[{i}]", home) for i, y in enumerate(_as_list(ys))]
    x_list = [_endpoint_owner(x, f"xs[{i}]", home) for i, x in enumerate(_as_list(xs))]
    stops = [_endpoint_owner(s, f"stop_gradients[{i}]") for i, s in enumerate(_as_list(stop_gradients))]
    if not y_list:
        return [None] * len(x_list)
    graph = y_list[0].graph
    for tensor in (*y_list, *x_list, *stops):
        if tensor.graph is not graph:
            raise ValueError(
                describe(f"{tensor.name} belongs to another graph than {y_list[0].name}.", where=user_line())
            )
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"aggregation_method is one of af.AggregationMethod, but {aggregation_method!r} was given.")
    with graph.as_default(), graph.name_scope(name):
        seeds = seeds_of(y_list, grad_ys)
        place = current(graph)
        mirror = Mirror(graph, place, place)
        for tensor in (*y_list, *x_list):
            _check_place(tensor, mirror)
        walk = Walk(graph, x_list, stops, colocate_gradients_with_ops, gate_gradients, mirror)
        walk.run(y_list, seeds)
        totals = [walk.total(x.tensor_id) for x in x_list]
        if unconnected_gradients == "zero":
            return [zeros_of(x) if gradient is None else gradient for x, gradient in zip(x_list, totals)]
    for x, gradient in zip(x_list, totals):
        if gradient is None:
            graph.none_gradients.append(NoneGradient(x, tuple(y_list), tuple(stops), user_line()))
    return totals


def seeds_of(ys: Sequence[Tensor], grad_ys: Any) -> list[Tensor | None]:
    """The gradients with which the walk starts; None for a y that has no derivative."""
    seeds = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(seeds) != len(ys):
        raise ValueError(f"There are {len(ys)} ys, but {len(seeds)} grad_ys.")
    return [_seed(i, y, grad) for i, (y, grad) in enumerate(zip(ys, seeds))]


def _check_place(tensor: Tensor, mirror: Mirror) -> None:
    """Raises ValueError for a tensor inside of a loop or function that the gradient is not taken in."""
    flow = None if is_free(tensor.op.node) else tensor.graph.flow_of(tensor.op.name)
    while flow not in mirror.around:
        if not isinstance(flow, CondContext):
            raise ValueError(
                describe(
                    f"{tensor.name} is inside of {flow}, and has no gradient outside.",
                    node=tensor.op.name,
                    where=tensor.where,
                    hint="Call gradients() inside, and return what it gives; or return the tensor, and use the result.",
                )
            )
        flow = flow.parent


def _seed(index: int, y: Tensor, grad: Any) -> Tensor | None:
    facts: dict[str, Any] = {"node": y.op.name, "op": y.op.type, "where": y.where}
    if not differentiable(y):
        return None
    if grad is None:
        if y.dtype.is_complex:
            raise TypeError(
                describe(
                    f"Gradients of complex tensors must set grad_ys, but ys[{index}], {y.name}, of {y.dtype} has none.",
                    **facts,
                    hint="Differentiate a real number of it, such as tf.abs or tf.real, or give grad_ys.",
                )
            )
        return ones_like(y, name=f"grad_ys_{index}")
    try:
        tensor = convert_to_tensor(grad, None if is_symbolic(grad) else y.dtype, name=f"grad_ys_{index}", graph=y.graph)
    except (TypeError, ValueError) as error:
        raise type(error)(describe(f"grad_ys[{index}]: {error}", **facts)) from None
    if tensor.dtype is not y.dtype:
        raise TypeError(
            describe(f"grad_ys[{index}] has type {tensor.dtype}, but ys[{index}], {y.name}, has {y.dtype}.", **facts)
        )
    mine, its_shape = tensor.static_shape, y.static_shape
    if compatible(mine, its_shape) and (
        mine is None or its_shape is None or all(a != 1 or b == 1 for a, b in zip(mine, its_shape))
    ):
        return tensor
    try:
        fits = compatible(broadcast(mine, its_shape), its_shape)
    except ValueError:
        fits = False
    if not fits and num_elements(mine) == num_elements(its_shape) is not None:
        return reshape(tensor, shape(y))
    if not fits:
        shapes = f"{show(tensor.static_shape)}, but ys[{index}], {y.name}, has {show(y.static_shape)}"
        raise ValueError(describe(f"grad_ys[{index}] has shape {shapes}.", **facts))
    return broadcast_to(tensor, shape(y))


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_tensor(value: Any, what: str, graph: Graph | None = None) -> Tensor:
    """The tensor of an argument. With a `graph` a number or a list becomes a constant there."""
    if graph is not None and not isinstance(value, (str, bytes, type(None))) and not is_symbolic(value):
        return convert_to_tensor(value, graph=graph)
    if not is_symbolic(value):
        raise TypeError(
            describe(
                f"{what} is a tensor of a graph, but {value!r:.60} (a {type(value).__name__}) was given.",
                where=user_line(),
            )
        )
    return convert_to_tensor(value)


def _endpoint_owner(value: Any, what: str, graph: Graph | None = None) -> Tensor:
    """The tensor whose gradient is meant: for a variable its handle, to which the gradients of all reads go."""
    handle = getattr(value, "handle", None)
    return handle if isinstance(handle, Tensor) else _as_tensor(value, what, graph)
