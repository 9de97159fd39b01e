"""Ops that carry, order and observe other ops: identity, groups, printing, assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.dtypes import ANY, BOOLEAN, variant
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import get_default_graph
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.ops.shape_rules import no_output, unchanged
from actorflow.public import public
from actorflow.registry.op import op


@public("af")
@op("Identity", shape=unchanged, dtypes=ANY | {variant}, view=True, work=0)
def identity(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, of its shape and type. Useful to put a control dependency on a value."""


@identity.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor]:
    return [dy]


@public("af")
@op("StopGradient", shape=unchanged, view=True, gradient=None, work=0)
def stop_gradient(input: TensorLike, *, name: str | None = None) -> Tensor:
    """`input` itself, which `gradients` takes for a constant."""


@public("af")
@op("NoOp", shape=no_output, result=None, gradient=None, stateful=True, work=0)
def no_op(*, name: str | None = None) -> Operation:
    """Does nothing: a target that waits for its control inputs."""


@public("af")
@op("ControlTrigger", shape=no_output, result=None, gradient=None, stateful=True, fires_dead=True, work=0)
def control_trigger(*, name: str | None = None) -> Operation:
    """A `no_op` that fires live although a control input is dead: edges that only schedule end in one."""


@op("Print", shape=unchanged, stateful=True, view=True)
def print_op(
    input: TensorLike,
    data: Sequence[Any],
    *,
    message: str = "",
    first_n: int = -1,
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """`input` itself; writes `message` and `data` to standard error as a side effect. See `Print`."""


@op("Assert", shape=no_output, result=None, types={"condition": BOOLEAN}, gradient=None, stateful=True)
def assert_op(condition: TensorLike, data: Sequence[Any], *, summarize: int = 3, name: str | None = None) -> Operation:
    """Raises InvalidArgumentError with `data` where not all of `condition` is true. See `Assert`."""


@print_op.gradient
def _(node: Operation, dy: Tensor) -> list[Tensor | None]:
    return [dy] + [None] * (len(node.inputs) - 1)


@public("af")
def Print(
    input_: TensorLike,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` itself, and prints `data` each time it is computed (`tf.Print`).

    Args:
        first_n: prints only so many times; always by default.
        summarize: so many entries of each tensor; 3 by default, -1 for all.
    """
    return print_op(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )


@public("af")
def Assert(
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that raises InvalidArgumentError with `data` unless all of `condition` is true (`tf.Assert`)."""
    return assert_op(condition, list(data), summarize=3 if summarize is None else summarize, name=name)


@public("af")
def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that is done when all `inputs` (operations or tensors) are (`tf.group`)."""
    flat: list[Any] = []
    for element in inputs:
        flat.extend(element) if isinstance(element, (list, tuple)) else flat.append(element)
    graph = flat[0].graph if flat else get_default_graph()
    with graph.control_dependencies(flat):
        with graph.as_default():
            return no_op(name=name or "group_deps")


@public("af", "tf:tuple")
def tuple_(tensors: Sequence[Any], control_inputs: Sequence[Any] | None = None, name: str | None = None) -> list[Any]:
    """`tensors`, each of which is available only when all of them are (`tf.tuple`). None entries stay None."""
    real = [t for t in tensors if t is not None]
    if not real:
        raise ValueError("tuple() needs at least one tensor.")
    graph = real[0].graph
    with graph.name_scope(name or "tuple"):
        gate = group(*real, *(control_inputs or ()))
        with graph.control_dependencies([gate]):
            return [None if t is None else identity(t) for t in tensors]


@public("af")
def with_dependencies(dependencies: Sequence[Any], output: TensorLike, name: str | None = None) -> Tensor:
    """`output` after all `dependencies` have run."""
    tensor = convert_to_tensor(output)
    with tensor.graph.control_dependencies(dependencies):
        return identity(tensor, name=name)
